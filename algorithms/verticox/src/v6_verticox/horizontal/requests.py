"""The requests of a fit over horizontally split records: one a round, of which all but the first follow from a sum that stations add up themselves."""

from __future__ import annotations

from fedbayes.federation.messages.arrays import check_array
from fedbayes.typing import Array

from .messages import Point, Question
from .witnessed import Following, Opening


class TallyRequest(Opening):
    """Ask for the counts of events and censored records by time of the grid, and for moments of the columns."""

    question: Question

    @property
    def asked(self) -> Question:
        """What is asked of the records."""
        return self.question


class OfPoint(Following):
    """Base of a request at a point."""

    point: Point

    @property
    def asked(self) -> Question:
        """What is asked of the records."""
        return self.point.question


class RiskRequest(OfPoint):
    """Ask for the sums over risk sets at a point: of relative risks, and of columns weighted by them."""


class SquaresRequest(OfPoint):
    """Ask for one matrix of squares over all records, each weighted by its risk and what the times up to its own have, and for concordance.

    Parameters
    ----------
    point : Point
    spent : ndarray of float, (times,)
        Hazard of a record with no effect at each time.
    tied : ndarray of float, (times,)
        What an event's own time has less of it, with Efron's ties.
    records : int
        Of all stations: numbers of pairs are told in units of its square.
    """

    spent: Array
    tied: Array
    records: int

    def __post_init__(self) -> None:
        check_hazards(self.point, self.spent, self.tied)
        if self.records < 1:
            raise ValueError("records must be at least 1")


def check_hazards(point: Point, spent: Array, tied: Array) -> None:
    """Raise `ValueError` unless these are numbers by time, finite and not negative."""
    for name, array in (("spent", spent), ("tied", tied)):
        check_array(name, array, (len(point.question.times),), least=0.0)


class WeighRequest(Following):
    """Ask for the sums of case weights and of their squares over events, others and who enters, by time of the united grid."""

    question: Question

    @property
    def asked(self) -> Question:
        """What is asked of the records."""
        return self.question


class ScoresRequest(OfPoint):
    """Ask for the sum over the clusters of the products of their summed score residuals.

    Parameters
    ----------
    point : Point
        The last one.
    spent, tied : ndarray of float, (times,)
        As for the squares.
    mean : ndarray of float, (times, columns)
        Of the columns at risk.
    drift, spared : ndarray of float, (times, columns)
        The hazard times that mean, and what an event's own time has less of it.
    """

    spent: Array
    tied: Array
    mean: Array
    drift: Array
    spared: Array

    def __post_init__(self) -> None:
        check_hazards(self.point, self.spent, self.tied)
        shape = (len(self.point.question.times), len(self.point.coefficients))
        for name in ("mean", "drift", "spared"):
            check_array(name, getattr(self, name), shape)
