"""Measures of a model from tables of counts: concordance, areas under time-dependent curves, Brier scores, calibration.

References
----------
Harrell, Lee, Mark, Statistics in Medicine 15, 1996 (concordance); Hung, Chiang, Canadian Journal of Statistics 38, 2010 (cumulative cases against
dynamic controls); Graf, Schmoor, Sauerbrei, Schumacher, Statistics in Medicine 18, 1999 (Brier score).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedbayes.typing import Floats, Indices, Integers

from ...cox.agreement import Counted
from ...cox.survival import PREDICTED_DIGITS, SMALLEST, integrated, revealable_moments


@dataclass(frozen=True)
class Table:
    """Records by bin of the linear predictor, time and status.

    Parameters
    ----------
    counts : ndarray of float, (bins, times + 1, 2)
        Last time: beyond all; status 1 is an event.
    strata : ndarray of int, (bins,)
        Stratum of each bin; in one stratum bins rise with the predictor.
    ends : list of int
        Times at which survival is judged, as places among them.
    """

    counts: Floats
    strata: Indices
    ends: Sequence[int]

    def parts(self) -> list[Counted]:
        """Return the records of each stratum."""
        chosen = (self.counts[self.strata == code] for code in np.unique(self.strata))
        return [
            Counted(part[:, :-1, 1], np.concatenate([part[:, :-1, 0], part[:, -1:].sum(axis=2)], 1)) for part in chosen
        ]

    def pairs(self, weights: Floats, later: bool) -> Floats:
        """Return pairs of all times, with an event by each time of `ends`, and across it: those that agree, are in one bin, all; (1 + 2 * ends, 3).

        Parameters
        ----------
        weights : ndarray of float, (times,)
            Inverse probability of being observed until just before each time, for pairs across a time.
        later : bool
            Whether the second of a pair must have a later time, or may be censored at the same.
        """
        total = np.zeros((1 + 2 * len(self.ends), 3))
        for part in self.parts():
            by_time = np.stack(part.later_pairs() if later else part.pairs(), axis=1)
            sums = [by_time.sum(axis=0), *(by_time[: end + 1].sum(axis=0) for end in self.ends)]
            total += np.array([*sums, *(part.pairs_at(end, weights) for end in self.ends)])
        return total


def share_of(known: Floats) -> Floats:
    """Return which part of known pairs agrees, one half where none is known; `known` (..., 2): those that agree, all."""
    return np.where(known[..., 1] > 0.0, known[..., 0] / np.where(known[..., 1] > 0.0, known[..., 1], 1.0), 0.5)


def agreement(pairs: Floats, within: Floats, same: Floats, together: Floats) -> Floats:
    """Return the shares of pairs that agree, as `Table.pairs` has them, (1 + 2 * ends,); NaN without a pair.

    Parameters
    ----------
    pairs : ndarray of float, (1 + 2 * ends, 3)
        Of different times.
    within : ndarray of float, (1 + 2 * ends,)
        Share of those of one bin that agree.
    same, together : ndarray of float, (1 + ends,)
        Number of the pairs within one united time, of all and with an event by each moment, and the share of them that agrees.
    """
    most = len(same)
    agree, total = pairs[:, 0] + within * pairs[:, 1], pairs[:, 2].copy()
    agree[:most] += same * together
    total[:most] += same
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.clip(np.where(total > 0.0, agree / total, np.nan), 0.0, 1.0))


def pairs_together(events: Floats, others: Floats, cells: Integers, ends: Sequence[int]) -> Floats:
    """Return the number of pairs within one united time that can be compared, of all and with an event by each united time of `ends`, (1 + ends,).

    Parameters
    ----------
    events : ndarray of float, (strata, times)
        By time of the grid.
    others : ndarray of float, (strata, times + 1)
        By time of the grid, last those beyond it.
    cells : ndarray of int, (times + 1,)
        United time of each.
    ends : sequence of int
        United times.
    """
    by_cell = np.zeros(int(cells[-1]) + 1)
    for cell in range(len(by_cell)):
        own = cells == cell
        died, left = events[:, own[:-1]], others[:, own]
        left = left if left.shape[1] > died.shape[1] else np.pad(left, ((0, 0), (0, 1)))
        for one, other in zip(died, left, strict=True):
            by_cell[cell] += Counted(one[None, :], other[None, :]).pairs()[2].sum()
    return np.array([by_cell.sum(), *(by_cell[: end + 1].sum() for end in ends)])


def observed_until(events: Floats, others: Floats) -> tuple[Floats, Floats]:
    """Return the inverse probabilities of being observed just before and beyond each time, (times,) each; `others` (times + 1,).

    At one time events come before censoring: who has the event then can no longer be censored.
    """
    whole = np.append(events, 0.0) + others
    at_risk = np.cumsum(whole[::-1])[::-1][:-1] - events
    left = np.cumprod(1.0 - np.clip(others[:-1] / np.maximum(at_risk, SMALLEST), 0.0, 1.0))
    left = np.maximum(left, SMALLEST)
    return np.concatenate([[1.0], 1.0 / left])[:-1], np.asarray(1.0 / left)


def kaplan_meier(counts: Floats) -> Floats:
    """Return survival after each time of records by time and status, (times,)."""
    whole = counts.sum(axis=1)
    at_risk = np.cumsum(whole[::-1])[::-1]
    return np.asarray(np.cumprod(1.0 - counts[:-1, 1] / np.maximum(at_risk[:-1], SMALLEST)))


def grouped(table: Table, survival: Floats, groups: int, least: int) -> list[Indices]:
    """Return the bins of at most so many groups of predicted survival, as equal in size as bins allow, at the middle moment.

    Of the records of a group none or enough have an event by then, and none or enough are observed beyond it: the largest number of groups for which that
    holds; none if it holds for no number.

    Parameters
    ----------
    table : Table
        Records by bin.
    survival : ndarray of float, (bins, moments)
        Sums over the records of each bin.
    groups : int
        Most groups.
    least : int
        What is enough.
    """
    sizes, middle = table.counts.sum(axis=(1, 2)), len(table.ends) // 2
    filled = np.flatnonzero(sizes > 0.0)
    order = filled[np.argsort(survival[filled, middle] / sizes[filled], kind="stable")]
    reached = np.cumsum(sizes[order])
    for count in range(min(groups, len(order)), 0, -1):
        wanted = reached[-1] * np.arange(1, count) / count if len(order) else []
        cuts = np.unique([int(np.argmin(np.abs(reached - one))) + 1 for one in wanted] or [0])
        parts = [part for part in np.split(order, cuts) if len(part)]
        if all(sizes[part].sum() >= least for part in parts) and middle in reliable_times(table, parts, least):
            return parts
    return []


def reliable_times(table: Table, parts: Sequence[Indices], least: int) -> list[int]:
    """Return the moments at which these groups of bins tell of no few records (`revealable_moments`)."""
    if not parts:
        return []
    groups = np.stack([table.counts[bins].sum(axis=0) for bins in parts])
    events = np.cumsum(groups[:, :, 1], axis=1)[:, table.ends]
    beyond = (groups.sum(axis=(1, 2))[:, None] - np.cumsum(groups.sum(axis=2), axis=1))[:, table.ends]
    return revealable_moments(events, beyond, len(table.ends) // 2, least)


def calibration(table: Table, survival: Floats, parts: Sequence[Indices], moment: int) -> list[dict[str, float]]:
    """Return predicted and observed (Kaplan-Meier) survival of groups of bins at a moment."""
    groups_shown = []
    for bins in parts:
        own = table.counts[bins].sum(axis=0)
        groups_shown.append(
            {
                "predicted": round(float(survival[bins, moment].sum() / own.sum()), PREDICTED_DIGITS),
                "observed": float(kaplan_meier(own)[table.ends[moment]]),
                "records": round(float(own.sum())),
            }
        )
    return groups_shown


def measures(
    table: Table,
    times: Sequence[float],
    shares: Floats,
    brier: Floats,
    survival: Floats,
    groups: int,
    least: int,
) -> dict[str, Any]:
    """Return the metrics of an evaluation; `shares` as `agreement` returns them, `brier` by moment."""
    moments = len(times)
    parts = grouped(table, survival, groups, least)
    shown = reliable_times(table, parts, least)
    by_time = [calibration(table, survival, parts if moment in shown else [], moment) for moment in range(moments)]
    middle = moments // 2
    agreeing = [None if np.isnan(one) else float(one) for one in shares]
    return {
        "concordance": agreeing[0],
        "concordance_by_time": agreeing[1 : 1 + moments],
        "auc_by_time": agreeing[1 + moments :],
        "integrated_brier_score": integrated(brier, np.array(times)),
        "times": [float(one) for one in times],
        "brier_scores": brier.tolist(),
        "calibration": {"time": float(times[middle]), "groups": by_time[middle]},
        "calibration_by_time": [
            {"time": float(time), "groups": groups_at} for time, groups_at in zip(times, by_time, strict=True)
        ],
        "records": round(float(table.counts.sum())),
    }
