"""What the noise of a private task takes of accuracy, by simulation: records are made up from the question alone, and nobody's data is asked.

Of every made-up class a feature has a law of its own. That of a categorical feature has log-odds that are normal with the deviation `signal`; a numeric one
is denser to one end of its bounds, by normal slopes of the same deviation. Tables, noise and estimator are those of the task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...bayes.naive_bayes.features import CategoricalTables
from ...randomness import ResearchSampler
from ...typing import Floats, Integers

SIGNAL = 0.5
"""Deviation of the log-odds: ten such features tell two classes apart in about eight of ten records."""
DRAWS = 24
"""Populations that an accuracy is the mean of. Eight features of one population move it by .06, so the mean moves by .01."""
JUDGED = 4000
"""Records of a population that are classified."""
GRID = 240
"""Cells in which a numeric feature is drawn; most numbers of bins divide it."""


@dataclass(frozen=True)
class Feature:
    """A feature of the made-up records: how many values it has, and whether these are bins of a number."""

    values: int
    numeric: bool


@dataclass(frozen=True)
class Tables:
    """What a task releases: a table of every feature by class.

    Attributes
    ----------
    classes : int
        Of the label.
    features : sequence of Feature
        One table each.
    deviation : float
        Of the noise in a cell; 0 for none.
    """

    classes: int
    features: Sequence[Feature]
    deviation: float


def accuracy(tables: Tables, rows: int, signal: float = SIGNAL, seed: int = 1) -> float:
    """Return the mean share of right classes of naive Bayes on made-up records.

    Parameters
    ----------
    tables : Tables
        What is released.
    rows : int
        Records at all stations together.
    signal : float
        How much a feature tells of the class.
    seed : int
        The same seed makes the same populations, whatever the noise is.
    """
    return float(np.mean([_once(tables, rows, signal, ResearchSampler(seed + draw)) for draw in range(DRAWS)]))


def _once(tables: Tables, rows: int, signal: float, sampler: ResearchSampler) -> float:
    random = sampler.generator
    sizes = random.multinomial(rows, np.full(tables.classes, 1.0 / tables.classes))
    truth = random.integers(0, tables.classes, JUDGED)
    laws = [law(feature, tables.classes, signal, sampler) for feature in tables.features]
    judged = [drawn(law, truth, sampler) for law in laws]
    counted = [np.stack([random.multinomial(size, row) for size, row in zip(sizes, law, strict=True)]) for law in laws]
    released = [
        _binned(table, feature) + random.normal(0.0, tables.deviation, (tables.classes, feature.values))
        for table, feature in zip(counted, tables.features, strict=True)
    ]
    totals = np.maximum(np.mean([table.sum(axis=1) for table in released], axis=0), 1.0)
    scores = np.tile(np.log(totals), (JUDGED, 1))
    for table, feature, cells in zip(released, tables.features, judged, strict=True):
        noisy = CategoricalTables(table, np.zeros(tables.classes), tables.deviation, 1.0)
        scores += noisy.log_likelihood(_bins(cells, feature), totals)
    return float((scores.argmax(axis=1) == truth).mean())


def law(feature: Feature, classes: int, signal: float, sampler: ResearchSampler) -> Floats:
    """Return P(cell | class), shape (classes, cells): of a number's grid, or a category's values."""
    if feature.numeric:
        places = np.linspace(-1.0, 1.0, GRID) * np.sqrt(3.0)  # uniform, of variance 1
        tilts = np.outer(signal * sampler.generator.normal(size=classes), places)
    else:
        tilts = signal * sampler.generator.normal(size=(classes, feature.values))
    weights = np.exp(tilts - tilts.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def drawn(law: Floats, truth: Integers, sampler: ResearchSampler) -> Integers:
    """Return a cell for every record of these classes, shape (n,)."""
    ends = np.cumsum(law, axis=1)
    spots = sampler.generator.random(len(truth))
    cells = np.empty(len(truth), dtype=np.int64)
    for label, row in enumerate(ends):
        cells[truth == label] = np.searchsorted(row, spots[truth == label], side="right")
    return np.asarray(np.minimum(cells, law.shape[1] - 1), dtype=np.int64)


def _bins(cells: Integers, feature: Feature) -> Integers:
    return np.asarray(cells * feature.values // GRID) if feature.numeric else cells


def _binned(table: Integers, feature: Feature) -> Integers:
    """Return counts by value, shape (classes, values), of counts by cell."""
    if not feature.numeric:
        return table
    binned = np.zeros((len(table), feature.values), dtype=np.int64)
    np.add.at(binned.T, _bins(np.arange(GRID), feature), table.T)
    return binned
