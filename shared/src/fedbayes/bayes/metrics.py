"""Scores of probabilistic classifiers, from single predictions or from sums that stations may add up.

Everything that :class:`Tallies` holds is a sum over rows, so the tallies of many stations add up to those of
the pooled table, and noise can be added to them. Areas under the curve then come from histograms of scores.

References
----------
.. [1] Hand and Till (2001); WEKA's "weighted average" of one-against-the-rest areas, weighted by class size.
.. [2] Guo et al. (2017), On calibration of modern neural networks: expected calibration error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbayes.bayes.smoothing import project_on_simplex

Floats = NDArray[np.float64]
Sides = tuple[Floats, Floats]
"""Positive and other rows by increasing score: a curve."""

SCORE_BINS = 512  # of the histograms from which AUC is computed
CALIBRATION_BINS = 10  # tenths of the predicted probability
CURVE_POINTS = 100  # more cannot be told apart in a figure
LARGEST_LOSS = 30.0  # nats; bounds what one record adds to the mean
_WIDEST_SCORE = 6.0  # arcsinh of log-odds of about 200
_LEAST_LOG = -1e6  # stands for the logarithm of 0


def accuracy(truth: NDArray[Any], predicted: NDArray[Any]) -> float:
    """Return the share of equal entries (codes, shape (n,)); NaN without rows."""
    return float(np.mean(truth == predicted)) if len(truth) else float("nan")


def log_loss(truth: NDArray[Any], log_probabilities: Floats) -> float:
    """Return the mean of -log P(true class) (at most 30 a row); ``log_probabilities``: shape (n, classes)."""
    if not len(truth):
        return float("nan")
    return float(np.mean(row_losses(truth, log_probabilities)))


def row_losses(truth: NDArray[Any], log_probabilities: Floats, largest: float = LARGEST_LOSS) -> Floats:
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


def auc(positive: NDArray[np.bool_], scores: Floats) -> float:
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


def weighted_auc(truth: NDArray[Any], probabilities: Floats) -> float:
    """Return the mean of the one-against-the-rest areas, weighted by class size; exact.

    Parameters
    ----------
    truth : ndarray
        Codes, int, shape (n,).
    probabilities : ndarray
        float64, shape (n, classes); any increasing function of them does, column by column.
    """
    ones = np.ones(len(truth))
    return mean_auc([sides(truth == c, probabilities[:, c], ones) for c in range(probabilities.shape[1])])


def sides(positive: NDArray[np.bool_], scores: Floats, weights: Floats) -> Sides:
    """Return the weight of the positive, and of the other rows with each score, by increasing score, float64, shape (scores,)."""
    _, tie = np.unique(scores, return_inverse=True)
    groups = int(tie.max()) + 1 if len(tie) else 0
    above, below = (np.bincount(tie[part], weights[part], minlength=groups) for part in (positive, ~positive))
    return above.astype(np.float64), below.astype(np.float64)


def mean_auc(curves: Sequence[Sides]) -> float:
    """Return the mean of areas weighted by the positive rows of each curve; NaN where no curve has both sides."""
    areas = np.array([auc_from_histograms(*curve) for curve in curves])
    sizes = np.array([max(float(positive.sum()), 0.0) for positive, _ in curves])
    known = ~np.isnan(areas) & (sizes > 0)
    return float(np.average(areas[known], weights=sizes[known])) if bool(known.any()) else float("nan")


def published_auc(curves: Sequence[Sides], rows: float) -> float:
    """Return the same as VertiBayes and its ensembles were scored: over all rows, those without a label beside every class."""
    areas = np.array([auc_from_histograms(*curve) for curve in curves])
    sizes = np.array([float(positive.sum()) for positive, _ in curves])
    return float(np.nan_to_num(areas) @ sizes) / rows if rows > 0 else float("nan")


def score_bins(log_probabilities: Floats, bins: int = SCORE_BINS) -> NDArray[np.int64]:
    """Return the bin of each one-against-the-rest score, int64, shape (n, classes).

    The score is asinh(log-odds): fine near even odds and coarse far out, where naive Bayes puts most rows.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        others = np.log(-np.expm1(np.minimum(log_probabilities, -1e-300)))
        odds = np.nan_to_num(log_probabilities - others, nan=0.0, posinf=1e9, neginf=-1e9)
    position = (np.arcsinh(odds) / _WIDEST_SCORE + 1) / 2 * bins
    return np.asarray(np.clip(np.floor(position), 0, bins - 1).astype(np.int64))


