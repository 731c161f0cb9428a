"""Where the partial likelihood is evaluated, and by what: points, points beside a step, and the protocol of a surface."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ..cox.tails import Tails
from ..shares.reciprocals import Pair

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Gradient:
    """Gradient of the log partial likelihood at `coefficients`; `residual` = sum over events of 1 - r S0.

    Also the slopes at the points beside, in the direction of `coefficients`, and their residuals.
    """

    coefficients: Vector
    gradient: Vector
    residual: float
    slopes: Vector = field(default_factory=lambda: np.zeros(0))
    residuals: Vector = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True, slots=True)
class Beside:
    """A point where the slope alone is wanted, in the rounds of another one; the reciprocals start from those of step `source`."""

    coefficients: Vector
    source: int
    plan: list[Pair]


class Surface(Protocol):
    """How central evaluates the partial likelihood; every method costs rounds."""

    events: float
    rows: int
    names: Sequence[str]
    tails: Tails

    async def start(self) -> Gradient:
        """Evaluate at zero."""

    async def evaluate(
        self, step: int, coefficients: Vector, plan: Sequence[Pair], beside: Sequence[Beside] = ()
    ) -> Gradient:
        """Evaluate elsewhere, the reciprocals refined as planned."""

    def rounds_left(self) -> int:
        """Return how many rounds the job still has."""

    async def refine(self, step: int) -> Gradient:
        """Refine the reciprocals of this step once more."""

    def accept(self) -> None:
        """Start the next reciprocals from those of the last gradient, not from those before."""

    async def information(self, step: int, final: bool) -> Vector:
        """Return the information matrix where the last gradient was taken."""
