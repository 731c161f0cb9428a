"""Refusals that follow from a table: whether there are few records between two borders is one answer more, and counts as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import (
    KINDS,
    BudgetError,
    ConvergenceError,
    DataProblem,
    MembersError,
    PolicyError,
    StationError,
    ThresholdError,
)
from . import announced, choosing

if TYPE_CHECKING:
    from ..messages.codec import Message
    from ..station import Station

OF_DATA = (ThresholdError, DataProblem, ConvergenceError)
OF_MACHINE = (OSError, MemoryError)
NOT_OF_DATA = ("partial_open_channel", "partial_close", "partial_match")
"""The rounds in which columns and limits are looked at at most, or what members sealed of identifiers, and no value of the table."""


def asked(station: Station, request: Message) -> None:
    """Have a station note what a round of an exact job asks, and refuse it where too many other questions were refused; see `answered.refusals`."""
    if _may_tell(station):
        models = () if station.manifest is None else station.manifest.models
        station.history.questions.ask(request, [claim.digest for claim in models])


def answered(station: Station) -> None:
    """Have a station remember that it answers what an exact job has asked so far."""
    if _may_tell(station):
        station.history.questions.answered()


def over(station: Station) -> None:
    """Have a station remember which questions of an exact job it has answered, before it forgets the job."""
    if not announced.is_private(station.memory):
        station.history.questions.over()


def counted(station: Station | None, failure: Exception) -> Exception:
    """Return what a station says of a failure, after a refusal that may follow from its values was counted, towards `maximum_queries` too.

    By halving a range of borders a researcher would else find exact values from refusals alone. When no question is left, all are refused alike.
    """
    if station is None or not _may_tell(station) or not _is_of_data(station, failure):
        return failure
    try:
        station.history.questions.refused()
        if station.policy.maximum_queries is not None:
            station.charge(0.0, 0.0, "a refusal", 1, relation=None)
    except (BudgetError, PolicyError, StationError) as other:
        return other
    return failure


def _is_of_data(station: Station, failure: Exception) -> bool:
    """Return whether a failure may follow from values: a refused recode that names many rare ones does, and so may what nobody foresaw."""
    if isinstance(failure, (MembersError, *OF_MACHINE)):
        return False
    aimed = isinstance(failure, PolicyError) and station.memory.read(choosing.AIMED) is not None
    return aimed or isinstance(failure, OF_DATA) or type(failure) not in KINDS.values()


def _may_tell(station: Station) -> bool:
    """Return whether a refusal may follow from values: of a job that announced private answers only no value decides one."""
    return station.function not in NOT_OF_DATA and not announced.is_private(station.memory)
