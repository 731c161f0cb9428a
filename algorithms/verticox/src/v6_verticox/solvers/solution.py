"""What solvers end with, in the scale of the parties' columns."""

from __future__ import annotations

from dataclasses import dataclass

from fedbayes.typing import Floats


@dataclass(frozen=True, slots=True)
class Solution:
    """Of the private solver; the log partial likelihood gained from zero, and the error of that.

    `residual`: mean relative error of the reciprocals at the end, without sign. `floor`: the largest part of a Newton step that no further one made
    shorter, 0 of a fit that converged.
    """

    coefficients: Floats
    information: Floats
    gain: float
    gain_error: float
    residual: float
    steps: int
    floor: float


@dataclass(frozen=True, slots=True)
class SeenSolution:
    """Of a solver that shows the outcome holder linear predictors; `trend`: None where proportional hazards were not checked."""

    coefficients: Floats
    information: Floats
    log_likelihood: float
    hazard: Floats
    steps: int
    trend: Floats | None = None
    exact_information: bool = True
