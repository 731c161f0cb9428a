"""Scores of probabilistic classifiers, from single predictions or from counts by score: :mod:`fedbayes.bayes.evaluation.tallies`.

References
----------
.. [1] Hand and Till (2001); WEKA's "weighted average" of one-against-the-rest areas, weighted by class size.
.. [2] Guo et al. (2017), On calibration of modern neural networks: expected calibration error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...typing import Array, Booleans, Floats

Sides = tuple[Floats, Floats]
"""Positive and other rows by increasing score: a curve."""

CALIBRATION_BINS = 10  # tenths of the predicted probability
CURVE_POINTS = 100  # more cannot be told apart in a figure
LARGEST_LOSS = 30.0  # nats; bounds what one record adds to the mean
_LEAST_LOG = -1e6  # stands for the logarithm of 0


def row_losses(truth: Array, log_probabilities: Floats, largest: float = LARGEST_LOSS) -> Floats:
    """Return -log P(true class) of each row, within [0, largest], the largest where that is no number; float64, shape (n,)."""
    losses = -log_probabilities[np.arange(len(truth)), truth]
    return np.asarray(np.clip(np.where(np.isnan(losses), largest, losses), 0.0, largest))


def bounded_logs(log_probabilities: Any, classes: int) -> Floats:
    """Return log probabilities that every tally can take, whatever a model gave: within [-1e6, 0], what is no number at -1e6.

    Parameters
    ----------
    log_probabilities : array
        Of a model that need not be honest.
    classes : int
        The number of columns that there must be.

    Returns
    -------
    ndarray, float64, shape (n, classes)

    Raises
    ------
    ValueError
        If there are more or fewer columns than classes.
    """
    logs = np.asarray(log_probabilities, dtype=np.float64)
    if logs.ndim != 2 or logs.shape[1] != classes:
        raise ValueError("the model does not give one probability a class")
    return np.asarray(np.clip(np.where(np.isnan(logs), _LEAST_LOG, logs), _LEAST_LOG, 0.0))


def auc(positive: Booleans, scores: Floats) -> float:
    """Return the exact area under the ROC curve; ties count half; NaN where one side is empty.

    Parameters
    ----------
    positive : ndarray
        Truth, bool, shape (n,).
    scores : ndarray
        Higher means more likely positive, float64, shape (n,).
    """
    return auc_from_histograms(*sides(positive, scores, np.ones(len(scores))))


def auc_from_histograms(positive: Floats, negative: Floats) -> float:
    """Return the area under the ROC curve from counts by increasing score; shape (bins,) each; ties count half.

    Noisy counts are cut at zero first; NaN where one side is empty.
    """
    above, below = np.maximum(positive, 0.0), np.maximum(negative, 0.0)
    pairs = float(above.sum()) * float(below.sum())
    if pairs <= 0:
        return float("nan")
    beaten = np.concatenate([[0.0], np.cumsum(below)[:-1]])
    return float(np.sum(above * (beaten + 0.5 * below)) / pairs)


def sides(positive: Booleans, scores: Floats, weights: Floats) -> Sides:
    """Return the weight of the positive, and of the other rows with each score, by increasing score, float64, shape (scores,)."""
    _, tie = np.unique(scores, return_inverse=True)
    groups = int(tie.max()) + 1 if len(tie) else 0
    above, below = (np.bincount(tie[part], weights[part], minlength=groups) for part in (positive, ~positive))
    return above.astype(np.float64), below.astype(np.float64)


def mean_auc(curves: Sequence[Sides]) -> float:
    """Return the mean of areas weighted by the positive rows of each curve; NaN where no curve has both sides."""
    areas = np.array([auc_from_histograms(*curve) for curve in curves])
    sizes = np.array([max(float(positive.sum()), 0.0) for positive, _ in curves])
    defined = ~np.isnan(areas) & (sizes > 0)
    return float(np.average(areas[defined], weights=sizes[defined])) if bool(defined.any()) else float("nan")


def published_auc(curves: Sequence[Sides], rows: float) -> float:
    """Return the same as VertiBayes and its ensembles were scored: over all rows, those without a label beside every class."""
    areas = np.array([auc_from_histograms(*curve) for curve in curves])
    sizes = np.array([float(positive.sum()) for positive, _ in curves])
    return float(np.nan_to_num(areas) @ sizes) / rows if rows > 0 else float("nan")


def roc(positive: Floats, negative: Floats, minimum: float = 0.0) -> dict[str, Floats]:
    """Return the curve of true against false positive rate, from (0, 0) to (1, 1), in at most `CURVE_POINTS` steps.

    Parameters
    ----------
    positive, negative : ndarray
        Counts by increasing score, float64, shape (bins,); cut at zero first.
    minimum : float
        Every step has none or at least so many rows of either side, so that no point tells of fewer.

    Returns
    -------
    dict
        ``false_positive_rate`` and ``true_positive_rate``, float64, shape (points,), not decreasing; empty where one side is.
    """
    sides = [np.maximum(side, 0.0)[::-1] for side in (negative, positive)]
    seen = [np.cumsum(side) for side in sides]
    totals = [float(part[-1]) if len(part) else 0.0 for part in seen]  # in another order the last digit may differ
    if min(totals) <= 0.0:
        return {"false_positive_rate": np.zeros(0), "true_positive_rate": np.zeros(0)}
    points, last, step = [(0.0, 0.0)], (0.0, 0.0), sum(totals) / CURVE_POINTS
    for now in zip(*(part.tolist() for part in seen), strict=True):
        gained = [later - earlier for later, earlier in zip(now, last, strict=True)]
        left = [total - value for total, value in zip(totals, now, strict=True)]
        if sum(gained) >= step and all(not 1e-9 < part < minimum for part in (*gained, *left)):
            points.append((now[0] / totals[0], now[1] / totals[1]))
            last = now
    table = np.array([*points, (1.0, 1.0)] if points[-1] != (1.0, 1.0) else points)
    return {"false_positive_rate": table[:, 0], "true_positive_rate": table[:, 1]}


def calibration(confidence: Floats, minimum: float = 0.0) -> dict[str, Any]:
    """Return the expected calibration error and its table from (10, 2) counts of wrong and right predictions.

    A tenth's confidence is taken as its middle, so the error is exact up to half a tenth. Tenths with fewer than `minimum` rows are NaN, and the
    smallest others until all these have as many; the error is that of what is told, NaN where that is nothing.
    """
    counts = np.maximum(confidence, 0.0)
    rows = counts.sum(axis=1)
    middle = (np.arange(CALIBRATION_BINS) + 0.5) / CALIBRATION_BINS
    observed = np.divide(counts[:, 1], rows, out=np.full(len(rows), np.nan), where=rows > 0)
    few = (rows > 0) & (rows < minimum)
    while 0 < rows[few].sum() < minimum and (rows[~few] > 0).any():
        few[np.argmin(np.where(few | (rows == 0), np.inf, rows))] = True
    kept = np.where(few, 0.0, rows)
    gaps = np.abs(np.nan_to_num(observed) - middle)
    error = float((gaps * kept).sum() / kept.sum()) if kept.sum() > 0 else float("nan")
    return {
        "error": error,
        "confidence": middle,
        "accuracy": np.where(few, np.nan, observed),
        "rows": np.where(few, np.nan, rows),
    }
