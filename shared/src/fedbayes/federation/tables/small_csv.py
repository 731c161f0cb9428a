"""Small CSV files without pandas, whose import takes longer than such a file and is paid by every station in every round that reads data.

A column comes as `reading.read_csv` would type it: int64, float64 (NaN = missing), bool, or object (text, None = missing). Whatever is unusual, and there
pandas has its own ways, is left to pandas.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...bayes.values.column_codes import nearest_floats
from ...bayes.values.encoding import composed
from ...bayes.values.missing import TRUTH, USUAL, Reading, Rule
from .dialect import Dialect, lines

LARGEST_BYTES = 1_000_000  # below which Python's reader is quicker than the import of pandas
# Up to 15 digits every reader gives the same float64.
_WHOLE = re.compile(r" *[+-]?[0-9]{1,15} *")
_NUMBER = re.compile(r" *[+-]?(?=[0-9.]{1,15} *$)([0-9]+\.?[0-9]*|\.[0-9]+) *")


@dataclass(frozen=True)
class SmallTable:
    """The cells of a small CSV file as they are written, with composed letters: `cells` by column, each of `rows` texts."""

    cells: dict[str, tuple[str, ...]]
    rows: int

    def arrays(self, columns: Sequence[str], reading: Reading) -> dict[str, NDArray[np.generic]] | None:
        """Return columns by name, shape (rows,) each, or None where pandas has to read them.

        Parameters
        ----------
        columns : sequence of str
            Names; every one is there.
        reading : Reading
            What is missing, and what stays text.
        """
        typed: dict[str, NDArray[np.generic]] = {}
        for name in columns:
            column = _typed(self.cells[name], reading.rule(name))
            if column is None:
                return None
            typed[name] = column
        return typed


def read_small_csv(path: Path, dialect: Dialect | None = None, apart: bool = False) -> SmallTable | None:
    """Return the cells of a small, plain CSV file, or None where pandas has to read it.

    Parameters
    ----------
    path : pathlib.Path
        UTF-8, a header row.
    dialect : Dialect, optional
        Of the file; commas if not given.
    apart : bool
        Whether every row is read by itself: one with too many fields, or with what is no UTF-8, is taken as `files.read_file` takes it, and here.

    Returns
    -------
    SmallTable or None
        None: the file is larger than `LARGEST_BYTES`, its rows differ in length, a column has no name or a name twice, or it is no UTF-8.
    """
    if path.stat().st_size > LARGEST_BYTES:
        return None
    try:
        with path.open(newline="", encoding="utf-8-sig", errors="replace" if apart else "strict") as file:
            written, separator = map(composed, file), (dialect or Dialect()).separator
            rows = [row for row in csv.reader(written, strict=True, delimiter=separator) if row]
    except (csv.Error, UnicodeDecodeError):
        return None
    header = rows[0] if rows else []
    if apart:
        rows = [header, *_evened(rows[1:], len(header))]
    if (
        not all(header)
        or any("\0" in name for name in header)
        or len(set(header)) < len(header)
        or any(len(row) != len(header) for row in rows)
        or len(rows) < 2
    ):
        return None
    return SmallTable(dict(zip(header, zip(*rows[1:], strict=True), strict=True)), len(rows) - 1)


def _evened(rows: Iterable[list[str]], fields: int) -> Iterator[list[str]]:
    """Yield rows with as many fields each: those with a field too many hold nothing, as nobody knows which is of which column."""
    for row in rows:
        if len(row) == 1 and not row[0].strip():
            continue
        kept = [] if any(row[fields:]) else row[:fields]
        yield [*kept, *[""] * (fields - len(kept))]


def header_of(path: Path, dialect: Dialect) -> list[str]:
    """Return the names of the columns of a CSV file, as they are written."""
    return next(lines(path, dialect.separator), [])


def _typed(values: tuple[str, ...], rule: Rule) -> NDArray[np.generic] | None:
    if rule.apart and (rule.numeric or rule.closed or rule.alone):
        return _apart(values, rule)
    if rule.points:
        values = _pointed(values, rule)
    distinct = set(values)
    if any(_is_odd(value) for value in distinct) and not (rule.text and USUAL.isdisjoint(map(str.strip, distinct))):
        return None
    missing, numeric = _settled(distinct, rule, _NUMBER.fullmatch)
    present = distinct - missing
    if rule.text or (present and not numeric and not present <= TRUTH.keys()):
        return np.array([None if value in missing else value for value in values], dtype=object)
    if present and not numeric:
        return None if missing else np.array([TRUTH[value] for value in values])
    if present and not missing and all(_WHOLE.fullmatch(value) for value in present):
        return np.array([int(value) for value in values], dtype=np.int64)
    read = {value: np.nan if value in missing else float(value) for value in distinct}
    return np.array([read[value] for value in values], dtype=np.float64)


def _apart(values: tuple[str, ...], rule: Rule) -> NDArray[np.generic]:
    """Return cells each by itself, whatever is in the others, and always here: the import of pandas would tell that one is odd."""
    distinct = list(set(values))
    if rule.absorbs:
        read = dict(zip(distinct, nearest_floats(map(rule.number, distinct)), strict=True))
        return np.array([read[value] for value in values], dtype=np.float64)
    written = {value: rule.pointed(value) if rule.points else value for value in distinct}
    usual = rule.drops_usual(False)
    gone = {value for value in distinct if rule.is_missing(written[value]) or (usual and rule.is_usual(written[value]))}
    return np.array([None if value in gone else written[value] for value in values], dtype=object)


def _settled(values: Collection[str], rule: Rule, number: Any) -> tuple[frozenset[str], bool]:
    """Return which of the distinct texts of a column are missing, and whether the others are numbers; `number`: whether a text is one."""
    gone = {value for value in values if rule.is_missing(value)}
    usual = {value for value in values if value not in gone and rule.is_usual(value)}
    rest = [value for value in values if value not in gone and value not in usual]
    numeric = all(number(value) for value in rest) and (rule.numeric or bool(rest))
    return frozenset(gone | usual if rule.drops_usual(numeric) else gone), numeric


def _pointed(values: tuple[str, ...], rule: Rule) -> tuple[str, ...]:
    """Return the cells with decimal points; as they are in a column that is no numbers for all that."""
    changed = {value: rule.pointed(value) for value in set(values)}
    whatever_else = rule.numeric or rule.closed or rule.alone or rule.identifier
    numeric = whatever_else or _settled(set(changed.values()), rule, _is_number)[1]
    return tuple(changed[value] for value in values) if numeric else values


def _is_number(text: str) -> bool:
    try:
        return not np.isnan(float(text))
    except ValueError:
        return False


def _is_odd(text: str) -> bool:
    """Return whether a text is a number by some reader's rules, but not by everyone's."""
    if _NUMBER.fullmatch(text):
        return False
    try:
        return not np.isnan(float(text))
    except ValueError:
        return "\0" in text
