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
from . import grid
from .likelihood import RiskSums
from .messages import MOST_EVALUATIONS, Point, Question, RiskRequest, SquaresRequest, TallyRequest
from .partials import BITS

Vector = npt.NDArray[np.float64]
RECORDS_PER_COLUMN = 5  # as in a vertical fit
NARROWEST = 1e-5  # a deviation beside half of the bounds' width, below which the moments hold too few digits
SHORTEST = 1e-9  # relative loss of the likelihood that is rounding


@dataclass(frozen=True)
class Known:
    """What the tallies tell.

    Parameters
    ----------
    question : Question
        With the united grid.
    events, censored : ndarray of int, (times + 1,)
        By united time; last beyond the grid.
    centre, scale : ndarray of float, (columns,)
        Means and deviations in units of half of the bounds' width.
    """

    question: Question
    events: grid.Counts
    censored: grid.Counts
    centre: Vector
    scale: Vector

    @property
    def records(self) -> int:
        """All that count."""
        return int(self.events.sum() + self.censored.sum())


@dataclass(frozen=True)
class Solution:
    """Where the fit ended, in centred and scaled columns: coefficients, sums and information there, likelihood there and at zero."""

    coefficients: Vector
    sums: RiskSums
    information: Vector
    log_likelihood: float
    null: float
    evaluations: int


def tally(federation: Federation, stations: Sequence[int], question: Question) -> Known:
    """Return the counts over all stations, with the grid united so that no sum to come is about few records; one round.

    Raises
    ------
    ThresholdError
        If there are too few events or records, or a category or what is inside a bound is too rare.
    ArgumentError
        If a column is constant, or its bounds are far too wide.
    """
    times, labels = len(question.times), question.labels
    summed = federation.secure_sum("partial_tally", TallyRequest(question), stations, SumReply, field="vector")
    told = grid.Tally.read(signed(summed, grid.Tally.length(times, len(labels))), times, len(labels))
    check_columns(question, told, federation.minimum_count)
    if told.records < RECORDS_PER_COLUMN * len(labels):
        raise ThresholdError("there are too few records for that many design columns; use fewer features")
    kept = grid.united(told.events, told.censored, grid.fewest(len(labels), federation.minimum_count))
    if len(kept) < 2:
        raise ThresholdError(
            "times: too few events lie between the times of the grid, or beside too few censored records; use more records or fewer features, or "
            "a grid over more of the time"
        )
    if len(kept) < times:
        federation.warn(
            f"{times} times were united to {len(kept)}, so that enough events lie between two of them; model.times are those that count"
        )
    centre, scale = told.moments()
    chosen = replace(question, times=[question.times[place] for place in kept])
    return Known(chosen, grid.merged(told.events, kept), grid.merged(told.censored, kept), centre, scale)


def check_columns(question: Question, told: grid.Tally, minimum_count: int) -> None:
    """Refuse columns that are constant, that set few records apart, or of which the bounds hide the values."""
    _, deviation = told.moments()
    place = 0
    for column in question.schema:
        width = len(question.labels_of(column))
        low, high = told.low[place : place + width], told.high[place : place + width]
        counts = (
            np.append(high, told.records - high.sum()) if column.is_categorical else told.records - np.append(low, high)
        )
        if np.any(deviation[place : place + width] == 0.0) or np.any(counts == 0):
            raise ArgumentError(
                f"features: '{column.name}' is constant within its bounds, or has a category of its domain that no record has; "
                "leave it out of features or domain"
            )
        if np.any(counts < minimum_count):
            raise ThresholdError(
                f"feature '{column.name}' sets fewer records apart than a node reveals; merge categories, or widen its bounds"
            )
        if np.any(deviation[place : place + width] < NARROWEST):
            raise ArgumentError(
                f"domain: the bounds of '{column.name}' are far wider than its values; give narrower ones"
            )
        place += width


class Sums:
    """What a fit asks of the stations, at one point after the other."""

    def __init__(self, federation: Federation, stations: Sequence[int], known: Known, limit: int) -> None:
        self.federation, self.stations, self.known, self.limit = federation, stations, known, limit
        self.number = 0

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
        deaths = self.known.events[:times].astype(np.float64)
        own = tied[0].reshape(shape) if efron else np.zeros(shape)
        found = RiskSums(deaths, died.reshape(times, columns), risk.reshape(shape), own)
        return found if found.usable else None

    def information(self, sums: RiskSums) -> Vector:
        """Return the information matrix at the last point; one round."""
        columns = sums.died.shape[1]
        upper = self._sum("partial_squares", SquaresRequest(self.point, *sums.spent()), columns * (columns + 1) // 2)
        if upper is None:
            raise ConvergenceError("a feature has values far from all others; transform it, or give narrower bounds")
        squares = np.zeros((columns, columns))
        squares[np.triu_indices(columns)] = upper
        return sums.information(squares + np.triu(squares, 1).T)

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
            return Solution(beta + move, here, information, value + float(here.gradient() @ move), null, sums.number)
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
