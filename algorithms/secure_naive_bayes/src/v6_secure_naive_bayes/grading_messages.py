"""Requests and replies of an evaluation of vertically split records."""

from __future__ import annotations

from typing import Any

from fedbayes.federation import Message
from fedbayes.federation.gate import Sealed


class Plan(Message):
    """Who does what in an evaluation of vertically split records.

    Attributes
    ----------
    owners : dict of int to list of str
        Station -> its features of the model.
    holder : int
        The station whose label counts.
    counters : tuple of int
        The two stations that count on shares.
    dealer : int
        Who deals them shares of unit vectors: neither of them.
    rows : int
        Number of records.
    bits : int
        Scores and label together are a number below 2^bits.
    label : str
        The column of true classes.
    id_column : str
        The column that identifies the records, by which every station orders its rows; empty where the files are aligned.
    """

    owners: dict[int, list[str]]
    holder: int
    counters: tuple[int, int]
    dealer: int
    rows: int
    bits: int
    label: str
    id_column: str = ""

    def __post_init__(self) -> None:
        first, second = self.counters
        if first == second or not {first, second, self.holder} <= set(self.owners) or self.dealer in self.counters:
            raise ValueError(
                "the counters and the holder must be stations, and the counters and the dealer three organizations"
            )
        if not 1 <= self.rows < 2**31 or not 3 <= self.bits <= 24 or any(not names for names in self.owners.values()):
            raise ValueError("rows, bits or features are out of range")


class ScoresRequest(Message):
    """Ask for the masked places of a station's rows, and at the dealer for the counters' keys.

    Attributes
    ----------
    model : dict
        A result's model.
    plan : Plan
    """

    model: dict[str, Any]
    plan: Plan


class ScoresReply(Message):
    """By counter: the masked places (rows,) of uint32, and the dealer's keys; both sealed."""

    openings: dict[int, Sealed]
    keys: dict[int, Sealed]


class GradesRequest(Message):
    """Ask for a masked share of the tallies.

    Attributes
    ----------
    model : dict
        A result's model.
    plan : Plan
    openings : dict of int to Sealed
        What every other station sealed for this counter; empty at the others.
    keys : Sealed or None
        What the dealer sealed for this counter.
    """

    model: dict[str, Any]
    plan: Plan
    openings: dict[int, Sealed]
    keys: Sealed | None
