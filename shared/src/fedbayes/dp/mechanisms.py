"""Additive noise for arrays, exact: discrete laws on whole numbers, and Laplace noise on floats.

Floats are whole multiples of 2^-1074, the smallest of them, so their noise is discrete Laplace noise of that unit, and the release the nearest float of the
exact sum: values are not rounded before the noise, which would widen what a neighbour changes, and no bit of the release betrays them. The samplers are in
:mod:`fedbayes.dp.samplers`.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import samplers
from .checks import positive


def discrete_laplace(values: ArrayLike, scale: float) -> NDArray[np.int64]:
    """Return integers plus two-sided geometric noise: P(noise = k) proportional to ``exp(-|k| / scale)``.

    Parameters
    ----------
    values : array of int
        Of any shape.
    scale : float
        L1 sensitivity / epsilon.

    Returns
    -------
    ndarray of int64, the shape of `values`
        epsilon-differentially private with epsilon = L1 sensitivity / scale. Sums beyond 64 bits end at the largest integers.

    Raises
    ------
    ValueError
        If the values are not integers or the scale is not positive or above 2^52.

    References
    ----------
    Ghosh, Roughgarden, Sundararajan, Universally utility-maximizing privacy mechanisms, 2012.
    """
    counts, scale = _integers(values), _narrow(scale)
    return _sum(counts, samplers.laplace(counts.shape, scale))


def laplace(values: ArrayLike, scale: float) -> NDArray[np.float64]:
    """Return floats plus Laplace noise of the given scale (L1 sensitivity / epsilon), sampled on the floats' finest grid.

    Parameters
    ----------
    values : array of float
        Of any shape, finite.
    scale : float
        Any float above 0.

    Returns
    -------
    ndarray of float64, the shape of `values`
        epsilon-differentially private with epsilon = L1 sensitivity / scale, where the sensitivity is that of the floats themselves: what computing them
        rounded is the caller's to count. Sums beyond the floats end at the largest ones.

    Raises
    ------
    ValueError
        If a value is not finite or the scale is not positive.
    """
    numbers = np.asarray(values, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError("values: give finite numbers only")
    noise = samplers.fine_laplace(numbers.size, positive("scale", scale))
    released = [_nearest(number, drawn) for number, drawn in zip(numbers.ravel().tolist(), noise, strict=True)]
    return np.array(released, dtype=np.float64).reshape(numbers.shape)


def discrete_gaussian(values: ArrayLike, scale: float) -> NDArray[np.int64]:
    """Return integers plus discrete Gaussian noise: P(noise = k) proportional to exp(-k^2 / (2 scale^2)).

    Parameters
    ----------
    values : array of int
        Of any shape.
    scale : float
        Standard deviation sigma; what the release costs is in :mod:`fedbayes.dp.gaussian`.

    Raises
    ------
    ValueError
        If the values are not integers or the scale is not positive or above 2^52.

    References
    ----------
    Canonne, Kamath, Steinke, The Discrete Gaussian for Differential Privacy, 2020, theorem 4.
    """
    counts, scale = _integers(values), _narrow(scale)
    return _sum(counts, samplers.gaussian(counts.shape, scale))


def _integers(values: ArrayLike) -> NDArray[np.int64]:
    counts = np.asarray(values)
    if counts.size and counts.dtype.kind not in "iu":
        raise ValueError("values: give an array of integers")
    return counts.astype(np.int64)


def _narrow(scale: float) -> float:
    if positive("scale", scale) > samplers.LARGEST_SCALE:
        raise ValueError("scale: give at most 2^52; raise epsilon")
    return float(scale)


def _sum(counts: NDArray[np.int64], noise: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sums, those beyond 64 bits at the end that they passed."""
    total = counts + noise
    passed = ((counts ^ total) & (noise ^ total)) < 0
    return np.where(passed, np.where(noise < 0, np.iinfo(np.int64).min, np.iinfo(np.int64).max), total)


def _nearest(number: float, noise: int) -> float:
    """Return the float nearest to a number and noise in units of 2^-1074; Python divides whole numbers with correct rounding."""
    numerator, denominator = number.as_integer_ratio()
    unit = 1 << samplers.FINEST_BITS
    total = numerator * (unit // denominator) + noise
    try:
        return total / unit
    except OverflowError:
        return sys.float_info.max if total > 0 else -sys.float_info.max
