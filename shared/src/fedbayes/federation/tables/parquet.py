"""Parquet files, column by column; pyarrow is imported only where there is one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...bayes.values.column_codes import MISSING, Coded, Distinct, without
from ...bayes.values.missing import Reading, Rule, settle
from ...bayes.values.written import EXACT, dates_as_text
from ...typing import Array
from ..errors import DataProblem
from .large_csv import ROWS, settled_column

_UNNAMED = re.compile(r"__index_level_[0-9]+__")
"""What pandas calls an index without a name."""
PART = 2**16
"""Rows of a part of a file, unless more are asked for; see `BLOCK` of `fedbayes.bayes.values.encoding`."""


def _schema(path: Path) -> Any:
    from pyarrow import parquet  # type: ignore[import-untyped]

    return parquet.read_schema(path)


def column_names(path: Path) -> list[str]:
    """Return the names of a file's columns: the index of a pandas frame is one where it has a name, as of a frame itself."""
    schema = _schema(path)
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in schema.names if name not in index or not _UNNAMED.fullmatch(name)]


def rows(path: Path) -> int:
    """Return the number of a file's rows."""
    from pyarrow import parquet

    return int(parquet.read_metadata(path).num_rows)


def read(path: Path, reading: Reading, columns: Sequence[str] | None = None, rows: int = ROWS) -> Any:
    """Return a file, or some of its columns, as a pandas frame in which every missing cell is one.

    Times become text as a CSV file has them (``2020-01-31``, ``2020-01-31 12:30:00``). Of a file with more than so many rows columns are read one by one, and
    texts as one code a cell, a pandas Categorical, as from a large CSV file.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    reading : Reading
        What is missing.
    columns : sequence of str, optional
        Only these, each there once; all but those that hold lists or structures if not given.
    rows : int
        From how many on a file is large.

    Raises
    ------
    DataProblem
        Naming a column that holds lists or structures.
    """
    import pandas
    from pyarrow import parquet, types

    schema = _schema(path)
    nested = {field.name for field in schema if types.is_nested(field.type)}
    wanted = [name for name in column_names(path) if name not in nested] if columns is None else list(columns)
    for name in wanted:
        if name in nested:
            raise DataProblem(
                f"column '{name[:60]}' of this station's file holds lists or structures, which no task can use; leave it out"
            )
    count = parquet.read_metadata(path).num_rows
    columns_read = {name: _column(path, schema.field(name), reading, count > rows) for name in wanted}
    return pandas.DataFrame(columns_read, index=pandas.RangeIndex(count), copy=False)


def _column(path: Path, field: Any, reading: Reading, large: bool) -> Any:
    """Return one column as a series."""
    import pandas
    from pyarrow import parquet, types

    rule = reading.rule(field.name)
    if large and _is_text(field.type):
        return settled_column(_coded(path, field.name), rule, convert=False)
    plain = _numbers(path, field) if large else None
    if plain is not None:
        return settle(pandas.Series(plain, copy=False), rule, convert=False)
    kind: Any = {"dtype_backend": "numpy_nullable"} if _is_inexact(path, field) else {}
    if _is_bytes(field.type):
        values = _as_written(parquet.read_table(path, columns=[field.name]).column(0)).to_pandas()
    else:
        # pandas makes an index of a column that was one
        values = pandas.read_parquet(path, columns=[field.name], **kind).reset_index()[field.name]
    if not types.is_temporal(field.type):
        return settle(values, rule, convert=False)
    codes, distinct = pandas.factorize(
        values, use_na_sentinel=True
    )  # pandas writes a column of times as its finest one needs
    texts = pandas.Series(np.array([*map(str, dates_as_text(list(distinct))), None], dtype=object)[codes])
    if large:
        return settled_column(pandas.Categorical(texts), rule, convert=False)
    return settle(texts, rule, convert=False)


def parts(
    path: Path, reading: Reading, columns: Sequence[str], size: int = PART, rows: int = ROWS
) -> Iterator[dict[str, Any]] | None:
    """Return columns of a large file in parts, to be counted one after the other without pandas; None where the file has to be read as a whole.

    Cells that are missing whatever else is in their column are; usual texts among numbers, which `read` decides over the whole column, are left, so that
    parts are for encoding with ``outside="absorb"``, which takes them for missing.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    reading : Reading
        What is missing.
    columns : sequence of str
        Names; every one is there once.
    size : int
        Rows of a part, if more than `PART`; fewer where a row group of the file ends.
    rows : int
        From how many on a file is large.

    Returns
    -------
    iterator of dict, or None
        Columns by name, shape (rows of the part,) each: arrays of numbers, or `Coded`. None: the file is small, or a column holds other than texts, numbers
        and truth values.
    """
    from pyarrow import parquet

    schema = _schema(path)
    if parquet.read_metadata(path).num_rows <= rows or not all(_is_simple(schema.field(name).type) for name in columns):
        return None
    return _parts(path, {name: reading.rule(name) for name in columns}, max(size, PART))


def _is_simple(kind: Any) -> bool:
    from pyarrow import types

    numeric = types.is_integer(kind) or types.is_float32(kind) or types.is_float64(kind)
    return bool(numeric or types.is_boolean(kind) or _is_text(kind))


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    plain = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_string(plain) or types.is_large_string(plain))


