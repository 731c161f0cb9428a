"""Central's part of the private solver: which coefficients to try next, from gradients and information matrices alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from fedbayes.federation.errors import ConvergenceError

from .model import check_collinear, check_far

Vector = npt.NDArray[np.float64]
UNIT = 32
NEWTON = (2 * UNIT, UNIT)
LONGEST_STEP = 0.5
FIRST_STEP = 0.5
FAR = 7.0
ROUNDING = 2.0**-31


@dataclass(frozen=True, slots=True)
class Gradient:
    """Gradient of the log partial likelihood at `coefficients`; `residual` = sum over events of 1 - r S0."""

    coefficients: Vector
    gradient: Vector
    residual: float


class Surface(Protocol):
    """How central evaluates the partial likelihood; every method costs rounds."""

    events: float
    rows: int
    names: Sequence[str]

    def start(self) -> Gradient:
        """Evaluate at zero."""

    def evaluate(self, step: int, coefficients: Vector, plan: Sequence[tuple[int, int]]) -> Gradient:
        """Evaluate elsewhere, the reciprocals refined as planned."""

    def refine(self, step: int) -> Gradient:
        """Refine the reciprocals of this step once more."""

    def information(self, step: int, final: bool) -> Vector:
        """Return the information matrix where the last gradient was taken."""


@dataclass(slots=True)
class Path:
    """What was evaluated, in order; `log_likelihood` integrates along it."""

    points: list[Vector] = field(default_factory=list)
    gradients: list[Vector] = field(default_factory=list)
    informations: list[Vector] = field(default_factory=list)

    def add(self, point: Gradient, information: Vector) -> None:
        """Append one evaluation."""
        self.points.append(point.coefficients)
        self.gradients.append(point.gradient)
        self.informations.append(information)

    def gain(self) -> float:
        """Return the log partial likelihood at the last point less that at the first.

        The line integral of the gradient by the trapezoidal rule with end correction: an error of the fifth order of each step,
        about 1e-4 of the gain on real data.
        """
        total = 0.0
        for index in range(1, len(self.points)):
            move = self.points[index] - self.points[index - 1]
            slopes = (self.gradients[index] + self.gradients[index - 1]) @ move / 2.0
            bends = move @ (self.informations[index] - self.informations[index - 1]) @ move / 12.0
            total += float(slopes + bends)
        return total


@dataclass(frozen=True, slots=True)
class Fit:
    """The solution, in the scale of the parties' columns."""

    coefficients: Vector
    information: Vector
    path: Path
    steps: int


def reciprocal_plan(spread: float, target: float) -> list[tuple[int, int]]:
    """Return coefficients (times 32) that bring 1/S0 from the previous step to this one.

    Parameters
    ----------
    spread : float
        The ratio of new to old risk-set sums is expected in [exp(-spread), exp(spread)].
    target : float
        Wanted relative error.

    Notes
    -----
    r <- (a - b S0 r) r leaves 1 - S0 r = T2(u)/T2(u0) on the interval when a, b come from the Chebyshev polynomial T2; once
    the error is below 0.3 the plain Newton reciprocal (a, b) = (2, 1) squares it.
    """
    plan: list[tuple[int, int]] = []
    low, high = math.exp(-spread), math.exp(spread)
    while (max(high - 1.0, 1.0 - low) > target or not plan) and len(plan) < 14:
        pair = NEWTON if max(high - 1.0, 1.0 - low) <= 0.3 else _chebyshev(low, high)
        plan.append(pair)
        low, high = _image(low, high, pair)
    return plan


def _chebyshev(low: float, high: float) -> tuple[int, int]:
    """Return the minimax coefficients for an interval, rounded so that the error stays below one."""
    center, slope = (high + low) / (high - low), 2.0 / (high - low)
    peak = 2.0 * center**2 - 1.0
    first, second = round(4.0 * center * slope / peak * UNIT), max(round(2.0 * slope**2 / peak * UNIT), 1)
    least, most = _image(low, high, (first, second))
    if least > 0.0 and most < 1.95:
        return first, second
    return math.floor(2.0 / high * UNIT), math.ceil(UNIT / high**2)  # Newton's reciprocal, started below


