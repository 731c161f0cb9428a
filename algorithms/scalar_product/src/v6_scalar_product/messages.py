"""Messages of the rounds of the published protocol."""

from __future__ import annotations

from fedbayes.federation import Masked, Message, Sealed
from fedbayes.federation.questions.factor_info import Condition
from fedbayes.federation.vertical.messages import Delivery

PROTOCOLS = ("masked_tables", "thesis")


class ChainOpenRequest(Message):
    """Deal masks and open vectors for the protocol over `owners`, and for all its sub-protocols."""

    delivery: Delivery
    owners: list[int]
    conditions: list[Condition]

    def __post_init__(self) -> None:
        if len(self.owners) < 2 or self.owners != sorted(set(self.owners)):
            raise ValueError("the protocol takes two or more owners, in order")
        if not self.conditions:
            raise ValueError("no condition is asked about")


class ChainSumRequest(Message):
    """Add up this party's terms of all protocols; `sealed` comes from the other parties."""

    delivery: Delivery
    owners: list[int]
    sealed: dict[int, Sealed]


class ChainSumReply(Message):
    """The party's terms, masked: uniform on their own. uint64 of shape (1,)."""

    masked: Masked

    def __post_init__(self) -> None:
        if self.masked.value.shape != (1,):
            raise ValueError("masked must be one element of the ring")
