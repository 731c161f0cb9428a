"""Worst tables of the variance and the standard deviation within distance k under add_remove: they are made by removals alone.

The tables within distance k have additions too, but none is worse than what removals lead to; the proof is docs/smooth-sensitivity.md. In short, let a
row w be in the table that changes:

- Falls: without w the table falls by nearly as much, and where it does not, the return of w is the larger change.
- Rises: without w the larger of rise and fall is smaller by a factor r of at most 1 + 2m/(m^2 - m - 1), m the number of rows. If r <= exp(beta), one removal
  less is as bad. If not, beta is so large, and a change of one row among m so small, that the table that runs empty outweighs it: one row at a bound,
  n + 1 steps away, has the global sensitivity.

Exchange of one kept row for a removed one then says which rows go: for a rise of the variance the ones nearest to the row that comes (z a bound, or the
extreme row that leaves); for a fall a window of neighbours in the middle, whose best place is found by bisection since the gain of shifting it changes
sign once; for a rise of the deviation, whose level sets in (sum, sum of squares) are convex, all but a window of neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..typing import Floats
from .smooth_edges import Distances, Ordered, sides


@dataclass(frozen=True)
class Hollow:
    """What is left when windows of neighbours are cut out of the middle: arrays of one shape, an entry a window.

    Parameters
    ----------
    start, size : ndarray
        First position and length of the window.
    rows, mean, spread : ndarray
        Number, mean and sum of squares about the mean of the rows that are left.
    """

    start: Distances
    size: Distances
    rows: Distances
    mean: Floats
    spread: Floats


def variance_rise(ordered: Ordered, removed: Distances) -> Floats:
    """Return the largest rise of the variance, after `removed` removals, by a row that comes at a bound or an extreme row that leaves the rest."""
    rows = ordered.n - removed
    if not ordered.n:
        return np.zeros(removed.shape)
    low, high = np.zeros_like(rows), np.full_like(rows, ordered.n)
    fewer = np.maximum(rows - 1, 0)
    cases = (
        (low, rows, ordered.width),
        (high - rows, high, 0.0),
        (low, fewer, ordered.top),
        (high - fewer, high, float(ordered.values[0])),
    )
    return np.asarray(np.max([_rise(ordered, first, last, row) for first, last, row in cases], axis=0))


def _rise(ordered: Ordered, first: Distances, last: Distances, row: float) -> Floats:
    """Change of the variance of the sorted values first to last - 1 when `row` joins them."""
    rows, mean, spread = ordered.part(first, last)
    some = np.maximum(rows, 1)
    change = (some / (some + 1) * (row - mean) ** 2 - spread / some) / (some + 1)
    return np.where(rows >= 1, change, 0.0)


def hollow(ordered: Ordered, removed: Distances) -> Hollow:
    """Return the tables of the largest spread that `removed` removals leave, each below n: a window in the middle goes, its place found by bisection."""
    low, high = np.zeros_like(removed), ordered.n - removed
    rows = np.maximum(ordered.n - removed, 1)
    while (low < high).any():
        at = np.minimum((low + high) // 2, ordered.n - 1)
        first, last = ordered.values[at], ordered.values[np.minimum(at + removed, ordered.n - 1)]
        mean = ordered.rest(at, at + removed)[1]
        shift = 2.0 * mean - first - last - (last - first) / rows > 0.0
        low, high = np.where(shift & (low < high), at + 1, low), np.where(shift, high, at)
    return Hollow(low, removed, *ordered.rest(low, low + removed))


def deviation_ceiling(ordered: Ordered, removed: Distances) -> Floats:
    """Return no less than `deviation_rise`, for many numbers of removals, each below n: every window of what is left has the same rows in the middle."""
    bounds = []
    for gone in (removed, np.minimum(removed + 1, ordered.n - 1)):
        rows = ordered.n - gone
        offset = np.max([side.width - side.lowest(rows) / rows for side in sides(ordered)], axis=0)
        bounds.append(_deviation_change(rows, offset, ordered.core(gone) / rows))
    return np.asarray(np.max(bounds, axis=0))


def deviation_rise(ordered: Ordered, removed: int) -> float:
    """Return the largest rise of the standard deviation, after `removed` removals, by a row at a bound or an extreme row: over all windows, O(removed)."""
    n, largest = ordered.n, 0.0
    for rows, begin, end, row in (
        (n - removed, 0, removed, 0.0),
        (n - removed, 0, removed, ordered.width),
        (n - removed - 1, 1, removed + 1, float(ordered.values[0])),
        (n - removed - 1, 0, removed, ordered.top),
    ):
        if rows >= 1:
            first = np.arange(begin, end + 1)
            _, mean, spread = ordered.part(first, first + rows)
            largest = max(largest, float(_deviation_change(rows, row - mean, spread / rows).max()))
    return largest


def _deviation_change(rows: Distances | int, offset: Floats, variance: Floats) -> Floats:
    """Change of the standard deviation of `rows` rows of a variance when a row joins at an offset from their mean."""
    joined = rows / (rows + 1) * variance + rows / (rows + 1) ** 2 * offset**2
    return np.asarray(np.sqrt(joined) - np.sqrt(variance))


def variance_fall(left: Hollow) -> Floats:
    """Return the fall of the variance when a row comes at the mean."""
    rows = np.maximum(left.rows, 1)
    return np.asarray(left.spread / (rows * (rows + 1.0)))


def deviation_fall(left: Hollow) -> Floats:
    """Return the fall of the standard deviation when a row comes at the mean."""
    rows = np.maximum(left.rows, 1)
    return np.asarray(np.sqrt(left.spread / rows) / (rows + 1.0 + np.sqrt(rows * (rows + 1.0))))


def variance_fall_of_a_row(ordered: Ordered, left: Hollow) -> Floats:
    """Return the fall of the variance when the row of the window nearest to the mean of the others is put back: a table that exists."""
    rows, offset = np.maximum(left.rows, 1), _nearest(ordered, left)
    return np.asarray((left.spread / rows - rows / (rows + 1.0) * offset**2) / (rows + 1.0))


def deviation_fall_of_a_row(ordered: Ordered, left: Hollow) -> Floats:
    """Return the fall of the standard deviation when that row is put back."""
    rows = np.maximum(left.rows, 1)
    return -_deviation_change(rows, _nearest(ordered, left), left.spread / rows)


def _nearest(ordered: Ordered, left: Hollow) -> Floats:
    """Distance of the rows in the windows from the mean of the others, the nearest of each."""
    near = np.searchsorted(ordered.values, left.mean)
    offset = np.full(left.mean.shape, np.inf)
    for shift in (-1, 0):
        row = ordered.values[np.clip(near + shift, left.start, left.start + left.size - 1)]
        offset = np.minimum(offset, np.abs(row - left.mean))
    return offset
