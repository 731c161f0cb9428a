"""What travels in a fit over horizontally split records: the question, and the point at which sums are asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbayes.bayes.formulae.term_reader import read_terms
from fedbayes.bayes.schema import Column, Schema
from fedbayes.bayes.values.encoding import canonical_text
from fedbayes.federation import Message
from fedbayes.federation.messages.arrays import check_array
from fedbayes.typing import Array

from .formula import Design
from .slots import Slots

TIES = ("breslow", "efron")
MISSING = ("refuse", "complete")
MOST_TIMES = 1000  # of a grid: months of 80 years
MOST_COLUMNS = 200  # design columns: their squares are 20,000 numbers in a round
MOST_EVALUATIONS = 10
"""Points at which a fit may ask for the sums of risk sets: what it opens of a group of records is bounded by it (see `grid.fewest_between`)."""


class Question(Message):
    """What is fitted to which columns.

    Parameters
    ----------
    time, event : str
        Columns of the outcome.
    domain : dict
        Feature -> bounds or categories, in the order of the features.
    references : dict of str to str
        Feature with categories -> the one that is left out, as canonical text.
    times : list of float
        The grid, increasing; of one stratum after the other.
    sizes : list of int
        Times of each stratum.
    ties, missing : str
    strata : dict
        The column of the strata -> its categories; empty without strata.
    weights, entry, cluster : str
        Columns of case weights, of times of entry, and of clusters; "" without.
    formula : str
        Of the columns of the domain; "": each of them is a feature.
    robust : bool
        Whether the matrix of score residuals is wanted too.
    """

    time: str
    event: str
    domain: dict[str, Any]
    references: dict[str, str]
    times: list[float]
    sizes: list[int]
    ties: str
    missing: str
    strata: dict[str, Any]
    weights: str
    entry: str
    cluster: str
    formula: str
    robust: bool = False

    def __post_init__(self) -> None:
        if self.ties not in TIES or self.missing not in MISSING:
            raise ValueError("ties or missing is unknown")
        if len(self.strata) > 1 or len(self.sizes) != len(self.levels) or min(self.sizes) < 1:
            raise ValueError("sizes must be one number a stratum")
        if sum(self.sizes) != len(self.times) or not np.all(np.isfinite(self.times)):
            raise ValueError("times must be finite, and as many as sizes tell")
        if any(np.any(np.diff(grid) <= 0.0) for grid in self.grids) or max(self.sizes) > MOST_TIMES:
            raise ValueError("times must increase, and be no more than those of a task")
        if any(one.is_categorical != (one.name in self.references) for one in self.schema):
            raise ValueError("references must be given for exactly the features with categories")
        if not 1 <= len(self.labels) <= MOST_COLUMNS:
            raise ValueError("there are too few or too many design columns")

    @property
    def schema(self) -> Schema:
        """The features' domains."""
        return Schema.from_domain(self.domain)

    @property
    def labels(self) -> list[str]:
        """Names of the design columns: a number, or one indicator a category but the reference."""
        if self.design is not None:
            return self.design.labels
        return [label for column in self.schema for label in self.labels_of(column)]

    def labels_of(self, column: Column) -> list[str]:
        """Return the names of one feature's design columns."""
        if not column.is_categorical:
            return [column.name]
        return [f"{column.name}={key}" for key in column.keys if key != self.references[column.name]]

    @property
    def spans(self) -> list[tuple[float, float]]:
        """(middle, half width) of the bounds of every design column; (0, 1) of an indicator."""
        if self.design is not None:
            return self.design.spans
        halves = []
        for column in self.schema:
            low, high = column.bounds or (-1.0, 1.0)
            halves += [((low + high) / 2.0, (high - low) / 2.0)] * len(self.labels_of(column))
        return halves

    @property
    def levels(self) -> list[str]:
        """The strata; one without a name where there are none."""
        return list(Schema.from_domain(self.strata).columns[0].keys) if self.strata else [""]

    @property
    def slots(self) -> Slots:
        """Places of the grid."""
        return Slots(self.sizes)

    @property
    def grids(self) -> list[Array]:
        """The times of each stratum."""
        return np.split(np.array(self.times, dtype=np.float64), np.cumsum(self.sizes)[:-1])

    @property
    def design(self) -> Design | None:
        """The formula over the domain; None without one."""
        return Design(read_terms(self.formula), self.schema, self.references) if self.formula else None

    @property
    def reading(self) -> dict[str, Any]:
        """The domain by which cells are read where noise is added: of the outcome too, of which no cell decides then how another is read."""
        ends = {"bounds": [min(0.0, self.times[0]) - 1.0, self.times[-1]]}
        return {**self.domain, **self.strata, self.time: ends, self.event: {"categories": [0, 1]}}

    @property
    def columns(self) -> list[str]:
        """All columns that are read."""
        own = self.domain if self.design is None else self.design.terms.columns
        cases = [name for name in (self.weights, self.entry, self.cluster) if name]
        return list(dict.fromkeys([self.time, self.event, *own, *self.strata, *cases]))


def reference_of(column: Column, wanted: Any) -> str:
    """Return the category that is left out: the dictionary's, or the alphabetically first."""
    category = None if wanted is None else canonical_text(wanted)
    return category if category in column.keys else min(column.keys)


class Point(Message):
    """Where sums are asked for.

    Parameters
    ----------
    question : Question
        With the united grid.
    centre, scale : ndarray of float, (columns,)
        Of the columns in units of half of their bounds' width, over all stations.
    coefficients : ndarray of float, (columns,)
        Of columns that are centred and scaled.
    number : int
        Which of at most `MOST_EVALUATIONS`.
    """

    question: Question
    centre: Array
    scale: Array
    coefficients: Array
    number: int

    def __post_init__(self) -> None:
        for name in ("centre", "scale", "coefficients"):
            check_array(name, getattr(self, name), (len(self.question.labels),))
        if np.any(self.scale <= 0.0) or not 1 <= self.number <= MOST_EVALUATIONS:
            raise ValueError("scale must be positive, and number one of those that are allowed")

    @property
    def risks(self) -> str:
        """Name of the sums of relative risks at it, of which hazards follow."""
        return f"risks at point {self.number}"
