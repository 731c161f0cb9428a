"""What travels before any arithmetic: the question, what each station tells of its columns, and the plan that follows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import field
from typing import ClassVar

from fedbayes.bayes.formulae.term_reader import read_terms
from fedbayes.federation import Exact, Message
from fedbayes.federation.questions.factor_info import check_sizes
from fedbayes.federation.vertical.messages import Parcel, Setup

from .products import Product, Side


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
    robust : bool
        Whether squares of score residuals are wanted.
    cluster : str or None
        Column, of any station, by which these are summed first.
    private: bool
        Whether noise is added to all that is told: rows without an identifier, or with another row's, are left out and not refused.
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
    robust: bool = False
    cluster: str | None = None
    private: bool = False

    @property
    def flat(self) -> bool:
        """Whether tied events are rows of their own with Breslow's risk sets, as score residuals need them; with Efron's they are rows anyway."""
        return self.robust and self.ties == "breslow"

    @property
    def copies(self) -> int:
        """How many rows a record has: with times of entry a second one that leaves the risk sets before it (`stations.truncation`)."""
        return 2 if self.entry else 1

    @property
    def matching(self) -> Setup:
        """How records are matched by an identifier: the same at central and at stations, whose keys are bound to it."""
        return Setup(self.helper, self.stations, self.id_column or "", False, {}, "published", False, self.private)

    def __post_init__(self) -> None:
        if len(self.stations) < 2 or self.helper in self.stations:
            raise ValueError(
                "vertical Cox regression takes two or more data stations and a helper that is none of them"
            )
        if self.id_column is not None:
            _ = self.matching  # refuses what cannot be
        if self.formula:
            read_terms(self.formula)
        if len(set(self.features)) != len(self.features):
            raise ValueError("a feature is named twice")


class Ordered(Message):
    """A question about rows in the common order; `noisy` says of a class of requests whether noise is added to all that is told of these."""

    noisy: ClassVar[bool] = False

    question: Question
    rows: int
    order: list[Parcel]

    def __post_init__(self) -> None:
        check_sizes(self.rows, [])
        if self.question.private is not self.noisy:
            raise ValueError(
                "records are matched as for noisy answers where exact ones are asked for, or the other way round"
            )


class PrepareRequest(Ordered):
    """Put the rows in the common order, check and scale the columns."""


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

    def __post_init__(self) -> None:
        if self.events < 1 or not 0.0 <= self.weight < math.inf or not math.isfinite(self.log_likelihood):
            raise ValueError("the outcome's events are out of range")
        if not len(self.edges) == len(self.edge_strata) == len(self.edge_rows):
            raise ValueError("the points of the baseline do not fit together")
        if not all(0 <= code < len(self.strata_names) for code in self.edge_strata):
            raise ValueError("the points of the baseline do not fit the strata")

    @property
    def mass(self) -> float:
        """Sum of the case weights of the events; their number without weights."""
        return self.weight or float(self.events)


class Described(Message):
    """The station's design columns by feature, the power of two each is divided by, its rows, how far tails reach (`tails.reach`), and of text
    features the category that is left out. With missing="complete" the share of its records that have no gap, rounded up to eighths; else 1.
    Of a formula also which of its columns are here, the categories of factors, and its parts of products with another organization's columns. Where the
    column of clusters is, how many there are; else 0. Where records have two rows and score residuals are wanted without clusters, the outcome holder has
    one for each record.
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
    sides: list[Side] = field(default_factory=list)
    clusters: int = 0

    def __post_init__(self) -> None:
        if len(self.reach) != len(self.scales) or any(len(ends) != 2 for ends in self.reach):
            raise ValueError("the reach of the columns' tails does not fit the columns")
        if sum(map(len, self.columns.values())) != len(self.scales):
            raise ValueError("the scales of the columns do not fit the columns")
        lengths = [*self.scales, *(end for ends in self.reach for end in ends)]
        if not all(0.0 < length < math.inf for length in lengths) or not 0.0 <= self.present <= 1.0:
            raise ValueError("what is told of the columns is out of range")


class PrepareReply(Message):
    """What the station tells of its columns, None where it has none of those asked for."""

    described: Exact[Described] | None


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
        Rows of records, of which each has `copies`.
    ties : list of [int, int]
        With Efron's ties, or for score residuals: first row and size of every tie with at least `minimum_count` events.
    band : int
        Most events of any other tie; 0: none, or Breslow's ties.
    single : bool
        Whether there are no ties of events, or Efron's.
    complete : float
        With missing="complete" the expected share of complete records; else 0.
    weighted : bool
        Whether the outcome holder enters weights of rows.
    products : list of Product
        Products of two share holders' columns, whose own columns follow those of `widths`.
    flat : bool
        Whether tied events are rows of their own with Breslow's risk sets, as score residuals need them.
    clusters : list of int
        The share holder that knows which record is in which cluster, and how many clusters there are; empty without any.
    copies : int
        Rows of a record: two with times of entry.
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
    products: list[Product] = field(default_factory=list)
    flat: bool = False
    clusters: list[int] = field(default_factory=list)
    copies: int = 1

    @property
    def senders(self) -> dict[int, int]:
        """Stations with features but the outcome holder, and how many columns each has, in their order."""
        return {m: width for m, width in zip(self.holders[:-1], self.widths[:-1], strict=True) if width}

    @property
    def told(self) -> list[object]:
        """What of the plan is what the outcome holder told of its rows, and what the question says of these."""
        cases = [self.flat, self.weighted, self.complete > 0.0, self.copies]
        return [self.strata, self.ties, self.band, self.single, *cases]

    def split(self, numbers: Iterable[float]) -> dict[int, list[float]]:
        """Return numbers, one a column, by the share holder whose columns they are of."""
        left = iter(numbers)
        return {m: [float(next(left)) for _ in range(w)] for m, w in zip(self.holders, self.widths, strict=True)}

    def __post_init__(self) -> None:
        self._check_products()
        self._check_clusters()
        self._check_weights()
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
        if len(self.holders) != len(self.widths) or len(self.holders) < 2 or self.helper in self.holders:
            raise ValueError("the plan's roles do not fit together")
        if len(set(self.holders)) != len(self.holders):
            raise ValueError("the plan's roles do not fit together: a share holder is named twice")
        if (
            sum(self.strata) != self.rows
            or self.rows < 1
            or min(self.strata) < 1
            or sum(self.widths) + len(self.products) < 1
        ):
            raise ValueError("the plan's shapes do not fit together")

    def _check_weights(self) -> None:
        if self.weighted and self.complete:
            raise ValueError("case weights go with records without gaps")
        if self.copies not in (1, 2) or self.records % self.copies or (self.copies > 1 and not self.weighted):
            raise ValueError("the plan's records and their rows do not fit together")

    def _check_clusters(self) -> None:
        if not self.clusters:
            return
        if (
            self.complete
            or len(self.clusters) != 2
            or self.clusters[0] not in self.holders
            or not 2 <= self.clusters[1] <= self.records // self.copies
        ):
            raise ValueError("the plan's clusters do not fit together")

    def _check_products(self) -> None:
        others = any(max(one.numbers, one.chooser) >= len(self.holders) for one in self.products)
        if others or (self.products and self.complete):
            raise ValueError("the plan's products do not fit together")
