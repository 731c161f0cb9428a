"""Messages that several rounds share, so that one shape has one name."""

from __future__ import annotations

from dataclasses import dataclass

from .codec import Message
from .gate import Exact, Masked, Sealed


@dataclass(frozen=True, slots=True)
class Empty(Message):
    """Nothing: the round itself is the message."""


@dataclass(frozen=True, slots=True)
class SealedReply(Message):
    """What a party has for others: sealed bytes, by receiver or by what central passes on with them."""

    sealed: dict[int, Sealed]


@dataclass(frozen=True, slots=True)
class RecordsReply(Message):
    """A masked number (or a row of them) for every common record, for central or sealed for another station; identifiers of the records."""

    masked: Masked | None
    sealed: Sealed | None
    identifiers: Exact[list[str]] | None
