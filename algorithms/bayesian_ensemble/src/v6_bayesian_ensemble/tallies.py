"""Sums over scored records: the foundation's tallies, and histograms with the unlabelled records beside them.

References
----------
.. [1] van Daalen et al. (2023): its code counts records without label as negatives of every class and divides by all
   records, so its areas shrink by about the share of missing labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbayes.bayes.evaluation import coarse, metrics
from fedbayes.bayes.evaluation.tallies import SCORE_BINS, Tallies, coarse_auc, score_bins, tally
from fedbayes.typing import Floats, Integers

LOSS_UNITS = 2.0**28  # a sum of losses travels as a whole number of 2^-28 nats: the mean is right to nine decimals
NEGATIVE, POSITIVE, UNLABELLED = range(3)  # rows of a curve


def summed(truth: Integers, logs: Floats, seed: int) -> Integers:
    """Return the sums over records, int64, flat: two disjoint tables' vectors add up to that of both.

    Parameters
    ----------
    truth : int array, shape (rows,)
        Class of each record, -1 where it has no label.
    logs : float array, shape (rows, classes)
        log P(class | record).
    seed : int
        A station's part of what is added to the scores (`fedbayes.bayes.evaluation.coarse`).
    """
    classes = logs.shape[1]
    known = truth >= 0
    counts, loss = tally(truth[known], logs[known]).flat()
    positions = score_bins(logs)
    curves = np.zeros((classes, 3, SCORE_BINS), dtype=np.int64)
    for label in range(classes):
        kind = np.where(known, np.where(truth == label, POSITIVE, NEGATIVE), UNLABELLED)
        np.add.at(curves[label], (kind, positions[:, label]), 1)
    return np.concatenate([counts, curves.ravel(), [round(loss * LOSS_UNITS), seed]]).astype(np.int64)


def width(classes: int) -> int:
    """Return the length of `summed`."""
    return Tallies.size(classes) + classes * 3 * SCORE_BINS + 2


def scores(vector: Integers, classes: int, minimum: float) -> dict[str, Any]:
    """Return accuracy, auc, log_loss, calibration, n (labelled records), auc_published, unlabelled, confusion and what to warn of.

    They are as coarse as `fedbayes.bayes.evaluation.coarse` says.

    Raises
    ------
    ValueError
        The vector is not one of so many classes.
    """
    if vector.shape != (width(classes),):
        raise ValueError("the tallies do not have the classes of the model")
    cut = Tallies.size(classes)
    tallies = Tallies.from_flat(vector[:cut], float(vector[-2]) / LOSS_UNITS, classes)
    curves = vector[cut:-2].reshape(classes, 3, SCORE_BINS).astype(np.float64)
    seed = int(vector[-1])
    scores, errors = coarse.coarse_scores(tallies, minimum, seed)
    unlabelled = int(curves[0, UNLABELLED].sum())
    return {
        **scores,
        "errors": errors,
        "auc_published": _published(curves, minimum, seed) if unlabelled or not errors else scores["auc"],
        "unlabelled": unlabelled,
        "confusion": tallies.confusion,
        "coarse": coarse_auc(tallies),
    }


def _published(curves: Floats, minimum: float, seed: int) -> float:
    """Return the area over all records, those without a label beside every class, as it is told."""
    sides = [(part[POSITIVE], part[NEGATIVE] + part[UNLABELLED]) for part in curves]
    tied, rows = coarse.tied(sides, minimum), float(curves[0].sum())
    exact = metrics.published_auc(tied, rows)
    return exact if minimum <= 1 else coarse.coarse_area(exact, coarse.auc_part(tied), seed, "auc_published")[0]
