"""Tables of this machine: checked before anything runs, read with errors that name the file and the remedy."""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, is_zipfile

from ...federation.tables.dialect import DECIMALS, Dialect, of_file
from ...federation.tables.dialect import SEPARATORS as SEPARATORS_BY_WORD
from ..exits import UsageProblem

SEPARATORS = {";": "semicolons", "\t": "tabs"}
"""What a table may be separated by beside commas, in words."""
FOREIGN = {"|": "bars"}
"""What it may not."""
CHUNK = 1 << 20  # bytes that are read at a time, 1 MiB
_LINE = re.compile(r"line \d+")


def check_table(name: str, path: Path) -> None:
    """See that a file can be a table, without reading its values.

    Parameters
    ----------
    name : str
        How the message begins: the option and the file's owner.
    path : pathlib.Path
        Of a CSV file header, separator and encoding are checked, of others only that they can be opened.

    Raises
    ------
    UsageProblem
        If it is missing, a folder, unreadable, empty, no UTF-8 text or workbook, has other separators than commas, semicolons and tabs, or a column twice.
    """
    if not path.exists():
        raise UsageProblem(f"{name} does not exist: {path}; check the path")
    if path.is_dir():
        raise UsageProblem(f"{name} is a folder: {path}; name the file in it")
    try:
        with path.open("rb"):
            pass
        header = header_of(path) if path.suffix.lower() == ".csv" else None
    except OSError as problem:
        raise UsageProblem(f"{name} cannot be read ({problem.strerror}): {path}; check its rights") from None
    except (UnicodeDecodeError, csv.Error):
        raise UsageProblem(f"{name} is no UTF-8 text: {path}; save it as CSV in UTF-8 (Excel: 'CSV UTF-8')") from None
    if path.suffix.lower() == ".xlsx" and not is_zipfile(path):
        raise UsageProblem(f"{name} is no Excel workbook (.xlsx), or has a password: {path}; check its format")
    if header is not None:
        _check_header(f"{name} {path}", header)


def header_of(path: Path) -> list[str]:
    """Return the fields of the first line of a CSV file that is not blank; the rest is decoded only."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        header = next((row for row in csv.reader(file, delimiter=of_file(path).separator) if row), [])
        while file.read(CHUNK):
            pass
    return header


def _check_header(title: str, header: list[str]) -> None:
    if any("\0" in name for name in header):
        raise UsageProblem(f"{title} is no text; save it as CSV in UTF-8")
    if not header:
        raise UsageProblem(f"{title} is empty; it needs a line of column names, then one line a record")
    for mark, name in FOREIGN.items():
        if len(header) == 1 and mark in header[0]:
            raise UsageProblem(
                f"{title} separates its columns by {name}; save it with commas, semicolons or tabs, or as an Excel file (.xlsx)"
            )
    repeated = next((name for position, name in enumerate(header) if name in header[:position]), None)
    if repeated is not None:
        raise UsageProblem(f"{title} has two columns named '{repeated[:60]}'; rename one of them")


def tell_reading(path: Path, separator: str | None = None, decimal: str | None = None) -> None:
    """Say on stderr how a CSV file is read whose columns commas do not separate, and which sheet of a workbook with several."""
    if path.suffix.lower() == ".xlsx" and path.is_file():
        _tell_sheet(path)
    if path.suffix.lower() != ".csv" or not path.is_file():
        return
    dialect = of_file(
        path, separator if separator in SEPARATORS_BY_WORD else None, decimal if decimal in DECIMALS else None
    )
    if dialect != Dialect():
        parted = f"columns are separated by {SEPARATORS[dialect.separator]}" if dialect.separator in SEPARATORS else ""
        commas = (
            "a comma in a number is a decimal comma" if dialect.comma else "a comma in a number is none of a number"
        )
        print(f"note: {path}: {', '.join(filter(None, (parted, commas)))}", file=sys.stderr)


def _tell_sheet(path: Path) -> None:
    from ...federation.tables.excel import sheet_names

    first, *others = sheet_names(path) or [""]
    if others:
        rest = ", ".join(repr(name) for name in others[:5]) + (", ..." if len(others) > 5 else "")
        print(f"note: {path}: the first sheet, {first!r}, is read, and no other: {rest}", file=sys.stderr)


def read_table(path: Path, domain: Mapping[str, Any] | None = None, identifiers: Sequence[str] = ()) -> Any:
    """Return a CSV, parquet or Excel file as a pandas frame; what is missing follows the rule of the stations (`fedbayes.bayes.values.missing`).

    Parameters
    ----------
    path : pathlib.Path
        The file.
    domain : mapping, optional
        Categories and bounds by column, as far as they are known.
    identifiers : sequence of str
        Columns that keep their text: ``00257`` is not 257.

    Raises
    ------
    UsageProblem
        If it is missing or cannot be read.
    """
    from ...bayes.values.missing import Reading
    from ...federation.errors import DataProblem
    from ...federation.tables.files import KINDS, read_file

    check_table("the table", path)
    if path.suffix.lower() not in KINDS:
        raise UsageProblem(f"the table {path} must end in one of: {', '.join(KINDS)}")
    try:
        return read_file(path, KINDS[path.suffix.lower()], Reading(domain or {}, identifiers=tuple(identifiers)))
    except DataProblem as problem:
        if path.suffix.lower() != ".csv":
            raise UsageProblem(_to_its_owner(str(problem), path)) from problem
        raise UsageProblem(
            f"a row of the table {path} has more fields than its line of names; put numbers with a decimal comma in quotation marks, "
            "or separate columns by semicolons, and end no line with a separator"
        ) from None
    except (OSError, ValueError, ImportError, BadZipFile) as problem:
        line = _LINE.search(str(problem))
        position = f", {line.group()}" if line else ""
        raise UsageProblem(
            f"the table {path} cannot be read ({type(problem).__name__}{position}); check its format"
        ) from None


def _to_its_owner(text: str, path: Path) -> str:
    """Return what a station says of its file as it is told to somebody who has the file: by its name, and nobody else is to be asked."""
    from ...federation.embedded.remedies import to_owner

    return to_owner(text, f"the table {path}")
