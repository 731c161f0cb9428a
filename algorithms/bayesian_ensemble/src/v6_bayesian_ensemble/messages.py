"""Requests and replies of the rounds that are this method's own; those on vertical tables are the library's."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from fedbayes.federation import Message
from fedbayes.federation.gate import Exact, Masked, Public, Sealed
from fedbayes.federation.vertical.messages import Delivery, Setup
from fedbayes.federation.vertical.record_shares import WeightedFactors
from fedbayes.typing import Array

from .model import Learning


class ColumnsRequest(Message):
    """Asks which of the columns named, or of all, the station has and allows."""

    columns: list[str] | None


class ColumnsReply(Message):
    """Names of columns, in the order of the station's table."""

    columns: Public[list[str]]


class MemberRequest(Message):
    """Asks a station that has the label for a network over its own rows."""

    label: str
    columns: list[str]
    domain: dict[str, Any]
    bins: Any
    learning: dict[str, Any]
    minimum_count: float
    secret: bool

    def __post_init__(self) -> None:
        _ = self.learned
        if len(set(self.columns)) != len(self.columns):
            raise ValueError("a column is named twice")

    @property
    def learned(self) -> Learning:
        """How the network is learned."""
        structure, order = self.learning["structure"], self.learning["order"]
        edges = structure if isinstance(structure, str) else tuple((str(one), str(other)) for one, other in structure)
        listed = order if isinstance(order, str) else tuple(map(str, order))
        return Learning(**{**self.learning, "structure": edges, "order": listed})


class MemberReply(Message):
    """A member as `Member.to_json` writes it; without its network where that stays at the station.

    Where the job will test members: what makes it recognisable, sealed for every other station (`own_members`).
    """

    member: Exact[dict[str, Any]]
    seals: list[Sealed]


class TestedRequest(Message):
    """Asks how often the members of an ensemble are right on a station's rows; `seals`: station -> what it sealed of its member for the others."""

    model: dict[str, Any]
    seals: dict[int, list[Sealed]]


class VotesRequest(Message):
    """Asks for the station's votes on the records of the job.

    `model` holds the members for which the station votes. With `holders` the votes are sealed for them, else they go to
    central under masks; `identify` is the station whose identifiers name the records; `evidence` is what others sealed for
    this leader of groups: member -> sender -> content. `outline` is the model that the researcher gave, with digests in place of its members, the same
    for everybody: by it a station knows the members that it is shown for those of the manifest.
    """

    delivery: Delivery
    model: dict[str, Any]
    outline: dict[str, Any]
    holders: list[int]
    identify: int | None = None
    evidence: dict[int, dict[int, Sealed]] = field(default_factory=dict)


class VotesReply(Message):
    """Masked votes for central (both halves, rows, classes; flat) or sealed ones for the holders of the label."""

    masked: Masked | None
    sealed: dict[int, Sealed]
    identifiers: Exact[list[str]] | None


class GroupScores(WeightedFactors):
    """The score that a group's network gives to a record; its shares are for the leader."""

    number: int
    leader: int


class EvidenceRequest(Message):
    """Asks for shares of the scores that the groups give to every record of the job.

    `members`: of the groups that the station is a part of, what the researcher gave; `outline`: see `VotesRequest`.
    """

    delivery: Delivery
    groups: list[GroupScores]
    outline: dict[str, Any]
    members: dict[int, dict[str, Any]]


class TallyRequest(Message):
    """Asks holders of the label to add up the sealed votes and to compare them with their labels."""

    setup: Setup
    sealed: dict[int, Sealed]
    label: str
    classes: list[str]
    vote: str
    rows: int

    def __post_init__(self) -> None:
        if self.rows < 1 or len(self.classes) < 2:
            raise ValueError("a tally needs records and two classes or more")


class LocalRequest(Message):
    """Asks a station for the ensemble's predictions on its own rows: tallies of them, or the predictions."""

    model: dict[str, Any]
    id_column: str | None = None
    records: dict[str, Any] | None = None


class PredictedRequest(Message):
    """Asks a station to open the class that each of its members predicts for every common record, as a column."""

    delivery: Delivery
    stage: int
    bits: int
    model: dict[str, Any]

    def __post_init__(self) -> None:
        if self.bits not in (16, 32):
            raise ValueError("the ring must have 16 or 32 bits")


class TalliesReply(Message):
    """Sums over records as whole numbers of the ring, masked."""

    vector: Masked


class PredictionsReply(Message):
    """Class probabilities of the station's rows, float64 (rows, classes), and their identifiers."""

    probabilities: Exact[Array]
    identifiers: Exact[list[str]]
