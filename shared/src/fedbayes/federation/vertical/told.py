"""What a job says of its factors, once: a station knows those that it opened, and every organization what it was told of the others before.

A union adds up what several stations have of one column. Described as of fewer of them, a factor would be a part of it, and a table that of one station.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..errors import MessageError, ThresholdError
from ..perimeter.manifest import digest_of
from ..questions.factor_info import NOT_DESCRIBED, STATES, FactorInfo
from ..station import Station
from .messages import Delivery, Setup

TOLD, OPENED, HERE = "described factors", "opened factors", "own columns"


def note_columns(station: Station, setup: Setup) -> None:
    """Note, of united records, which columns are here."""
    if setup.union:
        station.note(HERE, sorted(station.columns))


def note_opened(station: Station, infos: Iterable[FactorInfo]) -> None:
    """Note what this station opens, as it describes it."""
    station.note(OPENED, {info.name: _shape(info) for info in infos})


def _shape(info: FactorInfo) -> str:
    """Return the digest of what does not depend on who else has the columns."""
    return digest_of([info.columns, info.width, info.complete, info.bits, info.stage])


def check_told(station: Station, infos: Sequence[FactorInfo]) -> None:
    """Refuse another description of a factor than the job's first, or one without an organization that opened it, or of a union has its columns.

    Parameters
    ----------
    station : Station
        Who is told.
    infos : sequence of FactorInfo
        What it is told.

    Raises
    ------
    MessageError
        When a factor was opened, or described, otherwise before.
    """
    here = {info.name: digest_of(info) for info in infos}
    fresh = here.keys() - _joined(station.noted(TOLD)).keys()
    if fresh:
        station.note(TOLD, {name: here[name] for name in sorted(fresh)})
    described, opened = _joined(station.noted(TOLD)), _joined(station.noted(OPENED))
    columns = {name for listed in station.noted(HERE) for name in listed}
    for info in infos:
        as_before = described[info.name] == here[info.name] and opened.get(info.name, _shape(info)) == _shape(info)
        mine = info.name in opened or (info.name.startswith(STATES) and columns.intersection(info.columns))
        shared = station.organization in info.holders and station.organization in info.contributors
        if not as_before or (mine and not shared):
            raise MessageError(NOT_DESCRIBED)


def _joined(noted: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return what was noted first of every name."""
    return {name: digest for one in reversed(noted) for name, digest in one.items()}


def check_delivery(station: Station, delivery: Delivery, helping: bool) -> None:
    """Raise `ThresholdError` when fewer records are common than this node demands, `MessageError` when factors are others than they were."""
    if delivery.rows < station.policy.minimum_rows and not helping:
        raise ThresholdError("fewer records are common to all stations than this node demands")
    check_told(station, delivery.factors)
