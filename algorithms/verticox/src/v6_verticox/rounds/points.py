"""Where the partial likelihood is evaluated: points of a fit, and points beside a step."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fedbayes.typing import Floats

from ..shares.reciprocals import Pair


@dataclass(frozen=True, slots=True)
class Gradient:
    """Gradient of the log partial likelihood at `coefficients`; `residual` = sum over events of 1 - r S0.

    Also the slopes at the points beside, in the direction of `coefficients`, and their residuals.
    """

    coefficients: Floats
    gradient: Floats
    residual: float
    slopes: Floats = field(default_factory=lambda: np.zeros(0))
    residuals: Floats = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True, slots=True)
class Beside:
    """A point where the slope alone is wanted, in the rounds of another one; the reciprocals start from those of step `source`."""

    coefficients: Floats
    source: int
    plan: list[Pair]
