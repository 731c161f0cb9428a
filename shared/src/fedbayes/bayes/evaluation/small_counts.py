"""Scores of records that do not show one record: predictions in groups, and confusion tables without small counts."""

from __future__ import annotations

import numpy as np

from ...typing import Floats


def grouped(probabilities: Floats, weight: Floats, minimum: float, labelled: Floats | None = None) -> Floats:
    """Return predictions that fewer than `minimum` records have as the mean of a group with enough records.

    Parameters
    ----------
    probabilities : float array, shape (patterns, classes)
        Prediction of every pattern of records.
    weight : float array, shape (patterns,)
        Records of each.
    minimum : float
        Fewest records of a group; 0 or 1 leaves all as it is.
    labelled : float array, shape (patterns,), optional
        Those of them by which a group is large enough: records whose label is known, beside others; all if left out.

    Notes
    -----
    Neighbours in predicted class and certainty form a group, so scores change little; a network that is made to
    give one record a prediction of its own scores like its neighbours.
    """
    if minimum <= 1 or not len(weight):
        return probabilities
    _, same = np.unique(probabilities.round(12), axis=0, return_inverse=True)
    kinds = int(same.max()) + 1
    records: Floats = np.bincount(same.ravel(), weights=weight, minlength=kinds).astype(np.float64)
    sums = np.stack([np.bincount(same.ravel(), weights=weight * part, minlength=kinds) for part in probabilities.T], 1)
    means = sums / np.maximum(records, 1e-300)[:, None]
    enough = records if labelled is None else np.bincount(same.ravel(), weights=labelled, minlength=kinds)
    order = np.lexsort((means.max(axis=1), means.argmax(axis=1)))
    group = np.zeros(kinds, dtype=np.int64)
    current, held = 0, 0.0
    for kind in order:
        group[kind] = current
        held += enough[kind]
        if held >= minimum:
            current, held = current + 1, 0.0
    group[group == current] = max(current - 1, 0)
    share: Floats = np.bincount(group, weights=records).astype(np.float64)
    joined = np.stack([np.bincount(group, weights=records * part) for part in means.T], 1) / share[:, None]
    result: Floats = joined[group][same.ravel()]
    return result


def shown(confusion: Floats, minimum: float) -> list[list[float | None]]:
    """Return a table of true and predicted classes, every count None where one is small, but not 0.

    How many records have each class, and how many are predicted right, is told elsewhere. With these even a block of hidden counts that keeps the sums of lines
    would tell a small one, where it has a class predicted right in the same row.

    Parameters
    ----------
    confusion : ndarray of float, shape (classes, classes)
        Numbers of records, or noisy ones, of which none is small.
    minimum : float
        Fewer records are few; 0 hides nothing.
    """
    counts = np.asarray(confusion, dtype=np.float64)
    few = bool(((counts > 0) & (counts < minimum)).any())
    return [[None if few else float(count) for count in row] for row in counts]
