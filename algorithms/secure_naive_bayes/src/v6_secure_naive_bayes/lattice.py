"""Scores of records as whole numbers that add up over the stations: what an evaluation on shares counts.

A record's **place** is the sum of what its stations contribute and of a digit for its class. From a place the posterior follows, by public
knowledge alone. Two ways to make places, of which the first one that fits the domain is taken:

- *patterns*: a station's digit says which of the different score vectors its features give; posteriors are exact;
- *grid*: a station rounds its log-odds against the first class to multiples of a public step; they are exact to half a step a station.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.bayes.naive_bayes.features import CategoricalTables, Histogram
from fedbayes.bayes.values.encoding import bin_codes
from fedbayes.federation.errors import ArgumentError
from fedbayes.typing import Array, Floats, Indices, Integers

MOST_BITS = 20  # a million places, one for each combination of scores and label
LEAST_BITS = 12  # the least that is useful (`most_bits`)
WORK_BITS = 27  # rows times places: some seconds of a counter's work
MOST_WORK_BITS = 33  # 64 times as much: some minutes
LARGEST_ODDS = 40.0  # logarithm: beyond it a probability is 0 or 1 in double precision
COARSEST = 0.25  # largest error of a record's score by rounding, in log-odds


def most_bits(rows: int) -> int:
    """Return the widest domain for so many records: some seconds of work, or the least that is useful."""
    return int(min(MOST_BITS, max(LEAST_BITS, math.floor(WORK_BITS - math.log2(max(rows, 1))))))


def _table(model: NaiveBayes, name: str) -> Floats | None:
    """Return log P(value | class) of a feature, shape (values + 1, classes), missing first; None where it is no table."""
    feature = model.features[name]
    if not isinstance(feature, CategoricalTables | Histogram):
        return None
    codes = np.arange(-1, feature.counts.shape[1])
    if not isinstance(feature, Histogram):
        return np.asarray(feature.log_likelihood(codes.astype(np.int32), model.positive_counts))
    middles = np.concatenate([[np.nan], (feature.edges[:-1] + feature.edges[1:]) / 2])
    return np.asarray(feature.log_likelihood(middles, model.positive_counts))


def _odds(scores: Floats) -> Floats:
    """Return the log-odds against the first class, shape (rows, classes - 1)."""
    return np.asarray(scores[:, 1:] - scores[:, :1])


@dataclass(frozen=True)
class Part:
    """What one station can contribute, known to everybody who has the model.

    Attributes
    ----------
    model : NaiveBayes
    names : list of str
        The station's features.
    most : int
        Largest number of patterns worth listing.
    """

    model: NaiveBayes
    names: list[str]
    most: int

    @cached_property
    def tables(self) -> list[Floats | None]:
        """The log-odds of every value of every feature, missing first; None where a feature has no table."""
        tables = (_table(self.model, name) for name in self.names)
        return [None if table is None else _odds(table) for table in tables]

    @cached_property
    def patterns(self) -> tuple[Floats, Indices] | None:
        """The different log-odds (patterns, classes - 1), and which of them each combination of values gives; None if there are too many."""
        known = [table for table in self.tables if table is not None]
        if len(known) < len(self.tables) or math.prod(len(table) for table in known) > self.most:
            return None
        sums = np.zeros((1, len(self.model.classes) - 1))
        for table in known:
            sums = (sums[:, None] + table[None]).reshape(-1, sums.shape[1])
        _, first, back = np.unique(sums.round(9), axis=0, return_index=True, return_inverse=True)
        return sums[first], back.reshape(-1)

    @cached_property
    def limits(self) -> tuple[Floats, Floats]:
        """Smallest and largest log-odds of the station, each (classes - 1,), at most `LARGEST_ODDS`."""
        wide = np.full((1, len(self.model.classes) - 1), LARGEST_ODDS)
        known = [np.concatenate([wide, -wide]) if table is None else table for table in self.tables]
        low, high = (sum(edge(table, axis=0) for table in known) for edge in (np.min, np.max))
        return np.clip(low, -LARGEST_ODDS, LARGEST_ODDS), np.clip(high, -LARGEST_ODDS, LARGEST_ODDS)

    def codes(self, encoded: Mapping[str, Any]) -> Indices:
        """Return which combination of values every record has."""
        numbers: Indices = np.zeros(len(encoded[self.names[0]]), dtype=np.intp)
        for name, table in zip(self.names, self.tables, strict=True):
            feature, values = self.model.features[name], encoded[name]
            if isinstance(feature, Histogram):
                values = bin_codes(np.clip(values, feature.edges[0], feature.edges[-1]), feature.edges)
            numbers = numbers * (0 if table is None else len(table)) + values + 1
        return numbers

    def odds(self, encoded: Mapping[str, Any]) -> Floats:
        """Return every record's log-odds by this station's features, within `limits`."""
        scores = sum(
            self.model.features[name].log_likelihood(encoded[name], self.model.positive_counts) for name in self.names
        )
        return np.asarray(np.clip(np.nan_to_num(_odds(np.asarray(scores)), nan=0.0), *self.limits))


class Lattice:
    """The places of one evaluation; everybody makes the same one from public knowledge.

    Parameters
    ----------
    model : NaiveBayes
    owners : dict of int to list of str
        Station -> its features.
    rows : int
        Number of records.

    Attributes
    ----------
    bits : int
        Places are below 2^bits.
    cells : int
        Number of different scores.
    step : float
        Of the grid; 0 with patterns.

    Raises
    ------
    ArgumentError
        When neither way fits.
    """

    def __init__(self, model: NaiveBayes, owners: Mapping[int, list[str]], rows: int) -> None:
        self.model, self.classes = model, len(model.classes)
        self.members = sorted(owners)
        most = (1 << most_bits(rows)) // (self.classes + 1)
        self._parts = {member: Part(model, owners[member], most) for member in self.members}
        patterns = [part.patterns for part in self._parts.values()]
        self.step = 0.0
        if all(pattern is not None for pattern in patterns):
            self._sizes = [[len(pattern[0])] for pattern in patterns if pattern is not None]
        if any(pattern is None for pattern in patterns) or math.prod(size for (size,) in self._sizes) > most:
            self.step = self._finest(most)
            self._sizes = []
        self.cells = math.prod(size for (size,) in self._sizes) if self.exact else math.prod(self._widths(self.step))
        self.bits = max(3, math.ceil(math.log2(self.cells * (self.classes + 1))))
        if self.bits + math.log2(max(rows, 1)) > MOST_WORK_BITS:
            raise ArgumentError("model: there are too many records to be scored on shares; evaluate on fewer")

    @property
    def exact(self) -> bool:
        """Whether places are patterns."""
        return self.step == 0.0

    def _counts(self, step: float) -> list[list[int]]:
        """Return, for every station and class, how many steps its log-odds span."""
        spans = [part.limits[1] - part.limits[0] for part in self._parts.values()]
        return [[math.ceil(width / step) for width in span] for span in spans]

    def _widths(self, step: float) -> list[int]:
        return [sum(spans) + 1 for spans in zip(*self._counts(step), strict=True)]

    def _finest(self, most: int) -> float:
        """Return the smallest step with which the grid has at most so many cells."""
        low, high = 1e-6, 4.0 * LARGEST_ODDS
        for _ in range(60):
            middle = math.sqrt(low * high)
            low, high = (low, middle) if math.prod(self._widths(middle)) <= most else (middle, high)
        if high * len(self.members) / 2 > COARSEST:
            raise ArgumentError(
                "model: its features and classes have too many combinations to be scored on shares; give fewer features, or evaluate on fewer records"
            )
        return high

    def places_of(self, member: int, encoded: Mapping[str, Any]) -> Integers:
        """Return what a station contributes to the places of its records, int64."""
        part = self._parts[member]
        position = self.members.index(member)
        if self.exact and part.patterns is not None:
            stride = math.prod(size for (size,) in self._sizes[position + 1 :])
            return np.asarray(part.patterns[1][part.codes(encoded)] * stride, dtype=np.int64)
        digits = np.rint((part.odds(encoded) - part.limits[0]) / self.step).astype(np.int64)
        digits = np.clip(digits, 0, np.array(self._counts(self.step)[position]))
        widths = self._widths(self.step)
        strides = [math.prod(widths[axis + 1 :]) for axis in range(len(widths))]
        return np.asarray(digits @ np.array(strides, dtype=np.int64))

    def label_place(self, truth: Array) -> Integers:
        """Return what the label contributes; a missing one (-1) goes where it is not counted."""
        return np.where(truth < 0, self.classes, truth).astype(np.int64) * self.cells

    def log_probabilities(self) -> Floats:
        """Return log P(class | place), shape (cells, classes)."""
        odds = np.zeros((1, self.classes - 1)) + _odds(self.model.log_prior[None])
        if self.exact:
            for part in self._parts.values():
                pattern = part.patterns
                sums = pattern[0] if pattern is not None else np.zeros((1, self.classes - 1))
                odds = (odds[:, None] + sums[None]).reshape(-1, self.classes - 1)
        else:
            lowest = sum(part.limits[0] for part in self._parts.values())
            digits = np.stack(np.unravel_index(np.arange(self.cells), self._widths(self.step)), axis=1)
            odds = odds + lowest + digits * self.step
        joint = np.concatenate([np.zeros((self.cells, 1)), odds], axis=1)
        joint -= joint.max(axis=1, keepdims=True)
        return np.asarray(joint - np.log(np.exp(joint).sum(axis=1, keepdims=True)))
