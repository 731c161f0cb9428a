"""Noise for smooth sensitivity: Cauchy and Student-t, calibrated exactly, and released on a public grid.

`value + multiplier * S * Z` is epsilon-differentially private if S is a beta-smooth bound of the local sensitivity and Z is

- standard Cauchy and the multiplier k satisfies k^2 >= max over b in {0, beta} of exp(-b) / (2 (cosh epsilon - cosh b)): two Cauchy laws are points of the
  hyperbolic plane and their privacy loss is the distance arccosh(1 + (dx^2 + dlambda^2) / (2 lambda lambda')), so this is tight;
- Student-t with nu >= 1 degrees and `student_loss` at most epsilon, which is exact too; at most (nu + 1) / (2 k sqrt(nu)) + nu beta, the sum of the largest
  losses of a shift and of a dilation alone, which no pair of laws attains together.

The published algorithm takes k = sqrt(2)/epsilon and never states beta; that is private only up to about beta = epsilon / sqrt 2.
beta and the multiplier depend on epsilon alone, never on the data.

Floating point. Calibration leaves margins: 1e-8 in beta for rounding in S, a millionth of the scale for rounding in the value, and 2^-22 of epsilon for
the sampler: a release is clipped to public limits and rounded to a public grid of about width / 2^24, the noise is at least one cell wide and has 53
significant bits at every magnitude, so what rounding moves across a cell's border is less than 2^-24 of the cell's probability. This needs limits of about
the statistic's range: far outside them floats are coarser than the grid, and what they can hold would tell values apart.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import randomness
from .checks import positive

NOISES: tuple[str, str] = ("cauchy", "student_t")
_MARGIN_OF_BETA = 1e-8  # for rounding in S; see Floating point above
_MARGIN_OF_SCALE = 1e-6  # for rounding in the value, and for the search of the multiplier
_MARGIN_OF_EPSILON = 2.0**-22  # for the sampler


def student_loss(beta: float, k: float, degrees_of_freedom: float) -> float:
    """Return the exact privacy loss of Student-t noise of scale k * S with a beta-smooth S.

    Notes
    -----
    Two laws of scales lambda and r lambda, r = exp(b) >= 1, at most lambda / k apart. On the side where its own centre is the farther one, the log ratio
    grows with the distance and is convex in b, in either direction, so the distance is lambda / k and b is 0 or beta. In units of lambda, with c = 1 / k, the
    log ratio is nu b + (nu + 1)/2 log((nu + z^2) / (nu r^2 + (z - c)^2)); it is stationary at the roots of c z^2 - (nu (r^2 - 1) + c^2) z - c nu and tends
    to nu b.
    """
    nu, c = degrees_of_freedom, 1.0 / k
    losses = [nu * beta]
    for b in (0.0, beta):
        wider = nu * math.expm1(2.0 * b)
        q = wider + c * c
        far = (q + math.hypot(q, 2.0 * c * math.sqrt(nu))) / (2.0 * c)
        for z in (far, -nu / far):
            other = nu + wider + (z - c) ** 2
            excess = (2.0 * z * c - c * c - wider) / other
            log_ratio = math.log1p(excess) if abs(excess) < 0.5 else math.log((nu + z * z) / other)
            losses.append(abs(nu * b + (nu + 1.0) / 2.0 * log_ratio))
    return max(losses)


def default_beta(epsilon: float, noise: str = "cauchy", degrees_of_freedom: float = 3.0) -> float:
    """Return the smoothing parameter to use with a given epsilon; a function of epsilon alone.

    Cauchy: the larger of epsilon/2 (15 % more noise than beta = 0) and ln(2 cosh epsilon - 1) (the largest beta that costs nothing).
    Student-t: epsilon / (2 nu).
    """
    epsilon = positive("epsilon", epsilon)
    if _checked(noise) == "student_t":
        nu = max(1.0, positive("degrees_of_freedom", degrees_of_freedom))
        return min(epsilon, _most(nu)) / (2.0 * nu)
    free = math.log(2.0 * math.cosh(epsilon) - 1.0) if epsilon < 300.0 else epsilon
    return min(max(epsilon / 2.0, free), epsilon * (1.0 - 1e-3))


def multiplier(epsilon: float, beta: float, noise: str = "cauchy", degrees_of_freedom: float = 3.0) -> float:
    """Return the factor k: noise of scale k * S gives epsilon.

    Raises
    ------
    ValueError
        If beta is too large for any factor: beta < epsilon (Cauchy), beta < epsilon / nu (Student-t), each up to the margins.
    """
    epsilon, beta = positive("epsilon", epsilon) - _MARGIN_OF_EPSILON, positive("beta", beta) + _MARGIN_OF_BETA
    if _checked(noise) == "student_t":
        nu = max(1.0, positive("degrees_of_freedom", degrees_of_freedom))
        if epsilon <= nu * beta:
            raise ValueError("beta: give less than epsilon / degrees_of_freedom")
        return _student_multiplier(min(epsilon, _most(nu)), beta, nu) * (1.0 + _MARGIN_OF_SCALE)
    if epsilon <= beta:
        raise ValueError("beta: give less than epsilon")
    # cosh e - cosh b = 2 sinh((e+b)/2) sinh((e-b)/2): no cancellation, and in logarithms no overflow
    logs = [
        -b - 2.0 * math.log(2.0) - _log_sinh((epsilon + b) / 2.0) - _log_sinh((epsilon - b) / 2.0) for b in (0.0, beta)
    ]
    return math.exp(max(logs) / 2.0) * (1.0 + _MARGIN_OF_SCALE)


def _most(nu: float) -> float:
    """Return the largest epsilon that Student's t is calibrated for: beyond, its noise is far below a cell, and squares would overflow."""
    return 100.0 * (nu + 1.0)


