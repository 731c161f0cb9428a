"""The rounds of a fit over horizontally split records: tallies, then Newton's method on sums over risk sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbayes.federation import Federation
from fedbayes.federation.errors import ArgumentError, ConvergenceError, ThresholdError
from fedbayes.federation.horizontal import SumReply, signed

from ..cox.likelihood import FAR, check_collinear, check_far
from ..cox.narrow import few
from . import grid, isolated
from .likelihood import RiskSums
from .messages import (
    MOST_EVALUATIONS,
    Point,
    Question,
    RiskRequest,
    ScoresRequest,
    SquaresRequest,
    TallyRequest,
    WeighRequest,
)
from .partials import BITS

Vector = npt.NDArray[np.float64]
RECORDS_PER_COLUMN = 5  # as in a vertical fit
CLUSTERS_PER_COLUMN = 2  # so that of p (p + 1) / 2 numbers no four times as many that they are made of can be found, and the matrix is regular
NARROWEST = 1e-5  # a deviation beside half of the bounds' width, below which the moments hold too few digits
SHORTEST = 1e-9  # relative loss of the likelihood that is rounding


@dataclass(frozen=True)
class Known:
    """What the tallies tell.

    Parameters
    ----------
    question : Question
        With the united grid.
    events : ndarray of int, (times,)
        By united time.
    censored : ndarray of int, (places,)
        The same of other records, with those beyond the grid of each stratum.
    weight : ndarray of float, (times,)
        Mean case weight of the events of each time.
    clusters : int or None
        How many, where there are clusters.
    centre, scale : ndarray of float, (columns,)
        Means and deviations in units of half of the bounds' width.
    """

    question: Question
    events: grid.Counts
    censored: grid.Counts
    weight: Vector
    clusters: int | None
    centre: Vector
    scale: Vector

    @property
    def records(self) -> int:
        """All that count."""
        return int(self.events.sum() + self.censored.sum())


@dataclass(frozen=True)
class Solution:
    """Where the fit ended, in centred and scaled columns: coefficients, sums and information there, likelihood there and at zero; concordance."""

    coefficients: Vector
    sums: RiskSums
    information: Vector
    log_likelihood: float
    null: float
    evaluations: int
    concordance: float | None


def tally(federation: Federation, stations: Sequence[int], question: Question) -> Known:
    """Return the counts over all stations, with the grid united so that no sum to come is about few records; one round, two with case weights.

    Raises
    ------
    ThresholdError
        If there are too few events or records, or a category or what is inside a bound is too rare.
    ArgumentError
        If a column is constant, or its bounds are far too wide.
    """
    labels, least = question.labels, grid.fewest(len(question.labels), federation.minimum_count)
    width = sum(grid.Tally.widths(question))
    summed = federation.secure_sum("partial_tally", TallyRequest(question), stations, SumReply, field="vector")
    counted = grid.Tally.read(signed(summed, width), question)
    check_columns(question, counted, federation.minimum_count)
    check_cases(question, counted, federation.minimum_count)
    if counted.records < RECORDS_PER_COLUMN * len(labels):
        raise ThresholdError("there are too few records for that many design columns; use fewer features")
    chosen, counts = unite(question, counted.masses(question), counted.masses(question), least)
    weight = np.ones(len(chosen.times))
    if question.weights:
        weighed = weigh(federation, stations, chosen)
        before = chosen
        chosen, counts = unite(before, weighed, counts, least)
        _, weighed = unite(before, weighed, weighed, least)
        weight = (weighed.events[0] / np.maximum(counts.events[0], 1.0))[chosen.slots.timed]
    if len(chosen.times) < len(question.times):
        federation.warn(
            f"{len(question.times)} times were merged into {len(chosen.times)}, so that every interval has enough events; model.times lists them"
        )
    centre, scale = counted.moments()
    events = counts.events[0, chosen.slots.timed].astype(np.int64)
    clusters = int(counted.clusters[0]) if question.cluster else None
    return Known(chosen, events, counts.censored[0].astype(np.int64), weight, clusters, centre, scale)


def unite(question: Question, deciding: grid.Masses, wanted: grid.Masses, least: int) -> tuple[Question, grid.Masses]:
    """Return the question with the grid united so that `deciding` has enough everywhere, and the wanted sums by its places.

    Raises
    ------
    ThresholdError
        If too few events or records lie between the times.
    """
    kept = [grid.united(part, least) for part in deciding.by_stratum(question.slots)]
    if not all(kept) or sum(map(len, kept)) < 2:
        raise ThresholdError(
            f"times: too few events {'of a stratum ' if question.strata else ''}lie between the times of the grid, or beside too few censored or entering "
            "records; use more records or fewer features, or a grid over more of the time"
        )
    times = [float(times[index]) for times, places in zip(question.grids, kept, strict=True) for index in places]
    parts = [part.merged(places) for part, places in zip(wanted.by_stratum(question.slots), kept, strict=True)]
    return replace(question, times=times, sizes=[len(places) for places in kept]), grid.Masses.joined(parts)


def weigh(federation: Federation, stations: Sequence[int], question: Question) -> grid.Masses:
    """Return the sums of weights and of their squares by place; one round.

    Raises
    ------
    ArgumentError
        If the weights are too large.
    """
    count = question.slots.count
    summed = federation.secure_sum("partial_weigh", WeighRequest(question), stations, SumReply, field="vector")
    values = signed(summed, 6 * count + 1)
    if values[-1]:
        raise ArgumentError("weights: their sums are too large; divide them by their mean")
    sums = (values[:-1] / 2.0**BITS).reshape(2, 3, count)
    return grid.Masses(sums[:, 0], sums[:, 1], sums[:, 2])


def check_cases(question: Question, counted: grid.Tally, minimum_count: int) -> None:
    """Refuse few records that enter late, and few clusters: the sum over them of products would tell of single ones, and the errors would be none."""
    late = int(counted.entering.sum() - counted.entering[question.slots.starts[:-1]].sum()) if question.entry else 0
    if 0 < late < minimum_count:
        raise ThresholdError(
            f"entry column '{question.entry}' has fewer records than a node reveals that enter after the first time of the grid; "
            "leave it out, or let the grid begin later"
        )
    if question.cluster and int(counted.clusters[0]) < max(minimum_count, CLUSTERS_PER_COLUMN * len(question.labels)):
        raise ThresholdError(
            f"cluster column '{question.cluster}' has too few clusters for that many design columns, or fewer than a node reveals; "
            "use smaller clusters, or fewer features"
        )


def check_deviations(labels: Sequence[str], deviation: Vector) -> None:
    """Refuse design columns of a formula that do not vary, or hardly beside their bounds."""
    for label, own in zip(labels, deviation, strict=True):
        if own < NARROWEST:
            raise ArgumentError(
                f"formula: '{label}' is constant, or the bounds of its columns are far wider than their values; leave it out, or give narrower bounds"
            )


def check_columns(question: Question, counted: grid.Tally, minimum_count: int) -> None:
    """Refuse columns that are constant, that set few records apart, or of which the bounds hide the values."""
    _, deviation = counted.moments()
    if question.design is not None:
        isolated.check(question.design, counted.isolated, minimum_count)
        check_deviations(question.labels, deviation)
        return
    for column, own, counts in counted.apart(question):
        demanded = counts if column.is_categorical else counts[:2]  # all of a number's records may be at its bounds
        if np.any(deviation[own] == 0.0) or np.any(demanded == 0):
            raise ArgumentError(
                f"features: '{column.name}' is constant within its bounds, or has a category of its domain that no record has; "
                "leave it out of features or domain"
            )
        if few(counts, minimum_count):
            raise ThresholdError(
                f"feature '{column.name}' sets fewer records apart than a node reveals; merge categories, or widen its bounds"
            )
        if np.any(deviation[own] < NARROWEST):
            raise ArgumentError(
                f"domain: the bounds of '{column.name}' are far wider than its values; give narrower ones"
            )


class Sums:
    """What a fit asks of the stations, at one point after the other."""

    def __init__(self, federation: Federation, stations: Sequence[int], known: Known, limit: int) -> None:
        self.federation, self.stations, self.known, self.limit = federation, stations, known, limit
        self.number = 0
        self.concordance: float | None = None

    def at(self, coefficients: Vector) -> RiskSums | None:
        """Return the sums at a point, None where it is too far for numbers; one round.

        Raises
        ------
        ConvergenceError
            If no point or round is left.
        """
        if self.number == MOST_EVALUATIONS or self.federation.rounds + 2 > self.limit:
            raise ConvergenceError(
                "the fit did not converge at the points or rounds that it may ask for; leave out features with outliers or of rare events, set a penalty, or "
                "raise max_rounds"
            )
        self.number += 1
        self.point = Point(self.known.question, self.known.centre, self.known.scale, coefficients, self.number)
        times, columns = len(self.known.question.times), len(coefficients)
        efron = self.known.question.ties == "efron"
        sizes = [times * columns, *[times * (1 + columns)] * (2 if efron else 1)]
        values = self._sum("partial_risk", RiskRequest(self.point), sum(sizes))
        if values is None:
            return None
        died, risk, *tied = np.split(values, np.cumsum(sizes)[:-1])
        shape = (times, 1 + columns)
        deaths = self.known.events.astype(np.float64)
        own = tied[0].reshape(shape) if efron else np.zeros(shape)
        sums = RiskSums(deaths, died.reshape(times, columns), risk.reshape(shape), own, self.known.weight)
        return sums if sums.usable else None

    def information(self, sums: RiskSums) -> Vector:
        """Return the information matrix at the last point, and keep the concordance there; one round."""
        request = SquaresRequest(self.point, *sums.spent(), self.known.records)
        squares, pairs = self._symmetric("partial_squares", request, 2)
        self.concordance = float(pairs[0] / pairs[1]) if pairs[1] > 0.0 else None
        return sums.information(squares)

    def scores(self, sums: RiskSums) -> Vector:
        """Return the sum over the clusters of the products of their score residuals at the last point, (columns, columns); one round."""
        return self._symmetric("partial_scores", ScoresRequest(self.point, *sums.spent(), *sums.means()))[0]

    def _symmetric(
        self, function: str, request: SquaresRequest | ScoresRequest, more: int = 0
    ) -> tuple[Vector, Vector]:
        """Return a symmetric matrix, and so many numbers more."""
        columns = len(request.point.coefficients)
        upper = columns * (columns + 1) // 2
        values = self._sum(function, request, upper + more)
        if values is None:
            raise ConvergenceError("a feature has values far from all others; transform it, or give narrower bounds")
        squares = np.zeros((columns, columns))
        squares[np.triu_indices(columns)] = values[:upper]
        return np.asarray(squares + np.triu(squares, 1).T), values[upper:]

    def _sum(self, function: str, request: Any, length: int) -> Vector | None:
        summed = self.federation.secure_sum(function, request, self.stations, SumReply, field="vector")
        values = signed(summed, length + 1)
        return None if values[-1] else values[:-1] / 2.0**BITS


def solve_sums(sums: Sums, penalty: float, tolerance: float) -> Solution:
    """Maximise the log partial likelihood less penalty / 2 times the sum of squared coefficients by Newton's method with step halving.

    Parameters
    ----------
    sums : Sums
        Of the stations.
    penalty : float
        Of coefficients in the units of the data.
    tolerance : float
        Largest change of a coefficient, in deviations of its column, at which the fit ends.

    Raises
    ------
    ArgumentError
        When features are collinear, naming them.
    ConvergenceError
        When coefficients run away, naming them, or points or rounds run out.
    """
    labels = sums.known.question.labels
    ridge = np.asarray(penalty / widths(sums.known) ** 2, dtype=np.float64)
    beta = np.zeros(len(labels))
    here = sums.at(beta)
    if here is None:
        raise ConvergenceError("there are more records than the sums can hold; use fewer stations")
    null = value = here.log_likelihood(beta)
    information = sums.information(here)
    check_collinear(information, labels, ridge)
    while True:
        move = np.linalg.solve(information + np.diag(ridge), here.gradient() - ridge * beta)
        if np.max(np.abs(move)) < tolerance:
            reached = value + float(here.gradient() @ move)
            return Solution(beta + move, here, information, reached, null, sums.number, sums.concordance)
        beta, here, value = _step(sums, ridge, beta, np.asarray(move, dtype=np.float64), value)
        check_far(beta, labels, FAR)
        information = sums.information(here)


def _step(sums: Sums, ridge: Vector, beta: Vector, move: Vector, value: float) -> tuple[Vector, RiskSums, float]:
    """Return the next point, the sums there and the likelihood: the whole step, or the first half, quarter, ... of it that is uphill."""
    score = value - 0.5 * float(ridge @ beta**2)
    while True:
        there = sums.at(beta + move)
        if there is not None:
            reached = there.log_likelihood(beta + move)
            if reached - 0.5 * float(ridge @ (beta + move) ** 2) >= score - SHORTEST * abs(score):
                return beta + move, there, reached
        move = move / 2.0


def widths(known: Known) -> Vector:
    """Return what one unit of each centred and scaled column is in the units of the data, (columns,)."""
    return np.asarray(known.scale * np.array([half for _, half in known.question.spans]))
