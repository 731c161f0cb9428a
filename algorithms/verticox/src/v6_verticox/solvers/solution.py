"""What the private solver ends with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Fit:
    """The solution, in the scale of the parties' columns; the log partial likelihood gained from zero, and the error of that.

    `residual`: mean relative error of the reciprocals at the end, without sign. `floor`: the largest part of a Newton step that no further one made
    shorter, 0 of a fit that converged.
    """

    coefficients: Vector
    information: Vector
    gain: float
    gain_error: float
    residual: float
    steps: int
    floor: float
