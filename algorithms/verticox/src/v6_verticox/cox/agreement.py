"""Concordance of counted records: pairs of levels of the risk, at the times of a grid.

References
----------
Harrell, Lee, Mark, Statistics in Medicine 15, 1996 (concordance); Hung, Chiang, Canadian Journal of Statistics 38, 2010, and Uno, Cai, Tian, Wei,
JASA 102, 2007 (areas under time-dependent curves, weighted by the inverse probability of being observed).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbayes.typing import Booleans, Floats, Indices

MOST_LEVELS = 4096
"""Of the risk: where there are more, neighbours are tied, 1 / 4096 of the pairs."""
TIED = 2.0**30
"""Risks that agree in this many parts of one are tied, as in a vertical evaluation."""


@dataclass(frozen=True)
class Counted:
    """Numbers of records of one stratum.

    Parameters
    ----------
    events : ndarray of float, (levels, times)
        By level of the risk, from low to high, and time.
    others : ndarray of float, (levels, times + 1)
        Censored records, at risk at their time; last those beyond the grid.
    """

    events: Floats
    others: Floats

    @classmethod
    def of(cls, level: Indices, cell: Indices, event: Booleans, levels: int, times: int) -> Counted:
        """Count records; `cell` is `times` beyond the grid."""
        events, others = np.zeros((levels, times)), np.zeros((levels, times + 1))
        np.add.at(events, (level[event], cell[event]), 1.0)
        np.add.at(others, (level[~event], cell[~event]), 1.0)
        return cls(events, others)

    @property
    def whole(self) -> Floats:
        """All records, (levels, times + 1)."""
        return np.asarray(self.others + np.pad(self.events, ((0, 0), (0, 1))))

    def survivors(self) -> Floats:
        """Return who is at risk at each time and has no event at it, (levels, times)."""
        return np.asarray(np.cumsum(self.whole[:, ::-1], axis=1)[:, ::-1][:, :-1] - self.events)

    def pairs(self) -> tuple[Floats, Floats, Floats]:
        """Return by time of the earlier event the pairs that agree, that are tied, and all that can be compared, (times,) each."""
        return compared(self.events, self.survivors())

    def later_pairs(self) -> tuple[Floats, Floats, Floats]:
        """Return the same of pairs of an event and a record of a later time."""
        return compared(self.events, self.survivors() - self.others[:, :-1])

    def pairs_at(self, end: int, weights: Floats) -> tuple[float, float, float]:
        """Return the same of those with an event up to a time, by `weights` (times,), against those that are observed beyond it."""
        cases = (self.events[:, : end + 1] @ weights[: end + 1])[:, None]
        controls = self.whole[:, end + 1 :].sum(axis=1)[:, None]
        return tuple(float(part[0]) for part in compared(cases, controls))  # type: ignore[return-value]


def compared(cases: Floats, controls: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the pairs of a case and a control of lower level, of the same, and of any, column by column; (levels, columns) each."""
    below = np.cumsum(controls, axis=0) - controls
    return (cases * below).sum(axis=0), (cases * controls).sum(axis=0), cases.sum(axis=0) * controls.sum(axis=0)


def levels_of(risk: Floats) -> tuple[Indices, int]:
    """Return the level of every risk, from low to high, and how many there are; neighbours share one where there are many."""
    known, level = np.unique(np.rint(risk * TIED), return_inverse=True)
    if len(known) > MOST_LEVELS:
        first = np.searchsorted(np.sort(level), np.arange(len(known)))
        level = (first * MOST_LEVELS // len(risk))[level]
        return level.astype(np.intp), MOST_LEVELS
    return level.astype(np.intp), len(known)


def agreeing(risk: Floats, cell: Indices, event: Booleans, times: int) -> tuple[float, float]:
    """Return how many pairs of records agree, ties as one half, and how many can be compared."""
    level, levels = levels_of(risk)
    agree, tied, total = Counted.of(level, cell, event, levels, times).pairs()
    return float(agree.sum() + tied.sum() / 2.0), float(total.sum())
