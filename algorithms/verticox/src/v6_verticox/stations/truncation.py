"""Left truncation on shares: a record that is observed from its entry on is two rows, of which one takes it out of the earlier risk sets.

At time t the records at risk have entry < t <= time, so a sum over them is the sum over time >= t less that over entry >= t. The second is the first
kind of sum over rows with the entry as their time, no event and the weight -1. Gradient, information matrix, hazards and means are linear in the
weights of rows: nothing else changes, and who entered when is hidden as the order of the times is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbayes.federation.errors import DataProblem
from fedbayes.typing import Array, Floats

from ..cox.narrow import few, is_narrow
from ..cox.outcome import entries
from .columns import Survival, check_two_values


def doubled(values: Array, copies: int) -> Array:
    """Return rows, (records, ...), as often as a record has rows."""
    return np.concatenate([values] * copies)


def truncated(outcome: Survival, entry: Floats) -> Survival:
    """Return the outcome of 2 * records rows: the records, then what takes them out of the risk sets before their entry."""
    none = np.zeros_like(outcome.event)
    weights = np.ones(len(entry)) if outcome.weights is None else outcome.weights
    return Survival(
        np.concatenate([outcome.time, entry]),
        np.concatenate([outcome.event, none]),
        np.concatenate([outcome.stratum, outcome.stratum]),
        outcome.strata_names,
        np.concatenate([weights, -weights]),
    )


def checked_entries(frame: Any, column: str, outcome: Survival, limit: int) -> Floats:
    """Return the times of entry, (records,), of which none, and no value, is that of few records.

    Raises
    ------
    DataProblem
        Naming the column: a gap, text, an entry that is not before the record's time, or entries that single out fewer records than `limit`.
    """
    entry_times = entries(frame, column, outcome.time)
    check_entered(entry_times, column, outcome, limit)
    return entry_times


def check_entered(entry_times: Floats, column: str, outcome: Survival, limit: int) -> None:
    """Raise `DataProblem` naming the column of times of entry, (records,), if these single out fewer records than `limit`."""
    died = outcome.time[outcome.event == 1]
    late = np.array([np.sum(entry_times >= died.min()), np.sum(entry_times >= died.max())])
    check_two_values(entry_times, column, limit)
    if few(late, limit) or is_narrow((entry_times - np.median(entry_times))[:, None], limit):
        raise DataProblem(
            f"entry column '{column}' has fewer records than this node reveals that enter unlike the others, after the first event or after the last; "
            "leave it out, or leave these records out"
        )
