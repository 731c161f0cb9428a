"""The same cases in the embedded federation: processes, sockets and vantage6's own client and wrapper instead of one process."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedbayes.federation.embedded import EmbeddedFederation

from .inprocess import write_file


class Embedded:
    """As `inprocess.InProcess`, which says what the parameters are."""

    def __init__(
        self,
        module: str,
        files: Mapping[str, str | bytes | None],
        policies: Mapping[str, Mapping[str, Any]],
        central: str,
    ) -> None:
        self._module = module
        self._folder = tempfile.TemporaryDirectory(prefix="fedbayes-differential-")
        parties, helpers = {}, []
        for number, (name, content) in enumerate(files.items()):
            if content is None:
                helpers.append(name)
            else:
                parties[name] = write_file(Path(self._folder.name) / str(number), content)[0]
        self._federation = EmbeddedFederation(parties, helpers, policies, central)

    def __enter__(self) -> Embedded:
        return self

    def __exit__(self, *_: Any) -> None:
        self._federation.close()
        self._folder.cleanup()

    def replace(self, files: Mapping[str, str | bytes | None]) -> None:
        """Give the organizations these files in the place of what they had."""
        for number, (name, content) in enumerate(files.items()):
            if content is not None:
                path = write_file(Path(self._folder.name) / str(number), content)[0]
                self._federation._tables[name].paths["default"] = path

    def run(self, function: str, arguments: Mapping[str, Any]) -> Any:
        """Run a central function as one task."""
        return self._federation.run(self._module, function, arguments)
