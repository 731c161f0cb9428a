"""Additive noise by OpenDP, for arrays.

OpenDP samples the discrete laws exactly from the operating system's entropy. About 7 microseconds an integer cell, 27 a float cell
(every float is perturbed on the grid of the smallest float, so no bit of it betrays the value).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .checks import positive

__all__ = ["discrete_gaussian", "discrete_laplace", "laplace"]


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
        epsilon-differentially private with epsilon = L1 sensitivity / scale.

    Raises
    ------
    ValueError
        If the values are not integers or the scale is not positive.

    References
    ----------
    Ghosh, Roughgarden, Sundararajan, Universally utility-maximizing privacy mechanisms, 2012.
    """
    scale = positive("scale", scale)
    counts = _integers(values)
    space = _space("i64", "l1")
    return np.asarray(_measure("make_laplace", space, scale, counts), dtype=np.int64).reshape(counts.shape)


def laplace(values: ArrayLike, scale: float) -> NDArray[np.float64]:
    """Return floats plus Laplace noise of the given scale (L1 sensitivity / epsilon), sampled on the floats' finest grid.

    Raises
    ------
    ValueError
        If a value is not finite or the scale is not positive.
    """
    scale = positive("scale", scale)
    numbers = np.asarray(values, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError("values: give finite numbers only")
    space = _space("f64", "l1")
    return np.asarray(_measure("make_laplace", space, scale, numbers), dtype=np.float64).reshape(numbers.shape)


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
        If the values are not integers or the scale is not positive.

    References
    ----------
    Canonne, Kamath, Steinke, The Discrete Gaussian for Differential Privacy, 2020, theorem 4.
    """
    scale = positive("scale", scale)
    counts = _integers(values)
    space = _space("i64", "l2")
    return np.asarray(_measure("make_gaussian", space, scale, counts), dtype=np.int64).reshape(counts.shape)


def _integers(values: ArrayLike) -> NDArray[np.int64]:
    counts = np.asarray(values)
    if counts.size and counts.dtype.kind not in "iu":
        raise ValueError("values: give an array of integers")
    return counts.astype(np.int64)


def _space(atom: str, norm: str) -> tuple[Any, Any]:
    """Return OpenDP's domain and metric of vectors of `atom` under the `norm` distance."""
    from opendp import domains, metrics

    inner = domains.atom_domain(T=atom, nan=False) if atom == "f64" else domains.atom_domain(T=atom)
    metric = metrics.l1_distance(T=atom) if norm == "l1" else metrics.l2_distance(T="f64")
    return domains.vector_domain(inner), metric


def _measure(maker: str, space: tuple[Any, Any], scale: float, values: NDArray[Any]) -> Any:
    from opendp import measurements
    from opendp.mod import enable_features

    if not values.size:
        return []
    enable_features("contrib")
    return getattr(measurements, maker)(*space, scale=scale)(values.ravel().tolist())
