"""Smooth sensitivity of the mean, the variance and the standard deviation of values in public bounds.

The value is S* of Nissim et al.: the maximum over distances k of exp(-beta k) times the largest local sensitivity within distance k. One sort, prefix sums,
and closed forms for all k at once up to the k where exp(-beta k) times the global sensitivity falls below the best value found: O(n log n).

================== ===================================== ==========================================
statistic          replace_one (rows public)             add_remove
================== ===================================== ==========================================
mean               exact                                 exact
variance           exact                                 exact
standard deviation exact up to 200 rows, then a bound    exact; with beta * rows below about ten
                                                         O(n) for each k that a bound does not rule
                                                         out
================== ===================================== ==========================================

`exact` of the result is found for each table, not asserted: it says that a table was found that attains the value, so no smaller bound is smooth.
Under add_remove removals alone make the worst tables (`smooth_removals`). Where a kept middle row leaves after k removals, the bound counts a row at the
mean instead, which is beta-smooth by itself and at most exp(beta) times the exact value; on all tables that were tried something else was worse,
so the flag was set. Under replace_one the standard deviation needs a search over windows of rows (`smooth_replacements`). Above 200 rows a smooth upper
bound stands in: it combines extremes of mean and spread although no one data set need have both, and each such combination is contained in that of every
neighbour at k + 1. It meets the local sensitivity, so the exact value, as soon as beta * rows exceeds about ten.

The population variance (divided by n) is meant; variance and standard deviation of fewer than two values are 0, the mean of none is the midpoint.
Values outside the bounds are clipped.

References
----------
Nissim, Raskhodnikova, Smith, Smooth sensitivity and sampling in private data analysis, STOC 2007.
Zafarani, Clifton, Differentially private naive Bayes classifier using smooth sensitivity, 2020, theorems 4 and 7 (corrected here).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..typing import Floats
from .checks import positive
from .neighbors import check_neighbors
from .smooth_edges import (
    Distances,
    Ordered,
    deviation_of,
    deviation_replace,
    deviation_replace_local,
    local_add_remove,
    mean_edges,
    sides,
    variance_of,
    variance_replace,
)
from .smooth_removals import (
    deviation_ceiling,
    deviation_fall,
    deviation_fall_of_a_row,
    deviation_rise,
    hollow,
    variance_fall,
    variance_fall_of_a_row,
    variance_rise,
)
from .smooth_replacements import largest_change

MOST_ROWS_SEARCHED = 200
"""Number of rows (public under replace_one) up to which the standard deviation's worst tables are searched."""
_EQUAL = 1e-12  # relative rounding error of sums of squares


@dataclass(frozen=True, slots=True)
class SmoothSensitivity:
    """A beta-smooth upper bound of the local sensitivity.

    `value` is secret like the data; `local` is the local sensitivity; `exact` says that `value` is the smallest such bound.
    """

    value: float
    local: float
    exact: bool


def mean(values: ArrayLike, bounds: tuple[float, float], beta: float, neighbors: str) -> SmoothSensitivity:
    """Return the exact smooth sensitivity of the mean.

    Parameters
    ----------
    values : array of float, shape (n,)
        One class's values of one feature; clipped to the bounds.
    bounds : (float, float)
        Public limits L < U.
    beta : float
        Smoothing parameter, positive; must not depend on the data.
    neighbors : str
        "add_remove" or "replace_one".

    Notes
    -----
    replace_one: max(A(0), exp(-beta) (U - L) / n) with A(0) = max(U - min, max - L) / n. add_remove: the worst data set within distance k is made
    by k removals at one end (an addition shrinks the influence of the next row by as much as it moves the mean), so it is a maximum over k of two
    closed forms: a row is added at the far bound, or the extreme row is removed.
    """
    return _mean(_prepare(values, bounds, beta), beta, neighbors)


def _mean(ordered: Ordered, beta: float, neighbors: str) -> SmoothSensitivity:
    width = ordered.width
    if check_neighbors(neighbors) == "replace_one":
        return _mean_replace(ordered, width, beta)
    local = max(mean_edges(side, np.zeros(1, dtype=np.int64))[0] for side in sides(ordered))
    distances = _distances(width / 2.0, local, beta, ordered.n)
    weights = np.exp(-beta * distances)
    value = max(float((weights * mean_edges(side, distances)).max()) for side in sides(ordered))
    return SmoothSensitivity(value, float(local), True)


def variance(values: ArrayLike, bounds: tuple[float, float], beta: float, neighbors: str) -> SmoothSensitivity:
    """Return the smooth sensitivity of the population variance; parameters as of `mean`.

    Notes
    -----
    With R the n - 1 rows that stay and m their mean, replacing a by b changes the variance by (n-1)/n^2 ``|(b-m)^2 - (a-m)^2|``. k replacements push m to one
    end; a is either one of the replaced rows, put at m, or the row of x nearest to the vertex of a parabola, found by bisection.
    add_remove: see `smooth_removals`.
    """
    return _variance(_prepare(values, bounds, beta), beta, neighbors)


def mean_and_variance(
    values: ArrayLike, bounds: tuple[float, float], beta: float, neighbors: str
) -> tuple[SmoothSensitivity, SmoothSensitivity]:
    """Return `mean` and `variance` of the same values for the price of one sort."""
    ordered = _prepare(values, bounds, beta)
    return _mean(ordered, beta, neighbors), _variance(ordered, beta, neighbors)


