"""The grid of times: which of its cells are united so that no sum over a cell is about few records; the layout of the tallies."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .messages import MOST_EVALUATIONS

Vector = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
AT_BOUND = 1.0 - 1e-9  # what rounding makes of a value at a bound
MOMENT_BITS = 40  # a column in units of half of its bounds' width is at most 1: sums over four million records fit


@dataclass(frozen=True)
class Tally:
    """What the first sum over the stations tells.

    Parameters
    ----------
    events : ndarray of int, (times,)
        Events by the time that they are rounded up to.
    censored : ndarray of int, (times + 1,)
        Other records; last those beyond the grid.
    low, high : ndarray of int, (columns,)
        Records at or beyond a column's lower and upper bound; `high` of an indicator those with the category.
    sums, squares : ndarray of int, (columns,)
        Of the columns and their squares, in units of 2^-40.
    """

    events: Counts
    censored: Counts
    low: Counts
    high: Counts
    sums: Counts
    squares: Counts

    @classmethod
    def of(cls, cell: npt.NDArray[np.intp], event: npt.NDArray[np.bool_], columns: Vector, times: int) -> Tally:
        """Count one station's records; `columns` (records, columns) between -1 and 1."""
        fixed = np.rint(columns * 2.0**MOMENT_BITS)
        return cls(
            np.bincount(cell[event], minlength=times)[:times].astype(np.int64),
            np.bincount(cell[~event], minlength=times + 1).astype(np.int64),
            (columns <= -AT_BOUND).sum(axis=0).astype(np.int64),
            (columns >= AT_BOUND).sum(axis=0).astype(np.int64),
            fixed.astype(np.int64).sum(axis=0),
            np.rint(columns**2 * 2.0**MOMENT_BITS).astype(np.int64).sum(axis=0),
        )

    def vector(self) -> Counts:
        """Return all in one array, as it is summed."""
        return np.concatenate([self.events, self.censored, self.low, self.high, self.sums, self.squares])

    @classmethod
    def read(cls, vector: Counts, times: int, columns: int) -> Tally:
        """Return what `vector` made."""
        return cls(*np.split(vector, np.cumsum([times, times + 1, columns, columns, columns])))

    @staticmethod
    def length(times: int, columns: int) -> int:
        """Return the length of `vector`."""
        return 2 * times + 1 + 4 * columns

    @property
    def records(self) -> int:
        """All that count."""
        return int(self.events.sum() + self.censored.sum())

    def moments(self) -> tuple[Vector, Vector]:
        """Return means and deviations of the columns."""
        mean = self.sums / 2.0**MOMENT_BITS / max(self.records, 1)
        square = self.squares / 2.0**MOMENT_BITS / max(self.records, 1)
        return mean, np.sqrt(np.maximum(square - mean**2, 0.0))


def fewest(columns: int, minimum_count: int) -> int:
    """Return how many events, and how many censored records if any, lie between two times of the united grid.

    At each of at most `MOST_EVALUATIONS` points 1 + `columns` numbers are opened about such a group, whose records have `columns`
    values each: fewer numbers than values.
    """
    return max(minimum_count, math.ceil(MOST_EVALUATIONS * (1 + columns) / columns))


def united(events: Counts, censored: Counts, least: int) -> list[int]:
    """Return the places of the times that are kept: up to each, from the one before, lie enough events, and no censored records or enough.

    Parameters
    ----------
    events : ndarray of int, (times,)
        By time of the grid.
    censored : ndarray of int, (times + 1,)
        Last those beyond the grid; the last kept time stands for all that is left.
    least : int
        What is enough.

    Returns
    -------
    list of int
        Increasing; empty if all records together do not suffice.
    """
    kept: list[int] = []
    groups: list[int] = []
    open_events = open_censored = 0
    for place, (died, left) in enumerate(zip(events.tolist(), censored[:-1].tolist(), strict=True)):
        open_events, open_censored = open_events + died, open_censored + left
        if open_events >= least and (open_censored == 0 or open_censored >= least):
            kept.append(place)
            groups.append(open_censored)
            open_events = open_censored = 0
    rest = open_censored + int(censored[-1])
    last = int(np.max(np.flatnonzero(events), initial=-1))
    while kept:
        rest, last = rest + groups.pop(), max(last, kept.pop())
        if rest == 0 or rest >= least:
            return [*kept, last]
    return []


def merged(counts: Counts, kept: list[int]) -> Counts:
    """Return counts by united cells; what is beyond the last kept time comes last where `counts` has such a cell."""
    ends = [*(place + 1 for place in kept), len(counts)]
    starts = [0, *ends[:-1]]
    return np.array([counts[a:b].sum() for a, b in zip(starts, ends, strict=True)], dtype=np.int64)
