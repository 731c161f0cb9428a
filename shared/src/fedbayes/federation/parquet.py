"""Parquet files, column by column; pyarrow is imported only where there is one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .errors import DataProblem


def _schema(path: Path) -> Any:
    from pyarrow import parquet  # type: ignore[import-untyped]

    return parquet.read_schema(path)


def column_names(path: Path) -> list[str]:
    """Return the names of a file's columns, without those that pandas wrote as a frame's index."""
    schema = _schema(path)
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in schema.names if name not in index]


def read(path: Path, columns: Sequence[str] | None = None) -> Any:
    """Return a file, or some of its columns, as a pandas frame.

    Times become text as a CSV file has them (``2020-01-31``, ``2020-01-31 12:30:00``).

    Parameters
    ----------
    path : pathlib.Path
        The file.
    columns : sequence of str, optional
        Only these, each there once; all but those that hold lists or structures if not given.

    Raises
    ------
    DataProblem
        Naming a column that holds lists or structures.
    """
    import pandas
    from pyarrow import types

    schema = _schema(path)
    nested = {field.name for field in schema if types.is_nested(field.type)}
    wanted = [name for name in column_names(path) if name not in nested] if columns is None else list(columns)
    for name in wanted:
        if name in nested:
            raise DataProblem(
                f"column '{name[:60]}' of this station's file holds lists or structures, which no task can use; leave it out"
            )
    frame = pandas.read_parquet(path, columns=wanted)[wanted]
    times = [name for name in wanted if types.is_temporal(schema.field(name).type)]
    return frame.assign(**{name: _texts(frame[name]) for name in times}) if times else frame


def _texts(values: Any) -> Any:
    """Return times as text, None where there is none."""
    return values.astype(str).astype(object).where(values.notna(), None)
