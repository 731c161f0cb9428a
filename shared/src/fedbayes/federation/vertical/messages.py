"""What travels in the rounds on vertically split data."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..codec import Message
from ..contrasts import Contrasts
from ..gate import Exact, Public, Sealed, Share
from ..installments import Installment
from .states import check_bins, check_domain

KINDS = ("states", "condition", "values", "presence")
RINGS = (16, 32, 64)
MOST_PARTIES = 1000
MOST_COLUMNS = 10_000
MOST_WIDTH = 1 << 24
MOST_ROWS = 1 << 31
MOST_CELLS = 20_000_000
MOST_FACTOR_BYTES = 2_000_000_000
"""Memory of one shared matrix at an organization; a request that would take more is refused before anything is made."""
MOST_DEALT = 8
OPERATORS = ("==", "!=", "<", "<=", ">", ">=", "in", "between", "missing")


@dataclass(frozen=True, slots=True)
class Condition(Message):
    """One comparison on one column; a missing value satisfies `missing` only."""

    column: str
    op: str
    value: Any = None

    def __post_init__(self) -> None:
        if self.op not in OPERATORS:
            raise ValueError(f"op must be one of: {', '.join(OPERATORS)}")


@dataclass(frozen=True, slots=True)
class Wanted(Message):
    """Something to open: every station takes the part that concerns its own columns.

    `states`: the joint indicator of the columns; `condition`: 1 where all conditions hold; `values`: the product of the
    columns in fixed point; `presence`: 1 where the station has the record. What is `optional` is left out at a station that lacks one of the
    columns, or where all that is optional there would be large. Of columns that are `full`, no common record misses the value: they come without that state.
    """

    kind: str
    columns: list[str]
    conditions: list[Condition] = field(default_factory=list)
    optional: bool = False
    full: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.kind not in KINDS or max(len(self.columns), len(self.conditions)) > MOST_COLUMNS:
            raise ValueError("what is wanted is malformed")
        if self.full and (self.kind != "states" or not set(self.full) <= set(self.columns)):
            raise ValueError("what is wanted is malformed")


@dataclass(frozen=True, slots=True)
class FactorInfo(Message):
    """A shared matrix: see `mpc.shared_products.Factor`; and the stage in which it was opened, by whom.

    A `view_of` another one is its first states: nothing is opened for it. The product `made_of` two complete ones, of so many states as `sides` says,
    travels without the last state of either.
    """

    name: str
    columns: list[str]
    holders: list[int]
    width: int
    complete: bool
    bits: int
    stage: int
    contributors: list[int]
    derived: bool = False
    view_of: str = ""
    made_of: list[str] = field(default_factory=list)
    sides: list[int] = field(default_factory=list)

    @property
    def states(self) -> int:
        """Number of columns in use."""
        return math.prod(self.sides) if self.sides else self.width + int(self.complete)

    def __post_init__(self) -> None:
        parties = (self.holders, self.contributors)
        if not 0 <= self.width <= MOST_WIDTH or self.bits not in RINGS or not all(parties) or self.stage < 0:
            raise ValueError("a factor is malformed")
        if any(len(listed) > MOST_PARTIES for listed in parties) or len(self.columns) > MOST_COLUMNS:
            raise ValueError("a factor is malformed")
        if self.sides or self.made_of:
            self._check_sides()

    def _check_sides(self) -> None:
        if len(self.sides) != 2 or len(self.made_of) != 2 or not all(1 <= side <= MOST_WIDTH for side in self.sides):
            raise ValueError("a product is malformed")
        if self.width != (self.sides[0] - 1) * (self.sides[1] - 1) or not self.complete or self.view_of:
            raise ValueError("a product is malformed")


STATES = '["states",'
"""How the name begins of a factor that shows in which states columns are; see `factor_name`."""


def factor_name(
    kind: str, columns: Sequence[str], owner: int | None = None, conditions: Sequence[Condition] = ()
) -> str:
    """Return a factor's name: masks follow from it and its stage, so it says all that its values depend on."""
    tests = [[condition.column, condition.op, condition.value] for condition in conditions]
    return json.dumps([kind, list(columns), owner, tests], separators=(",", ":"), default=str)


