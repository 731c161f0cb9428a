"""Newton's method on sums over risk sets, in a fit over horizontally split records that have been tallied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from fedbayes.federation import Federation
from fedbayes.federation.errors import ConvergenceError
from fedbayes.federation.horizontal import signed, whole_sums
from fedbayes.federation.jobs.transport import summed
from fedbayes.typing import Floats, Integers

from ..cox.entering import solved
from ..cox.likelihood import FAR, check_collinear, check_far
from .likelihood import RiskSums
from .messages import MOST_EVALUATIONS, Point
from .partials import BITS
from .requests import OfPoint, RiskReply, RiskRequest, ScoresRequest, SquaresRequest
from .tallies import Tallied, widths
from .witnessed import added_up

Request = TypeVar("Request", bound=OfPoint)
SHORTEST = 1e-9  # relative loss of the likelihood that is rounding


@dataclass(frozen=True)
class Solution:
    """Where the fit ended, in centred and scaled columns: coefficients, sums and information there, likelihood there and at zero; concordance."""

    coefficients: Floats
    sums: RiskSums
    information: Floats
    log_likelihood: float
    null: float
    evaluations: int
    concordance: float | None


class Sums:
    """What a fit asks of the stations, at one point after the other."""

    def __init__(self, federation: Federation, stations: Sequence[int], tallied: Tallied, limit: int) -> None:
        self.federation, self.stations, self.tallied, self.limit = federation, stations, tallied, limit
        self.number = 0
        self.unshown = tallied.shown
        self.concordance: float | None = None

    def at(self, coefficients: Floats) -> RiskSums | None:
        """Return the sums at a point, None where it is too far for numbers; one round.

        Raises
        ------
        ConvergenceError
            If no point or round is left.
        """
        if self.number == MOST_EVALUATIONS or self.federation.rounds + 2 > self.limit:
            largest = self.tallied.question.labels[int(np.argmax(np.abs(coefficients)))]
            raise ConvergenceError(
                f"no convergence at the points or rounds that a fit may ask for; the largest effect is that of {largest}: if it separates the events or has "
                "outliers, leave it out, transform it or set a penalty; otherwise raise max_rounds"
            )
        self.number += 1
        self.point = Point(self.tallied.question, self.tallied.centre, self.tallied.scale, coefficients, self.number)
        times, columns = len(self.tallied.question.times), len(coefficients)
        efron = self.tallied.question.ties == "efron"
        values, risks = self._risks(RiskRequest(self.point), (2 + efron) * times * columns, (1 + efron) * times)
        if values is None or risks is None:
            return None
        died, *weighted = values.reshape(-1, times, columns)
        risk, *tied = [
            np.column_stack([own, more]) for own, more in zip(risks.reshape(-1, times), weighted, strict=True)
        ]
        deaths = self.tallied.events.astype(np.float64)
        sums = RiskSums(deaths, died, risk, tied[0] if efron else np.zeros_like(risk), self.tallied.weight)
        return sums if sums.usable else None

    def information(self, sums: RiskSums) -> Floats:
        """Return the information matrix at the last point, and keep the concordance there; one round."""
        squares, pairs = self._symmetric("partial_squares", SquaresRequest(self.point), 2)
        self.concordance = float(pairs[0] / pairs[1]) if pairs[1] > 0.0 else None
        return sums.information(squares)

    def scores(self, sums: RiskSums) -> Floats:
        """Return the sum over the clusters of the products of their score residuals at the last point, (columns, columns); one round."""
        return self._symmetric("partial_scores", ScoresRequest(self.point, *sums.means()))[0]

    def _symmetric(
        self, function: str, request: SquaresRequest | ScoresRequest, more: int = 0
    ) -> tuple[Floats, Floats]:
        """Return a symmetric matrix, and so many numbers more."""
        columns = len(request.point.coefficients)
        upper = columns * (columns + 1) // 2
        values = self._sum(function, request, upper + more)
        if values is None:
            raise ConvergenceError("a feature has values far from all others; transform it, or give narrower bounds")
        squares = np.zeros((columns, columns))
        squares[np.triu_indices(columns)] = values[:upper]
        return np.asarray(squares + np.triu(squares, 1).T), values[upper:]

    def _sum(self, function: str, request: OfPoint, length: int) -> Floats | None:
        return _unfixed(whole_sums(self.federation, function, self._following(request), self.stations, length + 1))

    def _risks(self, request: RiskRequest, length: int, risks: int) -> tuple[Floats | None, Floats | None]:
        """Return the sums of columns at a point, and of relative risks, which the next request there shows to the stations."""
        replies = self.federation.round("partial_risk", self._following(request), self.stations, RiskReply)
        sums = signed(summed([reply.weighted for reply in replies.values()]), length + 1)
        total, self.unshown = added_up(
            self.federation, request.point.risks, {member: one.risks for member, one in replies.items()}, risks + 1
        )
        return _unfixed(sums), _unfixed(total)

    def _following(self, request: Request) -> Request:
        """Return a request with what the stations have not been shown."""
        request, self.unshown = replace(request, shown=self.unshown), None
        return request


def _unfixed(values: Integers) -> Floats | None:
    """Return sums in fixed point as they are; None where they are too large for some station, as the last number says."""
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
    labels = sums.tallied.question.labels
    ridge = np.asarray(penalty / widths(sums.tallied) ** 2, dtype=np.float64)
    beta = np.zeros(len(labels))
    here = sums.at(beta)
    if here is None:
        raise ConvergenceError("there are more records than the sums can hold; use fewer stations")
    null = value = here.log_likelihood(beta)
    information = sums.information(here)
    check_collinear(information, labels, ridge)
    while True:
        move = solved(information + np.diag(ridge), here.gradient() - ridge * beta)
        if np.max(np.abs(move)) < tolerance:
            reached = value + float(here.gradient() @ move)
            return Solution(beta + move, here, information, reached, null, sums.number, sums.concordance)
        beta, here, value = _step(sums, ridge, beta, move, value)
        check_far(beta, labels, FAR)
        information = sums.information(here)


def _step(sums: Sums, ridge: Floats, beta: Floats, move: Floats, value: float) -> tuple[Floats, RiskSums, float]:
    """Return the next point, the sums there and the likelihood: the whole step, or the first half, quarter, ... of it that is uphill."""
    score = value - 0.5 * float(ridge @ beta**2)
    while True:
        there = sums.at(beta + move)
        if there is not None:
            reached = there.log_likelihood(beta + move)
            if reached - 0.5 * float(ridge @ (beta + move) ** 2) >= score - SHORTEST * abs(score):
                return beta + move, there, reached
        move = move / 2.0
