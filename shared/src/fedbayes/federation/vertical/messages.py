"""What travels in the rounds on vertically split data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..codec import Message
from ..gate import Exact, Public, Sealed, Share

KINDS = ("states", "condition", "values", "presence")
OPERATORS = ("==", "!=", "<", "<=", ">", ">=", "in", "between", "missing")


@dataclass(frozen=True, slots=True)
class Condition(Message):
    """One comparison on one column; a missing value satisfies `missing` only."""

    column: str
    op: str
    value: Any = None

    def __post_init__(self) -> None:
        """Check the operator."""
        if self.op not in OPERATORS:
            raise ValueError(f"op must be one of: {', '.join(OPERATORS)}")


@dataclass(frozen=True, slots=True)
class Wanted(Message):
    """Something to open: every station takes the part that concerns its own columns.

    `states`: the joint indicator of the columns; `condition`: 1 where all conditions hold; `values`: the product of the
    columns in fixed point; `presence`: 1 where the station has the record. What is `optional` is left out at a station that lacks one of the
    columns, or where all that is optional there would be large.
    """

    kind: str
    columns: list[str]
    conditions: list[Condition] = field(default_factory=list)
    optional: bool = False

    def __post_init__(self) -> None:
        """Check the kind."""
        if self.kind not in KINDS:
            raise ValueError("what is wanted is malformed")


@dataclass(frozen=True, slots=True)
class FactorInfo(Message):
    """A shared matrix: see `mpc.shared_products.Factor`; and the stage in which it was opened, by whom."""

    name: str
    columns: list[str]
    holders: list[int]
    width: int
    complete: bool
    bits: int
    stage: int
    contributors: list[int]
    derived: bool = False

    def __post_init__(self) -> None:
        """Check sizes."""
        if self.width < 0 or self.bits not in (16, 32, 64) or not self.holders or not self.contributors:
            raise ValueError("a factor is malformed")


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
    keys: dict[int, bytes]

    @classmethod
    def of(cls, sender: int, stage: int, opened: Opened) -> Parcel:
        """Return what a station sent, as it travels on."""
        keys = {receiver: letter.content for receiver, letter in opened.keys.items()}
        return cls(sender, stage, list(opened.names.value), opened.content.value, keys)


@dataclass(frozen=True, slots=True)
class Setup(Message):
    """Who plays which part in this job, and how columns become states. Helper 0: none, replicated shares instead.

    An empty `id_column`: all files hold the same records in the same order. `private`: only noisy answers are asked, so states are public and nothing
    is refused because of data.
    `guarded`: exact tables may be asked, so conditions and cut points must leave enough records on either side.
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

    def __post_init__(self) -> None:
        """Check the roles."""
        least = 2 if self.helper else 3
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


@dataclass(frozen=True, slots=True)
class SubmitReply(Message):
    """Sealed hashes, openings, and what central learns of the station's columns.

    `described`: their states, unless these are public; `scales`: of each factor of numbers the power of two, the fraction bits, and 1 if products of
    it are counts.
    """

    hashes: Sealed
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

    Without a helper: blind the list in `hashes` for the hop-th time, or match the `finished` lists. The stations of a pair in `distinct` hold the same column,
    so they must not have a record in common.
    """

    setup: Setup
    hashes: dict[int, bytes]
    factors: list[FactorInfo]
    deal: list[list[str]]
    hop: int = 0
    finished: list[Parcel] = field(default_factory=list)
    distinct: list[list[int]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class MatchReply(Message):
    """Number of common records, which everyone learns; every station's order, by station, and its sealed corrections.

    Without a helper: a list on its way to the next station in `corrections`, or a finished one, by its origin, in `orders`.
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
    corrections: bytes
    dealt: list[list[str]]
    parcels: list[Parcel]


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


@dataclass(frozen=True, slots=True)
class ExtendReply(Message):
    """Openings of this stage."""

    factors: Public[list[FactorInfo]]
    described: Exact[dict[str, Any]] | None
    parcel: Opened | None


@dataclass(frozen=True, slots=True)
class TablesRequest(Message):
    """Answer tables over factors, in shares; with an epsilon, with this station's share of the noise."""

    delivery: Delivery
    tables: list[list[str]]
    bits: int
    epsilon: float | None
    honest_fraction: float

    def __post_init__(self) -> None:
        """Check the questions."""
        if not self.tables or any(not 1 <= len(table) <= 8 for table in self.tables):
            raise ValueError("a batch holds one or more tables over one to eight factors")
        if self.epsilon is not None and not self.epsilon > 0.0:
            raise ValueError("epsilon must be positive")


@dataclass(frozen=True, slots=True)
class TablesReply(Message):
    """Flat shares of all tables, uniform on their own."""

    shares: Share[np.ndarray]
