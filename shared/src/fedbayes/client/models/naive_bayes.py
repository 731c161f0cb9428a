"""What a naive Bayes model says of its features, as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...bayes.naive_bayes import NaiveBayes
from ...bayes.naive_bayes.features import Gaussian, Histogram
from ...typing import Floats

GRID_POINTS = 64
"""Of a density: two pixels apart in a small figure."""


def tables_of(model: NaiveBayes, name: str) -> tuple[Floats, Floats]:
    """Return (positions or edges, P(bin | class)) of a feature; a Gaussian is read on a grid of equal bins."""
    feature: Any = model.features[name]
    if isinstance(feature, Gaussian):
        edges = np.linspace(feature.bounds[0], feature.bounds[1], GRID_POINTS + 1)
        mean, variance = feature.moments()
        centers = (edges[1:] + edges[:-1]) / 2
        log_density = -0.5 * ((centers - mean[:, None]) ** 2 / variance[:, None] + np.log(variance[:, None]))
        density = np.exp(log_density - log_density.max(axis=1, keepdims=True))
        return edges, density / density.sum(axis=1, keepdims=True)
    probabilities = np.asarray(feature.probabilities(model.positive_counts))
    if isinstance(feature, Histogram):
        return feature.edges, probabilities
    return np.arange(probabilities.shape[1], dtype=np.float64), probabilities


def information(model: NaiveBayes) -> dict[str, float]:
    """Return the mutual information of each feature with the class under the model, in bits, most informative first."""
    prior = np.exp(model.log_prior)
    values: dict[str, float] = {}
    for name in model.features:
        _, probabilities = tables_of(model, name)
        mixture = prior @ probabilities
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(probabilities > 0, probabilities * np.log2(probabilities / mixture), 0.0)
        values[name] = float(prior @ terms.sum(axis=1))
    return dict(sorted(values.items(), key=lambda item: -item[1]))
