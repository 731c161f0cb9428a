"""How central makes one mean and one variance of many stations' noisy ones."""

from __future__ import annotations

import numpy as np

from fedbayes.typing import Floats

DEVIATION_FLOOR = 1.0 / 200.0  # of the public range: the least standard deviation that is believed
_FEWEST_ROWS = 1.0  # of a class, so that noise leaves no divisor at 0
_ABSENT = 1e-9  # the weight of a station without a row of a class beside those with one


def combine_moments(
    means: Floats, variances: Floats, rows: Floats, bounds: tuple[float, float], factor: float
) -> tuple[Floats, Floats, Floats]:
    """Return (rows, mean, variance) of all stations by class, weighted by inverse variance.

    Parameters
    ----------
    means, variances : ndarray
        Noisy, float64, shape (stations, classes).
    rows : ndarray
        Noisy class counts, same shape.
    bounds : (float, float)
        Public limits of the feature.
    factor : float
        Multiplier of the noise: its scale is taken as factor * range / rows, since the true scales are secret.

    Returns
    -------
    tuple of ndarray
        float64, shape (classes,) each.

    Notes
    -----
    First the public limits are enforced: means within the bounds, standard deviations between 1/200 of the range and half of it, so one
    heavy-tailed draw cannot carry the average away. A station's mean has the variance v/n + (factor w/n)^2 with v the (noisy) variance and w
    the range; its variance has 2 v^2/n + (factor w^2/n)^2. The spread of the means between stations counts as far as it is not noise.
    A variance is believed down to the noise left in it, and the noise left in the mean is added to it: a feature whose parameters drown in noise becomes
    uninformative instead of misleading. As epsilon grows all weights become the numbers of rows, and the answer the pooled one.
    """
    low, high = bounds
    width = high - low
    least, most = (DEVIATION_FLOOR * width) ** 2, width**2 / 4.0
    count = np.maximum(rows, _FEWEST_ROWS)
    means, variances = np.clip(means, low, high), np.clip(variances, least, most)
    typical = np.median(variances, axis=0)
    sampling, added = typical / count, (factor * width / count) ** 2
    present = np.clip(rows, _ABSENT, 1.0)  # a station without a row of a class says nothing of it
    weights = present / (sampling + added)
    mean = (weights * means).sum(axis=0) / weights.sum(axis=0)
    variance_added = (factor * width**2 / count) ** 2
    variance_weights = present / (2.0 * typical**2 / count + variance_added)
    within = (variance_weights * variances).sum(axis=0) / variance_weights.sum(axis=0)
    believed = weights * sampling / (sampling + added)
    between = (believed * (means - mean) ** 2).sum(axis=0) / weights.sum(axis=0)
    doubt = np.minimum(_left_over(weights, added), width) ** 2
    floor = np.maximum(least, np.minimum(_left_over(variance_weights, variance_added), most))
    variance = np.minimum(np.maximum(within + between, floor) + doubt, most)
    return np.maximum(rows, 0.0).sum(axis=0), mean, variance


def _left_over(weights: Floats, added: Floats) -> Floats:
    """Return the scale of the noise that is left in a weighted mean, shape (classes,)."""
    return np.asarray(np.sqrt((weights**2 * added).sum(axis=0)) / weights.sum(axis=0))
