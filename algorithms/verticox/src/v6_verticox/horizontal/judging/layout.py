"""Which records are judged together: bins of the linear predictor and united times, none of them of few records.

Whoever gives the model chooses its coefficients, bounds and baseline. Four rules, those of a vertical evaluation, keep the answer from being about few
records; central applies them to counts over all stations before anything else is asked:

- no record has more than 1 / minimum_count of the sum of exp(predictor), or of exp(-predictor), and records far from all others come in groups;
- in no stratum is predicted survival next to nothing for all records but few;
- between two of the times at which survival is judged, before the first and after the last, enough records have the event, and none or enough are censored;
- a bin has enough records, and a united time enough events and none or enough censored records. There are no more bins than events at a time: of these,
  not more numbers are told than there are records.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedbayes.federation.errors import ThresholdError
from fedbayes.typing import Counts, Floats

from ...cox.narrow import FAR_APART, few, vanishes
from ...cox.survival import DECILES
from .messages import FINE, MOST_BINS, PLACES, REACH

MIDDLES: Floats = (np.arange(PLACES) + 0.5) / FINE - REACH
"""Linear predictor of each place, (`PLACES`,)."""
DOMINATED = (
    "model: its coefficients make one record, or few, weigh more in the answer than the nodes allow; "
    "transform features with outliers, or give a model whose effects are smaller"
)
VANISHED = (
    "model: next to no survival is predicted for all records of a stratum but few, so that scores would be theirs; "
    "give earlier times, or the `model` of a fit as it is"
)
CLOSE_TIMES = (
    "times: fewer events or censored records than the nodes reveal lie between two of them, before the first or after the last; "
    "give fewer times, none beyond the follow-up of most records, or leave them out"
)


def check_levels(places: Counts, limit: int) -> None:
    """Refuse predictions that set few records of all stations apart.

    Parameters
    ----------
    places : ndarray of int64, (`PLACES`,)
        Records by place of the linear predictor.
    limit : int
        Largest `minimum_count` of the nodes.

    Raises
    ------
    ThresholdError
        If few records stand apart.
    """
    taken = np.flatnonzero(places)
    if places[0] or places[-1]:
        raise ThresholdError(DOMINATED)
    for sign in (1.0, -1.0):
        shifted = sign * MIDDLES[taken]
        weight = np.exp(shifted - shifted.max())
        if weight @ places[taken] < max(limit, 1):
            raise ThresholdError(DOMINATED)
    apart = np.flatnonzero(np.diff(taken) > FAR_APART * FINE) + 1
    groups = np.add.reduceat(places[taken], np.append(0, apart))
    if groups.min() < limit:
        raise ThresholdError(DOMINATED)


def check_survival(places: Counts, hazards: Floats, limit: int) -> None:
    """Refuse a baseline under which few records of a stratum alone are predicted to survive: scores would tell their predictors to all their digits.

    Parameters
    ----------
    places : ndarray of int64, (strata, `PLACES`)
        Records by place of the linear predictor.
    hazards : ndarray of float, (strata, moments)
        The model's cumulative hazard of a record at the mean.
    limit : int
        Largest `minimum_count` of the nodes.

    Raises
    ------
    ThresholdError
        If they do.
    """
    for own, hazard in zip(places, hazards, strict=True):
        if vanishes(np.exp(-np.exp(MIDDLES)[:, None] * hazard), limit, own[:, None]):
            raise ThresholdError(VANISHED)


def bins_of(places: Counts, least: int) -> Counts:
    """Return the bin of each place, (strata, `PLACES`), of about equally many records, at least `least`; no more bins than that in a stratum.

    Raises
    ------
    ThresholdError
        If a stratum has records, but too few.
    """
    strata_bins, start = [], 0
    for own in places:
        bins = _bins_of_stratum(own, least)
        strata_bins.append(bins + start)
        start += int(bins[-1]) + 1
    return np.stack(strata_bins)


def _bins_of_stratum(own: Counts, least: int) -> Counts:
    total = int(own.sum())
    if 0 < total < least:
        raise ThresholdError(
            "strata: one has fewer records than a node reveals; leave its records out, or merge strata"
        )
    wanted = max(min(MOST_BINS, least, total // max(least, 1)), 1)
    target, bins, filled, number = max(least, -(-total // wanted)), np.zeros(len(own), dtype=np.int64), 0, 0
    for index in range(len(own)):
        if filled >= target and own[index]:
            number, filled = number + 1, 0
        bins[index] = number
        filled += int(own[index])
    return np.where(bins == number, max(number - 1, 0), bins) if filled < least else bins


def default_ends(events: Counts, others: Counts, event_times: Counts, least: int) -> list[int]:
    """Return places in the grid, of those at which the model tells its baseline, that follow deciles of the event times and lie far enough apart.

    Raises
    ------
    ThresholdError
        If there are not two of them.
    """
    reached = np.searchsorted(np.cumsum(events), DECILES * events.sum(), side="left")
    kept: list[int] = []
    for index in (
        event_times[np.unique(np.searchsorted(event_times, reached).clip(max=max(len(event_times) - 1, 0)))]
        if len(event_times)
        else []
    ):
        if index < len(events) and apart(events, others, [*kept, int(index)], least):
            kept.append(int(index))
    if len(kept) < 2:
        raise ThresholdError(
            "there are too few events between times of the grid for the counts that the nodes reveal; use more records"
        )
    return kept


def apart(events: Counts, others: Counts, ends: Sequence[int], least: int) -> bool:
    """Say whether enough records have the event, and none or enough are censored, before, between and after some places; after the last one together."""
    cells = np.searchsorted(np.asarray(ends), np.arange(len(others)), side="left")
    died = np.bincount(cells[:-1], events, minlength=len(ends) + 1)
    left = np.bincount(cells, others, minlength=len(ends) + 1)
    inside = np.all(died[:-1] >= least) and not few(left[:-1], least)
    return bool(inside and died[-1] + left[-1] >= least)


def united_cells(events: Counts, others: Counts, ends: Sequence[int], least: int) -> Counts:
    """Return the united time of each place of the grid, (times + 1,): each has enough events, and none or enough others; `ends` are ends of some."""
    closed: list[int] = []
    for start, end in zip([0, *(one + 1 for one in ends[:-1])], ends, strict=True):
        closed += [*_ends_within(events, others, start, end, least)[:-1], end]
    later = _ends_within(events, others, ends[-1] + 1, len(events) - 1, least)
    while later and (events[later[-1] + 1 :].sum() + others[later[-1] + 1 :].sum()) < least:
        later.pop()
    return np.searchsorted(np.array([*closed, *later]), np.arange(len(others)), side="left").astype(np.int64)


def _ends_within(events: Counts, others: Counts, start: int, end: int, least: int) -> list[int]:
    """Return ends of cells from `start` to `end`, each with enough; what is left belongs to the last one, which then ends at `end`."""
    ends, first = [], start
    for index in range(start, end + 1):
        if events[first : index + 1].sum() >= least and not few(others[first : index + 1].sum(), least):
            ends.append(index)
            first = index + 1
    while len(ends) > 1 and few(others[ends[-2] + 1 : end + 1].sum(), least):
        ends.pop()
    return ends
