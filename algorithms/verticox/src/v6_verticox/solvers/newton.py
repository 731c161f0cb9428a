"""Central's part of the private solver: which coefficients to try next, from gradients and information matrices alone."""

from __future__ import annotations

import math

import numpy as np

from fedbayes.federation.errors import ConvergenceError
from fedbayes.typing import Floats

from ..cox.entering import solved
from ..cox.likelihood import check_collinear, check_far
from ..cox.line_integral import MOST_NODES, Path, fractions, nodes_for
from ..cox.tails import CROWD, ORDINARY, check_runaway
from ..rounds.points import Beside, Gradient
from ..rounds.surface import FederatedSurface
from ..shares.reciprocals import reciprocal_plan
from .solution import Solution

# How far a step goes. Reciprocals of risk-set sums follow a step whose logarithm of the growth is planned for: 5 rounds of refinement up to WIDEST,
# 6 up to WIDEST_FAR (`reciprocal_plan` at an error of 1e-3). A growth beyond the plan costs the whole step, about ten rounds.
SHORT_TAIL = 3.0  # deviations: a record's predictor is taken to change by at most so many of its spread; heavy tails are in `Tails`
LONGER_TAIL = 2.5  # times as many after a step that the reciprocals did not follow: 7.5 deviations, then 19, 47
WIDEST = 1.5  # growth, as a logarithm, of an ordinary step: where the plan below one begins to cost more (`reciprocals.DOWN_AT_MOST`)
WIDEST_RETRY = 2.2  # the same after a step that failed: wider intervals first, shorter steps only then
WIDEST_FAR = 3.0  # the same for records in heavy tails, whose steps would be very short otherwise
MORE_CROWDED = 10.0
"""Times as frequent as thought may records of a heavy tail be in a risk set, after a step that failed."""
DECAY = 2.0  # after a step that went well, the longer tail is halved: what was met once may come again soon
ATTEMPTS = 4  # steps tried from one point, the last with tails of 47 deviations
OVERSHOT = 2.0  # times as far from the end as before: such a step went beyond a maximum that heavy tails make narrow
SHORTEST_TURN, LONGEST_TURN = 0.1, 0.5
"""Part of a step that went too far which is tried next, at least and at most."""
FIRST_STEP = 0.5
"""Of Newton's from zero, where the curvature says least of the end: half a step needs narrower intervals."""
STRETCHED_FROM = 3  # points: two steps in a row show how the curvature falls (`Tails.stretched`)
FAR = 7.0  # standardised: e^7 is a hazard ratio of 1,100 for one deviation, which no finite maximum explains; the ring holds e^11
FINITE = 2.0**40
"""Squares of columns are below 2^24 (`columns.LARGEST_STANDARDISED`): 65,536 such records; more has left the ring."""

# How exact the reciprocals are. A residual is the mean relative error of them all, which one refinement squares.
ROUNDING = 2.0**-31
"""Eight units of a reciprocal's last bit (`RECIPROCAL_BITS`), by which 1 - r S0 is off for each risk of one in the sum."""
REFINEMENTS = 4  # at most, one by one: .2 squared four times is 1e-11
HOPELESS = 0.2
"""Residual: the step left its interval, and some records are so far off that squaring does not bring them back."""
SECOND_ORDER = 0.02  # of the squared spread of the step, which is what Newton's method leaves: reciprocals need not be more exact than that
LARGEST_SQUARE = 0.05  # for long steps: an error of a thousandth always
FINEST = 1e-10  # no plan asks for more: it is the last bits of the fixed point
FALLING = 0.25
"""A refinement that leaves more than a quarter did not square the error: the arithmetic's floor is reached."""
FLOOR = 1e-5  # up to which such a floor is taken: beyond, reciprocals are wrong and not rounded; `central.ACCURATE` warns from a tenth on
SETTLED = 1e-6  # deviations of the predictor: a remaining step may grow by so much from the arithmetic's errors alone

