"""What an organization of an embedded federation has: its tables and its limits, as a node passes them to containers."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...bayes.values.names import nearest
from ..errors import ArgumentError
from ..node.policy import PREFIX, Policy
from .given import check_frame, with_texts

TYPES = {".csv": "csv", ".parquet": "parquet", ".xlsx": "excel", ".xls": "excel", ".sqlite": "sql", ".db": "sql"}
AS_WRITTEN = {f"{PREFIX}CSV_SEPARATOR": "comma", f"{PREFIX}CSV_DECIMAL": "point"}
"""How data frames are written, whatever their columns are called and the policies say."""


class Tables:
    """The tables of a party.

    Parameters
    ----------
    party : str
        Its name.
    files : mapping, path or data frame
        Database label -> file, folder or data frame; a bare one has the label ``default``.
    folder : Path
        Where data frames are written.

    Attributes
    ----------
    paths : dict of str to Path
        Database label -> file or folder.

    Raises
    ------
    ArgumentError
        If a file does not exist or is of an unknown type.
    """

    def __init__(self, party: str, files: Any, folder: Path) -> None:
        self._party, self._folder = party, folder
        self._written: list[Path] = []
        mapping = files if isinstance(files, Mapping) else {"default": files}
        self.paths = {str(label): self._file(path) for label, path in mapping.items()}
        for label, path in self.paths.items():
            if not path.exists():
                raise ArgumentError(f"the file of party '{party}' with label '{label}' does not exist; check its path")
            if path.is_file() and path.suffix.lower() not in TYPES:
                raise ArgumentError(f"the file of party '{party}' must end in one of: {', '.join(TYPES)}")

    def _file(self, source: Any) -> Path:
        """Return a file's path; a data frame is written into a file of this federation, which goes with its folder."""
        if isinstance(source, str) and "://" in source:
            raise ArgumentError(
                f"the data of party '{self._party}' are at an address, which only a node reads; give a file (a SQLite database too) or a data frame"
            )
        if isinstance(source, str | Path):
            return Path(source).absolute()
        check_frame(self._party, source)
        with tempfile.NamedTemporaryFile(dir=self._folder, prefix="table-", suffix=".csv", delete=False) as file:
            with_texts(self._party, source).to_csv(file, index=any(level is not None for level in source.index.names))
        path = Path(file.name)
        self._written.append(path)
        return path

    def type_of(self, label: str) -> str:
        """Return what a node calls the type of this database."""
        return TYPES.get(self.paths[label].suffix.lower(), "folder")

    def dialect(self, label: str) -> dict[str, str]:
        """Return the limits that say how this database is written, if it was a data frame: whatever policies say of files."""
        return AS_WRITTEN if self.paths.get(label) in self._written else {}

    def environment(self, database: str) -> dict[str, str]:
        """Return the variables by which a node tells a container of its databases, where a task asks for `database`."""
        values = {**self.dialect(database)}
        for label, path in self.paths.items():
            values[f"{label.upper()}_DATABASE_URI"] = str(path)
            values[f"{label.upper()}_DATABASE_TYPE"] = self.type_of(label)
        return values


def limits_of(policies: Mapping[str, Mapping[str, Any]], names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return every organization's limits as environment variables.

    Raises
    ------
    ArgumentError
        If an organization or a limit is unknown.
    """
    unknown = set(policies) - set(names) - {"*"}
    if unknown:
        raise ArgumentError(f"policies name an organization that is not here: {min(unknown)}")
    limits: dict[str, dict[str, str]] = {}
    for name in names:
        merged = {**policies.get("*", {}), **policies.get(name, {})}
        limits[name] = {
            key if key.startswith(PREFIX) else PREFIX + key.upper(): _limit_text(value)
            for key, value in merged.items()
            if value is not None
        }
        strange = set(limits[name]) - {PREFIX + field.upper() for field in Policy.__slots__}
        if strange:
            limit = min(strange).removeprefix(PREFIX).lower()[:60]
            raise ArgumentError(
                f"policies of '{name}': '{limit}' is no limit{nearest(limit, Policy.__slots__)}; known are: {', '.join(Policy.__slots__)}"
            )
    return limits


def _limit_text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return json.dumps([str(entry) for entry in value])
    if isinstance(value, Mapping):
        return json.dumps({str(key): str(entry) for key, entry in value.items()})
    return str(value)
