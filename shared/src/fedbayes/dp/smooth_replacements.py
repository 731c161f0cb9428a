"""Worst tables of the standard deviation within k replacements: a window of rows that stay, all replaced rows at one place, and the row that changes.

Let R be the n - 1 rows that do not change, with mean m and variance v, and let `near` become `far`. The change is sqrt(P + D) - sqrt(P), where
P = (n-1)/n v + (n-1)/n^2 (near - m)^2 and D = (n-1)/n^2 ((far - m)^2 - (near - m)^2). It is at most c exactly where D <= c^2 or P >= ((D - c^2)/(2c))^2.
Written for the sum of squares of R this is a lower bound that is convex in m (for near = m, and for a fixed near), so the change is quasi-convex in
(sum, sum of squares) of R, and its maximum over the rows that stay and the places of the replaced rows is that of a linear functional. As a function of
one row this is a parabola that opens downwards: all replaced rows are at its vertex or at a bound, and the rows that stay are those nearest to it, a window.
Three cases, in both directions:

- a replaced row changes, from m to a bound: n - k rows stay in R;
- a row of x changes, to a bound: n - k rows stay, and the one that changes is the nearest of them to (sum + far)/(n + 1), with the sum of the whole table
  (were a row between it and the window, that row would be nearer to m);
- the extreme row of x changes, to m: n - k - 1 others stay (were a farther row in R, an exchange would leave the same table and a larger change).

For each window the place of the replaced rows is a maximum in one variable, found on a grid and then by golden section.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..typing import Floats
from .smooth_edges import Ordered

_GRID = 65  # points of the first grid of a search, which golden section refines
_STEPS = 45  # golden-section steps: 0.618^45 of a grid cell is below 1e-9 of it
_GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0  # section of an interval, for a search
_ROUNDING = 1e-14  # as in `smooth_edges`


@dataclass(frozen=True)
class Half:
    """One direction: the sorted values about their mean, and the bounds; a row goes to the upper one."""

    values: Floats
    low: float
    high: float

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.values.size

    def variance(self, mean: Floats, square: Floats) -> Floats:
        """Return the variance; what rounding alone can leave is 0 (the square root would magnify it)."""
        variance = square - mean**2
        return np.where(variance > _ROUNDING * (self.high - self.low) ** 2, variance, 0.0)


@dataclass(frozen=True)
class Windows:
    """Rows that stay: columns (windows, 1) of their sum and their sum of squares, and the number of replaced rows beside them."""

    total: Floats
    squares: Floats
    free: int

    def moments(self, point: Floats, rows: int) -> tuple[Floats, Floats]:
        """Return the mean and the mean square of the `rows` rows, with all replaced ones at a place: (windows, places)."""
        return (self.total + self.free * point) / rows, (self.squares + self.free * point**2) / rows


def largest_change(ordered: Ordered, replaced: int, floor: float) -> float:
    """Return the largest change of the standard deviation by one replacement, within `replaced` of them.

    Parameters
    ----------
    ordered : Ordered
        Two rows or more.
    replaced : int
        k, from 1 to n.
    floor : float
        What is already known to be reached: if nothing is larger, this is returned.
    """
    values = ordered.values - ordered.mean
    low, high = -ordered.mean, ordered.width - ordered.mean
    for half in (Half(values, low, high), Half(-values[::-1], -high, -low)):
        floor = max(floor, _from_mean(half, replaced))
        if replaced < half.n:
            floor = max(floor, _extreme_to_mean(half, replaced))
            floor = _row_to_bound(half, replaced, floor)
    return floor


def _windows(values: Floats, size: int, free: int) -> Windows:
    """Return every window of `size` neighbours."""
    sums, squares = (np.concatenate([np.zeros(1), np.cumsum(values**power)]) for power in (1, 2))
    last = np.arange(size, values.size + 1)
    return Windows((sums[last] - sums[last - size])[:, None], (squares[last] - squares[last - size])[:, None], free)


def _maxima(half: Half, change: Callable[[Floats], Floats]) -> Floats:
    """Return the maximum of each window's change over the place of the replaced rows, shape (windows,)."""
    grid = np.linspace(half.low, half.high, _GRID)
    changes = change(grid[None, :])
    at = changes.argmax(axis=1)[:, None]
    low, high = grid[np.maximum(at - 1, 0)], grid[np.minimum(at + 1, _GRID - 1)]
    best = np.take_along_axis(changes, at, axis=1)
    for _ in range(_STEPS):
        first, second = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        lower, upper = change(first), change(second)
        low, high = np.where(lower < upper, first, low), np.where(lower < upper, high, second)
        best = np.maximum(best, np.maximum(lower, upper))
    return np.asarray(best[:, 0])


def _to_or_from_mean(half: Half, windows: Windows, row: float) -> float:
    """Largest change when a row comes from the mean of R to `row`, or goes back."""

    def change(point: Floats) -> Floats:
        mean, square = windows.moments(point, half.n - 1)
        now = (half.n - 1) / half.n * half.variance(mean, square)
        return np.asarray(np.sqrt(now + (half.n - 1) / half.n**2 * (row - mean) ** 2) - np.sqrt(now))

    return float(_maxima(half, change).max())


def _from_mean(half: Half, replaced: int) -> float:
    """A replaced row goes from the mean of R to the bound."""
    return _to_or_from_mean(half, _windows(half.values, half.n - replaced, replaced - 1), half.high)


def _extreme_to_mean(half: Half, replaced: int) -> float:
    """The largest row of the table goes to the mean of R."""
    windows = _windows(half.values[:-1], half.n - replaced - 1, replaced)
    return _to_or_from_mean(half, windows, float(half.values[-1]))


def _row_to_bound(half: Half, replaced: int, floor: float) -> float:
    """A row of the table goes to the bound: the windows in the order of what a row at the best of all places would give."""
    n, far, kept = half.n, half.high, half.n - replaced
    windows = _windows(half.values, kept, replaced)

    def ceiling(point: Floats) -> Floats:
        mean, square = windows.moments(point, n)
        return _moved(half, mean, square, (n * mean + far) / (n + 1))

    bounds = _maxima(half, ceiling)
    for window in np.argsort(-bounds):
        if bounds[window] <= floor:
            break
        one = Windows(windows.total[[window]], windows.squares[[window]], replaced)
        rows = half.values[window : window + kept]
        reach = [(n * one.moments(np.array(end), n)[0][0, 0] + far) / (n + 1) for end in (half.low, half.high)]
        first, last = (int(np.searchsorted(rows, end)) for end in reach)
        near = rows[max(min(first, kept) - 1, 0) : last + 1, None]
        floor = max(floor, float(_maxima(half, partial(_moved_within, half, one, near)).max()))
    return floor


def _moved(half: Half, mean: Floats, square: Floats, row: Floats) -> Floats:
    """Change of the deviation of a table of this mean and mean square when one of its rows goes to the bound."""
    far = half.high
    after = half.variance(mean + (far - row) / half.n, square + (far**2 - row**2) / half.n)
    return np.asarray(np.sqrt(after) - np.sqrt(half.variance(mean, square)))


def _moved_within(half: Half, window: Windows, row: Floats, point: Floats) -> Floats:
    return _moved(half, *window.moments(point, half.n), row)
