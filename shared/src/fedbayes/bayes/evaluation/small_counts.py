"""Scores of records that do not show one record: predictions in groups, and confusion tables without small counts."""

from __future__ import annotations

import numpy as np

from ...typing import Floats, Indices


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
    Neighbours in certainty that predict the same class form a group, so scores change little and no record gets another class; a network that is made to
    give one record a prediction of its own scores like its neighbours. Classes that fewer records are predicted have one group together, even odds are a
    class of their own; where these are fewer too, they are in the least certain group. The order of the classes decides nothing but
    which of two groups that is, if both are equally certain.
    """
    if minimum <= 1 or not len(weight):
        return probabilities
    kinds, same = _kinds(probabilities)
    records: Floats = np.bincount(same, weights=weight).astype(np.float64)
    sums = np.stack([np.bincount(same, weights=weight * part) for part in probabilities.T], 1)
    means = sums / np.maximum(records, 1e-300)[:, None]
    enough: Floats = records if labelled is None else np.bincount(same, weights=labelled).astype(np.float64)
    group = _groups(kinds, enough, minimum)
    share: Floats = np.bincount(group, weights=records).astype(np.float64)
    joined = np.stack([np.bincount(group, weights=records * part) for part in means.T], 1) / share[:, None]
    result: Floats = joined[group][same]
    return result


def _kinds(probabilities: Floats) -> tuple[Floats, Indices]:
    """Return predicted class (-1 of even odds) and falling probabilities of every kind, (kinds, 1 + classes), by class and certainty; and each row's kind."""
    falling = -np.sort(-probabilities.round(12), axis=1)
    even = falling[:, 0] == falling[:, min(1, falling.shape[1] - 1)]
    predicted = np.where(even, -1, probabilities.argmax(axis=1))
    kinds, same = np.unique(np.column_stack([predicted, falling]), axis=0, return_inverse=True)
    return kinds, np.asarray(same.ravel(), dtype=np.int64)


def _groups(kinds: Floats, enough: Floats, minimum: float) -> Indices:
    """Return each kind's group, (kinds,), numbered from 0: of each class from the least certain on, what is left over with the last one."""
    _, side = np.unique(kinds[:, 0], return_inverse=True)
    side = side.ravel()
    rare = (np.bincount(side, weights=enough) < minimum)[side]
    group, current = np.zeros(len(kinds), dtype=np.int64), 1  # 0 are the rare classes
    for one in np.unique(side[~rare]):
        held = 0.0
        for kind in np.flatnonzero(side == one):
            group[kind] = current
            held += enough[kind]
            if held >= minimum:
                current, held = current + 1, 0.0
        group[(side == one) & (group == current)] = current - 1
    if enough[rare].sum() < minimum and not rare.all():
        group[rare] = group[~rare][kinds[~rare, 1].argmin()]
    return np.asarray(np.unique(group, return_inverse=True)[1].ravel(), dtype=np.int64)


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
