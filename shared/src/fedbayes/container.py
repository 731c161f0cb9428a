"""What an algorithm container runs: vantage6's own wrapper, without the imports that most runs never use.

Every round of a task starts Python anew at every station, so a second of imports is a second of every round. vantage6's wrapper imports a web client that
only a central function calls; here such modules are executed when they are first used.
"""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType
from typing import Any

WHEN_USED = ("click", "jwt", "qrcode", "requests")


class ModuleWhenUsed(ModuleType):
    """Stands for a module until one of its attributes is asked for; then the module takes its place."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


def main() -> None:
    """Run the task that the node has put into this container's environment, by vantage6's wrapper."""
    for name in WHEN_USED:
        sys.modules.setdefault(name, ModuleWhenUsed(name))
    from vantage6.algorithm.tools.wrap import wrap_algorithm

    wrap_algorithm(log_traceback=False)
    # The output is written: nothing is gained by taking the interpreter apart while the node waits for this process to end.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
