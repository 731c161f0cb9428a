"""The requests of a fit over horizontally split records: one a round, of which all but the first follow from a sum that stations add up themselves."""

from __future__ import annotations

from fedbayes.federation import Message
from fedbayes.federation.gate import Masked
from fedbayes.federation.messages.arrays import check_array
from fedbayes.typing import Array

from .messages import Point, Question
from .witnessed import Asking, Following, Opening, WitnessedReply


class TallyRequest(Asking, Opening):
    """Ask for the counts of events and censored records by time of the grid, and for moments of the columns."""


class WeighRequest(Asking, Following):
    """Ask for the sums of case weights and of their squares over events, others and who enters, by time of the united grid."""


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


class SquaresRequest(OfPoint):
    """Ask for one matrix of squares over all records, each weighted by its risk and the hazard up to its own time, and for concordance.

    Hazards, and the unit of numbers of pairs (the square of all records' number), are not told: each station works them out of what all have sent.
    """


class ScoresRequest(OfPoint):
    """Ask for the sum over the clusters of the products of their summed score residuals; at the last point. Hazards are not told, as for the squares.

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
        shape = (len(self.point.question.times), len(self.point.coefficients))
        for name in ("mean", "drift", "spared"):
            check_array(name, getattr(self, name), shape)
