"""Weighted (discriminative) naive Bayes and its semi-naive form, without a federation.

The score of class c for a row x is ``w_c b_c + sum_a w_(a, x_a, c) q_a(x, c)``: ``b`` is the log prior, ``q_a`` what attribute a says
generatively. In naive Bayes ``q_a(x, c) = log P(x_a | c)``; in the semi-naive form (A1DE) every attribute is once the parent of all others and
``q_a(x, c) = (log P(c, x_a) + sum_b log P(x_b | c, x_a)) / m``, so weights of 1 give the log-pool of the one-dependence models. The weights
maximise the conditional log-likelihood of the classes.

References
----------
Torrijos et al., Federated discriminative naive Bayes, 2024, sections 2 and 3; Zaidi et al., Naive Bayes-like classifiers with weights, JMLR 2013;
Webb et al., Not so naive Bayes (A1DE), Machine Learning 2005.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbayes.bayes.counts.smoothing import table_probabilities
from fedbayes.typing import Array, Floats, Integers

Codes = NDArray[np.int32]

PSEUDO_ROWS = 1.0  # m of the m-estimates (Torrijos et al., section 2)
GRID = 4096  # points of a normally distributed attribute: a quarter of a thousandth of its range apart
MOMENT_SCALE = 2.0**20  # fixed point of sums of points and squares: exact to a millionth
SMALLEST_VARIANCE = 1e-4  # a hundredth of the range as deviation, so that densities stay below 40
LARGEST_WEIGHT = 1e6  # times the logarithm of a count far from where floats overflow
CERTAIN = 2.0  # deviations of noise, beyond which rows of a class are believed to have no value


@dataclass(frozen=True, slots=True)
class Layout:
    """Sizes that every array of a model follows.

    Attributes
    ----------
    cardinalities : tuple of int
        Values of each attribute.
    classes : int
        Number of classes.
    structure : str
        ``naive`` or ``a1de``.
    weights : str
        ``value``: one weight for each (value, class); ``attribute``: one for each attribute. The prior has one for each class.
    gaussians : int
        So many of the last attributes are normally distributed in each class. Each counts as one value; its codes are places on a grid of
        `GRID` points over its bounds.
    """

    cardinalities: tuple[int, ...]
    classes: int
    structure: str = "naive"
    weights: str = "value"
    gaussians: int = 0

    @property
    def values(self) -> int:
        """Number of attribute values in all."""
        return sum(self.cardinalities)

    @property
    def starts(self) -> Integers:
        """Place of each attribute's first value."""
        return np.concatenate([[0], np.cumsum(self.cardinalities)[:-1]]).astype(np.int64)

    @property
    def parameters(self) -> int:
        """Number of weights."""
        return self.classes + (self.values * self.classes if self.weights == "value" else len(self.cardinalities))

    @property
    def counts(self) -> int:
        """Length of the vector of counts."""
        single = self.classes * (1 + self.values + 2 * self.gaussians)
        return single + (self.values * self.values * self.classes if self.structure == "a1de" else 0)

    def places(self, codes: Codes) -> Integers:
        """Return where each value stands among all values, int64 (n, m); the place after the last is a missing value."""
        positions = np.minimum(codes, np.array(self.cardinalities, dtype=np.int64) - 1) + self.starts
        return np.asarray(np.where(codes >= 0, positions, self.values))

    def points(self, codes: Codes) -> Floats:
        """Return the normally distributed attributes as points of [0, 1], float64 (n, gaussians); junk where missing."""
        first = len(self.cardinalities) - self.gaussians
        return (codes[:, first:].astype(np.float64) + 0.5) / GRID

    def spread(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return (prior weights (classes,), value weights (values, classes)) of a weight vector."""
        rest = weights[self.classes :]
        if self.weights == "value":
            return weights[: self.classes], rest.reshape(self.values, self.classes)
        return weights[: self.classes], np.repeat(np.repeat(rest, self.cardinalities)[:, None], self.classes, axis=1)

    def gather(self, prior: Floats, values: Floats) -> Floats:
        """Return the gradient of a weight vector from the gradients of `spread`'s two arrays."""
        if self.weights == "attribute":
            return np.concatenate([prior, np.add.reduceat(values.sum(axis=1), self.starts)])
        return np.concatenate([prior, values.ravel()])


def count(layout: Layout, codes: Codes, labels: Array) -> Integers:
    """Return the counts of a table: classes, values by class, and pairs of values by class for A1DE.

    Parameters
    ----------
    layout : Layout
        Sizes.
    codes : ndarray (n, m) of int32
        Values; -1 is missing.
    labels : ndarray (n,) of int
        Classes.

    Returns
    -------
    ndarray (layout.counts,) of int64
        Additive over disjoint sets of rows.
    """
    classes, values = layout.classes, layout.values
    positions = layout.places(codes)
    single = np.zeros((values + 1, classes), dtype=np.int64)
    for column in positions.T:
        single += np.bincount(column * classes + labels, minlength=(values + 1) * classes).reshape(single.shape)
    parts = [np.bincount(labels, minlength=classes).astype(np.int64), single[:-1].ravel()]
    if layout.gaussians:
        parts.append(_moments(layout, codes, labels).ravel())
    if layout.structure == "a1de":
        parts.append(_pairs(layout, positions, labels).ravel())
    return np.concatenate(parts)


def _moments(layout: Layout, codes: Codes, labels: Array) -> Integers:
    """Return the sums of points and of their squares, (2, gaussians, classes), in fixed point; missing ones are left out."""
    points = layout.points(codes)
    present = codes[:, len(layout.cardinalities) - layout.gaussians :] >= 0
    one_hot = np.eye(layout.classes)[labels]
    powers = [np.rint(np.where(present, points**power, 0.0) * MOMENT_SCALE) for power in (1, 2)]
    return np.stack([(power.T @ one_hot).astype(np.int64) for power in powers])


def _pairs(layout: Layout, positions: Integers, labels: Array) -> Integers:
    classes, values = layout.classes, layout.values
    pairs = np.zeros((values + 1, values + 1, classes), dtype=np.int64)
    bounds = [*layout.starts.tolist(), values]
    for first in range(positions.shape[1]):
        own = slice(bounds[first], bounds[first + 1])
        width = bounds[first + 1] - bounds[first]
        present = positions[:, first] < values
        base = (positions[present, first] - bounds[first]) * (values + 1)
        for second in range(positions.shape[1]):
            if second != first:
                cells = (base + positions[present, second]) * classes + labels[present]
                pairs[own] += np.bincount(cells, minlength=width * (values + 1) * classes).reshape(
                    width, values + 1, classes
                )
    return pairs[:-1, :-1]


def without_noise(layout: Layout, counts: Integers, deviation: float) -> Integers:
    """Return the counts that noisy ones most likely stand for: whole numbers, none negative, that add up to their class.

    A value that does not stand out of the noise in any class is made about as frequent in one as in the other, so that it is hardly evidence
    (`fedbayes.bayes.counts.smoothing`). Work on what was released, so it costs no privacy; without it a rare value counts as proof of the class whose noise
    was larger.

    Parameters
    ----------
    layout : Layout
        Without normally distributed attributes.
    counts : ndarray (layout.counts,) of int64
        As summed, with the noise.
    deviation : float
        Standard deviation of the noise in a cell, > 0.
    """
    classes, values = layout.classes, layout.values
    noisy = np.asarray(counts, dtype=np.float64)
    sizes = np.maximum(noisy[:classes], deviation)
    single = noisy[classes : classes * (1 + values)].reshape(values, classes)
    tables = _cleaned(layout, single, sizes, deviation)
    parts = [sizes, tables]
    if layout.structure == "a1de":
        pairs = noisy[classes * (1 + values) :].reshape(values, values, classes)
        parts += [
            _cleaned(layout, given, np.maximum(rows, deviation), deviation)
            for given, rows in zip(pairs, tables, strict=True)
        ]
    return np.asarray(np.rint(np.concatenate([part.ravel() for part in parts])), dtype=np.int64)


def _cleaned(layout: Layout, cells: Floats, sizes: Floats, deviation: float) -> Floats:
    """Return the tables of all attributes, (values, classes), of classes of so many rows, without what noise alone can make."""
    clean = np.zeros_like(cells)
    for start, width in zip(layout.starts, layout.cardinalities, strict=True):
        table = cells[start : start + width].T
        absent = sizes - table.sum(axis=1)
        absent = np.where(absent > CERTAIN * deviation * np.sqrt(width + 1.0), absent, 0.0)
        shares = table_probabilities(table, absent, sizes, deviation, 0.0)
        clean[start : start + width] = (shares * np.maximum(sizes - absent, 0.0)[:, None]).T
    return clean


@dataclass(frozen=True, slots=True)
class Tables:
    """Log-probabilities of the generative part.

    Attributes
    ----------
    base : ndarray (classes,)
        The prior's term of the score: log P(c), or P(c) as published.
    single : ndarray (values, classes)
        log P(v | c).
    joint : ndarray (values, classes) or None
        log P(c, v), for A1DE.
    pairs : ndarray (values, values, classes) or None
        log P(v | c, parent value), parent first, for A1DE.
    means, variances : ndarray (gaussians, classes) or None
        Of the normally distributed attributes, in units of their ranges.
    """

    base: Floats
    single: Floats
    joint: Floats | None = None
    pairs: Floats | None = None
    means: Floats | None = None
    variances: Floats | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {name: None if value is None else value.tolist() for name, value in fields.items()}


def tables_from_counts(layout: Layout, counts: Array, prior: str = "log") -> Tables:
    """Return the m-estimates (m = 1) of counts, which may be noisy.

    Parameters
    ----------
    layout : Layout
        Sizes.
    counts : ndarray (layout.counts,)
        From `count`; negative cells are taken as 0.
    prior : str
        ``log``: log P(c). ``published``: P(c) itself, a slip of the authors' code, for reproducing their tables.

    References
    ----------
    Torrijos et al. 2024, section 2: (n + 1/k) / (N + 1) with k the number of values.
    """
    classes, values = layout.classes, layout.values
    cells = np.maximum(np.asarray(counts, dtype=np.float64), 0.0)
    sizes = cells[:classes]
    share = (sizes + PSEUDO_ROWS / classes) / (sizes.sum() + PSEUDO_ROWS)
    base = np.log(share) if prior == "log" else share
    single = cells[classes : classes * (1 + values)].reshape(values, classes)
    smoothing = PSEUDO_ROWS / np.repeat(np.array(layout.cardinalities, dtype=np.float64), layout.cardinalities)[:, None]
    totals = np.add.reduceat(single, layout.starts, axis=0)
    sums = np.repeat(totals, layout.cardinalities, axis=0)
    log_single = np.log((single + smoothing) / (sums + PSEUDO_ROWS))
    if layout.gaussians:
        return Tables(base, log_single, None, None, *_normal(layout, np.asarray(counts), single))
    if layout.structure == "naive":
        return Tables(base, log_single)
    pairs = cells[classes * (1 + values) :].reshape(values, values, classes)
    seen = np.repeat(np.add.reduceat(pairs, layout.starts, axis=1), layout.cardinalities, axis=1)
    total = single.reshape(values, classes).sum() / max(len(layout.cardinalities), 1)
    joint = np.log((single + smoothing / classes) / (total + PSEUDO_ROWS))
    return Tables(base, log_single, joint, np.log((pairs + smoothing[None]) / (seen + PSEUDO_ROWS)))


def _normal(layout: Layout, counts: Array, single: Floats) -> tuple[Floats, Floats]:
    """Return means and variances (gaussians, classes); a class with few rows is drawn to the mean and variance of all rows."""
    first, second = (
        counts[layout.classes * (1 + layout.values) :].reshape(2, layout.gaussians, layout.classes) / MOMENT_SCALE
    )
    rows = single[layout.values - layout.gaussians :]
    total = np.maximum(rows.sum(axis=1, keepdims=True), 1.0)
    center = first.sum(axis=1, keepdims=True) / total
    spread = second.sum(axis=1, keepdims=True) / total - center**2
    means = (first + PSEUDO_ROWS * center) / (rows + PSEUDO_ROWS)
    squares = (second + PSEUDO_ROWS * (spread + center**2)) / (rows + PSEUDO_ROWS)
    return means, np.maximum(squares - means**2, SMALLEST_VARIANCE)
