"""What travels in the rounds of vertical Cox regression."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fedbayes.federation import Broadcast, Exact, Masked, Message, Public, Sealed, Share
from fedbayes.federation.vertical.messages import Parcel

from .names import START, Name

STAGES = (
    "features",
    "gather",
    "complete",
    "observed",
    "weigh_start",
    "tied",
    "relative_risk",
    "combine",
    "weigh",
    "refine",
    "last",
    "information",
)
MOST_COEFFICIENT = 2**20
OFFSET_BITS = 40
"""Fractional bits of the linear predictor at the mean, in the sum over the stations."""
SLOPE_STAGES = ("line", "weigh_slope", "slope", "blend", "level")


@dataclass(frozen=True, slots=True)
class Question(Message):
    """The columns asked for, and who plays which part.

    Parameters
    ----------
    time, event : str
        Outcome columns.
    features : list of str
    strata : str or None
        Column of the outcome holder.
    stations : list of int
        Organizations with data.
    helper : int
        The dealer.
    id_column : str or None
        None: the stations' rows are in the same order.
    ties : str
        "breslow" or "efron".
    time_transform : str or None
        Function of time in the check of proportional hazards; None: no check.
    missing : str
        "refuse", or "complete": the records without gaps at any station.
    formula : str
        Whose terms the features are; empty: the features are columns.
    weights, entry : str or None
        Columns of case weights and of times of entry of the outcome holder.
    """

    time: str
    event: str
    features: list[str]
    strata: str | None
    stations: list[int]
    helper: int
    id_column: str | None
    ties: str = "breslow"
    time_transform: str | None = None
    missing: str = "refuse"
    formula: str = ""
    weights: str | None = None
    entry: str | None = None

    @property
    def copies(self) -> int:
        """How many rows a record has: with times of entry a second one that leaves the risk sets before it (`stations.truncation`)."""
        return 2 if self.entry else 1

    def __post_init__(self) -> None:
        """Check the roles."""
        if len(self.stations) < 2 or self.helper in self.stations:
            raise ValueError(
                "vertical Cox regression takes two or more data stations and a helper that is none of them"
            )


@dataclass(frozen=True, slots=True)
class PrepareRequest(Message):
    """Put the rows in the common order, check and scale the columns."""

    question: Question
    rows: int
    order: list[Parcel]


@dataclass(frozen=True, slots=True)
class Outcome(Message):
    """What the outcome holder tells of its columns: counts and times of groups of events, no single record."""

    events: int
    strata: list[int]
    strata_names: list[str]
    log_likelihood: float
    edges: list[float]
    edge_strata: list[int]
    edge_rows: list[int]
    ties: list[list[int]]
    band: int
    single: bool
    weight: float = 0.0

    @property
    def mass(self) -> float:
        """Sum of the case weights of the events; their number without weights."""
        return self.weight or float(self.events)


@dataclass(frozen=True, slots=True)
class Described(Message):
    """The station's design columns by feature, the power of two each is divided by, its rows, how far tails reach (`tails.reach`), and of text
    features the category that is left out. With missing="complete" the share of its records that have no gap, rounded up to eighths; else 1.
    Of a formula also which of its columns are here, and the categories of factors.
    """

    columns: dict[str, list[str]]
    scales: list[float]
    rows: int
    outcome: Outcome | None
    reach: list[list[float]]
    references: dict[str, str]
    present: float = 1.0
    columns_here: list[str] = field(default_factory=list)
    levels: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check shapes."""
        if len(self.reach) != len(self.scales) or any(len(ends) != 2 or min(ends) <= 0.0 for ends in self.reach):
            raise ValueError("the reach of the columns' tails does not fit the columns")


@dataclass(frozen=True, slots=True)
class PrepareReply(Message):
    """What the station tells of its columns, None where it has none of those asked for."""

    described: Exact[Described] | None


@dataclass(frozen=True, slots=True)
class Plan(Message):
    """Matched and shapes once everything is prepared.

    Parameters
    ----------
    holders : list of int
        Share holders; the outcome holder is the last one.
    widths : list of int
        Design columns of each.
    helper : int
    rows : int
    strata : list of int
        Rows of each stratum.
    records : int
    ties : list of [int, int]
        With Efron's ties: first row and size of every tie with at least `minimum_count` events.
    band : int
        Most events of any other tie; 0: none, or Breslow's ties.
    single : bool
        Whether there are no ties of events, or Efron's.
    complete : float
        With missing="complete" the expected share of complete records; else 0.
    weighted : bool
        Whether the outcome holder enters weights of rows.
    """

    holders: list[int]
    widths: list[int]
    helper: int
    rows: int
    strata: list[int]
    records: int
    ties: list[list[int]]
    band: int
    single: bool
    complete: float = 0.0
    weighted: bool = False

    def __post_init__(self) -> None:
        """Check shapes."""
        if self.weighted and (self.complete or self.ties or self.band):
            raise ValueError("case weights go with Breslow's ties and records without gaps")
        if not 0.0 <= self.complete <= 1.0:
            raise ValueError("the plan's share of complete records is none")
        if not 1 <= self.records <= self.rows <= 4 * self.records or not 0 <= self.band <= self.records:
            raise ValueError("the plan's rows do not fit together")
        behind = 0
        for tie in self.ties:
            if len(tie) != 2 or tie[0] < behind or tie[1] < 2:
                raise ValueError("the plan's ties do not fit together")
            behind = tie[0] + tie[1]
        if behind > self.rows:
            raise ValueError("the plan's ties do not fit together")
        if len(self.holders) != len(self.widths) or len(set(self.holders)) < 2 or self.helper in self.holders:
            raise ValueError("the plan's roles do not fit together")
        if sum(self.strata) != self.rows or self.rows < 1 or min(self.strata) < 1 or sum(self.widths) < 1:
            raise ValueError("the plan's shapes do not fit together")