# The log-likelihood's slopes at points beside a step.
NEAR = 0.02
"""Deviations left: what lies beyond is integrated with an error of the third order, 1e-5 of an event at most."""
EXACT, EXACT_ENOUGH = 1e-9, 2.0**-25
"""Least and largest error planned, so that the gain is known to about 1e-8 of it; 2^-25 where rows are many."""
NOT_EXACT = 1e-3  # residual: two refinements from exact; a point beyond it is given up rather than paid for
ROUNDS_BESIDE = 20  # kept besides for the steps to the end, about ten rounds each
ROUNDS_WIDE = 16
"""The same beyond these to ask once more: four, as many as the widest plan has pairs, and what refines it."""
TOO_SKEWED = (
    "the risk of some records changes too much in one step, or differs too much between records; transform features with outliers "
    "(by their log or rank), leave them out or raise the penalty"
)


async def solve(
    surface: FederatedSurface, ridge: Floats, tolerance: float, max_steps: int, likelihood: bool = False
) -> Solution:
    """Maximise the penalised log partial likelihood by Newton's method.

    Parameters
    ----------
    surface : FederatedSurface
        How central evaluates the likelihood.
    ridge : ndarray of (features,)
        Weights of the penalty ridge * coefficient^2 / 2, in the parties' scale.
    tolerance : float
        Wanted accuracy of the coefficients, in units of one standard deviation of a column.
    max_steps : int
        Newton steps at most.
    likelihood : bool
        Whether the gain is wanted exactly: about two rounds more.

    Raises
    ------
    ConvergenceError
        If it does not converge: naming the features whose coefficients run away (separation).
    """
    search = _Search(surface, ridge, max_steps, likelihood)
    await search.begin()
    while True:
        move = await search.advance()
        near = search.floor > 0.0 or surface.tails.weighed(move) < math.sqrt(tolerance) / 10.0
        final = near and not search.asks_again()
        await search.measure(final)
        if final:
            move = search.newton_step(search.here)
            return search.solution(move)


