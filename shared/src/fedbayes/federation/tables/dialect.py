"""How a CSV file separates its columns and writes its decimals: as the node's administrator says, else as the line of column names shows."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t"}
"""Value of the setting `csv_separator` -> character."""
DECIMALS = ("point", "comma")
"""Values of the setting `csv_decimal`."""
COMMA = ","


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one CSV file is written.

    Attributes
    ----------
    separator : str
        Between columns: a comma, a semicolon or a tab.
    comma : bool
        Whether a comma in a number is a decimal comma; a point is a decimal point in either case.
    """

    separator: str = COMMA
    comma: bool = False


def of_file(path: Path, separator: str | None = None, decimal: str | None = None) -> Dialect:
    """Return how a CSV file is written; no value of its rows is looked at, so a row more or less changes nothing.

    Parameters
    ----------
    path : pathlib.Path
        With a line of column names.
    separator, decimal : str, optional
        As declared: a key of `SEPARATORS`, one of `DECIMALS`.

    Returns
    -------
    Dialect
        Without a declaration: semicolons or tabs where the line of names has one of them and no comma, else commas; a comma in a number is
        a decimal one where it separates no columns.
    """
    mark = _shown(path) if separator is None else SEPARATORS[separator]
    return Dialect(mark, mark != COMMA if decimal is None else decimal == "comma")


def lines(path: Path, separator: str) -> Iterator[list[str]]:
    """Yield the fields of every line of a CSV file that is not blank; what is no UTF-8 is replaced."""
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
        yield from (row for row in csv.reader(file, delimiter=separator) if row)


def _shown(path: Path) -> str:
    """Return the one character that parts the line of names in more than one; a comma where none does, or several do."""
    parting = [mark for mark in SEPARATORS.values() if len(next(lines(path, mark), [])) > 1]
    return parting[0] if len(parting) == 1 else COMMA