def _student_multiplier(epsilon: float, beta: float, nu: float) -> float:
    """Return the smallest factor whose exact loss is epsilon, by bisection below the simple bound."""
    high = math.log((nu + 1.0) / (2.0 * math.sqrt(nu)) / (epsilon - nu * beta))
    low = high - 2.0 * epsilon / (nu + 1.0) - 10.0
    while high - low > _MARGIN_OF_SCALE:
        middle = (low + high) / 2.0
        low, high = (low, middle) if student_loss(beta, math.exp(middle), nu) <= epsilon else (middle, high)
    return math.exp(high)


def _log_sinh(x: float) -> float:
    return x + math.log(-math.expm1(-2.0 * x)) - math.log(2.0)


def perturb(
    values: ArrayLike,
    scales: ArrayLike,
    width: ArrayLike,
    noise: str = "cauchy",
    degrees_of_freedom: float = 3.0,
    limits: tuple[float, float] | None = None,
) -> NDArray[np.float64]:
    """Return values plus heavy-tailed noise, clipped to public limits and rounded to the public grid of `on_grid`.

    Parameters
    ----------
    values : array of float
        Statistics to release.
    scales : array of float
        multiplier * smooth sensitivity, of the same shape; at least one cell of the grid is used.
    width : array of float
        Public range of each statistic; sets the grid.
    noise : str
        "cauchy" or "student_t".
    degrees_of_freedom : float
        Of Student's t, at least 1.
    limits : (float, float), optional
        Public limits of the statistics; what is outside is clipped, since floats far out would be coarser than the grid. A release gives them.
    """
    exact = np.asarray(values, dtype=np.float64)
    student = _checked(noise) == "student_t"
    freedom = max(1.0, degrees_of_freedom)
    draws = randomness.student_t(freedom, exact.shape) if student else randomness.standard_cauchy(exact.shape)
    noisy = exact + np.maximum(scales, _cell(width)) * draws
    return on_grid(noisy if limits is None else np.clip(noisy, *limits), width)


def on_grid(values: ArrayLike, width: ArrayLike) -> NDArray[np.float64]:
    """Return values rounded to multiples of the largest power of two not above width / 2^24.

    The grid is public and far coarser than a float, so the low bits of the sum of value and noise do not leave the node.
    """
    grid = _cell(width)
    return np.asarray(np.rint(np.asarray(values, dtype=np.float64) / grid) * grid, dtype=np.float64)


def _cell(width: ArrayLike) -> NDArray[np.float64]:
    return np.asarray(np.exp2(np.floor(np.log2(np.asarray(width, dtype=np.float64))) - 24.0))


def _checked(noise: str) -> str:
    if noise not in NOISES:
        raise ValueError('noise: give "cauchy" or "student_t"')
    return noise
