"""The outcome of a table: times and events, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fedbayes.federation.errors import DataProblem

Vector = npt.NDArray[np.float64]


def booleans_as_such(column: Any) -> Any:
    """Return a column without gaps in these rows; as booleans if it holds nothing else (gaps in other rows made it a column of objects)."""
    known = column.dtype.kind == "O" and len(column) and all(isinstance(value, bool | np.bool_) for value in column)
    return column.astype(bool) if known else column


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
        if booleans_as_such(frame[name]).dtype.kind not in "biuf":
            wanted = "numbers" if name == time else "1 for an event and 0 for a censored record"
            raise DataProblem(f"outcome column '{name}' holds text; give {wanted}")
    times = frame[time].to_numpy(dtype=np.float64)
    if not np.all(np.isfinite(times)) or np.any(times < 0.0):
        raise DataProblem(f"time column '{time}' has negative or infinite times; correct the station's file")
    events = frame[event].to_numpy(dtype=np.float64)
    if not np.all(np.isin(events, (0.0, 1.0))):
        raise DataProblem(f"event column '{event}' must hold 1 for an event and 0 for a censored record, nothing else")
    return times, events
