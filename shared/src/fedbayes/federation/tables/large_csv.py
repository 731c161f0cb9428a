"""CSV files that are too large to be taken apart at once: read in pieces, only the columns that are needed, texts as one code a cell.

A column comes as `reading.read_file` would give it, but for texts, which are a pandas Categorical instead of one object a cell: 20 million of them take 20 to
160 MB, not gigabytes. A column that is a number in some pieces and text in others is read once more as text, as it would be in one piece.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...bayes.values.missing import Reading, Rule, settle
from ...bayes.values.written import as_nullable, inexact
from ..errors import DataProblem
from .dialect import Dialect, lines

LARGE_BYTES = 100_000_000  # beyond which a file is read in parts
ROWS = 1_000_000  # read at once
PIECE = 2**24
"""Bytes in which lines are counted."""
QUOTE, LINE = b'"\n'
TOO_MANY_FIELDS = (
    "a row of this station's file has more fields than its header; ask the node administrator to correct the file"
)
OPTIONS: Any = {"keep_default_na": False, "na_values": [""], "low_memory": False, "float_precision": "round_trip"}

REPLACING: Any = {"encoding_errors": "replace"}
"""Options besides, where no cell may refuse a task: what is no UTF-8 is replaced, in its cell alone."""


def read_large_csv(
    path: Path, columns: Sequence[str], reading: Reading, rows: int = ROWS, dialect: Dialect | None = None
) -> Any:
    """Return columns of a CSV file as a pandas frame.

    Parameters
    ----------
    path : pathlib.Path
        UTF-8, a header row.
    columns : sequence of str
        Names; every one is there once.
    reading : Reading
        What is missing, and what stays text.
    rows : int
        Of a piece.
    dialect : Dialect, optional
        Of the file; commas if not given.

    Raises
    ------
    DataProblem
        If a row has more fields than the header: its values would be taken for those of other columns.
    """
    import pandas

    separator = (dialect or Dialect()).separator
    check_fields(path, separator)
    texts = {name for name in columns if reading.rule(name).text}
    options = {**OPTIONS, **REPLACING} if reading.alone else OPTIONS
    parts = _parts(path, columns, texts, rows, separator, options)
    mixed = [name for name in columns if not _fit(parts[name])]
    if mixed:
        parts |= _parts(path, mixed, set(mixed), rows, separator, options)
    whole = {name: settled_column(_joined(parts.pop(name)), reading.rule(name)) for name in list(parts)}
    return pandas.DataFrame({name: whole[name] for name in columns}, copy=False)


def check_fields(path: Path, separator: str = ",") -> None:
    """Raise `DataProblem` if a row of a CSV file has more fields than its header; pandas takes it without a word where few columns are wanted."""
    if long_rows(path, separator):
        raise DataProblem(TOO_MANY_FIELDS)


def long_rows(path: Path, separator: str, filled: bool = False) -> list[int]:
    """Return the numbers, from 0, of the rows of a CSV file that have more fields than its header; lines with nothing but blanks are none, as pandas has it.

    With `filled` only those of which a further field holds something: after separators at a line's end every field still is of its column.
    """
    fields = len(next(lines(path, separator), []))
    if not _may_exceed(path, fields, ord(separator)):
        return []
    # Quotation marks inside of a field can mislead the count, so what it suspects is read as it should be.
    rows = (row for row in lines(path, separator) if len(row) > 1 or row[0].strip())
    return [number - 1 for number, row in enumerate(rows) if (any(row[fields:]) if filled else len(row) > fields)]


def _may_exceed(path: Path, fields: int, mark: int) -> bool:
    """Return whether a line seems to have more fields, by its separators outside of quotation marks."""
    commas, inside = 0, 0
    with path.open("rb") as file:
        while content := file.read(PIECE):
            piece = np.frombuffer(content, dtype=np.uint8)
            separators, ends, quotes = (np.flatnonzero(piece == byte) for byte in (mark, LINE, QUOTE))
            if inside or quotes.size:
                separators, ends = (
                    positions[(np.searchsorted(quotes, positions) + inside) % 2 == 0]
                    for positions in (separators, ends)
                )
                inside = (inside + quotes.size) % 2
            before = np.searchsorted(separators, ends)
            per_line = np.diff(before, prepend=-commas)
            commas = separators.size - int(before[-1]) if ends.size else commas + separators.size
            if max(commas, int(per_line.max(initial=0))) >= fields:
                return True
    return False


def _parts(
    path: Path, columns: Sequence[str], texts: set[str], rows: int, separator: str, options: Any
) -> dict[str, list[Any]]:
    import pandas

    parts: dict[str, list[Any]] = {name: [] for name in columns}
    types: Any = dict.fromkeys(texts, str)
    pieces = pandas.read_csv(path, usecols=list(columns), dtype=types, chunksize=rows, sep=separator, **options)
    for piece in pieces:
        for name in columns:
            values = piece[name]
            plain = values.dtype.kind in "biuf"
            parts[name].append(values.to_numpy() if plain else pandas.Categorical(values))
    return parts


def _kinds(parts: Sequence[Any]) -> set[str]:
    return {part.dtype.kind if isinstance(part, np.ndarray) else _kind_of_labels(part) for part in parts}


def _kind_of_labels(part: Any) -> str:
    """Return what a piece of texts, or of truth values beside missing cells, holds."""
    return "truth" if part.categories.dtype.kind == "b" else "text"


def _fit(parts: Sequence[Any]) -> bool:
    """Return whether the pieces of a column are of one kind, and hold what is written: beside missing cells large whole numbers become float64."""
    if "f" in _kinds(parts) and any(part.dtype.kind in "iuf" and inexact(part) for part in parts):
        return False
    return len(_kinds(parts)) == 1 or _kinds(parts) == {"i", "f"} or _are_truths(parts)


def _are_truths(parts: Sequence[Any]) -> bool:
    """Return whether the pieces are truth values, but for some in which every cell is empty."""
    empty = [part for part in parts if isinstance(part, np.ndarray) and part.dtype.kind == "f"]
    return _kinds(parts) == {"b", "f"} and all(bool(np.isnan(part).all()) for part in empty)


def _joined(parts: list[Any]) -> Any:
    from pandas.api.types import union_categoricals

    if not parts:
        return np.array([], dtype=np.float64)
    if _are_truths(parts):
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts) if isinstance(parts[0], np.ndarray) else union_categoricals(parts)


def settled_column(values: Any, rule: Rule, convert: bool = True) -> Any:
    """Return a column, shape (n,), of an array or a Categorical, in which every missing cell is one, as `settle` decides by its distinct values."""
    import pandas

    if isinstance(values, np.ndarray):
        return settle(pandas.Series(values, copy=False), rule, convert)
    distinct = settle(pandas.Series(np.asarray(values.categories, dtype=object)), rule, convert)
    codes = np.asarray(values.codes)
    if distinct.dtype.kind in "iu" and inexact(distinct.dropna()):
        return pandas.Series(as_nullable(distinct).array.take(codes, allow_fill=True), copy=False)
    if distinct.dtype.kind in "iuf":
        numbers = np.append(distinct.to_numpy(dtype=np.float64), np.nan)[codes]
        whole = distinct.dtype.kind != "f" and bool((codes >= 0).all())
        return pandas.Series(numbers.astype(np.int64) if whole else numbers, copy=False)
    if distinct.dropna().duplicated().any():  # two ways to write one number, beside texts
        return distinct.reset_index(drop=True).reindex(codes).reset_index(drop=True)
    there = distinct.notna().to_numpy()
    if there.all():
        return pandas.Series(pandas.Categorical.from_codes(codes, distinct.tolist()), copy=False)
    new_codes = np.append(np.where(there, np.cumsum(there) - 1, -1), -1).astype(codes.dtype)
    return pandas.Series(pandas.Categorical.from_codes(new_codes[codes], distinct[there].tolist()), copy=False)
