"""What travels in a fit over horizontally split records: the question, and one request a round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fedbayes.bayes.encoding import canonical_text
from fedbayes.bayes.schema import Column, Schema
from fedbayes.federation import Message

TIES = ("breslow", "efron")
MISSING = ("refuse", "complete")
MOST_COLUMNS = 200
MOST_EVALUATIONS = 10
"""Points at which a fit may ask for the sums of risk sets: what it opens of a group of records is bounded by it (see `grid.fewest`)."""


@dataclass(frozen=True, slots=True)
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
        The grid, increasing.
    ties, missing : str
    """

    time: str
    event: str
    domain: dict[str, Any]
    references: dict[str, str]
    times: list[float]
    ties: str
    missing: str

    def __post_init__(self) -> None:
        if self.ties not in TIES or self.missing not in MISSING:
            raise ValueError("ties or missing is unknown")
        if len(self.times) < 1 or not np.all(np.isfinite(self.times)) or np.any(np.diff(self.times) <= 0.0):
            raise ValueError("times must be finite and increase")
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
        return [label for column in self.schema for label in self.labels_of(column)]

    def labels_of(self, column: Column) -> list[str]:
        """Return the names of one feature's design columns."""
        if not column.is_categorical:
            return [column.name]
        return [f"{column.name}={key}" for key in column.keys if key != self.references[column.name]]

    @property
    def spans(self) -> list[tuple[float, float]]:
        """(middle, half width) of the bounds of every design column; (0, 1) of an indicator."""
        found = []
        for column in self.schema:
            low, high = column.bounds or (-1.0, 1.0)
            found += [((low + high) / 2.0, (high - low) / 2.0)] * len(self.labels_of(column))
        return found

    @property
    def columns(self) -> list[str]:
        """All columns that are read."""
        return [self.time, self.event, *self.domain]


def reference_of(column: Column, wanted: Any) -> str:
    """Return the category that is left out: the dictionary's, or the alphabetically first."""
    told = None if wanted is None else canonical_text(wanted)
    return told if told in column.keys else min(column.keys)


@dataclass(frozen=True, slots=True)
class TallyRequest(Message):
    """Ask for the counts of events and censored records by time of the grid, and for moments of the columns."""

    question: Question


@dataclass(frozen=True, slots=True)
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
    centre: np.ndarray[Any, Any]
    scale: np.ndarray[Any, Any]
    coefficients: np.ndarray[Any, Any]
    number: int

    def __post_init__(self) -> None:
        shape = (len(self.question.labels),)
        for array in (self.centre, self.scale, self.coefficients):
            if array.shape != shape or array.dtype != np.float64 or not np.all(np.isfinite(array)):
                raise ValueError("centre, scale and coefficients must be one finite number a design column")
        if np.any(self.scale <= 0.0) or not 1 <= self.number <= MOST_EVALUATIONS:
            raise ValueError("scale must be positive, and number one of those that are allowed")


@dataclass(frozen=True, slots=True)
class RiskRequest(Message):
    """Ask for the sums over risk sets at a point: of relative risks, and of columns weighted by them."""

    point: Point


@dataclass(frozen=True, slots=True)
class SquaresRequest(Message):
    """Ask for one matrix of squares over all records, each weighted by its risk and what the times up to its own have.

    Parameters
    ----------
    point : Point
    spent : ndarray of float, (times,)
        Hazard of a record with no effect at each time.
    tied : ndarray of float, (times,)
        What an event's own time has less of it, with Efron's ties.
    """

    point: Point
    spent: np.ndarray[Any, Any]
    tied: np.ndarray[Any, Any]

    def __post_init__(self) -> None:
        for array in (self.spent, self.tied):
            if array.shape != (len(self.point.question.times),) or array.dtype != np.float64:
                raise ValueError("spent and tied must be one number a time")
            if not np.all(np.isfinite(array)) or np.any(array < 0.0):
                raise ValueError("spent and tied must be finite and not negative")
