"""The grid of times: which of its cells are united so that no sum over a cell is about few records; the layout of the tallies."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedbayes.bayes.schema import Column
from fedbayes.typing import Counts, Floats, Indices

from .isolated import blank_parts, joined_counts
from .messages import MOST_EVALUATIONS, Question
from .rows import Rows
from .slots import Slots

NONE: Counts = np.zeros(0, dtype=np.int64)  # of a part that was not asked
AT_BOUND = 1.0 - 1e-9  # what rounding makes of a value at a bound
NEGLIGIBLE = 2.0**-24
"""Below the square of the smallest weight, 2^-20, and above what rounding leaves of sums that cancel."""
WEIGHT_BITS = 20  # squares of weights of 1,000 and less: sums over four million records fit
MOMENT_BITS = 40  # a column in units of half of its bounds' width is at most 1: sums over four million records fit


@dataclass(frozen=True)
class Tally:
    """What the first sum over the stations tells.

    Parameters
    ----------
    events : ndarray of int, (times,)
        Events by the time that they are rounded up to.
    censored : ndarray of int, (places,)
        Other records; with those beyond the grid of each stratum.
    entering : ndarray of int, (places,)
        Records by the first time at which they are at risk; () without times of entry.
    clusters : ndarray of int, (3,)
        Clusters, and of the records in those of several the sums of weights and of their squares, in units of 2^-20; () without.
    low, high : ndarray of int, (columns,)
        Records at or beyond a column's lower and upper bound; `high` of an indicator those with the category.
    sums, squares : ndarray of int, (columns,)
        Of the columns and their squares, in units of 2^-40.
    isolated : ndarray of int
        Counts by which a formula is judged; () without.
    """

    events: Counts
    censored: Counts
    entering: Counts
    clusters: Counts
    low: Counts
    high: Counts
    sums: Counts
    squares: Counts
    isolated: Counts

    @classmethod
    def of(cls, rows: Rows, question: Question) -> Tally:
        """Count one station's records."""
        slots, columns = question.slots, rows.columns
        fixed = np.rint(columns * 2.0**MOMENT_BITS)
        return cls(
            np.bincount(rows.cell[rows.event], minlength=slots.count)[slots.timed].astype(np.int64),
            np.bincount(rows.cell[~rows.event], minlength=slots.count).astype(np.int64),
            np.bincount(rows.first, minlength=slots.count).astype(np.int64) if question.entry else NONE,
            clusters_of(rows.cluster, rows.weight) if question.cluster else NONE,
            (columns <= -AT_BOUND).sum(axis=0).astype(np.int64),
            (columns >= AT_BOUND).sum(axis=0).astype(np.int64),
            fixed.astype(np.int64).sum(axis=0),
            np.rint(columns**2 * 2.0**MOMENT_BITS).astype(np.int64).sum(axis=0),
            rows.isolated,
        )

    def vector(self) -> Counts:
        """Return all in one array, as it is summed."""
        counted = [self.events, self.censored, self.entering, self.clusters]
        return np.concatenate([*counted, self.low, self.high, self.sums, self.squares, self.isolated])

    @classmethod
    def read(cls, vector: Counts, question: Question) -> Tally:
        """Return what `vector` made."""
        return cls(*np.split(vector, np.cumsum(cls.widths(question))[:-1]))

    @staticmethod
    def widths(question: Question) -> list[int]:
        """Return the lengths of the parts of `vector`."""
        places, columns = question.slots.count, len(question.labels)
        entering, clusters = places if question.entry else 0, 3 if question.cluster else 0
        judged = len(joined_counts(blank_parts(question.design)))
        return [len(question.times), places, entering, clusters, *[columns] * 4, judged]

    @property
    def records(self) -> int:
        """All that count."""
        return int(self.events.sum() + self.censored.sum())

    def moments(self) -> tuple[Floats, Floats]:
        """Return means and deviations of the columns."""
        mean = self.sums / 2.0**MOMENT_BITS / max(self.records, 1)
        square = self.squares / 2.0**MOMENT_BITS / max(self.records, 1)
        return mean, np.sqrt(np.maximum(square - mean**2, 0.0))

    def apart(self, question: Question) -> Iterator[tuple[Column, slice, Counts]]:
        """Return of each feature where its columns are, and how many records its domain sets apart.

        Of categories the records of each; of a number those above its low bound, those below its high one, and those between the two.
        """
        first = 0
        for column in question.schema:
            own = slice(first, first + len(question.labels_of(column)))
            low, high = self.low[own], self.high[own]
            if column.is_categorical:
                yield column, own, np.append(high, self.records - high.sum())
            else:
                yield column, own, self.records - np.concatenate([low, high, low + high])
            first = own.stop

    def masses(self, question: Question) -> Masses:
        """Return the counts by place."""
        slots = question.slots
        entering = self.entering if question.entry else None
        return Masses.of(slots.spread(self.events[:, None].astype(np.float64))[:, 0], self.censored, entering, slots)


def clusters_of(cluster: Indices, weight: Floats) -> Counts:
    """Return how many clusters there are, and what records in those of several weigh: the sums of weights and of their squares, (3,)."""
    number, sizes = np.unique(cluster, return_inverse=True, return_counts=True)[1:]
    several = weight[sizes[number] > 1]
    sums = np.rint(np.array([several.sum(), (several**2).sum()]) * 2.0**WEIGHT_BITS)
    return np.array([len(sizes), *sums], dtype=np.int64)


