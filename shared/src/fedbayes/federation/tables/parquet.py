"""Parquet files, column by column; pyarrow is imported only where there is one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...bayes.missing import EXACT, Reading, settle
from ..errors import DataProblem
from .large_csv import ROWS, settled_column


def _schema(path: Path) -> Any:
    from pyarrow import parquet  # type: ignore[import-untyped]

    return parquet.read_schema(path)


def column_names(path: Path) -> list[str]:
    """Return the names of a file's columns, without those that pandas wrote as a frame's index."""
    schema = _schema(path)
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in schema.names if name not in index]


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

    rule, kept = reading.rule(field.name), field.type.value_type if types.is_dictionary(field.type) else field.type
    text = types.is_string(kept) or types.is_large_string(kept)
    if large and text:
        table = parquet.read_table(path, columns=[field.name], read_dictionary=[field.name])
        values = table.column(0).unify_dictionaries().to_pandas()
        return settled_column(values.array, rule, convert=False)
    kind: Any = {"dtype_backend": "numpy_nullable"} if _is_inexact(path, field) else {}
    values = pandas.read_parquet(path, columns=[field.name], **kind)[field.name].reset_index(drop=True)
    if not types.is_temporal(field.type):
        return settle(values, rule, convert=False)
    texts = values.astype(str).where(values.notna(), None)
    if large:
        return settled_column(pandas.Categorical(texts), rule, convert=False)
    return settle(texts.astype(object), rule, convert=False)


def _is_inexact(path: Path, field: Any) -> bool:
    """Return whether a column has missing cells beside whole numbers that float64 does not hold."""
    from pyarrow import compute, parquet, types

    if not types.is_integer(field.type) or field.type.bit_width < 64:
        return False
    column = parquet.read_table(path, columns=[field.name]).column(0)
    ends = compute.min_max(column).as_py()
    return bool(column.null_count) and max(ends["max"] or 0, -(ends["min"] or 0)) >= EXACT