@dataclass(frozen=True)
class Tallies:
    """Sums over rows from which all scores follow; tallies of disjoint tables add up.

    Parameters
    ----------
    scores : ndarray
        Rows by class scored, whether the row is of that class (0 no, 1 yes) and bin of the score; shape
        (scored, 2, bins), where ``scored`` is 1 for two classes (the second class) and else every class.
    confusion : ndarray
        Rows by true and predicted class, shape (classes, classes).
    confidence : ndarray
        Rows by tenth of the probability of the predicted class and whether it was right, shape (10, 2).
    loss : float
        Sum of -log P(true class), each at most ``LARGEST_LOSS``.
    """

    scores: Floats
    confusion: Floats
    confidence: Floats
    loss: float

    def __add__(self, other: Tallies) -> Tallies:
        return Tallies(
            self.scores + other.scores,
            self.confusion + other.confusion,
            self.confidence + other.confidence,
            self.loss + other.loss,
        )

    @staticmethod
    def shapes(classes: int, bins: int = SCORE_BINS) -> list[tuple[int, ...]]:
        """Return the shapes of scores, confusion and confidence."""
        return [(scored_classes(classes), 2, bins), (classes, classes), (CALIBRATION_BINS, 2)]

    @classmethod
    def size(cls, classes: int, bins: int = SCORE_BINS) -> int:
        """Return the number of counts that `flat` has."""
        return sum(math.prod(shape) for shape in cls.shapes(classes, bins))

    def flat(self) -> tuple[NDArray[np.int64], float]:
        """Return (every count in one int64 array, the loss)."""
        parts = (self.scores, self.confusion, self.confidence)
        return np.concatenate([np.rint(p).astype(np.int64).ravel() for p in parts]), self.loss

    @classmethod
    def from_flat(cls, counts: NDArray[Any], loss: float, classes: int, bins: int = SCORE_BINS) -> Tallies:
        """Read what :meth:`flat` wrote.

        Raises
        ------
        ValueError
            The counts are not as many as those of this number of classes and bins.
        """
        shapes = cls.shapes(classes, bins)
        cuts = np.cumsum([math.prod(shape) for shape in shapes])
        if counts.shape != (cls.size(classes, bins),):
            raise ValueError(f"tallies of {classes} classes have {cls.size(classes, bins)} counts")
        parts = np.split(np.asarray(counts, dtype=np.float64), cuts[:-1])
        scores, confusion, confidence = (p.reshape(s) for p, s in zip(parts, shapes, strict=True))
        return cls(scores, confusion, confidence, float(loss))


def tenths(probabilities: Floats) -> NDArray[np.int64]:
    """Return the tenth that each probability is in, 0 to 9."""
    return np.asarray(np.clip(probabilities * CALIBRATION_BINS, 0, CALIBRATION_BINS - 1).astype(np.int64))


def scored_classes(classes: int) -> int:
    """Return how many one-against-the-rest curves differ: one for two classes, else one a class."""
    return 1 if classes == 2 else classes


def tally(
    truth: NDArray[Any], log_probabilities: Floats, bins: int = SCORE_BINS, largest: float = LARGEST_LOSS
) -> Tallies:
    """Return the tallies of a table.

    Parameters
    ----------
    truth : ndarray
        Codes of the true classes, int, shape (n,), none missing.
    log_probabilities : ndarray
        log P(class | row), float64, shape (n, classes).
    bins : int
        Bins of scores.
    largest : float
        Largest loss that one row adds.
    """
    classes = log_probabilities.shape[1]
    scored = scored_classes(classes)
    chosen = [classes - 1] if scored == 1 else list(range(classes))
    positions = score_bins(log_probabilities, bins)
    scores = np.zeros((scored, 2, bins))
    for row, label in enumerate(chosen):
        cell = (truth == label) * bins + positions[:, label]
        scores[row] = np.bincount(cell, minlength=2 * bins).reshape(2, bins)
    predicted = log_probabilities.argmax(axis=1)
    confusion = np.bincount(truth * classes + predicted, minlength=classes**2).reshape(classes, classes)
    surest = np.nan_to_num(np.exp(np.minimum(log_probabilities.max(axis=1), 0.0)), nan=0.0)
    confidence = np.bincount(tenths(surest) * 2 + (predicted == truth), minlength=2 * CALIBRATION_BINS)
    loss = float(row_losses(truth, log_probabilities, largest).sum())
    return Tallies(scores, confusion.astype(np.float64), confidence.astype(np.float64).reshape(-1, 2), loss)


