"""The requests of a fit over horizontally split records: one a round, of which all but the first follow from a sum that stations add up themselves."""

from __future__ import annotations

from fedbayes.federation import Message
from fedbayes.federation.gate import Masked
from fedbayes.federation.messages.arrays import check_array
from fedbayes.typing import Array

from .messages import Point, Question
from .witnessed import Following, Opening, WitnessedReply


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


class RiskReply(Message):
    """One station's sums at a point: of columns; and of relative risks over records at risk, and over events with Efron's ties, by time."""

    weighted: Masked
    risks: WitnessedReply


class HazardsRequest(OfPoint):
    """Base of a request at a point of which the sums of relative risks are known.

    Parameters
    ----------
    spent : ndarray of float, (times,)
        Hazard of a record with no effect at each time.
    tied : ndarray of float, (times,)
        What an event's own time has less of it, with Efron's ties.
    """

    spent: Array
    tied: Array

    def __post_init__(self) -> None:
        for name in ("spent", "tied"):
            check_array(name, getattr(self, name), (len(self.point.question.times),), least=0.0)


class SquaresRequest(HazardsRequest):
    """Ask for one matrix of squares over all records, each weighted by its risk and what the times up to its own have, and for concordance.

    Parameters
    ----------
    records : int
        Of all stations: numbers of pairs are told in units of its square.
    """

    records: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.records < 1:
            raise ValueError("records must be at least 1")


class WeighRequest(Following):
    """Ask for the sums of case weights and of their squares over events, others and who enters, by time of the united grid."""

    question: Question

    @property
    def asked(self) -> Question:
        """What is asked of the records."""
        return self.question


class ScoresRequest(HazardsRequest):
    """Ask for the sum over the clusters of the products of their summed score residuals; at the last point.

    Parameters
    ----------
    mean : ndarray of float, (times, columns)
        Of the columns at risk.
    drift, spared : ndarray of float, (times, columns)
        The hazard times that mean, and what an event's own time has less of it.
    """

    mean: Array
    drift: Array
    spared: Array

    def __post_init__(self) -> None:
        super().__post_init__()
        shape = (len(self.point.question.times), len(self.point.coefficients))
        for name in ("mean", "drift", "spared"):
            check_array(name, getattr(self, name), shape)
