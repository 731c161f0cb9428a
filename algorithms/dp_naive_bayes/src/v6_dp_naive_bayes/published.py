"""Algorithm 1 as the paper ran it, for reproducing its figures. **Not differentially private.**

Sums get Laplace noise scaled to the largest value that the station's own class holds, so the scale itself
tells about the data; a class that a station lacks is answered without noise; counts are raised to 1e-6 at each
station before they are added.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fedbayes.bayes.naive_bayes.counting import class_counts, feature_table
from fedbayes.typing import Array, Floats

from .model import TINY, Plan


def publish(plan: Plan, encoded: Mapping[str, Array]) -> Floats:
    """Return a station's noisy statistics in the layout of :func:`v6_dp_naive_bayes.model.summarise`.

    Parameters
    ----------
    plan : Plan
        With ``published``.
    encoded : mapping of str to ndarray
        The columns as ``Columns.read`` gives them.

    Returns
    -------
    ndarray, float64, shape (sum of the queries' sizes,)
        Sums are computed on the values as they are and only then mapped to the units of the model.
    """
    from fedbayes.dp.mechanisms import laplace

    columns, schema = plan.columns, plan.columns.schema
    share = plan.noise.epsilon / plan.queries
    labels = encoded[columns.label]
    counts = class_counts(labels, columns.classes)
    noisy = np.maximum(laplace(counts.astype(np.float64), 1.0 / share), TINY)
    parts = [noisy]
    for name in plan.tabled:
        table = feature_table(schema, columns.label, name, encoded, plan.bins).astype(np.float64)
        parts.append(np.maximum(laplace(table, 1.0 / share), TINY).ravel())
    for name in plan.gaussian:
        sums, squares = _noisy_sums(encoded[name], labels, columns.classes, share)
        low, high = schema[name].bounds or (0.0, 1.0)
        middle, half = (low + high) / 2, (high - low) / 2
        rows = np.maximum(noisy - _noisy_gaps(encoded[name], labels, columns.classes, share), TINY)
        total = (sums - middle * rows) / half
        second = (squares - 2 * middle * sums + middle**2 * rows) / half**2 - rows / 2
        parts += [total * plan.units, (noisy - rows) * plan.units, second * plan.units]
    return np.concatenate(parts)


def _noisy_gaps(values: Floats, labels: Array, classes: int, share: float) -> Floats:
    """Return the rows of each class without a value, which no sum holds; the paper knows none, so a class without any stays as printed."""
    from fedbayes.dp.mechanisms import laplace

    gaps = class_counts(labels[np.isnan(values)], classes).astype(np.float64)
    return np.where(gaps > 0, np.maximum(laplace(gaps, 1.0 / share), 0.0), 0.0)


def _noisy_sums(values: Floats, labels: Array, classes: int, share: float) -> tuple[Floats, Floats]:
    from fedbayes.dp.mechanisms import laplace

    sums, squares = np.zeros(classes), np.zeros(classes)
    for label in range(classes):
        own = values[(labels == label) & ~np.isnan(values)]
        largest = float(np.abs(own).max(initial=0.0))
        if largest > 0:
            sums[label] = laplace(own.sum(), largest / share)
            squares[label] = laplace((own**2).sum(), largest**2 / share)
    return sums, squares
