"""Closed forms behind `fedbayes.dp.smooth`: the largest change of a statistic by one row, within distance k of the data, for all k at once.

Values are sorted and measured from the lower bound (so 0 <= value <= width). Functions with a `side` treat one direction, in which extreme data sets are
made by moving or removing the largest values; the other direction is the mirror image.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from ..typing import Floats, Integers

Distances = Integers
_ROUNDING = 1e-14  # per row and squared width: about 50 units in the last place of float64


class Ordered:
    """Sorted values in units from the lower bound, shape (n,), with prefix sums; `mirrored` looks from the upper bound downwards."""

    def __init__(self, values: Floats, width: float) -> None:
        self.values, self.width, self.n = values, width, values.size
        self._sums = np.concatenate([np.zeros(1), np.cumsum(values)])
        self.total = float(self._sums[-1])
        self.mean = self.total / self.n if self.n else width / 2.0

    @property
    def top(self) -> float:
        """The largest value."""
        return float(self.values[-1])

    def lowest(self, count: Distances) -> Floats:
        """Sum of the `count` smallest values."""
        return np.asarray(self._sums[count])

    def mirrored(self) -> Mirrored:
        """Return the same values measured from the upper bound downwards."""
        return Mirrored(self)

    @cached_property
    def _squares(self) -> Floats:
        return np.concatenate([np.zeros(1), np.cumsum((self.values - self.mean) ** 2)])

    @cached_property
    def spread(self) -> float:
        """Sum of squares about the mean."""
        return float(self.core(np.zeros(1, dtype=np.int64))[0])

    def core(self, trimmed: Distances) -> Floats:
        """Sum of squares about the mean of what is left when `trimmed` values are cut from either end."""
        low = np.minimum(trimmed, self.n // 2)
        high = np.maximum(self.n - trimmed, low)
        first = self._sums[high] - self._sums[low] - (high - low) * self.mean
        second = self._squares[high] - self._squares[low]
        return self.rounded(second - first * first / np.maximum(1, high - low))

    def part(self, first: Distances, last: Distances) -> tuple[Distances, Floats, Floats]:
        """Number, mean and sum of squares about the mean of the values first to last - 1."""
        return self._moments(last - first, self._offsets(first, last), self._squares[last] - self._squares[first])

    def rest(self, first: Distances, last: Distances) -> tuple[Distances, Floats, Floats]:
        """Number, mean and sum of squares about the mean of all values but first to last - 1."""
        offsets = self._offsets(np.zeros_like(first), first) + self._offsets(last, np.full_like(last, self.n))
        return self._moments(
            self.n - (last - first), offsets, self._squares[-1] - (self._squares[last] - self._squares[first])
        )

    def _offsets(self, first: Distances, last: Distances) -> Floats:
        """Sum of the differences from the mean of all."""
        return np.asarray(self._sums[last] - self._sums[first] - (last - first) * self.mean)

    def _moments(self, rows: Distances, offsets: Floats, squares: Floats) -> tuple[Distances, Floats, Floats]:
        some = np.maximum(1, rows)
        return rows, self.mean + offsets / some, self.rounded(squares - offsets * offsets / some)

    def rounded(self, spread: Floats) -> Floats:
        """Sums of squares, where what rounding alone can leave counts as 0 (the square root would magnify it)."""
        return np.where(spread > _ROUNDING * self.n * self.width**2, spread, 0.0)


class Mirrored:
    """What the one-sided closed forms need of `Ordered`, seen from the upper bound; no sums of its own."""

    def __init__(self, base: Ordered) -> None:
        self._base, self.width, self.n = base, base.width, base.n

    @property
    def top(self) -> float:
        """The largest value: what is farthest below the upper bound."""
        return self.width - float(self._base.values[0])

    @cached_property
    def values(self) -> Floats:
        """Distances from the upper bound, ascending."""
        return np.asarray((self.width - self._base.values)[::-1])

    def lowest(self, count: Distances) -> Floats:
        """Sum of the `count` smallest values."""
        return count * self.width - (self._base.total - self._base.lowest(self.n - count))


Side = Ordered | Mirrored


def sides(ordered: Ordered) -> tuple[Side, Side]:
    """Return the values as seen from the lower and from the upper bound."""
    return ordered, ordered.mirrored()


def mean_edges(side: Side, removed: Distances) -> Floats:
    """Largest change of the mean by one more row, after removing the `removed` largest: a row at the upper bound comes, or the largest row goes."""
    rows = side.n - removed
    at_none = side.width / 2.0
    added = np.where(rows >= 1, (rows * side.width - side.lowest(rows)) / np.maximum(1, rows * (rows + 1)), at_none)
    if not side.n:
        return np.asarray(added)
    top, left = side.top, np.maximum(0, rows - 1)
    going = np.where(left >= 1, (left * top - side.lowest(left)) / np.maximum(1, left * (left + 1)), 0.0)
    going = np.where(rows == 1, abs(top - at_none), going)
    return np.asarray(np.maximum(added, going))


def variance_replace(side: Side, replaced: Distances) -> Floats:
    """Largest ``|(b-m)^2 - (a-m)^2|`` when `replaced` rows may move: m is the mean of the n - 1 rows that stay, a becomes b."""
    n, width = side.n, side.width
    both_free = np.where(replaced >= 1, (width - side.lowest(n - replaced) / (n - 1)) ** 2, 0.0)
    k = np.minimum(replaced, n - 1)
    leaving = (side.top - side.lowest(n - 1 - k) / (n - 1)) ** 2
    stretch, start = 1.0 + 2.0 / (n - 1), width - 2.0 * side.lowest(n - k) / (n - 1)
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
    others = (ordered.total - values) / (n - 1)
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
    low, high = (side.width - side.lowest(index) / count for side in sides(ordered))
    return np.asarray(np.maximum(low, high))


def deviation_replace(ordered: Ordered, k: Distances) -> Floats:
    """Upper bound of the change of the standard deviation by one replacement, within k replacements."""
    n = ordered.n
    rest = ordered.core(k + 1) / n
    jump = (n - 1) / n**2 * _farthest(ordered, n - 1 - k, n - 1) ** 2
    return np.asarray(np.sqrt(rest + jump) - np.sqrt(rest))
