"""Messages that several rounds share, so that one shape has one name."""

from __future__ import annotations

from .gate import Exact, Masked, Sealed
from .messages.codec import Message


class Empty(Message):
    """Nothing: the round itself is the message."""


class SealedReply(Message):
    """What a party has for others: sealed bytes, by receiver or by what central passes on with them."""

    sealed: dict[int, Sealed]


class RecordsReply(Message):
    """A masked number (or a row of them) for every common record, for central or sealed for another station; identifiers of the records."""

    masked: Masked | None
    sealed: Sealed | None
    identifiers: Exact[list[str]] | None
