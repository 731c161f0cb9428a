"""Private steps on what every value adds to the score of a class: noisy gradients, weighed by what the noisy tables tell of the curvature.

A score is a sum of one number a value, ``weight * log P(value | class)``. In these sums a row's gradient has a length that is known beforehand, its
residual times the root of its number of values, while by weights it is as long as the logarithms of rare values make it, so that cutting it at
`clip` takes most of what it says. Central starts between no evidence and plain naive Bayes, and takes each noisy gradient as a measurement of how far
the sums are from the best ones (Kalman's filter): what the tables say of the second derivatives, as if attributes were independent in each class,
tells by how much to move. Values of which there are few rows, or little that stands out of the noise, hardly move. All of this is work on what was
released; it costs no privacy.

References
----------
Kalman, A new approach to linear filtering and prediction problems, 1960. MacKay, Bayesian interpolation, 1992 (priors in place of early stopping).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fedbayes.typing import Booleans, Floats, Integers

from .model import LARGEST_WEIGHT, Layout, Tables

ROUNDING = 1e-12  # of the mean variance: what keeps a covariance invertible that has no noise
START = 0.5
"""Weight of every value before the first step: attributes say things several times, so weights of 1 are too certain."""
SPREAD = 0.4
"""How far the difference that a value makes between two classes lies from the start, as a standard deviation."""
SCALE = 0.8
"""The same for one weight of all values of an attribute."""
REACH, ROUGHNESS = 0.3, 0.1
"""Bins of one number differ alike: their correlation falls by e in this part of the range; and this part of the variance each bin has for itself."""
PRIOR_SPREAD = 3.0
"""Standard deviation of the difference of the classes' own terms."""
CERTAINTY = 0.55
"""Part of the second derivatives of a model that tells nothing that is left where most rows are told with some certainty."""
DRIFT, CALMING = 0.07, 0.6
"""How much less is known after each step, as a part of the first variance, and how that fades: the second derivatives are only roughly known."""
DOUBT = 1.0
"""Variance of what the second derivatives tell wrongly, over what they tell: attributes say the same again, and then they are larger."""
LAST = 0.3
"""Part of the path, its end, of which the mean is returned."""
CUT, ENOUGH, GROWTH = 0.45, 2200.0, 0.4
"""Part of the longest gradient at which rows are cut where there are `ENOUGH` times as many rows as the noise of one gradient with the whole budget
is wide, in rows; it grows with this power of that number, from `LEAST_CUT` to 1."""
LEAST_CUT = 0.3  # of the longest gradient; chosen as the numbers above
UNLIKE, LEAST = 0.7, 0.1
"""How far the cells of a value lie from the classes' parts, as a part of these, and the least part that is believed of a class. All numbers above were
chosen on parts of Adult's training rows."""
MOST_WORK = 400_000_000
"""Most classes times cubed values for which matrices are made; about ten seconds of one core for eight steps."""


def fits(layout: Layout) -> bool:
    """Return whether these steps are possible for a model: one weight a value, and no more values than matrices can be made for."""
    matrices = fits_values(layout.classes, layout.values)
    return layout.structure == "naive" and layout.weights == "value" and not layout.gaussians and matrices


def fits_values(classes: int, values: int) -> bool:
    """Return whether matrices can be made for so many classes and values of all attributes."""
    return classes * (1 + values) ** 3 <= MOST_WORK


def longest(layout: Layout) -> float:
    """Return the largest length of a row's gradient: a residual is at most the root of 2, and every value and the class's own term has it."""
    return float(np.sqrt(2.0 * (1 + len(layout.cardinalities))))


def usual_clip(layout: Layout, rows: float) -> float:
    """Return where a row's gradient is cut unless the caller says.

    The lower the cut, the less noise, and the more the rows that are told worst are left out of account.

    Parameters
    ----------
    layout : Layout
        Of the model.
    rows : float
        Rows over the noise of one gradient that had the whole budget, in rows.
    """
    return longest(layout) * float(np.clip(CUT * (max(rows, 0.0) / ENOUGH) ** GROWTH, LEAST_CUT, 1.0))


