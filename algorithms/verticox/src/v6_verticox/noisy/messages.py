"""What travels in a private fit of columns of the same records."""

from __future__ import annotations

from typing import ClassVar

from fedbayes.federation import Broadcast, Message, Public, Sealed, Share
from fedbayes.typing import Array

from ..horizontal.private.messages import MOST_PERIODS, STEPS, Asked, SlopeRequest
from ..messages.setup import Ordered, Plan

MOST_STAGES = 10
"""Far above what the most stations with features make."""


class ArrangeRequest(Ordered):
    """Put the rows in the common order, and say which columns are here; `asked` has the features in any order."""

    noisy: ClassVar[bool] = True

    asked: Asked


class ArrangeReply(Message):
    """Which columns are here, and the number of common records: public in the relation of the promise."""

    features: Public[list[str]]
    outcome: Public[bool]
    records: Public[int]


class Joint(Message):
    """What is fitted, and who plays which part.

    Parameters
    ----------
    asked : Asked
        Its features are in the order of the share holders.
    plan : Plan
        Rows are the common records, in the order in which they were matched.
    """

    asked: Asked
    plan: Plan

    def __post_init__(self) -> None:
        if self.asked.noise.neighbors != "replace_one" or self.asked.unit.rows != 1 or self.asked.unit.id_column:
            raise ValueError("the promise of columns of the same records is for the values of one of them")
        if sum(self.plan.widths) != len(self.asked.question.labels) or self.plan.rows != self.plan.records:
            raise ValueError("the plan does not fit the question")


class SurveyRequest(Message):
    """Ask for the outline of the records: of every station what it has of it."""

    joint: Joint


class Sizes(Message):
    """What of a step the dealer needs: numbers of groups and of periods, and whether records count in the matrix by their risk."""

    step: int
    groups: int
    periods: int
    weighted: bool

    def __post_init__(self) -> None:
        if not 1 <= self.step <= STEPS or self.groups < 1 or not 1 <= self.periods <= MOST_PERIODS:
            raise ValueError("the sizes of a step are out of range")

    @classmethod
    def of(cls, point: SlopeRequest) -> Sizes:
        """Return those of a step."""
        return cls(point.step, len(point.groups), len(point.periods), point.weighted)


class Factors(Message):
    """Stations: mask and send what each has of a record at a point. Dealer (without a point): deal for the step."""

    plan: Plan
    sizes: Sizes
    point: SlopeRequest | None

    def __post_init__(self) -> None:
        if self.point is not None:
            _check_point(self.plan, self.sizes, self.point)


class FactorsReply(Message):
    """Numbers less a mask that the helper knows too, sealed for the other share holders; from the helper what it deals, sealed for who takes it."""

    entered: Broadcast | None
    dealt: Sealed | None


class Products(Message):
    """Multiply: a stage of a step, with the letters of the other share holders that open what is before it; after the last stage noisy sums are revealed."""

    plan: Plan
    sizes: Sizes
    point: SlopeRequest
    stage: int
    letters: dict[int, Broadcast]
    corrections: Sealed | None

    def __post_init__(self) -> None:
        _check_point(self.plan, self.sizes, self.point)
        if not 0 <= self.stage < MOST_STAGES:
            raise ValueError("a stage is out of range")


class ProductsReply(Message):
    """The station's part of every opening, sealed for the other share holders, or its share of the noisy sums, its own noise in it: words of the ring."""

    opened: Broadcast | None
    revealed: dict[str, Share[Array]]


def _check_point(plan: Plan, sizes: Sizes, point: SlopeRequest) -> None:
    _ = Joint(point.asked, plan)
    if sizes != Sizes.of(point):
        raise ValueError("the sizes are not those of the point")
