"""The conditional likelihood of the classes: scores, loss and gradient, and what is prepared once for many of them.

In naive Bayes the score of a row is one row of ones and zeros times the table of weighted terms, so all rows together are one matrix product,
and the gradient is the transposed product. The semi-naive form has terms of its own for every row.

In which order a matrix product adds depends on its size, so one row more could change the last digits of the scores of all others, and with them on which side
of a border of a bin they are. Where a promise says what one row changes, terms are looked up and added row by row (`Evidence.of`, ``alone``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fedbayes.typing import Array, Floats, Integers

from .model import Codes, Layout, Tables

MOST_ENTRIES = 1 << 24  # of the matrix of ones, 128 MB; beyond it terms are looked up attribute by attribute


def terms(layout: Layout, tables: Tables, codes: Codes) -> Floats:
    """Return q, what every attribute says of every class: float64 (m, n, classes); 0 where the value is missing."""
    rows, attributes = codes.shape
    positions = layout.places(codes)
    padded = np.vstack([tables.single, np.zeros(layout.classes)])
    if tables.pairs is None or tables.joint is None:
        plain = np.ascontiguousarray(padded[positions.T])
        if tables.means is not None and tables.variances is not None:
            plain[attributes - layout.gaussians :] = _densities(layout, tables.means, tables.variances, codes)
        return plain
    said = np.zeros((attributes, rows, layout.classes))
    joint = np.vstack([tables.joint, np.zeros(layout.classes)])
    size = layout.values + 1
    pairs = np.zeros((size, size, layout.classes))
    pairs[:-1, :-1] = tables.pairs
    flat = pairs.reshape(size * size, layout.classes)
    for parent in range(attributes):
        said[parent] = joint[positions[:, parent]]
        for child in range(attributes):
            if child != parent:
                said[parent] += flat[positions[:, parent] * size + positions[:, child]]
    said /= attributes
    return said


def _densities(layout: Layout, means: Floats, variances: Floats, codes: Codes) -> Floats:
    """Return the log densities of the normally distributed attributes, (gaussians, n, classes); 0 where missing."""
    points = layout.points(codes).T[:, :, None]
    variances = variances[:, None]
    logs = -0.5 * (np.log(2.0 * np.pi * variances) + np.square(points - means[:, None]) / variances)
    return np.where(codes[:, len(layout.cardinalities) - layout.gaussians :].T[:, :, None] >= 0, logs, 0.0)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Rows under tables, prepared for any number of weights.

    Attributes
    ----------
    layout : Layout
    tables : Tables
    positions : ndarray (n, m) of int64
        Place of each value; `layout.values` where it is missing.
    ones : ndarray (n, values) of float64 or None
        1 where a row has a value. None in the semi-naive form, where it would be too large, and for rows by themselves.
    said : ndarray (m, n, classes) of float64 or None
        `terms` of the semi-naive form, and with normally distributed attributes.
    """

    layout: Layout
    tables: Tables
    positions: Integers
    ones: Floats | None
    said: Floats | None

    @classmethod
    def of(cls, layout: Layout, tables: Tables, codes: Codes, alone: bool = False) -> Evidence:
        """Prepare rows: codes are int32 (n, m), -1 is missing; `alone`: no digit of a row's score depends on which other rows there are."""
        positions = layout.places(codes)
        own = tables.pairs is not None or layout.gaussians > 0
        if alone or own or len(codes) * layout.values > MOST_ENTRIES:
            said = terms(layout, tables, codes) if own else None
            return cls(layout, tables, positions, None, said)
        ones = np.zeros((len(codes), layout.values + 1))
        ones[np.arange(len(codes))[:, None], positions] = 1.0
        return cls(layout, tables, positions, np.ascontiguousarray(ones[:, :-1]), None)

    def log_posterior(self, weights: Floats) -> Floats:
        """Return log P(class | row) at some weights, float64 (n, classes)."""
        prior, by_value = self.layout.spread(weights)
        scores = self._scores(by_value)
        scores += prior * self.tables.base
        scores -= scores.max(axis=1, keepdims=True)
        scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
        return scores

    def _scores(self, by_value: Floats) -> Floats:
        if self.ones is not None:
            return np.asarray(self.ones @ (by_value * self.tables.single))
        padded = np.vstack([by_value, np.zeros(self.layout.classes)])
        scores = np.zeros((len(self.positions), self.layout.classes))
        for attribute, said in enumerate(self._said()):
            scores += padded[self.positions[:, attribute]] * said
        return scores

    def _said(self) -> Iterator[Floats]:
        """Yield what each attribute says, (n, classes)."""
        if self.said is not None:
            yield from self.said
            return
        padded = np.vstack([self.tables.single, np.zeros(self.layout.classes)])
        for positions in self.positions.T:
            yield padded[positions]

    def pulled(self, residual: Floats) -> Floats:
        """Return the gradient by values, (values, classes), of the rows' residuals (n, classes)."""
        if self.ones is not None:
            return np.asarray((self.ones.T @ residual) * self.tables.single)
        by_value = np.zeros((self.layout.values + 1, self.layout.classes))
        for attribute, said in enumerate(self._said()):
            pulled = residual * said
            for label in range(self.layout.classes):
                by_value[:, label] += np.bincount(
                    self.positions[:, attribute], weights=pulled[:, label], minlength=len(by_value)
                )
        return by_value[:-1]

    def lengths(self, residual: Floats) -> Floats:
        """Return the L2 length of every row's own gradient, float64 (n,)."""
        if self.layout.weights == "attribute":
            squares = sum(np.square((residual * said).sum(axis=1)) for said in self._said())
        elif self.ones is not None:
            squares = (np.square(residual) * (self.ones @ np.square(self.tables.single))).sum(axis=1)
        else:
            squares = sum(np.square(residual * said).sum(axis=1) for said in self._said())
        return np.asarray(np.sqrt(squares + np.square(residual * self.tables.base).sum(axis=1)))


def log_posterior(layout: Layout, tables: Tables, weights: Floats, codes: Codes) -> Floats:
    """Return log P(class | row), float64 (n, classes), of every row by itself."""
    return Evidence.of(layout, tables, codes, alone=True).log_posterior(weights)


def loss_and_gradient(
    evidence: Evidence, weights: Floats, labels: Array, clip: float | None = None
) -> tuple[float, Floats]:
    """Return the summed negative conditional log-likelihood of rows and its gradient.

    Parameters
    ----------
    evidence : Evidence
        The rows.
    weights : ndarray (parameters,) of float64
        Where.
    labels : ndarray (n,) of int
        Classes.
    clip : float, optional
        Longest gradient of one row (L2); longer ones are shortened before they are summed.

    References
    ----------
    Torrijos et al. 2024, section 2: derivative of the conditional log-likelihood.
    """
    logs = evidence.log_posterior(weights)
    every = np.arange(len(labels))
    loss = -float(logs[every, labels].sum())
    residual = np.exp(logs)
    residual[every, labels] -= 1.0
    if clip is not None:
        residual *= np.minimum(1.0, clip / np.maximum(evidence.lengths(residual), 1e-300))[:, None]
    return loss, evidence.layout.gather(residual.sum(axis=0) * evidence.tables.base, evidence.pulled(residual))