def _parts(path: Path, rules: Mapping[str, Rule], size: int) -> Iterator[dict[str, Any]]:
    from pyarrow import parquet

    schema = _schema(path)
    texts = [name for name in rules if _is_text(schema.field(name).type)]
    dictionaries: dict[str, tuple[Any, Distinct]] = {}
    with parquet.ParquetFile(path, read_dictionary=texts) as file:
        for batch in file.iter_batches(size, columns=list(rules), use_threads=False):
            yield {name: _part(batch.column(name), name, rule, dictionaries) for name, rule in rules.items()}


def _part(cells: Any, name: str, rule: Rule, dictionaries: dict[str, tuple[Any, Distinct]]) -> Any:
    """Return a part of a column: numbers as they are, all else by distinct values, which are looked at once for all parts with the same."""
    from pyarrow import types

    if types.is_floating(cells.type) or (types.is_integer(cells.type) and not cells.null_count):
        return without(_filled(cells, np.nan), rule.missing - rule.listed)
    if not types.is_dictionary(cells.type):
        cells = cells.dictionary_encode()  # whole numbers beside missing cells stay what they are
    if name not in dictionaries or not dictionaries[name][0].equals(cells.dictionary):
        values = [None if rule.is_missing(value) else value for value in cells.dictionary.to_pylist()]
        dictionaries[name] = cells.dictionary, Distinct(values)
    return Coded(_filled(cells.indices, MISSING), dictionaries[name][1])


def _is_bytes(kind: Any) -> bool:
    """Return whether a column holds bytes, as programs write texts whose column they do not call one."""
    from pyarrow import types

    return bool(types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind))


def _as_written(cells: Any) -> Any:
    """Return numbers of single precision as the shortest decimals that they are, as a CSV file has them (0.1, not 0.10000000149), and bytes as UTF-8.

    A byte that is no UTF-8 is written as an escape, in its cell alone.
    """
    import pyarrow
    from pyarrow import types

    if types.is_float32(cells.type):
        return cells.cast("string").cast("float64")
    if not _is_bytes(cells.type):
        return cells
    try:
        return cells.cast("binary").cast("string")
    except pyarrow.ArrowInvalid:
        texts = (None if cell is None else cell.decode(errors="backslashreplace") for cell in cells.to_pylist())
        return pyarrow.array(texts, pyarrow.string())


def _filled(cells: Any, missing: float) -> Array:
    """Return an array of numbers as numpy's, with a number of the same type where one is missing; pyarrow's own way imports pandas."""
    cells = _as_written(cells)
    values = np.frombuffer(cells.buffers()[1], dtype=cells.type.to_pandas_dtype())[cells.offset :][: len(cells)]
    if not cells.null_count:
        return values
    there = np.frombuffer(cells.is_valid().cast("uint8").buffers()[1], dtype=np.uint8)[: len(cells)]
    return np.where(there == 1, values, missing)


def _batches(path: Path, name: str, texts: bool = False) -> Iterator[Any]:
    """Yield a column part by part; texts with a dictionary each."""
    from pyarrow import parquet

    with parquet.ParquetFile(path, read_dictionary=[name] if texts else None) as file:
        for batch in file.iter_batches(PART, columns=[name], use_threads=False):
            yield batch.column(0)


def _coded(path: Path, name: str) -> Any:
    """Return a column of texts as a pandas Categorical, read part by part: as it is written for the most part, one number a cell."""
    import pandas
    import pyarrow

    codes, dictionaries = [], []
    for part in _batches(path, name, texts=True):
        dictionaries.append(part.dictionary)
        codes.append(_filled(part.indices, MISSING).astype(np.min_scalar_type(-1 - len(part.dictionary))))
    distinct = pyarrow.chunked_array(dictionaries, dictionaries[0].type).unique().drop_null()
    whole = np.empty(sum(map(len, codes)), dtype=np.min_scalar_type(-1 - len(distinct)))
    start = 0
    for part, dictionary in zip(codes, dictionaries, strict=True):
        whole[start : start + len(part)] = _renamed(part, dictionary, distinct)
        start += len(part)
    return pandas.Categorical.from_codes(whole, categories=distinct.to_pylist())


def _renamed(codes: Array, dictionary: Any, distinct: Any) -> Array:
    """Return codes of a part as codes of the whole column; -1 = missing."""
    from pyarrow import compute

    if dictionary.equals(distinct.slice(0, len(dictionary))):
        return codes
    positions = compute.index_in(dictionary, value_set=distinct).fill_null(-1).to_numpy()
    return np.asarray(np.append(positions, -1)[codes])


def _numbers(path: Path, field: Any) -> Array | None:
    """Return a column of numbers as pandas has it, NaN = missing; None where it has to be looked at in another way."""
    from pyarrow import parquet, types

    if not (types.is_integer(field.type) or types.is_float32(field.type) or types.is_float64(field.type)):
        return None
    kind = np.dtype(np.float64 if types.is_float32(field.type) else field.type.to_pandas_dtype())
    rows = parquet.read_metadata(path).num_rows
    whole, start = np.empty(rows, dtype=kind), 0
    for part in _batches(path, field.name):
        if part.null_count and kind.kind != "f":
            return None
        whole[start : start + len(part)] = _filled(part, np.nan)
        start += len(part)
    return whole


def _is_inexact(path: Path, field: Any) -> bool:
    """Return whether a column has missing cells beside whole numbers that float64 does not hold."""
    from pyarrow import compute, parquet, types

    if not types.is_integer(field.type) or field.type.bit_width < 64:
        return False
    column = parquet.read_table(path, columns=[field.name]).column(0)
    ends = compute.min_max(column).as_py()
    return bool(column.null_count) and max(ends["max"] or 0, -(ends["min"] or 0)) >= EXACT
