"""How well a Cox model predicts: concordance, Brier score with censoring weights, calibration.

References
----------
Harrell, Lee, Mark, Statistics in Medicine 15, 1996 (concordance); Graf, Schmoor, Sauerbrei, Schumacher, Statistics in
Medicine 18, 1999 (Brier score).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedbayes.typing import Array, Floats, Indices

from .narrow import few

PREDICTED_DIGITS = 6
"""Decimals of a group's mean predicted survival: of a mean near 0, which is that of the record with the least risk, more digits would tell that risk."""
FARTHEST = 700.0  # of a linear predictor: e to more is no float
SMALLEST = 1e-12  # of what is divided by: the chance of being observed, or records at risk, where rounding leaves none
DECILES = np.linspace(0.1, 0.9, 9)  # of the events: about the times at which a model tells its baseline


class _Ranks:
    """Counts of inserted ranks (a Fenwick tree)."""

    def __init__(self, size: int) -> None:
        self.counts = np.zeros(size + 1, dtype=np.int64)

    def add(self, rank: int) -> None:
        """Insert a rank, 0-based."""
        rank += 1
        while rank < len(self.counts):
            self.counts[rank] += 1
            rank += rank & -rank

    def below(self, rank: int) -> int:
        """Return how many inserted ranks are smaller."""
        total = 0
        while rank > 0:
            total += int(self.counts[rank])
            rank -= rank & -rank
        return total


def curve_json(times: Floats, hazard: Floats) -> dict[str, list[float]]:
    """Return a cumulative baseline hazard and the survival that follows of it, (times,), as a model has them."""
    return {"time": times.tolist(), "cumulative_hazard": hazard.tolist(), "survival": np.exp(-hazard).tolist()}


def concordance(
    time: Floats,
    event: Array,
    risk: Floats,
    stratum: Array | None = None,
    resolution: float = 0.0,
) -> float:
    """Return Harrell's concordance: the share of comparable pairs in which the earlier event has the higher risk.

    Risks that differ by at most `resolution` are tied, which counts one half; a pair with equal times is comparable if exactly
    one of them is an event; records of different strata are not. O(N log N).

    Raises
    ------
    ValueError
        When no pair is comparable.
    """
    codes = np.zeros(len(time)) if stratum is None else np.asarray(stratum)
    counted = [_pairs(time[codes == c], event[codes == c], risk[codes == c], resolution) for c in np.unique(codes)]
    pairs = sum(part[1] for part in counted)
    if pairs == 0:
        raise ValueError("no pair of records can be compared")
    return sum(part[0] for part in counted) / pairs


def _pairs(time: Floats, event: Array, risk: Floats, resolution: float) -> tuple[float, int]:
    """Return how many pairs agree, and how many can be compared."""
    levels, ranks = np.unique(risk, return_inverse=True)
    lowest = np.searchsorted(levels, levels - resolution, side="left")[ranks]
    above = np.searchsorted(levels, levels + resolution, side="right")[ranks]
    tree, inserted, agreeing, pairs = _Ranks(len(levels)), 0, 0.0, 0
    order = np.argsort(-np.asarray(time), kind="stable")
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and time[order[end]] == time[order[start]]:
            end += 1
        tied = order[start:end]
        for row in (r for r in tied if not event[r]):
            tree.add(int(ranks[row]))
            inserted += 1
        for row in (r for r in tied if event[r]):
            below = tree.below(int(lowest[row]))
            equal = tree.below(int(above[row])) - below
            agreeing += below + 0.5 * equal
            pairs += inserted
        for row in (r for r in tied if event[r]):
            tree.add(int(ranks[row]))
            inserted += 1
        start = end
    return agreeing, pairs


