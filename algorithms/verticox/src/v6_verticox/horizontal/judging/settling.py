"""What central and every station work out alike of the counts over all stations: whether an answer may follow, and which records are judged together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbayes.federation.errors import ThresholdError
from fedbayes.typing import Array, Counts, Floats, Integers

from ...cox.narrow import few
from .. import isolated
from ..grid import Masses, Tally, fewest_between
from ..messages import Question
from ..settling import check_cases, unite
from .layout import CLOSE_TIMES, apart, bins_of, check_levels, check_survival, default_ends, united_cells
from .messages import PLACES, Judged
from .scores import observed_until

HALF = 32
"""Bits of a count of records by place: two are told in one number, of records fewer than 2^32."""


@dataclass(frozen=True)
class Measures:
    """Which records of a model's are judged together.

    Parameters
    ----------
    judged : Judged
    bins : ndarray of int64, (strata, `PLACES`)
        Bin of each place of each stratum, rising; those of one stratum after those of the one before.
    cells : ndarray of int64, (times + 1,)
        United time of each time of the grid, from 0 on; last what is beyond all.
    ends : ndarray of int64, (moments,)
        Places in the grid of the times at which survival is judged, rising.
    weights : ndarray of float, (times,)
        Inverse probability of being observed until just before each time of the grid.
    later : ndarray of float, (moments,)
        The same, beyond each moment.
    spread : ndarray of float, (united times,)
        The same, until just before each united time.
    records : int
        Of all stations.
    """

    judged: Judged
    bins: Array
    cells: Array
    ends: Array
    weights: Array
    later: Array
    spread: Array
    records: int

    @property
    def table(self) -> tuple[int, int, int]:
        """Shape of the table: bins, united times and beyond, status."""
        return int(self.bins.max()) + 1, int(self.cells[-1]) + 1, 2

    @property
    def sizes(self) -> list[int]:
        """Lengths of what is asked: table, survival by bin and moment, squared errors by moment, pairs in one bin, pairs in one united time."""
        (bins, cells, status), moments = self.table, len(self.ends)
        return [bins * cells * status, bins * moments, moments, 2 * (2 * moments + 1), 2 * (moments + 1)]


def length_of(judged: Judged) -> int:
    """Return how many numbers tell the counts of a station."""
    return sum(Tally.widths(judged.question)) + judged.strata * PLACES // 2


def vector_of(tally: Tally, places: Counts) -> Integers:
    """Return a station's counts, (`length_of`,): the tally, then the records by stratum and place, (strata * `PLACES`,), two in a number."""
    low, high = places.reshape(-1, 2).T
    return np.concatenate([tally.vector(), low + (high << HALF)])


def counts_of(judged: Judged, vector: Integers) -> tuple[Tally, Counts]:
    """Return the tally, and the records by stratum and place of the linear predictor, (strata, `PLACES`), from the sum over the stations."""
    width = sum(Tally.widths(judged.question))
    both = vector[width:].view(np.uint64)
    places = np.stack([both & np.uint64(2**HALF - 1), both >> np.uint64(HALF)], axis=1)
    return Tally.read(vector[:width], judged.question), places.astype(np.int64).reshape(judged.strata, PLACES)


def ends_of(judged: Judged, tally: Tally, minimum_count: int) -> Integers:
    """Return the times at which survival is judged where none are given, as places in the grid: deciles of the events at which the model tells its baseline."""
    question = judged.question
    known = sorted({time for _, moments, _ in judged.steps for time in moments})
    points = np.flatnonzero(np.isin(question.grids[0], known))
    least = fewest_between(len(question.labels), minimum_count)
    return np.array(default_ends(*_by_time(question, tally), points, least), dtype=np.int64)


def measures_of(judged: Judged, ends: Integers, tally: Tally, places: Counts, minimum_count: int) -> Measures:
    """Return which records are judged together, if that is about enough records.

    Raises
    ------
    ThresholdError
        If it is not.
    """
    question = judged.question
    check_columns(question, tally, minimum_count)
    check_levels(places.sum(axis=0), minimum_count)
    events, others = _by_time(question, tally)
    least = fewest_between(len(question.labels), minimum_count)
    check_survival(places, judged.hazards([question.times[end] for end in ends]), minimum_count)
    if not apart(events, others, ends.tolist(), least):
        raise ThresholdError(CLOSE_TIMES)
    cells = united_cells(events, others, ends.tolist(), least)
    weights, beyond = observed_until(events.astype(np.float64), others.astype(np.float64))
    spread = _spread(events, others, cells)
    return Measures(judged, bins_of(places, least), cells, ends, weights, beyond[ends], spread, tally.records)


def _spread(events: Counts, others: Counts, cells: Integers) -> Floats:
    united = int(cells[-1])
    died = np.bincount(cells[:-1], events, minlength=united + 1).astype(np.float64)
    left = np.bincount(cells, others, minlength=united + 1).astype(np.float64)
    left[-1] += died[-1]
    return observed_until(died[:-1], left)[0]


def _by_time(question: Question, tally: Tally) -> tuple[Counts, Counts]:
    """Return events, (times,), and other records, (times + 1,), over all strata."""
    times = question.sizes[0]
    return tally.events.reshape(-1, times).sum(axis=0), tally.censored.reshape(-1, times + 1).sum(axis=0)


def settled(question: Question, counted: Tally, minimum_count: int) -> tuple[Question, Masses]:
    """Return the question of a baseline with the grid united by a tally, and the counts by its places.

    Raises
    ------
    ThresholdError
        If an answer would be about few records.
    """
    check_columns(question, counted, minimum_count)
    check_cases(question, counted, minimum_count)
    counts = counted.masses(question)
    return unite(question, counts, counts, fewest_between(len(question.labels), minimum_count))


def check_columns(question: Question, tally: Tally, minimum_count: int) -> None:
    """Refuse a domain or a formula that sets few records apart; other than in a fit, a category may have none.

    Raises
    ------
    ThresholdError
        Naming the feature.
    """
    if question.design is not None:
        isolated.check(question.design, tally.isolated, minimum_count)
        return
    for column, _, counts in tally.apart(question):
        if few(counts, minimum_count):
            raise ThresholdError(
                f"model: its domain of '{column.name}' sets fewer records apart than a node reveals; judge it on more records"
            )
