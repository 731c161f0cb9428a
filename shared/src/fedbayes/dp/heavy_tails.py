"""Noise for smooth sensitivity: Cauchy and Student-t, calibrated exactly, and released on a public grid.

`value + multiplier * S * Z` is epsilon-differentially private if S is a beta-smooth bound of the local sensitivity and Z is

- standard Cauchy and the multiplier k satisfies k^2 >= max over b in {0, beta} of exp(-b) / (2 (cosh epsilon - cosh b)): two Cauchy laws are points of the
  hyperbolic plane and their privacy loss is the distance arccosh(1 + (dx^2 + dlambda^2) / (2 lambda lambda')), so this is tight;
- Student-t with nu degrees and k >= (nu + 1) / (2 sqrt(nu)) / (epsilon - nu beta).

The published algorithm takes k = sqrt(2)/epsilon and never states beta; that is private only up to about beta = epsilon / sqrt 2.
beta and the multiplier depend on epsilon alone, never on the data. Calibration leaves a relative margin of 1e-9 for rounding in S.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import randomness
from .checks import positive

__all__ = ["NOISES", "cauchy_loss", "default_beta", "multiplier", "on_grid", "perturb"]

NOISES: tuple[str, str] = ("cauchy", "student_t")
_MARGIN = 1e-9


def cauchy_loss(beta: float, k: float) -> float:
    """Return the exact privacy loss of Cauchy noise of scale k * S with a beta-smooth S."""
    losses = [math.acosh(math.cosh(b) + math.exp(-b) / (2.0 * k * k)) for b in (0.0, beta)]
    return max(losses)


def default_beta(epsilon: float, noise: str = "cauchy", degrees_of_freedom: float = 3.0) -> float:
    """Return the smoothing parameter to use with a given epsilon; a function of epsilon alone.

    Cauchy: the larger of epsilon/2 (15 % more noise than beta = 0) and ln(2 cosh epsilon - 1) (the largest beta that costs nothing).
    Student-t: epsilon / (2 nu).
    """
    epsilon = positive("epsilon", epsilon)
    if _checked(noise) == "student_t":
        return epsilon / (2.0 * positive("degrees_of_freedom", degrees_of_freedom))
    free = math.log(2.0 * math.cosh(epsilon) - 1.0) if epsilon < 300.0 else epsilon
    return min(max(epsilon / 2.0, free), epsilon * (1.0 - 1e-3))


def multiplier(epsilon: float, beta: float, noise: str = "cauchy", degrees_of_freedom: float = 3.0) -> float:
    """Return the factor k: noise of scale k * S gives epsilon.

    Raises
    ------
    ValueError
        If beta is too large for any factor: beta < epsilon (Cauchy), beta < epsilon / nu (Student-t).
    """
    epsilon, beta = positive("epsilon", epsilon), positive("beta", beta) + _MARGIN
    if _checked(noise) == "student_t":
        nu = max(1.0, positive("degrees_of_freedom", degrees_of_freedom))
        if epsilon <= nu * beta:
            raise ValueError("beta: give less than epsilon / degrees_of_freedom")
        return (nu + 1.0) / (2.0 * math.sqrt(nu)) / (epsilon - nu * beta) * (1.0 + _MARGIN)
    if epsilon <= beta:
        raise ValueError("beta: give less than epsilon")
    # cosh e - cosh b = 2 sinh((e+b)/2) sinh((e-b)/2): no cancellation, and in logarithms no overflow
    logs = [
        -b - 2.0 * math.log(2.0) - _log_sinh((epsilon + b) / 2.0) - _log_sinh((epsilon - b) / 2.0) for b in (0.0, beta)
    ]
    return math.exp(max(logs) / 2.0) * (1.0 + _MARGIN)


def _log_sinh(x: float) -> float:
    return x + math.log(-math.expm1(-2.0 * x)) - math.log(2.0)


def perturb(
    values: ArrayLike, scales: ArrayLike, width: ArrayLike, noise: str = "cauchy", degrees_of_freedom: float = 3.0
) -> NDArray[np.float64]:
    """Return values plus heavy-tailed noise, rounded to the public grid of `on_grid`.

    Parameters
    ----------
    values : array of float
        Statistics to release.
    scales : array of float
        multiplier * smooth sensitivity, of the same shape.
    width : array of float
        Public range of each statistic; sets the grid.
    noise : str
        "cauchy" or "student_t".
    degrees_of_freedom : float
        Of Student's t, at least 1.
    """
    exact = np.asarray(values, dtype=np.float64)
    student = _checked(noise) == "student_t"
    freedom = max(1.0, degrees_of_freedom)
    draws = randomness.student_t(freedom, exact.shape) if student else randomness.standard_cauchy(exact.shape)
    return on_grid(exact + np.asarray(scales) * draws, width)


def on_grid(values: ArrayLike, width: ArrayLike) -> NDArray[np.float64]:
    """Return values rounded to multiples of the largest power of two not above width / 2^24.

    The grid is public and far coarser than a float, so the low bits of the sum of value and noise do not leave the node.
    """
    grid = np.exp2(np.floor(np.log2(np.asarray(width, dtype=np.float64))) - 24.0)
    return np.asarray(np.rint(np.asarray(values, dtype=np.float64) / grid) * grid, dtype=np.float64)


def _checked(noise: str) -> str:
    if noise not in NOISES:
        raise ValueError('noise: give "cauchy" or "student_t"')
    return noise
