"""A file as a frame, on a node or on this machine: the same cells are missing in every kind of file (`fedbayes.bayes.values.missing`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...bayes.values.encoding import composed
from ...bayes.values.missing import Reading, settle
from ...bayes.values.written import inexact
from ..errors import DataProblem
from . import parquet
from .dialect import Dialect, lines, of_file
from .excel import as_stored, check_digits, check_read, check_sheet, with_truths
from .large_csv import LARGE_BYTES, OPTIONS, REPLACING, TOO_MANY_FIELDS, long_rows, read_large_csv

NO_TEXT = "this station's file is no text in UTF-8; ask the node administrator to save it as CSV in UTF-8"
KINDS = {".csv": "csv", ".parquet": "parquet", ".xlsx": "excel"}


def read_file(
    path: Path,
    kind: str,
    reading: Reading,
    sheet: str | None = None,
    columns: Sequence[str] | None = None,
    dialect: Dialect | None = None,
) -> Any:
    """Return a file as a pandas frame.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    kind : {"csv", "parquet", "excel"}
        What it is.
    reading : Reading
        What is missing, and what stays text.
    sheet : str, optional
        Of an Excel file; the first one if not given.
    columns : sequence of str, optional
        Only these, of a CSV or parquet file; every one is there once.
    dialect : Dialect, optional
        Of a CSV file; as its line of names shows if not given.

    Raises
    ------
    SchemaError
        If what is declared as missing cannot be read.
    DataProblem
        If the rows of a CSV file have more fields than its header, or an Excel file has cells whose values it does not keep. Where every cell is read by
        itself neither is refused because of a row, nor what is no UTF-8.
    """
    import pandas

    if kind == "csv":
        written = of_file(path) if dialect is None else dialect
        reading = replace(reading, comma=written.comma)
        names = column_names(path, written) if columns is None else list(columns)
        if reading.alone and long_rows(path, written.separator):
            lost = long_rows(path, written.separator, filled=True)
            return settled(_texts(path, names, written.separator, lost), reading, convert=True)
        if path.stat().st_size > LARGE_BYTES and names:
            return named(read_large_csv(path, names, reading, dialect=written))
        frame = _csv(path, names, reading, written.separator)
        frame = frame if columns is None else frame[names]
    elif kind == "excel":
        check_sheet(path, sheet)
        plain: Any = {"dtype": object, "keep_default_na": False, "na_values": [""]}
        frame = pandas.read_excel(path, sheet_name=sheet or 0, **plain)
        check_read(path, sheet, frame)
        check_digits(frame, reading)
        frame = with_truths(path, sheet, as_stored(frame))
    else:
        return named(parquet.read(path, reading, columns))
    return settled(frame, reading, convert=True)


def column_names(path: Path, dialect: Dialect) -> list[str]:
    """Return the names of a CSV file's columns, as pandas tells repeated ones apart."""
    import pandas

    if any("\0" in name for name in next(lines(path, dialect.separator), [])):  # of two bytes a letter
        raise DataProblem(NO_TEXT)
    plain = pandas.read_csv(path, nrows=0, sep=dialect.separator, **REPLACING)  # looks at rows too
    return [str(name) for name in plain.columns]


def _csv(path: Path, names: Sequence[str], reading: Reading, separator: str) -> Any:
    """Return all columns, though few are wanted: given `usecols`, pandas takes a row with too many fields without a word.

    Where the first row has too many, pandas takes its first cells for names of rows, and every value for that of the column before.
    """
    import pandas

    text: Any = {name: str for name in names if reading.rule(name).text}
    options = {**OPTIONS, **REPLACING} if reading.alone else OPTIONS
    frame = pandas.read_csv(path, dtype=text, sep=separator, **options)
    if not isinstance(frame.index, pandas.RangeIndex):
        raise DataProblem(TOO_MANY_FIELDS)
    large = [name for name in names if frame[name].dtype.kind == "f" and inexact(frame[name])]
    if large:
        frame = pandas.read_csv(path, dtype={**text, **dict.fromkeys(large, str)}, sep=separator, **options)
    return frame


def _texts(path: Path, names: Sequence[str], separator: str, lost: Sequence[int]) -> Any:
    """Return columns as texts, of which the rows `lost`, with too many fields, hold nothing: which field is of which column nobody knows."""
    import pandas

    options = {**OPTIONS, **REPLACING, "index_col": False}
    frame = pandas.read_csv(path, usecols=list(names), dtype=str, sep=separator, **options)[list(names)].astype(object)
    if lost and lost[-1] >= len(frame):
        raise DataProblem(TOO_MANY_FIELDS)
    frame.iloc[list(lost)] = None
    return frame


def settled(frame: Any, reading: Reading, convert: bool = False) -> Any:
    """Return a data frame in which every missing cell is one; of the given one nothing changes (see `bayes.values.missing.settle`)."""
    rules = [reading.rule(str(name)) for name in frame.columns]
    columns = [frame.iloc[:, position] for position in range(len(rules))]
    changed = {
        position: new
        for position, (old, rule) in enumerate(zip(columns, rules, strict=True))
        if (new := settle(old, rule, convert)) is not old
    }
    if not changed:
        return named(frame)
    import pandas

    whole = pandas.concat([changed.get(position, old) for position, old in enumerate(columns)], axis=1)
    whole.columns = frame.columns
    return named(whole)


def named(frame: Any) -> Any:
    """Return a data frame whose columns have names with composed letters."""
    names = [composed(name) if isinstance(name, str) else name for name in frame.columns]
    return frame if names == list(frame.columns) else frame.set_axis(names, axis=1)
