"""The release as printed, for reproducing the paper only: it is **not** differentially private.

Theorems 4 and 7 of the paper bound the largest *total* change over k replacements instead of the largest *local* sensitivity at
distance k; the number of rows of a class is treated as public; the variance's bound is put on the standard deviation, so that its noise
depends on the unit of the column; the scale sqrt(2) S / epsilon with weights exp(-k epsilon) has a larger loss than epsilon; class counts
are drawn anew inside the loop over attributes but charged once (here they are drawn once). The published search over windows, O(n^2), is
cut to the window around the mean.
"""

from __future__ import annotations

import math

import numpy as np

from fedbayes import randomness
from fedbayes.typing import Floats, Integers

_LARGEST = 2.0**53  # whole numbers beyond are no floats


def moments(values: Floats, bounds: tuple[float, float], epsilon: float) -> tuple[float, float, float, float]:
    """Return (mean, standard deviation, and the published scales sqrt(2) S / epsilon of their Cauchy noise)."""
    low, width = bounds[0], bounds[1] - bounds[0]
    ordered = np.sort(np.clip(values, *bounds)) - low
    if not ordered.size:
        return (bounds[0] + bounds[1]) / 2.0, 0.0, math.sqrt(2.0) * width / epsilon, math.sqrt(2.0) * width / epsilon
    factor = math.sqrt(2.0) / epsilon
    of_mean = mean_sensitivity(ordered, width, epsilon)
    of_deviation = variance_sensitivity(ordered, width, epsilon)
    return low + float(ordered.mean()), float(ordered.std()), factor * of_mean, factor * of_deviation


def mean_sensitivity(ordered: Floats, width: float, epsilon: float) -> float:
    """Return max over k >= 1 of exp(-k epsilon) times the largest total change of the mean by k replacements (theorem 4).

    `ordered`: sorted, measured from the lower bound.
    """
    k = np.arange(1, ordered.size + 1)
    up = k * width - np.cumsum(ordered)
    down = np.cumsum(ordered[::-1])
    return float((np.exp(-k * epsilon) * np.maximum(up, down)).max() / ordered.size)


def variance_sensitivity(ordered: Floats, width: float, epsilon: float) -> float:
    """Return max over k >= 1 of exp(-k epsilon) times the largest total change of the variance by k replacements (theorem 7)."""
    n = ordered.size
    k = np.arange(1, n + 1)
    sums = np.concatenate([np.zeros(1), np.cumsum(ordered)])
    squares = np.concatenate([np.zeros(1), np.cumsum(ordered**2)])
    now = max(0.0, float(squares[-1] / n - (sums[-1] / n) ** 2))
    start = np.clip(np.searchsorted(ordered, ordered.mean()) - k // 2, 0, n - k)
    kept, kept_squares = sums[-1] - sums[start + k] + sums[start], squares[-1] - squares[start + k] + squares[start]
    high = np.clip(np.rint(n / 2.0 - kept / width), 0, k)  # how many of the k go to the upper bound
    largest = (kept_squares + high * width**2) / n - ((kept + high * width) / n) ** 2
    cut = k // 2
    inner, inner_squares = sums[n - k + cut] - sums[cut], squares[n - k + cut] - squares[cut]
    smallest = np.maximum(0.0, inner_squares - inner**2 / np.maximum(1, n - k)) / n
    change = np.maximum(largest - now, now - smallest)
    return float((np.exp(-k * epsilon) * change).max())


def perturb_class_counts(counts: Integers, epsilon: float) -> Integers:
    """Return class counts plus Cauchy noise of scale sqrt(2) / epsilon, cut at 0, as printed."""
    noisy = counts + math.sqrt(2.0) / epsilon * randomness.standard_cauchy(counts.shape)
    return np.asarray(np.rint(np.clip(noisy, 0.0, _LARGEST)), dtype=np.int64)