def _variance(ordered: Ordered, beta: float, neighbors: str) -> SmoothSensitivity:
    n, width = ordered.n, ordered.width
    if check_neighbors(neighbors) == "replace_one":
        if n < 2:
            return SmoothSensitivity(0.0, 0.0, True)
        factor = (n - 1) / n**2
        local = factor * max(float(variance_replace(side, np.zeros(1, dtype=np.int64))[0]) for side in sides(ordered))
        distances = _distances(factor * width**2, local, beta, n)
        weights = factor * np.exp(-beta * distances)
        value = max(float((weights * variance_replace(side, distances)).max()) for side in sides(ordered))
        return SmoothSensitivity(value, local, True)
    return _variance_add_remove(ordered, beta)


def _variance_add_remove(ordered: Ordered, beta: float) -> SmoothSensitivity:
    """Return the largest of the local sensitivity, of rises and falls after k removals, and of a table that ran empty."""
    n, largest = ordered.n, ordered.width**2 / 4.0
    local = local_add_remove(ordered, variance_of)
    best = max(local, math.exp(-beta * (n + 1)) * largest)
    distances = _distances(largest, local, beta, n - 1)[1:]
    for changes, ceiling in ((variance_rise, 4.0 * largest), (_fall, largest), (_known_fall, largest)):
        # A row that joins m others changes the variance by at most width^2/(m+1); it falls by at most a quarter of that.
        distances = distances[np.exp(-beta * distances) * ceiling / (n - distances) > best]
        best = max(best, float((np.exp(-beta * distances) * changes(ordered, distances)).max(initial=0.0)))
    bound = np.exp(-beta * distances) * variance_fall(hollow(ordered, distances + 1))
    value = float(bound.max(initial=best))
    return SmoothSensitivity(value, local, value <= best * (1.0 + _EQUAL))


def _fall(ordered: Ordered, removed: Distances) -> Floats:
    return variance_fall(hollow(ordered, removed))


def _known_fall(ordered: Ordered, removed: Distances) -> Floats:
    return variance_fall_of_a_row(ordered, hollow(ordered, removed + 1))


def standard_deviation(
    values: ArrayLike, bounds: tuple[float, float], beta: float, neighbors: str
) -> SmoothSensitivity:
    """Return the smooth sensitivity of the population standard deviation; parameters as of `mean`.

    Notes
    -----
    See `smooth_removals` and `smooth_replacements`. No method here releases it: variances are cheaper to bound and to combine.
    """
    ordered = _prepare(values, bounds, beta)
    if check_neighbors(neighbors) == "replace_one":
        return _deviation_replace(ordered, beta) if ordered.n > 1 else SmoothSensitivity(0.0, 0.0, True)
    return _deviation_add_remove(ordered, beta)


def _deviation_replace(ordered: Ordered, beta: float) -> SmoothSensitivity:
    """Few rows: tables are searched for each k where an upper bound of the change could win, the likeliest first. Many rows: the bounds themselves."""
    n, local = ordered.n, deviation_replace_local(ordered)
    largest = math.sqrt(n - 1) / n * ordered.width
    distances = _distances(largest, local, beta, n)[1:]
    weights, best = np.exp(-beta * distances), local
    bounds = weights * np.minimum(largest, deviation_replace(ordered, distances))
    if n > MOST_ROWS_SEARCHED:
        best = float(bounds.max(initial=local))
        return SmoothSensitivity(best, local, best == local)
    for at in np.argsort(-bounds):
        if bounds[at] <= best:
            break
        weight = float(weights[at])
        best = max(best, weight * largest_change(ordered, int(distances[at]), best / weight))
    return SmoothSensitivity(best, local, True)


def _deviation_add_remove(ordered: Ordered, beta: float) -> SmoothSensitivity:
    """As for the variance; the rise after k removals is searched over windows, only where a bound of it could win, the likeliest first."""
    n, largest = ordered.n, ordered.width / 2.0
    local = local_add_remove(ordered, deviation_of)
    best = max(local, math.exp(-beta * (n + 1)) * largest)
    distances = _distances(largest, local, beta, n - 1)[1:]
    weights = np.exp(-beta * distances)
    left, fewer = (hollow(ordered, distances + more) for more in (0, 1))
    for fall in (deviation_fall(left), deviation_fall_of_a_row(ordered, fewer)):
        best = max(best, float((weights * fall).max(initial=0.0)))
    ceiling = weights * deviation_ceiling(ordered, distances)
    for at in np.argsort(-ceiling):
        if ceiling[at] <= best:
            break
        best = max(best, float(weights[at]) * deviation_rise(ordered, int(distances[at])))
    value = float((weights * deviation_fall(fewer)).max(initial=best))
    return SmoothSensitivity(value, local, value <= best * (1.0 + _EQUAL))


def _prepare(values: ArrayLike, bounds: tuple[float, float], beta: float) -> Ordered:
    low, high = float(bounds[0]), float(bounds[1])
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError("bounds: give two finite numbers, the low one first")
    positive("beta", beta)
    numbers = np.asarray(values, dtype=np.float64).ravel()
    if np.isnan(numbers).any():
        raise ValueError("values: remove missing values first")
    numbers = np.clip(numbers, low, high)
    numbers -= low
    numbers.sort()
    return Ordered(numbers, high - low)


def _distances(largest: float, local: float, beta: float, n: int) -> Distances:
    """Return k = 0, 1, ... up to where exp(-beta k) * largest is below what k = 0 gives, at most n."""
    if local <= 0.0:
        return np.arange(n + 1)
    stop = math.log(max(1.0, largest / local)) / beta + 1.0
    return np.arange(n + 1 if stop >= n else math.ceil(stop) + 1)


def _mean_replace(ordered: Ordered, width: float, beta: float) -> SmoothSensitivity:
    if not ordered.n:
        return SmoothSensitivity(0.0, 0.0, True)
    local = max(width - float(ordered.values[0]), ordered.top) / ordered.n
    return SmoothSensitivity(max(local, math.exp(-beta) * width / ordered.n), local, True)
