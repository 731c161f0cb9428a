"""Questions that a station refuses because the answer would be about few records, whoever chose coefficients, times or columns.

The coefficients, times and groups of an assessment, and how a fit treats ties, are the caller's. Seven rules keep the answer from being that of one record:

- **dominance** (`check_effect`, for answers that are sums over risk sets): no record has more than 1 / max(minimum_count, root of the
  records) of the sum of the relative risks, nor more than 1.5 / minimum_count of the weighted sum of squares of the predictor, which is the
  information behind a slope;
- **levels** (`check_levels`, for answers that compare predictions with outcomes): no record has more than 1 / minimum_count of
  the sum of exp(predictor), or of exp(-predictor), and records whose predictors are far from all others' come in groups of
  `minimum_count` or more. So no choice of coefficients makes a threshold that parts few records from the rest;
- **survival** (`check_survival`, for the same answers): in no stratum is predicted survival next to nothing for all records but few, whatever the baseline;
- **ties** (`check_ties`): no event, or at least `minimum_count`, is tied, by weight too, where tied events are treated as Efron does: a fit with Breslow's
  differs from it by these alone;
- **trend** (`check_trend`): no few events carry the function of time of the check of proportional hazards, which would be of their features alone;
- **strata** (`check_strata`): strata are not one stratum and few gaps, by which a fit to complete records would be one that leaves out these few;
- **times** (`check_times`): between successive times, before the first and after the last, lie at least `minimum_count` events, and
  either no censored record or as many.

References
----------
Hundepool et al., Statistical Disclosure Control, 2012, section 4.2 (p-% and (n, k) dominance rules).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fedbayes.federation.errors import ThresholdError
from fedbayes.typing import Floats, Indices

from ..cox.moments import between
from ..cox.narrow import FAR_APART, few, is_narrow, vanishes
from ..cox.survival import DECILES, prediction_groups, revealable_moments
from .columns import Survival
from .sums import RESOLUTION

INFORMATION_SHARE = 1.5  # over `minimum_count`: the record farthest out has more than its share in harmless data too
DOMINATED = (
    "the model's coefficients make one record, or few, weigh more in the answer than this node allows; "
    "transform features with outliers, or give a model whose effects are smaller"
)
VANISHED = "next to no survival is predicted for all records but few, so that scores would be theirs; give earlier times, or the `model` of a fit as it is"
CLOSE_TIMES = (
    "times: fewer events or censored records than this node reveals lie between two of them, before the first or after the last; "
    "give fewer times, none beyond the follow-up of most records, or leave them out"
)

NEARLY_ALL = 0.98
"""Of a sum, as of the columns of a scalar product."""
FEW_TIMES = (
    "time_transform: few events are far in time from all others, so that the check of proportional hazards would tell of these; "
    "ask with 'rank' or 'km', or null"
)
FEW_GAPS = (
    "strata: the column has one value in all records but few, which have none, so that a fit to complete records, less one without strata, "
    "would tell of these; leave it out, or fill in the gaps"
)
FEW_TIED = (
    "ties: fewer events are tied than this node reveals, or so few carry the weight of those that are, and Efron's treatment would tell of these; "
    "ask with ties='breslow'"
)


def check_effect(predictor: Floats, limit: int, masses: Floats | float = 1.0) -> None:
    """Refuse coefficients under which one record dominates the risk-set sums, or the information, of a station.

    Parameters
    ----------
    predictor : ndarray of float, (records,)
        This station's part of the linear predictor, under coefficients that the caller chose.
    limit : int
        `minimum_count` of the node.
    masses : ndarray of float, (records,), or 1
        Case weights.

    Raises
    ------
    ThresholdError
        If one record carries too much; the text says nothing of the data.
    """
    if not np.any(predictor):
        return
    weight = masses * np.exp(predictor - np.max(predictor))
    weight /= weight.sum()
    squares = weight * (predictor - weight @ predictor) ** 2
    most = 1.0 / max(limit, np.sqrt(len(predictor)))
    if weight.max() > most or squares.max() > INFORMATION_SHARE / max(limit, 1) * squares.sum():
        raise ThresholdError(f"model: {DOMINATED}")


def check_levels(predictor: Floats, limit: int) -> None:
    """Refuse predictions that set few records apart from all others.

    Parameters
    ----------
    predictor : ndarray of float, (records,)
        The total linear predictor.
    limit : int
        `minimum_count` of the node.

    Raises
    ------
    ThresholdError
        If fewer than `limit` records stand apart.
    """
    for sign in (1.0, -1.0):
        weight = np.exp(sign * predictor - np.max(sign * predictor))
        if weight.max() > weight.sum() / max(limit, 1):
            raise ThresholdError(f"model: {DOMINATED}")
    apart = np.flatnonzero(np.diff(np.sort(predictor)) > FAR_APART) + 1
    if np.min(np.diff(np.r_[0, apart, len(predictor)])) < limit:
        raise ThresholdError(f"model: {DOMINATED}")


def check_survival(predicted: Floats, stratum: npt.NDArray[np.int_], limit: int) -> None:
    """Refuse a baseline under which few records alone are predicted to survive: scores would tell the least predictors to all their digits.

    Parameters
    ----------
    predicted : ndarray of float, (records, times)
        Survival.
    stratum : ndarray of int, (records,)
        Each has a baseline of its own.
    limit : int
        `minimum_count` of the node.

    Raises
    ------
    ThresholdError
        If they do.
    """
    if any(vanishes(predicted[stratum == code], limit) for code in np.unique(stratum)):
        raise ThresholdError(f"model: {VANISHED}")


def check_trend(trend: Floats, event: npt.NDArray[np.int_], limit: int) -> None:
    """Refuse a function of time that is nearly all of few events, far in time from all others.

    Parameters
    ----------
    trend : ndarray of float, (records,)
        With mean 0 over the events.
    event : ndarray of int, (records,)
        1 for an event.
    limit : int
        `minimum_count` of the node.

    Raises
    ------
    ThresholdError
        If fewer than `limit` events have nearly all of its sum of squares.
    """
    squares = np.sort(trend[event == 1] ** 2)[::-1]
    if squares[max(limit, 1) - 1 :].sum() < (1.0 - NEARLY_ALL) * squares.sum():
        raise ThresholdError(FEW_TIMES)


def check_strata(strata: int, incomplete: int, limit: int) -> None:
    """Refuse a column of strata that only leaves out few records.

    Parameters
    ----------
    strata : int
        How many it has.
    incomplete : int
        Records with a gap in it.
    limit : int
        `minimum_count` of the node.

    Raises
    ------
    ThresholdError
        If there is one stratum, and fewer than `limit` gaps, but some.
    """
    if strata == 1 and few(np.asarray(incomplete), limit):
        raise ThresholdError(FEW_GAPS)


def check_ties(outcome: Survival, limit: int) -> None:
    """Refuse Efron's treatment of ties where few events are tied: less a fit with Breslow's it would tell the features of these.

    Raises
    ------
    ThresholdError
        If fewer than `limit` events are tied, within their strata, but some; or if by their case weights so few carry what ties change.
    """
    died = outcome.event == 1
    _, places, sizes = np.unique(
        np.column_stack([outcome.stratum, outcome.time])[died], axis=0, return_inverse=True, return_counts=True
    )
    masses = np.ones(len(outcome.time)) if outcome.weights is None else outcome.weights
    if is_narrow(masses[died][sizes[places.ravel()] > 1, None], limit):
        raise ThresholdError(FEW_TIED)


def check_times(outcome: Survival, times: Floats, limit: int) -> None:
    """Refuse times that lie too close for the node; see the module's text.

    Raises
    ------
    ThresholdError
        If they do.
    """
    if not _apart(outcome, times, limit):
        raise ThresholdError(CLOSE_TIMES)


def _apart(outcome: Survival, times: Floats, limit: int) -> bool:
    """Say whether enough events and censored records lie before, between and after some times; after the last one together."""
    cell = np.searchsorted(times, outcome.time, side="left")
    cells = len(times) + 1
    events = np.bincount(cell, weights=outcome.event, minlength=cells).astype(np.intp)
    censored = np.bincount(cell, minlength=cells) - events
    inside = np.all(events[:-1] >= limit) and not few(censored[:-1], limit)
    return bool(inside and events[-1] + censored[-1] >= limit)


def own_times(outcome: Survival, limit: int, events: Floats | None = None) -> Floats:
    """Return those quantiles (10 % to 90 %) of the event times that lie far enough apart for the node, (times,).

    Quantiles are those of the times of some `events`, (events,), or of those of the outcome; each is a round number before the next event, and need be no
    event's own time.

    Raises
    ------
    ThresholdError
        If there are not two of them.
    """
    kept: list[float] = []
    told = outcome.time[outcome.event == 1] if events is None else events
    reached = np.unique(np.quantile(told, DECILES, method="lower"))
    for time in between(reached, np.unique(told)):
        if _apart(outcome, np.array([*kept, time]), limit):
            kept.append(float(time))
    if len(kept) < 2:
        raise ThresholdError(
            "there are too few different event times for the counts that this node reveals; use more records"
        )
    return np.array(kept)


def most_groups(outcome: Survival, survival: Floats, moment: float, groups: int, limit: int) -> int:
    """Return the largest number of groups, at most `groups`, in each of which enough records had an event before, or lived beyond, a moment.

    Numbers are powers of two, halves of halves: of two tasks' groups some are made of whole others, and none differ in few records. Enough is `limit`, or
    none. 0 where even all records together are too few. The groups are those of `survival.prediction_groups`.
    """
    for count in (1 << power for power in reversed(range(groups.bit_length()))):
        parts = prediction_groups(survival, count, RESOLUTION)
        if min(map(len, parts)) >= limit and revealable_moments(*counted(outcome, parts, np.array([moment])), 0, limit):
            return count
    return 0


def counted(outcome: Survival, parts: Sequence[Indices], times: Floats) -> tuple[Indices, Indices]:
    """Return how many records of each group have had an event by each time, and how many are observed beyond it, (groups, times) each."""
    died = (outcome.time[:, None] <= times) & (outcome.event[:, None] == 1)
    beyond = outcome.time[:, None] > times
    counts = np.array([[died[rows].sum(axis=0), beyond[rows].sum(axis=0)] for rows in parts], dtype=np.intp)
    return counts[:, 0], counts[:, 1]
