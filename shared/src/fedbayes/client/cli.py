"""Entry of the command ``fedbayes``: nothing is imported here before interruptions are under control (see `interrupts`)."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .interrupts import LINE, LINE_OF_WATCHERS, supervised


def invoke(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; errors become one line on stderr."""
    from .commands.app import invoke as run

    return run(arguments)


def main() -> None:
    """Entry point of the command; SIGTERM and a closed terminal stop it as Ctrl-C does, and ``attach`` alone leaves its task running."""
    raise SystemExit(supervised(invoke, LINE_OF_WATCHERS if sys.argv[1:2] == ["attach"] else LINE))
