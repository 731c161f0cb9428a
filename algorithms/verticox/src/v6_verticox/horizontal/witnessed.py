"""Sums under masks that every station adds up itself, where a later round follows from them: no station has to believe what central says of all.

A station seals the digest of its masked vector for the others, central forwards all vectors and seals with its next request, and each station holds
them against each other. Masked vectors tell no more than their sum, as in central's hands.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fedbayes.federation import Federation, Message, Station
from fedbayes.federation.errors import MessageError
from fedbayes.federation.gate import Exact, Masked, Sealed
from fedbayes.federation.horizontal import signed
from fedbayes.federation.jobs.transport import summed
from fedbayes.federation.perimeter.manifest import digest_of
from fedbayes.federation.questions.factor_info import MOST_ROWS
from fedbayes.typing import Array, Integers

from .messages import Question

AGAIN = "sums from which later rounds follow were asked for twice in this job; start the job again"
OTHERS = "a sum is not over the stations that are asked now; the job stops"
FORGED = "a masked vector is not the one that its station sent; the job stops"
SMALLER = "a round takes fewer records for enough than this node demands; the job stops"


class WitnessedReply(Message):
    """One station's vector of whole numbers under masks, and its digest, sealed for every other station of the sum."""

    vector: Masked
    seals: list[Sealed]


class Shown(Message):
    """A sum over the stations as they sent it: what shows a station that a request follows from it.

    Parameters
    ----------
    name : str
        Of the sum: the partial function that was asked, and which of its sums where it is asked several times.
    replies : dict of int to WitnessedReply
        Organization -> what it sent.
    minimum_count : int
        The largest of the nodes: what central took for enough.
    """

    name: str
    replies: dict[int, WitnessedReply]
    minimum_count: int

    def __post_init__(self) -> None:
        if not 0 <= self.minimum_count < MOST_ROWS:
            raise ValueError("the smallest count is no number of records")


class OfRecords(Message, ABC):
    """Base of a request about a station's records."""

    @property
    @abstractmethod
    def asked(self) -> Question:
        """What is asked of the records."""


class Opening(OfRecords):
    """Base of a request for a sum from which later rounds follow, on any grid."""


class Following(OfRecords):
    """Base of a request that follows from a sum over all stations.

    Parameters
    ----------
    shown : Shown or None
        That sum, in the first request that follows from it; a station keeps what it has added up.
    """

    shown: Shown | None = field(default=None, kw_only=True)


class Asking(OfRecords):
    """Base of a request that has its question itself."""

    question: Question

    @property
    def asked(self) -> Question:
        """What is asked of the records."""
        return self.question


@dataclass(frozen=True)
class Added:
    """A sum that a station has added up itself, what central took for enough, and what the station kept of the question."""

    total: Array
    minimum_count: int
    kept: dict[str, Array]

    def numbers(self, length: int) -> Integers:
        """Return the sum as signed numbers, (length,)."""
        return signed(self.total, length)


def witnessed(station: Station, content: Exact[Any], name: str = "", **kept: Array) -> WitnessedReply:
    """Return a vector as it leaves in a round from which others follow.

    Parameters
    ----------
    station : Station
        Who answers.
    content : Exact
        The vector.
    name : str
        Of the sum, where it is not the only one of its function.
    **kept : ndarray
        What the station then has to know of the question.

    Raises
    ------
    MessageError
        If the job asked for this sum in another round or otherwise: two would be two grids, of which the differences tell of few records.
    """
    name = name or station.function
    vector, members = station.mask(content, name), sorted(station.participants)
    digest, topic = digest_of(vector), f"{name}|{station.round_name}|{station.question_digest}|{members}"
    marks = {"digest": np.array(digest), "topic": np.array(topic), "members": np.array(members)}
    station.keep(_sent(name), **marks, **kept)
    before = station.kept(_sent(name))
    if any(str(before[mark]) != str(marks[mark]) for mark in ("digest", "topic")):
        raise MessageError(AGAIN)
    others = (member for member in members if member != station.organization)
    return WitnessedReply(vector, [station.seal(member, bytes.fromhex(digest), topic) for member in others])


def add_up(station: Station, shown: Shown) -> None:
    """Add up a sum of this job as all of its stations sent it, and keep it.

    Raises
    ------
    MessageError
        If a vector is missing, or is not what its station sent in the round in which this one took part; if the masks do not cancel.
    """
    sent = station.kept(_sent(shown.name))
    if sorted(shown.replies) != sent["members"].tolist():
        raise MessageError(OTHERS)
    for member, reply in shown.replies.items():
        own = member == station.organization
        digest = str(sent["digest"]) if own else _sealed_by(station, member, reply, str(sent["topic"]))
        if digest_of(reply.vector) != digest:
            raise MessageError(FORGED)
    if shown.minimum_count < station.policy.minimum_count:
        raise MessageError(SMALLER)
    total = summed([reply.vector for reply in shown.replies.values()])
    station.keep(_added(shown.name), total=total, minimum_count=np.array(shown.minimum_count))


def _sealed_by(station: Station, member: int, reply: WitnessedReply, topic: str) -> str:
    own = [one for one in reply.seals if one.receiver == station.organization]
    if len(own) != 1:
        raise MessageError(FORGED)
    return station.unseal(member, own[0], topic).hex()


def added(station: Station, name: str) -> Added:
    """Return a sum that this station has added up in this job; `MessageError` if it has not, or if others are asked now than took part in it."""
    sent, own = station.kept(_sent(name)), station.kept(_added(name))
    if sorted(station.participants) != sent["members"].tolist():
        raise MessageError(OTHERS)
    return Added(own["total"], int(own["minimum_count"]), sent)


def _sent(name: str) -> str:
    return f"sent {name}"


def _added(name: str) -> str:
    return f"added {name}"


def witnessed_sums(
    federation: Federation, function: str, request: Opening | Following, stations: Sequence[int], length: int
) -> tuple[Integers, Shown]:
    """Return the sum of the stations' vectors of so many numbers, and what shows it to them; one round."""
    federation.nodes.check_summable(stations)
    return added_up(federation, function, federation.round(function, request, stations, WitnessedReply), length)


def added_up(
    federation: Federation, name: str, replies: Mapping[int, WitnessedReply], length: int
) -> tuple[Integers, Shown]:
    """Return the sum of the stations' vectors of so many numbers under a name, and what shows it to them."""
    total = summed([reply.vector for reply in replies.values()])
    return signed(total, length), Shown(name, dict(replies), federation.minimum_count)
