"""Research simulation: many horizontal fits in one process, with the noise of the summed shares and without encryption. It protects nothing.

Encryption does not change a sum, and the honest stations' shares add up to a known law, so a study needs neither stations nor ciphertexts:
the noise of a sum is drawn at once, and the folds of many cross-validations are fitted and scored together. The smoothing is that of
`fedbayes.bayes`, written for many tables at once; a test shows that both give the same posteriors from the counts of an embedded run.

References
----------
.. [1] M. Huai et al., "Privacy-Preserving Naive Bayes Classification", KSEM 2015, section 6, figure 1(a).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fedbayes.bayes.counts.smoothing import NOISE_SHARE, believed_missing
from fedbayes.bayes.naive_bayes.model import SMALLEST_COUNT
from fedbayes.dp import shares
from fedbayes.typing import Array, Floats, Integers
from v6_secure_naive_bayes import model
from v6_secure_naive_bayes.messages import Noise

Logs = tuple[Floats, list[Floats]]
FOLDS = 10


class Sampler(Protocol):
    """A seeded sampler for research, `fedbayes.randomness.ResearchSampler`."""

    generator: Any

    def discrete_laplace(self, scale: float, shape: Any) -> Integers:
        """Return two-sided geometric variables."""


@dataclass(frozen=True)
class Runs:
    """Cross-validations side by side; a group is one fold of one run.

    Attributes
    ----------
    codes : ndarray (rows, features) of int64
        Values of all runs' rows; none is missing.
    labels : ndarray (rows,) of int64
        Classes.
    group : ndarray (rows,) of int64
        The fold in which a row is tested.
    tables : list of ndarray (groups, classes, width + 1) of int64
        Counts of the rows that each group trains on, for every feature; the last column is that of missing values.
    """

    codes: Integers
    labels: Integers
    group: Integers
    tables: list[Integers]


def draw_runs(codes: Array, labels: Array, widths: Sequence[int], rows: int, runs: int, sampler: Sampler) -> Runs:
    """Return `runs` 10-fold cross-validations of `rows` rows each, chosen at random without replacement.

    Parameters
    ----------
    codes : ndarray (n, features) of int
        Values; none is missing.
    labels : ndarray (n,) of int
        Classes, all of them present.
    widths : sequence of int
        Number of values of each feature.
    rows, runs : int
        Rows of a run, one a party; and number of runs.
    sampler : ResearchSampler
        Seeded.
    """
    order = np.argsort(sampler.generator.random((runs, len(labels))), axis=1)[:, :rows]
    group = (np.arange(runs)[:, None] * FOLDS + np.arange(rows)[None] % FOLDS).ravel()
    chosen_codes, chosen_labels = codes[order.ravel()].astype(np.int64), labels[order.ravel()].astype(np.int64)
    classes, groups = int(labels.max()) + 1, runs * FOLDS
    tables = []
    for column, width in zip(chosen_codes.T, widths, strict=True):
        cell = (group * classes + chosen_labels) * (width + 1) + column
        held = np.bincount(cell, minlength=groups * classes * (width + 1)).reshape(runs, FOLDS, classes, width + 1)
        tables.append((held.sum(axis=1, keepdims=True) - held).reshape(groups, classes, width + 1))
    return Runs(chosen_codes, chosen_labels, group, tables)


def corrected(tables: list[Array], noise: Noise, sampler: Sampler) -> Logs:
    """Return log P(class) and log P(value | class) of every group by the mechanism of `fit` with Polya shares, all parties honest."""
    scale = model.scale(noise, len(tables)) if noise.kind != "none" else 0.0
    noisy = [table + sampler.discrete_laplace(scale, table.shape) if scale else table for table in tables]
    return smoothed(noisy, model.deviation(noise, [1], len(tables), 1))


def smoothed(tables: list[Array], deviation: float) -> Logs:
    """Return the logarithms of the library's model of (noisy) tables, for many groups at once.

    Parameters
    ----------
    tables : list of ndarray (groups, classes, width + 1)
        Counts; the last column is that of missing values.
    deviation : float
        Standard deviation of the noise in a cell.
    """
    weights = np.array([1.0 / table.shape[2] for table in tables])
    margins = np.stack([table.sum(axis=2) for table in tables]).astype(np.float64)
    classes = np.tensordot(weights, margins, 1) / weights.sum() if deviation else margins[0]
    spread = deviation / np.sqrt(weights.sum())
    totals = np.maximum(classes, max(SMALLEST_COUNT, spread))
    logs = [np.log(_probabilities(table, totals, deviation)) for table in tables]
    return np.log(totals / totals.sum(axis=1, keepdims=True)), logs


def _probabilities(table: Array, totals: Floats, deviation: float) -> Floats:
    """Return `fedbayes.bayes.counts.smoothing.table_probabilities` of every group."""
    counts, missing = table[:, :, :-1].astype(np.float64), table[:, :, -1].astype(np.float64)
    cells = np.maximum(counts, 0.0)
    if deviation:
        cells = _projected(counts, np.maximum(totals - believed_missing(missing, totals, deviation), 1.0))
    cells = cells + 1.0
    if deviation:
        cells = cells + NOISE_SHARE * deviation**2 / (deviation + cells.max(axis=1, keepdims=True))
    return np.asarray(cells / cells.sum(axis=2, keepdims=True))


def _projected(counts: Floats, totals: Floats) -> Floats:
    """Return the nearest non-negative cells with the given sums, over the last axis."""
    falling = -np.sort(-counts, axis=2)
    excess = (np.cumsum(falling, axis=2) - totals[:, :, None]) / np.arange(1, counts.shape[2] + 1)
    kept = (falling > excess).sum(axis=2, keepdims=True)
    return np.asarray(np.maximum(counts - np.take_along_axis(excess, np.maximum(kept, 1) - 1, axis=2), 0.0))


def published(tables: list[Array], noise: Noise, parties: int, printed: bool, sampler: Sampler) -> Logs:
    """Return the same as the paper does it: class counts of their own, the whole epsilon for each family, counts of at least 1.

    Parameters
    ----------
    tables : list of ndarray (groups, classes, width + 1) of int64
        Exact counts.
    noise : Noise
        ``published``.
    parties : int
        Parties of one record each.
    printed : bool
        Whether a cell gets as many terms as the printed shares add (ln(1/delta) in the mean), or the one that the paper claims.
    sampler : ResearchSampler
        Seeded.
    """
    scale = model.scale(noise, len(tables))

    def noisy(counts: Array) -> Floats:
        if not printed:
            return np.maximum(counts + sampler.discrete_laplace(scale, counts.shape), 1.0)
        beta = shares.dilution(parties, noise.honest_fraction, noise.delta)
        terms = sampler.generator.binomial(parties, beta, counts.shape)
        one, other = sampler.generator.negative_binomial(
            np.maximum(terms, 1), -np.expm1(-1.0 / scale), (2, *counts.shape)
        )
        drawn = one - other
        return np.asarray(np.maximum(counts + np.where(terms > 0, drawn, 0), 1.0))

    classes = noisy(tables[0].sum(axis=2))
    logs = [np.log(noisy(table[:, :, :-1]) / classes[:, :, None]) for table in tables]
    return np.log(classes / classes.sum(axis=1, keepdims=True)), logs


def accuracies(runs: Runs, logs: Logs) -> Floats:
    """Return the accuracy of every run (runs,)."""
    scores = logs[0][runs.group]
    for column, table in zip(runs.codes.T, logs[1], strict=True):
        scores = scores + table[runs.group, :, column]
    hits = (scores.argmax(axis=1) == runs.labels).astype(np.float64)
    return np.asarray(hits.reshape(int(runs.group[-1]) // FOLDS + 1, -1).mean(axis=1))
