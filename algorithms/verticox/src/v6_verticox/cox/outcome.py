"""The outcome of a table: times and events, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbayes.federation.errors import DataProblem
from fedbayes.typing import Floats

from .narrow import is_narrow

DURATIONS = "numbers, such as the days from the start of a record's observation, in a column of the station's table"
CODES = {"0": 0.0, "1": 1.0}
"""Events as a dictionary has them where it calls the column a category."""
LARGEST_WEIGHT = 2.0**10
"""Of a record: sums over a million records, and their parts of the smallest weight to six digits, fit 32 + 30 bits."""


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


def checked(frame: Any, time: str, event: str) -> tuple[Floats, Floats]:
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
            wanted = (
                f" or dates; give {DURATIONS}" if name == time else "; give 1 for an event and 0 for a censored record"
            )
            raise DataProblem(f"outcome column '{name}' holds text{wanted}")
    times = columns[time].to_numpy(dtype=np.float64)
    if not np.all(np.isfinite(times)) or np.any(times < 0.0):
        raise DataProblem(f"time column '{time}' has negative or infinite times; correct the station's file")
    events = columns[event].to_numpy(dtype=np.float64)
    if not np.all(np.isin(events, (0.0, 1.0))):
        raise DataProblem(f"event column '{event}' must hold 1 for an event and 0 for a censored record, nothing else")
    return times, events


def entries(frame: Any, entry: str, times: Floats) -> Floats:
    """Return the times from which records are observed, (rows,).

    Raises
    ------
    DataProblem
        Naming the column: a gap, text, a time that is infinite, or not before the record's own.
    """
    entry_times = _numbers(frame, entry, "entry")
    if np.any(entry_times >= times):
        raise DataProblem(
            f"entry column '{entry}' has records that enter at or after their time; correct them, or leave them out"
        )
    return entry_times


def weights(
    frame: Any, column: str, minimum_count: int, largest: float = LARGEST_WEIGHT, squared: bool = False
) -> Floats:
    """Return case weights, (rows,), of which none, and no value, is that of few records; nor, `squared`, of their squares, of which robust errors are made.

    Raises
    ------
    DataProblem
        Naming the column: a gap, text, a weight out of range, or weights that single out fewer records than `minimum_count`.
    """
    record_weights = _numbers(frame, column, "weights")
    if np.any(record_weights < 1.0 / largest) or np.any(record_weights > largest):
        raise DataProblem(
            f"weights column '{column}' has weights outside 1/{largest:g} to {largest:g}; divide them by their mean, and leave out records of weight zero"
        )
    check_carried(record_weights, column, minimum_count, squared)
    return record_weights


def check_carried(record_weights: Floats, column: str, minimum_count: int, squared: bool = False) -> None:
    """Raise `DataProblem` naming the column of weights, (rows,), if these single out fewer records than `minimum_count`."""
    values, counts = np.unique(record_weights, return_counts=True)
    apart = np.stack([record_weights, record_weights - np.median(record_weights)], axis=1)
    if squared:
        apart = np.concatenate(
            [apart, np.stack([record_weights**2, record_weights**2 - np.median(record_weights) ** 2], 1)], 1
        )
    if (len(values) == 2 and counts.min() < minimum_count) or is_narrow(apart, minimum_count):
        raise DataProblem(
            f"weights column '{column}' weighs fewer records than this node reveals unlike the others; cap the weights, or leave them out"
        )


def _numbers(frame: Any, column: str, role: str) -> Floats:
    """Return a column of finite numbers, (rows,)."""
    if frame[column].isna().any():
        raise DataProblem(f"{role} column '{column}' has missing values; fill them in, or set missing='complete'")
    if booleans_as_such(frame[column]).dtype.kind not in "iuf":
        wanted = f"{DURATIONS}; it holds text or dates" if role == "entry" else "numbers"
        raise DataProblem(f"{role} column '{column}' must hold {wanted}")
    numbers = frame[column].to_numpy(dtype=np.float64)
    if not np.all(np.isfinite(numbers)):
        raise DataProblem(f"{role} column '{column}' has values that are not finite; correct the station's file")
    return np.asarray(numbers)