def drawn_together(layout: Layout, counts: Integers, deviation: float, ordered: Booleans) -> Integers:
    """Return noisy counts of which each cell is drawn to the class's part of the value's rows, the more the noise is wider than what is usual.

    Unlike `model.without_noise` it keeps what several uncertain cells say together, which the steps weigh. Cells of neighbouring bins lie alike from the
    class's part, as much as their terms do (`REACH`, `ROUGHNESS`), so that what many bins of few rows say in common stands out of the noise.

    Parameters
    ----------
    layout : Layout
        For which `fits` holds.
    counts : ndarray (layout.counts,) of int64
        As summed, with the noise.
    deviation : float
        Standard deviation of the noise in a cell, > 0.
    ordered : ndarray (attributes,) of bool
        Which attributes are bins of a number.

    References
    ----------
    Efron, Morris, Stein's estimation rule and its competitors, 1973. Rasmussen, Williams, Gaussian processes for machine learning, 2006, section 2.2.
    """
    noisy = np.asarray(counts, dtype=np.float64).reshape(1 + layout.values, layout.classes)
    sizes = np.maximum(noisy[0], deviation)
    rows = np.maximum(noisy[1:].sum(axis=1, keepdims=True), 0.5 * deviation * layout.classes**0.5)
    means = rows * sizes / sizes.sum()
    cells = means.copy()
    for block, in_order in zip(_blocks(layout), ordered, strict=True):
        own = slice(block.start - 1, block.stop - 1)  # means have no row of the classes
        correlation = _correlation(block.stop - block.start, in_order)
        for label in range(layout.classes):
            usual = UNLIKE * means[own, label]
            common = correlation * np.outer(usual, usual)
            within = common + deviation**2 * np.eye(len(usual))
            cells[own, label] += common @ np.linalg.solve(within, noisy[block, label] - means[own, label])
    drawn = np.vstack([sizes, np.maximum(cells, LEAST * means + 1.0)])
    return np.asarray(np.rint(drawn), dtype=np.int64).ravel()


def first_weights(layout: Layout) -> Floats:
    """Return the weights before the first step: `START`, and 1 for the classes' own terms."""
    return np.concatenate([np.ones(layout.classes), np.full(layout.parameters - layout.classes, START)])


@dataclass(frozen=True, slots=True)
class Known:
    """What is known before the first step, for each class; values have the class's own term before them.

    Attributes
    ----------
    full : ndarray (1 + values, classes)
        Sums of plain naive Bayes.
    spread : ndarray (classes, 1 + values, 1 + values)
        Covariance of how far the best sums are from the start.
    curvature : ndarray (classes, 1 + values, 1 + values)
        Expected second derivatives of the summed loss.
    """

    full: Floats
    spread: Floats
    curvature: Floats


def known(layout: Layout, tables: Tables, counts: Integers, ordered: Booleans) -> Known:
    """Return what tables tell of the second derivatives, and how far sums may be from the start.

    Parameters
    ----------
    layout : Layout
        For which `fits` holds.
    tables : Tables
        Over all stations.
    counts : ndarray (layout.counts,) of int64
        Over all stations, without what noise alone makes.
    ordered : ndarray (attributes,) of bool
        Which attributes are bins of a number.
    """
    classes = layout.classes
    full = np.vstack([tables.base, tables.single])
    own = full - full.mean(axis=1, keepdims=True)
    shared = _prior(layout, ordered) / 2.0 * (1.0 - 1.0 / classes)
    spread = np.stack([_with_scales(layout, shared, own[:, label]) for label in range(classes)])
    spread *= (full != 0.0).any(axis=1)[:, None] & (full != 0.0).any(axis=1)[None, :]
    return Known(full, spread, _second_derivatives(layout, counts))


def _blocks(layout: Layout) -> list[slice]:
    return [
        slice(1 + start, 1 + start + width) for start, width in zip(layout.starts, layout.cardinalities, strict=True)
    ]


def _prior(layout: Layout, ordered: Booleans) -> Floats:
    """Return the covariance of the differences between two classes, (1 + values, 1 + values)."""
    covariance = np.zeros((1 + layout.values, 1 + layout.values))
    covariance[0, 0] = PRIOR_SPREAD**2
    for block, in_order in zip(_blocks(layout), ordered, strict=True):
        covariance[block, block] = SPREAD**2 * _correlation(block.stop - block.start, in_order)
    return covariance


