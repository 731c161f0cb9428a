"""Refusals that follow from a table: whether there are few records between two borders is one answer more, and counts as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import announced
from .errors import BudgetError, DataProblem, ThresholdError

if TYPE_CHECKING:
    from .station import Station

OF_DATA = (ThresholdError, DataProblem)
FIRST = "partial_open_channel"
"""The round in which columns and limits are looked at, and no value of the table."""


def counted(station: Station | None, failure: Exception) -> Exception:
    """Return what a station says of a failure, after a refusal that may follow from its values was counted towards `maximum_queries`.

    By halving a range of borders a researcher would else find exact values from refusals alone. When no question is left, all are refused alike.
    Of a job that announced private answers only no value decides a refusal, and none is counted.
    """
    if station is None or not isinstance(failure, OF_DATA) or station.function == FIRST:
        return failure
    if station.policy.maximum_queries is None or announced.is_private(station.memory):
        return failure
    try:
        station.charge(0.0, 0.0, "a refusal", 1, relation=None)
    except BudgetError as spent:
        return spent
    return failure