@dataclass(frozen=True, slots=True)
class Stage(Message):
    """One stage of the arithmetic of a step.

    Attributes
    ----------
    kind : str
        One of `STAGES`; or of `SLOPE_STAGES` where slopes along the line from zero are wanted.
    step, version : int
        Newton step (0: at zero coefficients), and refinement of the reciprocal inside it.
    source : Name
        The reciprocals that a refinement starts from.
    coefficients : tuple of int
        Those of the refinement, a and b times 2^12.
    rows : list of int
        Rows where the baseline hazard is wanted ("information").
    """

    kind: str
    step: int = 0
    version: int = 0
    source: Name = START
    coefficients: tuple[int, int] = (0, 0)
    rows: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Check the stage."""
        if self.kind not in STAGES + SLOPE_STAGES or not 0 <= self.step < 100_000 or not 0 <= self.version < 1000:
            raise ValueError("a stage is malformed")
        if not all(0 <= value < MOST_COEFFICIENT for value in self.coefficients):
            raise ValueError("coefficients of a refinement are out of range")

    @property
    def label(self) -> str:
        """Prefix of what is dealt for this step and version."""
        return f"{self.step}.{self.version}"

    def named(self, kind: str) -> Name:
        """Return the name of something of this step and version."""
        return Name(kind, self.step, self.version)


@dataclass(frozen=True, slots=True)
class EnterRequest(Message):
    """Stations: mask and send columns (step 0) or exp(linear predictor). Dealer: deal these stages.

    `beside`: further points by their step, with this station's coefficients there. `chosen`: the coefficients are the caller's, not a
    solver's, so that the station checks that no record dominates the answer.
    """

    plan: Plan
    step: int
    coefficients: list[float]
    stages: list[Stage]
    inputs: bool
    beside: dict[int, list[float]] = field(default_factory=dict)
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class EnterReply(Message):
    """Sealed for the outcome holder: masked inputs, or from the helper what sorts them. `dealt`, from the helper: sealed for who takes corrections."""

    sealed: Sealed | None
    dealt: Sealed | None


@dataclass(frozen=True, slots=True)
class PermuteRequest(Message):
    """The stations' masked vectors and what the dealer tells for sorting them, sealed for the outcome holder."""

    plan: Plan
    step: int
    inputs: dict[int, Sealed]
    corrections: Sealed | None
    beside: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PermuteReply(Message):
    """Sorted under a new mask; sealed for the share holders."""

    published: Broadcast


@dataclass(frozen=True, slots=True)
class StageRequest(Message):
    """The openings of the previous stage, added and cut by central, and the stages to compute (the main one first, others beside it).

    `corrections`: the dealer's, for who takes them. `for_stations`: what the other share holders told this one in the previous stage, sealed (see `complete`).
    """

    plan: Plan
    stages: list[Stage]
    openings: dict[Name, np.ndarray[Any, Any]]
    permuted: Broadcast | None
    corrections: Sealed | None
    for_stations: dict[int, Sealed] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StageReply(Message):
    """The station's part of every opening, and shares of what central may know.

    `for_stations`: shares of what single stations may know, sealed for them; `counts`: from the outcome holder, complete records and events.
    """

    openings: dict[Name, Share[np.ndarray[Any, Any]]]
    revealed: dict[str, Share[np.ndarray[Any, Any]]]
    frac_bits: Public[dict[str, int]]
    for_stations: dict[int, Sealed] = field(default_factory=dict)
    counts: Exact[list[int]] | None = None


@dataclass(frozen=True, slots=True)
class FinishRequest(Message):
    """The final coefficients of this station's columns (in its own scale)."""

    plan: Plan
    coefficients: list[float]


@dataclass(frozen=True, slots=True)
class FinishReply(Message):
    """Masked sum of coefficient times mean over the station's columns, 40 fractional bits; nothing from the helper."""

    masked: Masked