def fewest_between(columns: int, minimum_count: int) -> int:
    """Return how many events, and how many censored records if any, lie between two times of the united grid.

    At each of at most `MOST_EVALUATIONS` points 1 + `columns` numbers are opened about such a group, whose records have `columns`
    values each: fewer numbers than values.
    """
    return max(minimum_count, math.ceil(MOST_EVALUATIONS * (1 + columns) / columns))


@dataclass(frozen=True)
class Masses:
    """Sums over groups of records by place, of one stratum or all: counts, or weights and below them their squares.

    Parameters
    ----------
    events, censored, entering : ndarray of float, (1 or 2, places)
        Last those beyond the grid. Of `entering` the first place is that of the records that are at risk from the start.
    """

    events: Floats
    censored: Floats
    entering: Floats

    @classmethod
    def of(cls, events: Any, censored: Any, entering: Any, slots: Slots) -> Masses:
        """Return masses by place; without times of entry all records are at risk from the start of their stratum."""
        died, left = (
            np.atleast_2d(np.asarray(events, dtype=np.float64)),
            np.atleast_2d(np.asarray(censored, dtype=np.float64)),
        )
        if entering is None:
            entering = np.zeros_like(left)
            for start, end in zip(slots.starts[:-1], slots.starts[1:], strict=True):
                entering[:, start] = (died + left)[:, start:end].sum(axis=1)
        return cls(died, left, np.atleast_2d(np.asarray(entering, dtype=np.float64)))

    @classmethod
    def read(cls, vector: Floats, count: int) -> Masses:
        """Return the masses of `partials.sums_by_place`, (6 * count,), by place."""
        sums = vector.reshape(2, 3, count)
        return cls(sums[:, 0], sums[:, 1], sums[:, 2])

    @classmethod
    def joined(cls, parts: Sequence[Masses]) -> Masses:
        """Return the masses of all strata."""
        events, censored, entering = (
            np.concatenate([getattr(part, name) for part in parts], axis=1)
            for name in ("events", "censored", "entering")
        )
        return cls(events, censored, entering)

    def merged(self, kept: list[int]) -> Masses:
        """Return the masses of one stratum by united place."""
        return Masses(merged(self.events, kept), merged(self.censored, kept), merged(self.entering, kept))

    def at_risk(self, slots: Slots) -> Floats:
        """Return the sums over the records that are at risk at each time, (times,)."""
        leave, enter = self.events[0] + self.censored[0], np.append(self.entering[0, 1:], 0.0)
        enter[slots.beyond] = 0.0  # the next place is the first of another stratum
        return np.concatenate([np.cumsum(part[::-1])[::-1] for part in slots.parts(leave - enter)])[slots.timed]

    def by_stratum(self, slots: Slots) -> list[Masses]:
        """Return the masses of each stratum."""
        parts = (slots.parts(one) for one in (self.events, self.censored, self.entering))
        return [Masses(*three) for three in zip(*parts, strict=True)]


def size(sums: Floats) -> float:
    """Return how many records a sum is about: their count, or (sum of weights)^2 / sum of squares, as many as carry it if all weigh alike."""
    return float(sums[0] ** 2 / sums[-1]) if sums[-1] > NEGLIGIBLE else 0.0


def enough(sums: Floats, least: int) -> bool:
    """Say whether a sum is about no record or enough."""
    return bool(sums[-1] <= NEGLIGIBLE or size(sums) >= least)


def united(masses: Masses, least: int) -> list[int]:
    """Return the places of the times that are kept, so that no difference of sums over neighbouring risk sets is about few records.

    From one risk set to the next, events and censored records leave and others enter. What the events take is told apart; so between two times lie
    enough events, and those that are censored and those that enter for the next time are together none or enough.

    Parameters
    ----------
    masses : Masses
        Of one stratum; the last kept time is that of the last event, and stands for all that is left.
    least : int
        What is enough.

    Returns
    -------
    list of int
        Increasing; empty if all records together do not suffice.
    """
    end = last = int(np.max(np.flatnonzero(masses.events[0]), initial=-1))
    kept: list[int] = []
    for start in range(last, -1, -1):
        died = masses.events[:, start : end + 1].sum(axis=1)
        if size(died) >= least and enough(_others(masses, start, end, kept, last), least):
            kept.insert(0, end)
            end = start - 1
    while kept and not enough(_others(masses, 0, kept[0], kept[1:], last), least):
        kept.pop(0)
    return kept


def _others(masses: Masses, start: int, end: int, later: list[int], last: int) -> Floats:
    """Return the sum over who is censored in a cell and who enters for the next one; after the last event nobody enters."""
    if later:
        return np.asarray(
            masses.censored[:, start : end + 1].sum(axis=1) + masses.entering[:, end + 1 : later[0] + 1].sum(axis=1)
        )
    return np.asarray(masses.censored[:, start:].sum(axis=1) - masses.entering[:, last + 1 :].sum(axis=1))


def merged(values: Floats, kept: list[int]) -> Floats:
    """Return sums by united place, (..., kept + 1); last what is beyond the last kept time."""
    ends = [*(last + 1 for last in kept), values.shape[-1]]
    starts = [0, *ends[:-1]]
    return np.stack([values[..., a:b].sum(axis=-1) for a, b in zip(starts, ends, strict=True)], axis=-1)