def dynamic_areas(
    time: Floats,
    event: Array,
    risk: Floats,
    stratum: Array,
    times: Floats,
    resolution: float,
) -> list[float | None]:
    """Return at each time the area under the curve of who has had the event against who is observed beyond it, by inverse censoring weights.

    Ties of at most `resolution` count one half; records of different strata are not compared; None where none can be.

    References
    ----------
    Hung, Chiang, Canadian Journal of Statistics 38, 2010 (cumulative cases, dynamic controls).
    """
    seen = np.maximum(censoring_curve(time, event).at(time, left=True), SMALLEST)
    areas: list[float | None] = []
    for moment in times:
        agreeing = pairs = 0.0
        for code in np.unique(stratum):
            cases = (stratum == code) & (time <= moment) & (np.asarray(event) == 1)
            controls = np.sort(risk[(stratum == code) & (time > moment)])
            below = np.searchsorted(controls, risk[cases] - resolution, side="left")
            upto = np.searchsorted(controls, risk[cases] + resolution, side="right")
            agreeing += float(((below + upto) / 2.0) @ (1.0 / seen[cases]))
            pairs += float(len(controls) * (1.0 / seen[cases]).sum())
        areas.append(agreeing / pairs if pairs else None)
    return areas


@dataclass(frozen=True)
class Steps:
    """A right-continuous step function: `values` from `times` on, `before` earlier."""

    times: Floats
    values: Floats
    before: float

    def at(self, points: Floats, left: bool = False) -> Floats:
        """Return the values at some points (with `left`: just before them)."""
        index = np.searchsorted(self.times, points, side="left" if left else "right")
        return np.concatenate([[self.before], self.values])[index]


def kaplan_meier(time: Floats, event: Array) -> Steps:
    """Return the Kaplan-Meier curve."""
    times, at_risk, events = _at_risk(time, event)
    return Steps(times, np.asarray(np.cumprod(1.0 - events / at_risk), dtype=np.float64), 1.0)


def censoring_curve(time: Floats, event: Array) -> Steps:
    """Return the Kaplan-Meier curve of being observed.

    At one time events come before censoring, as in risk sets and in `concordance`: who has the event then can no longer be censored.
    """
    times, at_risk, events = _at_risk(time, event)
    censored = np.bincount(np.searchsorted(times, time), minlength=len(times)) - events
    left = at_risk - events
    return Steps(times, np.asarray(np.cumprod(1.0 - censored / np.maximum(left, 1.0)), dtype=np.float64), 1.0)


def _at_risk(time: Floats, event: Array) -> tuple[Floats, Floats, Floats]:
    """Return the times that occur, and of each how many records are observed until then or longer, and have the event then."""
    times = np.unique(time)
    at_risk = np.asarray(len(time) - np.searchsorted(np.sort(time), times, side="left"), dtype=np.float64)
    events = np.bincount(np.searchsorted(times, time), weights=np.asarray(event, dtype=float), minlength=len(times))
    return times, at_risk, np.asarray(events, dtype=np.float64)


def partial_hazards(predictor: Floats) -> Floats:
    """Return e to the linear predictor, which a float holds."""
    return np.asarray(np.exp(np.minimum(predictor, FARTHEST)))


def survival_at(baseline: Steps, predictor: Floats, times: Floats) -> Floats:
    """Return survival probabilities, (records, times); `baseline` is the cumulative hazard."""
    with np.errstate(over="ignore"):  # infinitely much hazard is no survival
        return np.asarray(np.exp(-np.outer(partial_hazards(predictor), baseline.at(times))))


def brier_scores(time: Floats, event: Array, survival: Floats, times: Floats, censoring: Steps | None = None) -> Floats:
    """Return the Brier score at each time, weighted by the inverse probability of being observed (`censoring`: that of these records)."""
    censoring = censoring_curve(time, event) if censoring is None else censoring
    own = np.maximum(censoring.at(time, left=True), SMALLEST)
    scores = []
    for column, moment in enumerate(times):
        died = (time <= moment) & (np.asarray(event) == 1)
        alive = time > moment
        later = max(float(censoring.at(np.array([moment]))[0]), SMALLEST)
        squares = died * survival[:, column] ** 2 / own + alive * (1.0 - survival[:, column]) ** 2 / later
        scores.append(float(np.mean(squares)))
    return np.array(scores)