def names_its_columns(info: FactorInfo) -> bool:
    """Tell whether a factor's name is that of the states of its columns. Owners name what they open, `check_named` knows products."""
    return info.name == factor_name("states", info.columns)


def check_named(made: FactorInfo, parts: Sequence[FactorInfo]) -> None:
    """Raise `ValueError` for a product under the name of the states of columns that it is not made of."""
    if not made.name.startswith(STATES) or len(parts) < 2:
        return
    columns = [column for info in parts for column in info.columns]
    if made.columns != columns or not all(names_its_columns(info) for info in (made, *parts)):
        raise ValueError("a product does not have the columns of its factors")


def check_true(infos: Sequence[FactorInfo]) -> None:
    """Raise `ValueError` where factors of noisy answers may not be the states of the columns that they are named after: views, and products of others.

    What one record changes follows from the names.
    """
    known = {info.name: info for info in infos}
    for info in infos:
        if info.view_of:
            raise ValueError("noisy answers are over all states of their columns")
        check_named(info, [known[name] for name in info.made_of if name in known])


@dataclass(frozen=True, slots=True)
class Opened(Message):
    """What a station sends to others: one content, enciphered, and for each receiver a letter with what opens it."""

    names: Public[list[str]]
    content: Share[bytes]
    keys: dict[int, Sealed]


@dataclass(frozen=True, slots=True)
class Parcel(Message):
    """The same on its way to the receivers, with its sender; `stage` of an order or a list of hashes is the station that it is of."""

    sender: int
    stage: int
    names: list[str]
    content: bytes
    keys: dict[int, Sealed]

    @classmethod
    def of(cls, sender: int, stage: int, opened: Opened) -> Parcel:
        """Return what a station sent, as it travels on."""
        return cls(sender, stage, list(opened.names.value), opened.content.value, opened.keys)


@dataclass(frozen=True, slots=True)
class Setup(Message):
    """Who plays which part in this job, and how columns become states. Helper 0: none, replicated shares instead.

    An empty `id_column`: all files hold the same records in the same order. `private`: only noisy answers are asked, so states are public and nothing
    is refused because of data.
    `guarded`: exact tables may be asked, so conditions and cut points must leave enough records on either side. `covered`: noise hides whom they single
    out (`dp.promise.covers`), so they need not; noisy tables with a larger epsilon are guarded like exact ones.
    """

    helper: int
    stations: list[int]
    id_column: str
    union: bool
    domain: dict[str, Any]
    bins: Any
    missing_state: bool
    private: bool = False
    guarded: bool = False
    covered: bool = False

    @property
    def everyone(self) -> list[int]:
        """The stations, and the helper if there is one, in order."""
        return sorted([*self.stations, *([self.helper] if self.helper else [])])

    def __post_init__(self) -> None:
        if self.covered and not self.private:
            raise ValueError("answers without noise are covered by none")
        check_bins(self.bins)
        check_domain(self.domain)
        least = 2 if self.helper else 3
        if len(self.stations) > MOST_PARTIES or len(set(self.stations)) != len(self.stations):
            raise ValueError("an organization is named twice, or there are too many")
        if len(self.stations) < least or self.helper in self.stations:
            raise ValueError(
                "private products take two data stations and a helper that is none of them, or three stations"
            )


@dataclass(frozen=True, slots=True)
class SubmitRequest(Message):
    """Hash the identifiers for the helper; open what is wanted for the other stations."""

    setup: Setup
    wanted: list[Wanted]
    bits: int

    def __post_init__(self) -> None:
        """Check the ring and how much is wanted."""
        check_wanted(self.wanted, self.bits)


@dataclass(frozen=True, slots=True)
class SubmitReply(Message):
    """Sealed hashes, openings, and what central learns of the station's columns.

    `described`: their states, unless these are public; `scales`: of each factor of numbers the power of two, the fraction bits, and 1 if products of
    it are counts.
    """

    hashes: dict[int, Sealed]
    columns: Public[list[str]]
    described: Exact[dict[str, Any]] | None
    factors: Public[list[FactorInfo]]
    parcel: Opened | None
    scales: Exact[dict[str, list[int]]] | None
    minimum_rows: Public[int]
    minimum_count: Public[int]


