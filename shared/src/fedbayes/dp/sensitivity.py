"""Global sensitivities under the two neighbouring relations.

``add_remove``: neighbours differ by one row more or less. ``replace_one``: by the content of one row, the number of rows is public.
"""

from __future__ import annotations

import math
from typing import Literal

__all__ = [
    "NEIGHBORS",
    "Neighbors",
    "centred_sum",
    "check_neighbors",
    "clipped_mean",
    "clipped_sum",
    "histogram",
    "variance",
]

Neighbors = Literal["add_remove", "replace_one"]
NEIGHBORS: tuple[str, str] = ("add_remove", "replace_one")


def check_neighbors(neighbors: str) -> str:
    """Return the relation's name, or raise ValueError naming the two that exist."""
    if neighbors not in NEIGHBORS:
        raise ValueError('neighbors: give "add_remove" or "replace_one"')
    return neighbors


def histogram(neighbors: str) -> int:
    """Return the L1 sensitivity of one histogram over disjoint cells: 1 under add_remove, 2 under replace_one."""
    return 1 if check_neighbors(neighbors) == "add_remove" else 2


def clipped_sum(bounds: tuple[float, float], neighbors: str, *, classes_change: bool = True) -> float:
    """Return the L1 sensitivity of the vector of per-class sums of values clipped to [low, high].

    Parameters
    ----------
    bounds : (float, float)
        Public limits, low < high.
    neighbors : str
        "add_remove" or "replace_one".
    classes_change : bool
        Whether a replaced row may also change its class (then two sums change). Without effect under add_remove.

    Returns
    -------
    float
        add_remove: ``max(|low|, |high|)``. replace_one: high - low within one class, and ``2 max(|low|, |high|)`` if it moves between classes,
        whichever is larger.
    """
    low, high = _bounds(bounds)
    largest = max(abs(low), abs(high))
    if check_neighbors(neighbors) == "add_remove":
        return largest
    return max(high - low, 2.0 * largest) if classes_change else high - low


def centred_sum(bounds: tuple[float, float], neighbors: str) -> float:
    """Return the L1 sensitivity of per-class sums of values minus the public midpoint: half the range, or the whole range."""
    low, high = _bounds(bounds)
    half = (high - low) / 2.0
    return half if check_neighbors(neighbors) == "add_remove" else 2.0 * half


def clipped_mean(bounds: tuple[float, float], neighbors: str, rows: int | None = None) -> float:
    """Return the global sensitivity of the mean of values in [low, high]; the mean of no values is the midpoint.

    Under replace_one the number of rows is public and must be given: (high - low) / rows. Under add_remove it is not: (high - low) / 2.
    """
    low, high = _bounds(bounds)
    if check_neighbors(neighbors) == "add_remove":
        return (high - low) / 2.0
    return (high - low) / _rows(rows)


def variance(bounds: tuple[float, float], neighbors: str, rows: int | None = None) -> float:
    """Return the global sensitivity of the population variance of values in [low, high] (0 for fewer than two values).

    Under replace_one: (rows - 1) / rows^2 (high - low)^2. Under add_remove: (high - low)^2 / 4, reached by one value to which a second is added.
    """
    low, high = _bounds(bounds)
    if check_neighbors(neighbors) == "add_remove":
        return (high - low) ** 2 / 4.0
    count = _rows(rows)
    return (count - 1) / count**2 * (high - low) ** 2


def _bounds(bounds: tuple[float, float]) -> tuple[float, float]:
    low, high = float(bounds[0]), float(bounds[1])
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError("bounds: give two finite numbers, the low one first")
    return low, high


def _rows(rows: int | None) -> int:
    if rows is None or rows < 1:
        raise ValueError("rows: under replace_one give the public number of rows, at least 1")
    return rows
