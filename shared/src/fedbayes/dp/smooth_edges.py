"""Closed forms behind `fedbayes.dp.smooth`: the largest change of a statistic by one row, within distance k of the data, for all k at once.

Values are sorted and measured from the lower bound (so 0 <= value <= width). Functions with a `side` treat one direction, in which extreme data sets are
made by moving or removing the largest values; the other direction is the mirror image.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Distances = NDArray[np.int64]
_ROUNDING = 1e-14


class Ordered:
    """Sorted values in units from the lower bound, with prefix sums; `mirrored` looks from the upper bound."""

    def __init__(self, values: Floats, width: float) -> None:
        self.values, self.width, self.n = values, width, values.size
        self.sums = np.concatenate([np.zeros(1), np.cumsum(values)])
        self.mean = float(self.sums[-1] / self.n) if self.n else width / 2.0
        offsets = values - self.mean
        self._first = np.concatenate([np.zeros(1), np.cumsum(offsets)])
        self._second = np.concatenate([np.zeros(1), np.cumsum(offsets * offsets)])
        self.spread = float(self.core(np.zeros(1, dtype=np.int64))[0])

    def mirrored(self) -> Ordered:
        """Return the same values measured from the upper bound downwards."""
        return Ordered((self.width - self.values)[::-1], self.width)

    def core(self, trimmed: Distances) -> Floats:
        """Sum of squares about the mean of what is left when `trimmed` values are cut from either end."""
        low = np.minimum(trimmed, self.n // 2)
        high = np.maximum(self.n - trimmed, low)
        first, second = self._first[high] - self._first[low], self._second[high] - self._second[low]
        return self.rounded(second - first * first / np.maximum(1, high - low))

    def rounded(self, spread: Floats) -> Floats:
        """Sums of squares, where what rounding alone can leave counts as 0 (the square root would magnify it)."""
        return np.where(spread > _ROUNDING * self.n * self.width**2, spread, 0.0)


def sides(ordered: Ordered) -> tuple[Ordered, Ordered]:
    """Return the values as seen from the lower and from the upper bound."""
    return ordered, ordered.mirrored()


def mean_edges(side: Ordered, removed: Distances) -> Floats:
    """Largest change of the mean by one more row, after removing the `removed` largest: a row at the upper bound comes, or the largest row goes."""
    rows = side.n - removed
    at_none = side.width / 2.0
    added = np.where(rows >= 1, (rows * side.width - side.sums[rows]) / np.maximum(1, rows * (rows + 1)), at_none)
    if not side.n:
        return np.asarray(added)
    top, left = side.values[-1], np.maximum(0, rows - 1)
    going = np.where(left >= 1, (left * top - side.sums[left]) / np.maximum(1, left * (left + 1)), 0.0)
    going = np.where(rows == 1, abs(top - at_none), going)
    return np.asarray(np.maximum(added, going))


def variance_replace(side: Ordered, replaced: Distances) -> Floats:
    """Largest |(b-m)^2 - (a-m)^2| when `replaced` rows may move: m is the mean of the n - 1 rows that stay, a becomes b."""
    n, width, sums = side.n, side.width, side.sums
    both_free = np.where(replaced >= 1, (width - sums[n - replaced] / (n - 1)) ** 2, 0.0)
    k = np.minimum(replaced, n - 1)
    leaving = (side.values[-1] - sums[n - 1 - k] / (n - 1)) ** 2
    stretch, start = 1.0 + 2.0 / (n - 1), width - 2.0 * sums[n - k] / (n - 1)
    position = np.searchsorted(side.values, (width * stretch - start) / (2.0 * stretch))
    coming = np.zeros(k.shape)
    for shift in (-1, 0):
        a = side.values[np.clip(position + shift, 0, n - 1 - k)]
        coming = np.maximum(coming, (width - a) * (start + stretch * a))
    return np.asarray(np.maximum(both_free, np.where(replaced < n, np.maximum(leaving, coming), 0.0)))


def variance_of(spread: Floats, rows: int) -> Floats:
    """Population variance from the sum of squares about the mean."""
    return spread / max(1, rows)


def deviation_of(spread: Floats, rows: int) -> Floats:
    """Population standard deviation from the sum of squares about the mean."""
    return np.sqrt(spread / max(1, rows))


def local_add_remove(ordered: Ordered, statistic: Callable[[Floats, int], Floats]) -> float:
    """Local sensitivity of a statistic of (sum of squares, rows) when any one row comes or goes.

    The sum of squares is monotone in the squared offset of that row from the mean, so the nearest and the farthest rows are enough.
    """
    n, at = ordered.n, ordered.mean
    if not n:
        return 0.0
    now = float(statistic(np.array(ordered.spread), n))
    coming = np.array([at, ordered.width - at, 0.0]) ** 2
    changes = [statistic(ordered.spread + n / (n + 1) * coming, n + 1)]
    if n > 1:
        offsets = np.abs(ordered.values - at)
        going = np.array([offsets.min(), offsets.max()]) ** 2
        changes.append(statistic(ordered.rounded(ordered.spread - n / (n - 1) * going), n - 1))
    return float(np.abs(np.concatenate(changes) - now).max())


def deviation_replace_local(ordered: Ordered) -> float:
    """Local sensitivity of the standard deviation when one row is replaced: every row goes, to either bound or to the mean of the others."""
    n, values = ordered.n, ordered.values
    others = (ordered.sums[-1] - values) / (n - 1)
    rest = ordered.rounded(ordered.spread - n / (n - 1) * (values - ordered.mean) ** 2) / n
    factor = (n - 1) / n**2
    now = np.sqrt(rest + factor * (values - others) ** 2)
    largest = 0.0
    for target in (np.zeros(n), np.full(n, ordered.width), others):
        largest = max(largest, float(np.abs(np.sqrt(rest + factor * (target - others) ** 2) - now).max()))
    return largest


def _farthest(ordered: Ordered, kept: Distances, rows: int) -> Floats:
    """Largest distance of the mean of `rows` rows from a bound, when only the `kept` rows nearest to the other bound stay as they are."""
    index, count = np.maximum(0, kept), max(1, rows)
    low, high = (side.width - side.sums[index] / count for side in sides(ordered))
    return np.asarray(np.maximum(low, high))


def deviation_replace(ordered: Ordered, k: Distances) -> Floats:
    """Upper bound of the change of the standard deviation by one replacement, within k replacements."""
    n = ordered.n
    rest = ordered.core(k + 1) / n
    jump = (n - 1) / n**2 * _farthest(ordered, n - 1 - k, n - 1) ** 2
    return np.asarray(np.sqrt(rest + jump) - np.sqrt(rest))


def _reach(ordered: Ordered, k: Distances) -> tuple[Distances, Distances, Floats, Floats]:
    """Fewest and most rows of a data set within k + 1 additions and removals, its mean's largest distance from a bound, its smallest sum of squares."""
    step = k + 1
    fewest, most = np.maximum(1, ordered.n - step), ordered.n + step
    return fewest, most, _farthest(ordered, ordered.n - step, ordered.n), ordered.core(step)


def variance_edges(ordered: Ordered, k: Distances) -> Floats:
    """Upper bound of the change of the variance by one more or one less row, within distance k."""
    fewest, most, farthest, core = _reach(ordered, k)
    up = fewest * farthest**2 / (fewest + 1) ** 2 - core / (most * (most + 1))
    down = (ordered.spread + (k + 1) * farthest**2) / (fewest * (fewest + 1))
    bound = np.maximum(up, down)
    return np.where(k + 1 < ordered.n, bound, math.inf)


def deviation_edges(ordered: Ordered, k: Distances) -> Floats:
    """Upper bound of the change of the standard deviation by one more or one less row, within distance k."""
    fewest, most, farthest, core = _reach(ordered, k)
    least = core / most
    up = np.sqrt(least * most / (most + 1) + fewest * farthest**2 / (fewest + 1) ** 2) - np.sqrt(least)
    largest = np.sqrt((ordered.spread + (k + 1) * farthest**2) / fewest)
    bound = np.maximum(up, largest * (1.0 - np.sqrt(fewest / (fewest + 1))))
    return np.where(k + 1 < ordered.n, bound, math.inf)