def _image(low: float, high: float, pair: tuple[int, int]) -> tuple[float, float]:
    """Return the range of y (a - b y) for y between `low` and `high`."""
    first, second = pair[0] / UNIT, pair[1] / UNIT
    points = [low, high, min(max(first / (2.0 * second), low), high)]
    values = [point * (first - second * point) for point in points]
    return min(values), max(values)


def solve(surface: Surface, ridge: Vector, tolerance: float, max_steps: int) -> Fit:
    """Maximise the penalised log partial likelihood by Newton's method.

    Parameters
    ----------
    surface : Surface
        How central evaluates the likelihood.
    ridge : ndarray of (features,)
        Weights of the penalty ridge * coefficient^2 / 2, in the parties' scale.
    tolerance : float
        Wanted accuracy of the coefficients, in units of one standard deviation of a column.
    max_steps : int
        Newton steps at most.

    Raises
    ------
    ConvergenceError
        If it does not converge: naming the features whose coefficients run away (separation).
    """
    path = Path()
    here = surface.start()
    information = surface.information(0, False)
    path.add(here, information)
    if not ridge.any():
        check_collinear(information, surface.names)
    lag, step = 0.0, 0
    move, spread = _move(here, information, ridge, surface.events, FIRST_STEP)
    while True:
        step += 1
        if step > max_steps:
            raise ConvergenceError("no convergence within max_rounds; raise max_rounds or the penalty")
        plan = reciprocal_plan(3.0 * spread + 2.0 * lag, max(1e-10, 0.02 * min(spread**2, 0.05)))
        there = surface.evaluate(step, here.coefficients + move, plan)
        there = _settled(surface, step, there, spread)
        _check_finite(there, surface)
        following, _ = _move(there, information, ridge, surface.events, 1.0)
        final = float(np.max(np.abs(following))) < math.sqrt(tolerance) / 10.0
        information = surface.information(step, final)
        path.add(there, information)
        here, lag = there, min(abs(there.residual) / surface.events, 0.5)
        move, spread = _move(here, information, ridge, surface.events, 1.0)
        check_far(here.coefficients, surface.names, FAR)
        if final:
            return Fit(here.coefficients + move, information, path, step)


def _move(point: Gradient, information: Vector, ridge: Vector, events: float, shrink: float) -> tuple[Vector, float]:
    """Return the Newton step, shortened to a spread of one, and its spread over the records at risk."""
    curvature = information + np.diag(ridge)
    move = shrink * np.linalg.solve(curvature, point.gradient - ridge * point.coefficients)
    spread = math.sqrt(max(float(move @ information @ move), 0.0) / events)
    if spread > LONGEST_STEP:
        move, spread = move * (LONGEST_STEP / spread), LONGEST_STEP
    return np.asarray(move, dtype=np.float64), spread


def _settled(surface: Surface, step: int, point: Gradient, spread: float) -> Gradient:
    """Refine until the reciprocals are as good as the step needs."""
    noise = surface.rows * math.sqrt(surface.events) * ROUNDING
    target = max(noise, 0.02 * min(spread**2, 0.05) * surface.events)
    for _ in range(12):
        if abs(point.residual) <= target:
            return point
        before = abs(point.residual)
        point = surface.refine(step)
        if abs(point.residual) > 1.5 * before:
            break
    if abs(point.residual) <= target:
        return point
    raise ConvergenceError(
        "the risk of some records changes too much in one step; remove outliers of the features or raise the penalty"
    )


def _check_finite(point: Gradient, surface: Surface) -> None:
    if not np.all(np.abs(point.gradient) < 2.0**40):
        raise ConvergenceError("the fixed-point arithmetic left its range (expected once in a million fits); run again")
