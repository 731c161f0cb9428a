"""The outcome of a table: times and events, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fedbayes.federation.errors import DataProblem

Vector = npt.NDArray[np.float64]
CODES = {"0": 0.0, "1": 1.0}
"""Events as a dictionary has them where it calls the column a category."""


def booleans_as_such(column: Any) -> Any:
    """Return a column without gaps in these rows; as booleans if it holds nothing else (gaps in other rows made it a column of objects)."""
    known = column.dtype.kind == "O" and len(column) and all(isinstance(value, bool | np.bool_) for value in column)
    return column.astype(bool) if known else column


def events_as_numbers(column: Any) -> Any:
    """Return a column of events without gaps; as numbers if it holds the texts 0 and 1 alone, as a category of a dictionary does."""
    if column.dtype.kind in "biuf":
        return column
    coded = column.astype(object).map(CODES)
    return column if coded.isna().any() else coded


def checked(frame: Any, time: str, event: str) -> tuple[Vector, Vector]:
    """Return the times and the events (1 or 0), (rows,) each.

    Raises
    ------
    DataProblem
        Naming the column: a gap, text, a time that is negative or infinite, an event that is neither 0 nor 1.
    """
    for name in (time, event):
        if frame[name].isna().any():
            raise DataProblem(
                f"outcome column '{name}' has missing values; drop these rows at every station, or set missing='complete'"
            )
    columns = {time: frame[time], event: events_as_numbers(frame[event])}
    for name, column in columns.items():
        if booleans_as_such(column).dtype.kind not in "biuf":
            wanted = "numbers" if name == time else "1 for an event and 0 for a censored record"
            raise DataProblem(f"outcome column '{name}' holds text; give {wanted}")
    times = columns[time].to_numpy(dtype=np.float64)
    if not np.all(np.isfinite(times)) or np.any(times < 0.0):
        raise DataProblem(f"time column '{time}' has negative or infinite times; correct the station's file")
    events = columns[event].to_numpy(dtype=np.float64)
    if not np.all(np.isin(events, (0.0, 1.0))):
        raise DataProblem(f"event column '{event}' must hold 1 for an event and 0 for a censored record, nothing else")
    return times, events
