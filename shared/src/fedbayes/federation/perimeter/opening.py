"""The round that opens the channel: what was asked for, what a task announces before anything is spent, request and reply, and who takes part."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...dp.neighbors import NEIGHBORS, OF_RECORDS
from ..gate import Public
from ..messages.codec import Message
from .manifest import Card, ModelClaim

UNITS = ("row", "identifier", "party", "record")


class Relation(Message):
    """Which tables are neighbours, so whom a promise is for; `Station.charge` holds every release to the one that the job announced.

    Attributes
    ----------
    neighbors : str
        One of `dp.neighbors.NEIGHBORS` or `dp.neighbors.OF_RECORDS`.
    unit : str
        What neighbours differ in: a ``row``, all rows of an ``identifier``, all of a ``party``, or a ``record`` whose columns are spread over stations.
    rows : int
        Most rows of a unit that a station uses.
    id_column : str or None
        The column of identifiers.
    """

    neighbors: str
    unit: str = "row"
    rows: int = 1
    id_column: str | None = None

    def __post_init__(self) -> None:
        if self.neighbors not in (*NEIGHBORS, *OF_RECORDS) or self.unit not in UNITS or self.rows < 1:
            raise ValueError("the relation of neighbours is none that is known")


class Preflight(Message):
    """What a task will ask of every station, as far as this is known before any table is read. Stations hold it to that (`announced`).

    Attributes
    ----------
    columns : tuple of str
        Columns that it uses; a station that has one of them must allow it.
    linked_by : str
        Column by which records are linked, or named in predictions, or empty; a station that has it must allow that.
    everywhere : bool
        Whether every station with data must have all of `columns`.
    functions : tuple of str
        Partial functions that it calls.
    epsilon, delta : float
        What it will debit at every station with data, in all.
    shared_epsilon : float
        What it will debit at all stations together, where each spends as much of it as it holds columns: which is known only later.
    queries : int
        Questions that it will debit, as far as they are known: tables of a search, records of a prediction and exact rounds of a descent are counted when
        they are asked.
    private : bool
        Whether all that leaves is differentially private.
    single_records : bool
        Whether single records are predicted, or numbers of theirs shown to a station.
    derived_from : tuple of str
        Columns that the task's own formulae use; a station that has one of them must allow formulae.
    summed : bool
        Whether answers are sums over the stations' rows, which stations compare with the sums that they have answered before (`answered`).
    relation : Relation or None
        Whom the noise of every release is for; None where nothing is debited.
    honest_fraction : float
        Part of the stations whose shares of noise are counted on; 0 where there are no shares.
    most : tuple of float
        Most (epsilon, delta) that a station may debit, where this is more than `epsilon` and `delta` because it depends on what a station holds.
    concerned : tuple of int
        The organizations of which anything is asked, where others get keys too; empty: all.
    """

    columns: tuple[str, ...] = ()
    linked_by: str = ""
    everywhere: bool = False
    functions: tuple[str, ...] = ()
    epsilon: float = 0.0
    delta: float = 0.0
    shared_epsilon: float = 0.0
    queries: int = 0
    private: bool = False
    single_records: bool = False
    derived_from: tuple[str, ...] = ()
    summed: bool = False
    relation: Relation | None = None
    honest_fraction: float = 0.0
    most: tuple[float, float] = (0.0, 0.0)
    concerned: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        costs = (self.epsilon, self.delta, self.shared_epsilon, float(self.queries))
        if not all(math.isfinite(cost) and cost >= 0 for cost in costs):
            raise ValueError("costs must be finite and at least 0")
        if not (0.0 <= self.honest_fraction <= 1.0 and all(most >= 0.0 for most in self.most)):
            raise ValueError("honest_fraction must be in [0, 1], and the most that may be debited at least 0")

    @property
    def bound(self) -> tuple[float, float]:
        """Most (epsilon, delta) that a station may debit in the whole job."""
        return max(self.epsilon + self.shared_epsilon, self.most[0]), max(self.delta, self.most[1])

    def least_epsilon(self, held: int) -> float:
        """Return the least epsilon that a station debits that holds this many of `columns`, one of them the label.

        For single records that may be nothing: they are scored by tables that may have been paid for.
        """
        tables = 0 if self.single_records else max(held - 1, 0)
        return self.epsilon + self.shared_epsilon * tables / max(len(self.columns) - 1, 1)


class OpenRequest(Message):
    """Ask for a station's keys of the job, and announce what the task will ask.

    Attributes
    ----------
    members : int
        How many organizations are asked.
    preflight : Preflight or None
    dictionary : dict or None
        Of the study, as stations apply it.
    stations : dict of int to str
        The organizations with data, by name, when a preflight asks for the second time.
    """

    members: int = 0
    preflight: Preflight | None = None
    dictionary: dict[str, Any] | None = None
    stations: dict[int, str] = field(default_factory=dict)


class OpenReply(Message):
    """A station's keys of the job, whether it holds the task's database, which of the announced columns, and its limits, which `disclosure_settings` tells.

    `alike` are those of the other columns of which it has one that differs only by blanks, capitals or accents. `believed` has the beginnings of the lasting
    keys' fingerprints by which it knows the others of the round, empty for those of whom it would believe none.
    """

    card: Public[Card]
    has_data: Public[bool]
    columns: Public[list[str]]
    alike: Public[list[str]]
    policy: Public[dict[str, Any]]
    believed: Public[dict[int, str]]


class Checked(Exception):
    """Ends a job that is a preflight alone; `table`: organization's name -> why it refuses, or None."""

    def __init__(self, table: dict[str, str | None]) -> None:
        super().__init__("the preflight is over")
        self.table = table


@dataclass(frozen=True, slots=True)
class Task:
    """What the researcher asked for.

    Attributes
    ----------
    algorithm : str
        Package of the image.
    function : str
        Central function.
    digest : str
        Of `arguments`; the manifest has it.
    models : tuple of ModelClaim
        Models among the arguments.
    arguments : mapping
        As they were given, plain JSON.
    """

    algorithm: str
    function: str
    digest: str
    models: tuple[ModelClaim, ...] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Parties:
    """Who takes part: `stations` hold the task's data, `helpers` do not, and `holders` have a column that the task announced. Organization ids, ascending.

    `alike` are those that have another column which differs from the announced one only by blanks, capitals or accents.
    """

    stations: tuple[int, ...]
    helpers: tuple[int, ...]
    holders: Mapping[str, list[int]] = field(default_factory=dict)
    alike: Mapping[str, list[int]] = field(default_factory=dict)

    @property
    def members(self) -> tuple[int, ...]:
        """Everyone who has a key in the channel."""
        return tuple(sorted(self.stations + self.helpers))

    def role(self, member: int) -> str:
        """Return ``station`` or ``helper``."""
        return "station" if member in self.stations else "helper"