@dataclass(frozen=True, slots=True)
class MatchRequest(Message):
    """Match hashes (sealed by the stations) and deal corrections for the tables named.

    Without a helper: match `hashes` of pairs that the station is not of, or find the common rows of what was `finished`. The stations of a pair in
    `distinct` hold the same column, so they must not have a record in common.
    """

    setup: Setup
    hashes: dict[int, Sealed]
    factors: list[FactorInfo]
    deal: list[list[str]]
    finished: list[Parcel] = field(default_factory=list)
    distinct: list[list[int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Check the pairs and the tables that are dealt for."""
        if any(len(pair) != 2 for pair in self.distinct) or len(self.distinct) > MOST_PARTIES**2:
            raise ValueError("pairs of stations are malformed")
        check_dealt(0, self.deal, self.factors)


@dataclass(frozen=True, slots=True)
class MatchReply(Message):
    """Number of common records, which everyone learns; every station's order, by station, and its sealed corrections.

    Without a helper `orders` has, of each station that was matched with the first one, where it has that one's rows.
    """

    rows: Public[int]
    orders: dict[int, Opened]
    corrections: dict[int, Sealed]

    def parcels(self, sender: int) -> list[Parcel]:
        """Return the orders as they travel on."""
        return [Parcel.of(sender, party, opened) for party, opened in self.orders.items()]


@dataclass(frozen=True, slots=True)
class Delivery(Message):
    """What a station needs for a question and may not have yet."""

    setup: Setup
    rows: int
    factors: list[FactorInfo]
    orders: list[Parcel]
    corrections: Sealed | None
    dealt: list[list[str]]
    parcels: list[Parcel]

    def __post_init__(self) -> None:
        """Check the number of records, and what their factors take in memory."""
        check_sizes(self.rows, self.factors)
        check_dealt(self.rows, self.dealt, self.factors)
        check_kinds(self.factors)
        if self.setup.private:
            check_true(self.factors)


@dataclass(frozen=True, slots=True)
class Product(Message):
    """A row-wise product to open: the new factor, and the two it is made of."""

    factor: FactorInfo
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class ExtendRequest(Message):
    """Open further factors in the common order."""

    delivery: Delivery
    stage: int
    bits: int
    products: list[Product]
    wanted: list[Wanted]

    def __post_init__(self) -> None:
        """Check the ring, and that every product is as wide as its factors make it."""
        check_wanted(self.wanted, self.bits)
        known = {info.name: info for info in self.delivery.factors}
        for product in self.products:
            made, pair = product.factor, [known.get(product.left), known.get(product.right)]
            whole = math.prod(info.states for info in pair if info is not None)
            if None not in pair and made.states != whole:
                raise ValueError("a product does not have the states of its factors")
            if made.made_of and made.made_of != [product.left, product.right]:
                raise ValueError("a product is malformed")
            if self.delivery.setup.private:
                check_named(made, [info for info in pair if info is not None])
        check_sizes(self.delivery.rows, [product.factor for product in self.products])


@dataclass(frozen=True, slots=True)
class ExtendReply(Message):
    """Openings of this stage."""

    factors: Public[list[FactorInfo]]
    described: Exact[dict[str, Any]] | None
    parcel: Opened | None


@dataclass(frozen=True, slots=True)
class WeightedFactors(Message):
    """A score of every record: a sum over factors of (joint indicator) times (weights), int64 matrices (states, classes), one a factor."""

    names: list[str]
    weights: list[np.ndarray]

    def __post_init__(self) -> None:
        """Check that factors and weights belong together."""
        if not self.names or len(self.names) != len(self.weights):
            raise ValueError("every factor needs its weights")
        if any(weights.ndim != 2 or weights.dtype != np.int64 for weights in self.weights):
            raise ValueError("weights must be matrices of whole numbers")
        if len({weights.shape[1] for weights in self.weights}) != 1:
            raise ValueError("weights must have the same classes")


@dataclass(frozen=True, slots=True)
class TablesRequest(Message):
    """Answer tables over factors, or functions of them, in shares; where they are paid for, with this station's share of the noise."""

    delivery: Delivery
    tables: list[list[str]]
    bits: int
    noise: Installment | None
    honest_fraction: float
    contrasts: Contrasts | None = None

    def __post_init__(self) -> None:
        if not self.tables or any(not 1 <= len(table) <= 8 for table in self.tables):
            raise ValueError("a batch holds one or more tables over one to eight factors")
        known = {info.name: info.states for info in self.delivery.factors}
        sizes = [math.prod(known.get(name, 1) for name in table) for table in self.tables]
        largest = max((size for size, table in zip(sizes, self.tables, strict=True) if len(table) > 2), default=0)
        if sum(sizes) > MOST_CELLS or largest * max(self.delivery.rows, 1) * 8 > MOST_FACTOR_BYTES:
            raise ValueError("the tables of a batch are too large")
        if self.bits not in RINGS or not 0.0 < self.honest_fraction <= 1.0:
            raise ValueError("the ring or the honest fraction is malformed")
        if self.contrasts is not None:
            if self.noise is None:
                raise ValueError("functions of tables are answered with noise only")
            self.contrasts.check(self.columns)
            if [math.prod(self.contrasts.states(table)) for table in self.columns] != sizes:
                raise ValueError("the contrasts do not fit the states of the factors")
            asked = {name for table in self.tables for name in table}
            if not all(names_its_columns(info) for info in self.delivery.factors if info.name in asked):
                raise ValueError("contrasts are taken of the states of columns only")

    @property
    def columns(self) -> list[list[str]]:
        """The columns of every table, in the order of its states."""
        known = {info.name: info.columns for info in self.delivery.factors}
        return [[column for name in table for column in known.get(name, [])] for table in self.tables]


@dataclass(frozen=True, slots=True)
class TablesReply(Message):
    """Flat shares of all tables, uniform on their own."""

    shares: Share[np.ndarray]


def check_wanted(wanted: Sequence[Wanted], bits: int) -> None:
    """Raise `ValueError` for a ring that there is not, or for absurdly many columns to open."""
    if bits not in RINGS or len(wanted) > MOST_CELLS // 100:
        raise ValueError("what is wanted is malformed")


def check_sizes(rows: int, infos: Sequence[FactorInfo]) -> None:
    """Raise `ValueError` where shared matrices of so many rows would not fit in memory."""
    if not 0 <= rows < MOST_ROWS:
        raise ValueError("the number of records is absurd")
    if any(info.states * rows * (info.bits // 8) > MOST_FACTOR_BYTES for info in infos):
        raise ValueError("a factor is too large")


def check_kinds(infos: Sequence[FactorInfo]) -> None:
    """Raise `ValueError` where a factor is said to be the first states of one that is not described, is smaller, or is a view itself, or the product of
    factors that have other states.
    """
    known = {info.name: info for info in infos}
    for info in infos:
        base = known.get(info.view_of)
        if info.view_of and (base is None or base.view_of or not 1 <= info.states <= base.states):
            raise ValueError("a factor is malformed")
        pair = [known[name].states for name in info.made_of if name in known]
        if len(pair) == 2 and pair != info.sides:
            raise ValueError("a product does not have the states of its factors")


def check_dealt(rows: int, tables: Sequence[Sequence[str]], infos: Sequence[FactorInfo]) -> None:
    """Raise `ValueError` where tables cannot have been dealt for: too many factors or states, or a factor that is not described."""
    states = {info.name: info.states for info in infos}
    for table in tables:
        if not 2 < len(table) <= MOST_DEALT or len(tables) > MOST_DEALT or not set(table) <= set(states):
            raise ValueError("a table to deal for is malformed")
        if math.prod(states[name] for name in table) * max(rows, 1) * 8 > MOST_FACTOR_BYTES:
            raise ValueError("a table to deal for is too large")
