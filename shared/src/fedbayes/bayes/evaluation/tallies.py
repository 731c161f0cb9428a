"""Tallies: sums over rows from which all scores of a classifier follow, so that stations may add them up.

The tallies of many stations add up to those of the pooled table, and noise can be added to them. Areas under the curve then come from histograms of scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...typing import Array, Floats, Integers
from ..counts.smoothing import project_on_simplex
from .metrics import CALIBRATION_BINS, LARGEST_LOSS, calibration, mean_auc, roc, row_losses

SCORE_BINS = 512  # of the histograms from which AUC is computed
COARSE_AUC = 0.02  # error from which a warning tells it: fewer than about 25 bins have most of the scores
_WIDEST_SCORE = 6.0  # arcsinh of log-odds of about 200


def score_bins(log_probabilities: Floats, bins: int = SCORE_BINS) -> Integers:
    """Return the bin of each one-against-the-rest score, int64, shape (n, classes).

    The score is asinh(log-odds): fine near even odds and coarse far out, where naive Bayes puts most rows.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        others = np.log(-np.expm1(np.minimum(log_probabilities, -1e-300)))
        odds = np.nan_to_num(log_probabilities - others, nan=0.0, posinf=1e9, neginf=-1e9)
    position = (np.arcsinh(odds) / _WIDEST_SCORE + 1) / 2 * bins
    return np.asarray(np.clip(np.floor(position), 0, bins - 1).astype(np.int64))


def odds_of_bins(bins: int) -> Floats:
    """Return the log-odds in the middle of every bin of scores, float64, shape (bins,)."""
    return np.asarray(np.sinh((2.0 * (np.arange(bins) + 0.5) / bins - 1.0) * _WIDEST_SCORE))


def losses_of_bins(bins: int, largest: float = LARGEST_LOSS) -> Floats:
    """Return the loss of a row of the class in the middle of every bin of the class's score, falling, float64, shape (bins,)."""
    return np.asarray(np.minimum(np.logaddexp(0.0, -odds_of_bins(bins)), largest))


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

    def flat(self) -> tuple[Integers, float]:
        """Return (every count in one int64 array, the loss)."""
        parts = (self.scores, self.confusion, self.confidence)
        return np.concatenate([np.rint(p).astype(np.int64).ravel() for p in parts]), self.loss

    @classmethod
    def from_flat(cls, counts: Array, loss: float, classes: int, bins: int = SCORE_BINS) -> Tallies:
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


def tenths(probabilities: Floats) -> Integers:
    """Return the tenth that each probability is in, 0 to 9."""
    return np.asarray(np.clip(probabilities * CALIBRATION_BINS, 0, CALIBRATION_BINS - 1).astype(np.int64))


def scored_classes(classes: int) -> int:
    """Return how many one-against-the-rest curves differ: one for two classes, else one a class."""
    return 1 if classes == 2 else classes


def tally(truth: Array, log_probabilities: Floats, bins: int = SCORE_BINS, largest: float = LARGEST_LOSS) -> Tallies:
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
    positions, predicted = parted_bins(log_probabilities, bins), log_probabilities.argmax(axis=1)
    scores = np.zeros((scored, 2, bins))
    for row, label in enumerate(chosen):
        cell = (truth == label) * bins + positions[:, label]
        scores[row] = np.bincount(cell, minlength=2 * bins).reshape(2, bins)
    confusion = np.bincount(truth * classes + predicted, minlength=classes**2).reshape(classes, classes)
    surest = np.nan_to_num(np.exp(np.minimum(log_probabilities.max(axis=1), 0.0)), nan=0.0)
    confidence = np.bincount(tenths(surest) * 2 + (predicted == truth), minlength=2 * CALIBRATION_BINS)
    loss = float(row_losses(truth, log_probabilities, largest).sum())
    return Tallies(scores, confusion.astype(np.float64), confidence.astype(np.float64).reshape(-1, 2), loss)


def parted_bins(log_probabilities: Floats, bins: int) -> Integers:
    """Return `score_bins`; of two classes those of the second are in the upper half where it is predicted, and there alone."""
    positions, half = score_bins(log_probabilities, bins), bins // 2
    if positions.shape[1] == 2:
        own, second = positions[:, 1], log_probabilities.argmax(axis=1) == 1
        positions[:, 1] = np.where(second, np.maximum(own, half), np.minimum(own, half - 1))
    return positions


def joint_table(truth: Array, log_probabilities: Floats, bins: int) -> Integers:
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
    score_bin = parted_bins(log_probabilities, bins)[:, 1]
    return np.bincount(truth * bins + score_bin, minlength=2 * bins).astype(np.int64).reshape(2, bins)


def tallies_of_joint(table: Array, largest: float = LARGEST_LOSS) -> Tallies:
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
    odds, of_second = odds_of_bins(bins), losses_of_bins(bins, largest)
    losses = np.stack([of_second[::-1], of_second])
    predicted = (np.arange(bins) >= bins // 2).astype(np.int64)
    tenth = tenths(1.0 / (1.0 + np.exp(-np.abs(odds))))
    confusion, confidence = np.zeros((2, 2)), np.zeros((CALIBRATION_BINS, 2))
    for truth in (0, 1):
        np.add.at(confusion[truth], predicted, cells[truth])
        np.add.at(confidence, (tenth, (predicted == truth).astype(np.int64)), cells[truth])
    return Tallies(cells[None], confusion, confidence, float((cells * losses).sum()))


def auc_error(tallies: Tallies) -> float:
    """Return by how much the area under the curve may differ from that of the scores themselves, which bins take for ties; 0 without one.

    At most half of the pairs of one row of the class and one other row that are in one bin, weighted as the areas are.
    """
    total = sizes = 0.0
    for no, yes in tallies.scores:
        pairs = float(yes.sum() * no.sum())
        if pairs > 0:
            total, sizes = total + 0.5 * float(yes @ no) / pairs * float(yes.sum()), sizes + float(yes.sum())
    return total / sizes if sizes else 0.0


def coarse_auc(tallies: Tallies) -> str:
    """Return the words of a warning if the area under the curve is known coarsely, else nothing."""
    error, bins = auc_error(tallies), tallies.scores.shape[-1]
    if error <= COARSE_AUC:
        return ""
    return (
        f"the area under the curve is known to within {error:.1g} only: the scores of many records are close together, and what is added up "
        f"are counts in {bins} bins of the score"
    )


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