def integrated_brier(
    time: Floats, event: Array, survival: Floats, times: Floats, censoring: Steps | None = None
) -> float:
    """Return the Brier score averaged over the span of `times` (trapezoidal rule)."""
    return integrated(brier_scores(time, event, survival, times, censoring), times)


def integrated(scores: Floats, times: Floats) -> float:
    """Return scores at some times, (times,) each, averaged over their span (trapezoidal rule)."""
    if len(times) < 2:
        raise ValueError("give two or more times")
    return float(np.sum((scores[1:] + scores[:-1]) / 2.0 * np.diff(times)) / (times[-1] - times[0]))


def prediction_groups(survival: Floats, groups: int, resolution: float) -> list[Indices]:
    """Return the records of at most so many groups of predicted survival, as equal in size as ties allow.

    Predictions that differ by at most `resolution` are tied and stay in one group, so that neither rounding nor the records' order
    decides which group a record is in. Of twice as many groups each of these is made of whole ones.

    Parameters
    ----------
    survival : ndarray of float, (records,)
        Predicted survival at one time.
    groups : int
        Most groups.
    resolution : float
        Up to which predictions are tied.

    Returns
    -------
    list of ndarray of int
        Places of each group's records, from low predictions to high ones.
    """
    order = np.argsort(survival, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(survival[order]) > resolution) + 1, len(order))
    even_ends = np.arange(1, groups) * len(order) // groups
    above = np.searchsorted(ends, even_ends)
    below = np.where(above > 0, ends[above - 1], 0)
    nearest = np.where(ends[above] - even_ends <= even_ends - below, ends[above], below)
    return [rows for rows in np.split(order, np.unique(nearest)) if len(rows)]


def calibration(
    time: Floats, event: Array, survival: Floats, moment: float, groups: int, resolution: float = 0.0
) -> list[dict[str, float]]:
    """Return predicted and observed (Kaplan-Meier) survival at one time, by `prediction_groups`."""
    return calibrated(time, event, survival, moment, prediction_groups(survival, groups, resolution) if groups else [])


def calibrated(
    time: Floats, event: Array, survival: Floats, moment: float, parts: Sequence[Indices]
) -> list[dict[str, float]]:
    """Return predicted and observed (Kaplan-Meier) survival at one time, by groups of records."""
    groups = []
    for rows in parts:
        observed = kaplan_meier(time[rows], np.asarray(event)[rows]).at(np.array([moment]))[0]
        predicted = round(float(np.mean(survival[rows])), PREDICTED_DIGITS)
        groups.append({"predicted": predicted, "observed": float(observed), "records": len(rows)})
    return groups


def revealable_moments(events: Array, beyond: Array, middle: int, least: int) -> list[int]:
    """Return the moments at which calibration of the same groups tells of no few records, `middle` among them; none if it is none of them.

    Of every group none or enough records have the event by a moment, and are observed beyond it; and between two moments that are told none or enough
    have the event, as the difference of two curves tells.

    Parameters
    ----------
    events, beyond : ndarray of number, (groups, moments)
        Records of each group with an event up to each moment, and observed beyond it.
    middle : int
        The moment for which the groups were made; others join from it on, the nearer first.
    least : int
        What is enough.
    """
    alone = [not few(events[:, one], least) and not few(beyond[:, one], least) for one in range(events.shape[1])]
    if not alone[middle]:
        return []
    chosen = [middle]
    for moment in range(middle + 1, len(alone)):
        if alone[moment] and not few(events[:, moment] - events[:, chosen[-1]], least):
            chosen.append(moment)
    for moment in reversed(range(middle)):
        if alone[moment] and not few(events[:, chosen[0]] - events[:, moment], least):
            chosen.insert(0, moment)
    return chosen