def _correlation(width: int, in_order: bool) -> Floats:
    """Return the prior correlation of an attribute's values, (width, width): none, but between bins of a number."""
    if not in_order:
        return np.eye(width)
    away = np.abs(np.subtract.outer(np.arange(width), np.arange(width))) / (REACH * width)
    return np.asarray(ROUGHNESS * np.eye(width) + (1.0 - ROUGHNESS) * np.exp(-away))


def _with_scales(layout: Layout, shared: Floats, own: Floats) -> Floats:
    """Return a covariance to which one weight for all values of each attribute is added."""
    covariance: Floats = shared.copy()
    for block in _blocks(layout):
        covariance[block, block] += SCALE**2 * np.outer(own[block], own[block])
    return covariance


def _second_derivatives(layout: Layout, counts: Integers) -> Floats:
    """Return the expected second derivatives by the sums of each class, (classes, 1 + values, 1 + values).

    Of one class alone they are its p (1 - p) over the rows, and K / (K - 1) times that along changes that add up to 0 over K classes.
    """
    classes = layout.classes
    cells = np.maximum(counts[: classes * (1 + layout.values)].reshape(1 + layout.values, classes), 0).astype(
        np.float64
    )
    sizes = np.maximum(cells[0], 1.0)
    given = cells / sizes
    rows, shares = sizes.sum(), sizes / sizes.sum()
    means = np.stack([_moments(layout, given[:, label]) for label in range(classes)])
    pooled = np.einsum("c,cij->ij", shares, means)
    weights: Floats = CERTAINTY * rows * shares * (1.0 - shares) * classes / max(classes - 1, 1)
    return np.asarray(weights[:, None, None] * pooled)


def _moments(layout: Layout, chances: Floats) -> Floats:
    """Return the mean products of the values' ones and zeros in a class, as if attributes were independent."""
    moments = np.outer(chances, chances)
    for block in _blocks(layout):
        moments[block, block] = np.diag(chances[block])
    return moments


def learn(
    ask: Callable[[Floats], Floats],
    before: Known,
    start: Floats,
    variance: float,
    rounds: int,
    regularization: float = 0.0,
) -> Floats:
    """Return the weights after so many noisy gradients.

    Parameters
    ----------
    ask : callable
        Sums (1 + values, classes) -> the noisy gradient there, of the same shape; one round.
    before : Known
        What is known before the first step.
    start : ndarray (parameters,)
        First weights.
    variance : float
        Of the noise in an entry of the gradient.
    rounds : int
        At least 1.
    regularization : float
        Pull of the weights to 1 in each step.

    Returns
    -------
    ndarray (parameters,) of float64
        Weights of plain naive Bayes' terms; 1 where the term is 0.
    """
    classes = before.full.shape[1]
    first = before.full * start.reshape(before.full.shape)
    sums = before.full + (first - before.full) / (1.0 + regularization)
    unsure, noise = before.spread.copy(), variance * (1.0 - 1.0 / classes)
    path: list[Floats] = []
    for step in range(rounds):
        gradient = ask(sums)
        gradient = gradient - gradient.mean(axis=1, keepdims=True)  # what is told of all classes alike is noise alone
        moved = sums.copy()
        for label in range(classes):
            gain, unsure[label] = _weighed(unsure[label], before.curvature[label], noise)
            moved[:, label] -= gain @ gradient[:, label]
            unsure[label] += before.spread[label] * DRIFT * CALMING**step
        sums = before.full + (moved - before.full) / (1.0 + regularization)
        path.append(sums)
    settled = np.mean(path[-max(1, round(LAST * rounds)) :], axis=0)
    weights = np.divide(settled, before.full, out=np.ones_like(settled), where=before.full != 0.0)
    return np.asarray(np.clip(weights, -LARGEST_WEIGHT, LARGEST_WEIGHT)).ravel()


def _weighed(unsure: Floats, curvature: Floats, variance: float) -> tuple[Floats, Floats]:
    """Return the gain of a measured gradient, and the covariance after it."""
    crossed = curvature @ unsure
    within = (1.0 + DOUBT) * (crossed @ curvature)
    within[np.diag_indices(len(within))] += max(variance, ROUNDING * float(np.trace(within)) / len(within), 1e-300)
    gain = np.linalg.solve(within, crossed).T
    after = unsure - gain @ crossed
    return gain, (after + after.T) / 2.0
