"""Numbers and dates as people wrote them: 0.1 and 2020-01-31 in every kind of file, whatever its columns hold; commas are points."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import numpy as np

MIDNIGHT = " 00:00:00"
EXACT = 2.0**53
"""From here on float64 does not hold every whole number."""
DECIMAL_COMMA = re.compile(r"\s*[+-]?(?:[0-9]+,[0-9]*|,[0-9]+)(?:[eE][+-]?[0-9]+)?\s*")


def pointed(text: str) -> str:
    """Return a number with a decimal comma as one with a point, any other text as it is."""
    return text.replace(",", ".") if DECIMAL_COMMA.fullmatch(text) else text


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


def dates_as_text(values: list[Any]) -> list[Any]:
    """Return distinct values in which dates are text: ``2020-01-31``, or ``2020-01-31 12:30:00`` where one of them has a time of day."""
    texts = {index: str(value) for index, value in enumerate(values) if isinstance(value, date)}
    if all(len(text) == len("2020-01-31") or text.endswith(MIDNIGHT) for text in texts.values()):
        texts = {index: text.removesuffix(MIDNIGHT) for index, text in texts.items()}
    return [texts.get(index, value) for index, value in enumerate(values)]


def as_nullable(whole: Any) -> Any:
    """Return a series of whole numbers as pandas' Int64 or UInt64, which can be missing without becoming float64."""
    return whole.astype("UInt64" if whole.dtype.kind == "u" else "Int64")


def are_mixed(values: list[Any]) -> bool:
    """Return whether distinct values are numbers of both kinds, whole ones and floats, as a database may have them in one column."""
    return {type(value) for value in values if value is not None} == {int, float}


def masked(column: Any, lost: Any) -> Any:
    """Return a series of numbers, shape (n,), without those that are `lost`; whole ones that float64 cannot tell apart stay whole."""
    large = column.dtype.kind in "iu" and inexact(column)
    return (as_nullable(column) if large else column).mask(lost)


def inexact(values: Any) -> bool:
    """Return whether a column of numbers, shape (n,), has some that float64 may not tell from the next whole number."""
    array = np.asarray(values)
    finite = np.isfinite(array)
    return max(float(array.max(where=finite, initial=0)), -float(array.min(where=finite, initial=0))) >= EXACT


def shortest(value: float) -> str:
    """Return a number in six digits, or in all it has where six are not enough, so that two numbers never make one name."""
    return f"{value:g}" if float(f"{value:g}") == value else repr(float(value)).removesuffix(".0")


def interval(low: float, high: float) -> str:
    """Return the name of a bin, in as many digits as its edges need; the last one of sixteen is that of arithmetic."""
    return f"[{shortest(float(f'{low:.15g}'))}, {shortest(float(f'{high:.15g}'))})"


def printable(text: str, lines: bool = False) -> str:
    """Return a text in which characters that act on a terminal or turn text around are written as Python writes them; with `lines` its lines stay.

    Cells are what stations' files hold, arguments what a task names, and refusals what a station says.
    """
    kept = "\n" if lines else ""
    return (
        text
        if text.isprintable()
        else "".join(one if one.isprintable() or one in kept else ascii(one)[1:-1] for one in text)
    )