def joint_table(truth: NDArray[Any], log_probabilities: Floats, bins: int) -> NDArray[np.int64]:
    """Return rows of two classes by true class and bin of the score, int64, shape (2, bins).

    A row is in the upper half of the bins where the second class is predicted, so the table has the confusion in it too.

    Parameters
    ----------
    truth : ndarray
        Codes of the true classes, int, shape (n,), none missing.
    log_probabilities : ndarray
        log P(class | row), float64, shape (n, 2).
    bins : int
        An even number.
    """
    score_bin, half = score_bins(log_probabilities, bins)[:, 1], bins // 2
    second = log_probabilities.argmax(axis=1) == 1
    score_bin = np.where(second, np.maximum(score_bin, half), np.minimum(score_bin, half - 1))
    return np.bincount(truth * bins + score_bin, minlength=2 * bins).astype(np.int64).reshape(2, bins)


def tallies_of_joint(table: NDArray[Any], largest: float = LARGEST_LOSS) -> Tallies:
    """Return the tallies that follow of a `joint_table`, which may carry noise; every row counts as one in the middle of its bin.

    Noise is taken out as far as it can be known: of each class the nearest cells that are not negative and have the same sum (least squares).
    Where negative cells are cut instead, what is left of the noise flattens the curve.

    Parameters
    ----------
    table : ndarray
        Shape (2, bins), bins an even number.
    largest : float
        Largest loss of a row.
    """
    noisy = np.asarray(table, dtype=np.float64)
    bins, sizes = noisy.shape[1], noisy.sum(axis=1)
    cells = np.stack(
        [project_on_simplex(row, size) if size > 0 else 0.0 * row for row, size in zip(noisy, sizes, strict=True)]
    )
    odds = np.sinh((2.0 * (np.arange(bins) + 0.5) / bins - 1.0) * _WIDEST_SCORE)
    losses = np.minimum(np.stack([np.logaddexp(0.0, odds), np.logaddexp(0.0, -odds)]), largest)
    predicted = (np.arange(bins) >= bins // 2).astype(np.int64)
    tenth = tenths(1.0 / (1.0 + np.exp(-np.abs(odds))))
    confusion, confidence = np.zeros((2, 2)), np.zeros((CALIBRATION_BINS, 2))
    for truth in (0, 1):
        np.add.at(confusion[truth], predicted, cells[truth])
        np.add.at(confidence, (tenth, (predicted == truth).astype(np.int64)), cells[truth])
    return Tallies(cells[None], confusion, confidence, float((cells * losses).sum()))


def scores_of(tallies: Tallies, minimum: float = 0.0) -> dict[str, Any]:
    """Return accuracy, auc, log_loss, calibration, roc and n from tallies, exact or noisy (cut at zero first).

    Parameters
    ----------
    tallies : Tallies
        Of all rows.
    minimum : float
        Fewest rows that a step of a curve, or a tenth of the calibration, is told of.
    """
    confusion = np.maximum(tallies.confusion, 0.0)
    rows = float(confusion.sum())
    right = float(np.trace(confusion)) / rows if rows > 0 else float("nan")
    curves = [(yes, no) for no, yes in tallies.scores]
    loss = max(tallies.loss, 0.0) / rows if rows > 0 else float("nan")
    return {
        "accuracy": right,
        "auc": mean_auc(curves),
        "log_loss": loss,
        "calibration": calibration(tallies.confidence, minimum),
        "roc": [roc(*curve, minimum) for curve in curves],
        "n": rows,
    }


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
    smallest other where one alone would follow from the sum.
    """
    counts = np.maximum(confidence, 0.0)
    rows = counts.sum(axis=1)
    middle = (np.arange(CALIBRATION_BINS) + 0.5) / CALIBRATION_BINS
    observed = np.divide(counts[:, 1], rows, out=np.full(len(rows), np.nan), where=rows > 0)
    gaps = np.where(rows > 0, np.abs(np.nan_to_num(observed) - middle), 0.0)
    error = float((gaps * rows).sum() / rows.sum()) if rows.sum() > 0 else float("nan")
    few = (rows > 0) & (rows < minimum)
    if few.sum() == 1 and (rows >= minimum).sum() > 0:
        few[np.argmin(np.where(few | (rows == 0), np.inf, rows))] = True
    return {
        "error": error,
        "confidence": middle,
        "accuracy": np.where(few, np.nan, observed),
        "rows": np.where(few, np.nan, rows),
    }
