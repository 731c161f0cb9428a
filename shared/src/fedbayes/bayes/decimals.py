"""Numbers as people write them: 0.1 of single precision is 0.1 in every kind of file, and a number in a name is as short as tells it from others."""

from __future__ import annotations

from typing import Any

import numpy as np


def decimals(column: Any) -> Any:
    """Return numbers of half or single precision as the shortest decimals that they are, as a CSV file has them: 0.1, not 0.10000000149; others as they are."""
    kind = getattr(column.dtype, "numpy_dtype", column.dtype)  # of pandas' own types, such as Float32
    if kind not in (np.float16, np.float32):
        return column
    import pandas

    return pandas.Series(
        column.to_numpy(dtype=kind, na_value=np.nan).astype(str).astype(np.float64), column.index, name=column.name
    )


def with_decimals(table: Any) -> Any:
    """Return a data frame whose numbers are `decimals`; of the given one nothing changes, and other tables are returned as they are."""
    if not hasattr(table, "dtypes") or not hasattr(table, "iloc"):
        return table
    columns = [table.iloc[:, position] for position in range(table.shape[1])]
    made = [decimals(column) for column in columns]
    if all(new is old for new, old in zip(made, columns, strict=True)):
        return table
    import pandas

    changed = pandas.concat(made, axis=1)
    changed.columns = table.columns
    return changed


def shortest(value: float) -> str:
    """Return a number in six digits, or in all it has where six are not enough, so that two numbers never make one name."""
    return f"{value:g}" if float(f"{value:g}") == value else repr(float(value)).removesuffix(".0")
