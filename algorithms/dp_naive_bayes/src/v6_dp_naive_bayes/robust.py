"""Merging stations' own parameters so that a minority of wrong ones does little harm.

Not sums but local *parameters* are merged, as the paper asks: priors, conditional probabilities, means and
variances do not depend on how many rows a station has. Where a station lacks a class, its parameters of that
class are guesses; central warns.

References
----------
.. [1] Blanchard et al. (2017), Machine learning with adversaries (Krum).
.. [2] Guerraoui et al. (2018), The hidden vulnerability of distributed learning in Byzantium (Bulyan).
.. [3] Yin et al. (2018), Byzantine-robust distributed learning (median, trimmed mean).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.bayes.naive_bayes.features import CategoricalTables, Feature, Gaussian, Histogram
from fedbayes.typing import Floats, Integers

FEWEST = 3  # of two stations that differ no rule tells which is wrong
LEAST_PRIOR, LEAST_CELL = 1e-9, 1e-12  # probabilities that merging left at zero or below have logarithms
LEAST_DEVIATION = 1e-6  # of the bounds' range; narrower densities overflow
RARE = 2.0  # deviations of its noise below which a class is too rare to be compared


def tolerated(rule: str, stations: int) -> int:
    """Return how many wrong stations the rule is set up for: n >= 2f + 3 (Krum), 4f + 3 (Bulyan), 2f + 1 (others)."""
    if rule == "bulyan":
        return max(0, (stations - 3) // 4)
    if rule == "krum":
        return max(0, (stations - 3) // 2)
    return max(0, (stations - 1) // 2) if rule == "median" else min(max(1, stations // 5), (stations - 1) // 2)


def merge_robustly(models: Sequence[NaiveBayes], rule: str) -> NaiveBayes:
    """Return one model from the stations' own.

    Parameters
    ----------
    models : sequence of NaiveBayes
        Of one plan; at least three.
    rule : {"median", "trimmed_mean", "krum", "bulyan"}
        How they are merged.

    Returns
    -------
    NaiveBayes
        Its counts are the merged parameters times the typical number of rows; its noise is 0, because the
        stations' models were smoothed for theirs.
    """
    points = np.stack([_point(model) for model in models])
    merged = RULES[rule](points, tolerated(rule, len(models)))
    rows = float(np.median([model.positive_counts.sum() for model in models])) * len(models)
    return _model(models[0], merged, rows)


def rare_classes(model: NaiveBayes) -> list[int]:
    """Return the codes of the classes whose noisy count does not stand out of its noise."""
    return [int(code) for code in np.nonzero(model.class_counts <= RARE * max(model.class_noise, 0.5))[0]]


def _point(model: NaiveBayes) -> Floats:
    """Flatten a model's parameters; means and standard deviations as parts of the column's range."""
    totals = model.positive_counts
    parts = [totals / totals.sum()]
    for feature in model.features.values():
        if isinstance(feature, Gaussian):
            low, high = feature.bounds
            mean, variance = feature.moments()
            parts += [(mean - low) / (high - low), np.sqrt(variance) / (high - low)]
        elif isinstance(feature, (CategoricalTables, Histogram)):
            parts.append(feature.probabilities(totals).ravel())
    return np.concatenate(parts)


def _model(pattern: NaiveBayes, point: Floats, rows: float) -> NaiveBayes:
    classes = len(pattern.class_counts)
    prior = np.maximum(point[:classes], LEAST_PRIOR)
    counts = rows * prior / prior.sum()
    features: dict[str, Feature] = {}
    place = classes
    for name, feature in pattern.features.items():
        if isinstance(feature, Gaussian):
            low, high = (float(bound) for bound in feature.bounds)
            mean, deviation = point[place : place + classes], point[place + classes : place + 2 * classes]
            variance = (np.maximum(deviation, LEAST_DEVIATION) * (high - low)) ** 2
            features[name] = Gaussian.from_parameters(counts, low + mean * (high - low), variance, (low, high))
            place += 2 * classes
        elif isinstance(feature, (CategoricalTables, Histogram)):
            size = feature.counts.size
            table = np.maximum(point[place : place + size].reshape(feature.counts.shape), LEAST_CELL)
            scaled = counts[:, None] * table / table.sum(axis=1, keepdims=True)
            features[name] = replace(feature, counts=scaled, missing=np.zeros(classes), noise=0.0, pseudocount=0.0)
            place += size
    return replace(pattern, class_counts=counts, class_noise=0.0, features=features)


def _median(points: Floats, wrong: int) -> Floats:
    return np.asarray(np.median(points, axis=0))


def _trimmed_mean(points: Floats, wrong: int) -> Floats:
    ordered = np.sort(points, axis=0)
    return np.asarray(ordered[wrong : len(points) - wrong].mean(axis=0))


def krum_order(points: Floats, wrong: int) -> Integers:
    """Return the points' order by Krum's score: the sum of squared distances to their n - f - 2 nearest others."""
    distances = ((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    near = max(1, len(points) - wrong - 2)
    scores = np.sort(distances, axis=1)[:, :near].sum(axis=1)
    return np.argsort(scores, kind="stable")


def _krum(points: Floats, wrong: int) -> Floats:
    return np.asarray(points[krum_order(points, wrong)[0]])


def _bulyan(points: Floats, wrong: int) -> Floats:
    """Select n - 2f points by repeated Krum, then average each coordinate over the n - 4f nearest its median."""
    left = np.arange(len(points))
    chosen: list[int] = []
    while len(chosen) < len(points) - 2 * wrong:
        best = int(left[krum_order(points[left], wrong)[0]]) if len(left) > 1 else int(left[0])
        chosen.append(best)
        left = left[left != best]
    selected = points[chosen]
    keep = max(1, len(chosen) - 2 * wrong)
    far = np.abs(selected - np.median(selected, axis=0))
    nearest = np.argsort(far, axis=0, kind="stable")[:keep]
    return np.asarray(np.take_along_axis(selected, nearest, axis=0).mean(axis=0))


RULES: dict[str, Callable[[Floats, int], Floats]] = {
    "median": _median,
    "trimmed_mean": _trimmed_mean,
    "krum": _krum,
    "bulyan": _bulyan,
}
