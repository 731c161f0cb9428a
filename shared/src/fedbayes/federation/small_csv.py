"""Small CSV files without pandas, whose import takes longer than such a file and is paid by every station in every round that reads data.

A column comes as pandas would type it: int64, float64 (NaN = missing), bool, or object (text, None = missing). Whatever is unusual, and there pandas has its
own ways, is left to pandas.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

LARGEST_BYTES = 1_000_000
MISSING = frozenset(
    {"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA"}
    | {"NULL", "NaN", "None", "n/a", "nan", "null"}
)
TRUTH = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}
# Up to 15 digits every reader gives the same float64.
_WHOLE = re.compile(r" *[+-]?[0-9]{1,15} *")
_NUMBER = re.compile(r" *[+-]?(?=[0-9.]{1,15} *$)([0-9]+\.?[0-9]*|\.[0-9]+) *")


def read_small_csv(path: Path) -> dict[str, NDArray[np.generic]] | None:
    """Return the columns of a small, plain CSV file by name, or None where pandas has to read it.

    Parameters
    ----------
    path : pathlib.Path
        UTF-8, a header row, commas.

    Returns
    -------
    dict of str to ndarray, shape (rows,) each, or None
        None: the file is larger than `LARGEST_BYTES`, its rows differ in length, a column has no name or a name twice, it is no UTF-8,
        or numbers are written in a way that pandas reads by rules of its own.
    """
    if path.stat().st_size > LARGEST_BYTES:
        return None
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file, strict=True) if row]
    except (csv.Error, UnicodeDecodeError):
        return None
    header = rows[0] if rows else []
    if (
        not all(header)
        or len(set(header)) < len(header)
        or any(len(row) != len(header) for row in rows)
        or len(rows) < 2
    ):
        return None
    columns: dict[str, NDArray[np.generic]] = {}
    for name, values in zip(header, zip(*rows[1:], strict=True), strict=True):
        column = _typed(values)
        if column is None:
            return None
        columns[name] = column
    return columns


def repeated_name(path: Path) -> str | None:
    """Return a name that two columns of a CSV file have, or None; pandas renames the second one, and no limit of the node names that."""
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
        header = next((row for row in csv.reader(file) if row), [])
    return next((name for place, name in enumerate(header) if name and name in header[:place]), None)


def _typed(values: tuple[str, ...]) -> NDArray[np.generic] | None:
    distinct = set(values)
    present = distinct - MISSING
    complete = len(present) == len(distinct)
    if present and present <= TRUTH.keys():
        return np.array([TRUTH[value] for value in values]) if complete else None
    if complete and all(_WHOLE.fullmatch(value) for value in present):
        return np.array([int(value) for value in values], dtype=np.int64)
    plain = [value for value in present if _NUMBER.fullmatch(value)]
    if len(plain) == len(present):
        read = {value: float(value) if value in present else np.nan for value in distinct}
        return np.array([read[value] for value in values], dtype=np.float64)
    if any(_is_number(value) for value in present.difference(plain)):
        return None
    return np.array([None if value in MISSING else value for value in values], dtype=object)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