class _Search:
    """Newton's method with steps shortened where the reciprocals do not follow, or the gradient grows."""

    def __init__(self, surface: FederatedSurface, ridge: Floats, max_steps: int, likelihood: bool) -> None:
        self.surface, self.ridge, self.max_steps, self.likelihood = surface, ridge, max_steps, likelihood
        self.sources: list[tuple[int, Floats, float]] = [(0, np.zeros(len(ridge)), 0.0)]
        self.path, self.step, self.lag, self.tail, self.crowd = Path(), 0, 0.0, SHORT_TAIL, CROWD
        self.wide, self.floor, self.farther = False, 0.0, False
        self.information: Floats = np.zeros((len(ridge), len(ridge)))

    async def begin(self) -> None:
        """Evaluate at zero."""
        self.here = await self.surface.start()
        await self.measure(False)
        check_collinear(self.information, self.surface.names, self.ridge)

    async def measure(self, final: bool) -> None:
        """Ask for the information matrix here."""
        self.information = await self.surface.information(self.step, final)
        if not np.all(np.abs(self.information) < FINITE) or np.min(np.diag(self.information)) < 0.0:
            raise ConvergenceError(TOO_SKEWED)
        self.path.add(self.here.coefficients, self.here.gradient, self.information)
        if not self.ridge.any():
            check_runaway(self.path.gradients, self.path.informations, self.surface.names)
        if len(self.here.slopes):
            self.path.go_straight(self.here.slopes, float(np.max(np.abs(self.here.residuals))))
            self.likelihood = False

    def solution(self, move: Floats) -> Solution:
        """Return the solution: the last Newton step from here, with the curvature that it leads to."""
        gain, error = self.path.gain()
        move = move * (not self.farther)  # a step that errors made longer leads away
        gain += float(self.here.gradient @ move - move @ self.information @ move / 2.0)
        residual = abs(self.here.residual) / self.surface.events
        return Solution(
            self.here.coefficients + move,
            self.path.information_after(move),
            gain,
            error,
            residual,
            self.step,
            self.floor,
        )

    def asks_again(self) -> bool:
        """Return whether the slopes beside were lost and there are rounds to ask for them again, once, from wide intervals."""
        lost = self.likelihood and not len(self.here.slopes)
        again = lost and not self.wide and self.surface.rounds_left() >= ROUNDS_BESIDE + ROUNDS_WIDE
        self.wide = self.wide or again
        return again

    def newton_step(self, point: Gradient) -> Floats:
        """Return the full Newton step from a point."""
        slope = point.gradient - self.ridge * point.coefficients
        return solved(self.information + np.diag(self.ridge), slope)

    async def advance(self) -> Floats:
        """Go to the next point; return the Newton step that remains there."""
        move = self._wanted()
        whole, longest = self._spread(move), 1.0
        for _ in range(ATTEMPTS):
            share = min(self._share(move, whole), longest)
            there = await self._evaluate(share * move, whole * share)
            if there is None:  # some records change more than thought: wider intervals, then shorter steps
                self.crowd *= MORE_CROWDED
                self.tail *= LONGER_TAIL
            elif not self._reach_floor(there) and self._overshot(there):
                longest = share * self._turn(there)
            else:
                self._arrive(there)
                return self.newton_step(there)
        raise ConvergenceError(TOO_SKEWED)

    def _arrive(self, there: Gradient) -> None:
        """Go on from a point."""
        self.surface.accept()
        self.tail, self.crowd = max(SHORT_TAIL, self.tail / DECAY), max(CROWD, self.crowd / MORE_CROWDED)
        self.here, self.lag = there, min(abs(there.residual) / self.surface.events, 0.5)
        self.sources.append((self.step, there.coefficients, self.lag))
        check_far(there.coefficients, self.surface.names, FAR)

    def _spread(self, move: Floats) -> float:
        """Return the standard deviation of the change of the linear predictor over the records at risk."""
        return math.sqrt(max(float(move @ self.information @ move), 0.0) / self.surface.events)

    def _wanted(self) -> Floats:
        """Return the step to try: a short one from zero, Newton's, or longer where heavy tails make that too short."""
        move = self.newton_step(self.here)
        if len(self.path.points) < STRETCHED_FROM:
            return (FIRST_STEP if self.step == 0 else 1.0) * move
        before, after = (np.diag(information) for information in self.path.informations[-2:])
        taken = self.path.points[-1] - self.path.points[-2]
        return self.surface.tails.stretched(move, taken, before, after)

    def _share(self, move: Floats, spread: float) -> float:
        """Return the part of a step that the reciprocals can be expected to follow."""
        widest = WIDEST if self.tail == SHORT_TAIL else WIDEST_RETRY
        share = min(1.0, widest / (self.tail * max(spread, 1e-300)))
        ordinary, limit = share * self.tail * spread, max(WIDEST_FAR, widest)
        return share * self.surface.tails.share(self.here.coefficients, share * move, ordinary, self.crowd, limit)

    async def _evaluate(self, move: Floats, spread: float) -> Gradient | None:
        """Evaluate one move from here; None where the reciprocals do not follow."""
        self.step += 1
        here = self.here.coefficients
        coefficients = here + move
        if self.step > self.max_steps:
            raise ConvergenceError(
                "no convergence within the steps that so many records and features allow; raise the penalty, or transform features with outliers"
            )
        growth = self.surface.tails.growth(here, move, self.tail * spread, self.crowd)
        plan = reciprocal_plan(growth + 2.0 * self.lag, max(FINEST, _wanted(spread)))
        beside = self._beside(coefficients) if self.likelihood and spread < NEAR else []
        if beside and self.surface.rounds_left() < ROUNDS_BESIDE + max(len(point.plan) for point in beside):
            beside = []
        there = await self._settled(await self.surface.evaluate(self.step, coefficients, plan, beside), spread)
        if there is None or not np.all(np.abs(there.gradient) < FINITE):
            return None
        return there

    def _overshot(self, there: Gradient) -> bool:
        """Return whether a point is further from the end than the one before it."""
        before, after = self.newton_step(self.here), self.newton_step(there)
        return self._spread(after) > OVERSHOT * self._spread(before) + SETTLED

    def _reach_floor(self, there: Gradient) -> bool:
        """Return, and note, whether no step leads nearer any more because of the arithmetic's own errors."""
        before, after = self.newton_step(self.here), self.newton_step(there)
        reached = self.surface.tails.at_floor(before, there.coefficients - self.here.coefficients, after)
        self.farther = reached and self._spread(after) > self._spread(before)
        self.floor = float(np.max(np.abs(after))) if reached else self.floor
        return reached

    def _turn(self, there: Gradient) -> float:
        """Return the part of a step that went too far where its slope vanishes, if it falls evenly."""
        move = there.coefficients - self.here.coefficients
        first, last = (float((p.gradient - self.ridge * p.coefficients) @ move) for p in (self.here, there))
        return min(max(first / max(first - last, 1e-300), SHORTEST_TURN), LONGEST_TURN)

    def _beside(self, coefficients: Floats) -> list[Beside]:
        """Return the points between zero and here whose slopes integrate to the likelihood: as few as give it without a further round."""
        heavy = bool(np.max(np.maximum(self.surface.tails.up, self.surface.tails.down)) > ORDINARY)
        least = nodes_for(self._spread(coefficients), heavy)
        choices = [self._points(coefficients, nodes) for nodes in range(least, max(least, MOST_NODES) + 1)]
        longest = [max(len(point.plan) for point in points) for points in choices]
        return choices[longest.index(next(rounds for rounds in longest if rounds <= longest[-1]))]

    def _points(self, coefficients: Floats, nodes: int) -> list[Beside]:
        """Return the points of a rule, each from the nearest reciprocals."""
        points = []
        for fraction in fractions(nodes):
            point = fraction * coefficients
            near = [(self._spread(point - known) * self.tail + 2.0 * lag, step) for step, known, lag in self.sources]
            distance, source = min(near)
            width = WIDEST_FAR if self.wide else min(distance, WIDEST_RETRY)
            points.append(Beside(point, source, reciprocal_plan(width, self._exact())))
        return points

    def _noise(self) -> float:
        """Return the arithmetic's own error in a residual."""
        return self.surface.rows * math.sqrt(self.surface.events) * ROUNDING

    def _exact(self) -> float:
        """Return the relative error planned for reciprocals beside a step: half of what `_settled` lets pass, so that it asks for no more rounds."""
        return min(max(EXACT, self._noise() / self.surface.events / 2.0), EXACT_ENOUGH)

    async def _settled(self, point: Gradient, spread: float) -> Gradient | None:
        """Refine until the reciprocals are as good as the step needs, and those beside exact; forget these if they do not get so.

        Where risks differ by many orders of magnitude the arithmetic's own error is larger than `noise`: refining helps no more.
        """
        events, before = self.surface.events, np.inf
        noise = self._noise()
        target = max(noise, _wanted(spread) * events)
        for _ in range(REFINEMENTS):
            if not abs(point.residual) <= HOPELESS * events:
                return None
            worst = float(np.max(np.abs(point.residuals), initial=0.0))
            if not worst <= NOT_EXACT * events:
                point, worst = Gradient(point.coefficients, point.gradient, point.residual), 0.0
            now = max(worst, abs(point.residual))
            if now > before and now > FLOOR * events:
                return None  # some reciprocals are beyond where refining brings them back
            helpless = FALLING * before <= now <= FLOOR * events
            if helpless or now <= (noise if len(point.residuals) else target):
                return point
            before, point = now, await self.surface.refine(self.step)
        alone = Gradient(point.coefficients, point.gradient, point.residual)
        return alone if abs(point.residual) <= max(target, FLOOR * events) else None


def _wanted(spread: float) -> float:
    """Return the relative error of reciprocals that a step of such a spread needs."""
    return SECOND_ORDER * min(spread**2, LARGEST_SQUARE)
