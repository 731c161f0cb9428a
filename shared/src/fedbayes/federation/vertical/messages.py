"""What travels in the rounds on vertically split data."""

from __future__ import annotations

import math
from dataclasses import field
from typing import Any

import numpy as np

from ...dp.neighbors import OF_RECORDS
from ...mpc.replicated import COMPUTING
from ..gate import Exact, Masked, Public, Sealed, Share
from ..guards.installments import Installment
from ..messages.codec import Message
from ..perimeter.opening import Relation
from ..questions.asked_tables import AskedTables
from ..questions.contrasts import Contrasts
from ..questions.factor_info import (
    MOST_CELLS,
    MOST_FACTOR_BYTES,
    MOST_PARTIES,
    NUMBERS,
    FactorInfo,
    Wanted,
    check_dealt,
    check_kinds,
    check_product,
    check_ring,
    check_sizes,
    check_true,
    check_wanted,
    names_its_columns,
)
from .accounting import REPLACE_ONE, questions
from .states import check_bins, check_domain


class Opened(Message):
    """What a station sends to others: one content, enciphered, and for each receiver a letter with what opens it."""

    names: Public[list[str]]
    content: Share[bytes]
    keys: dict[int, Sealed]


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


class Setup(Message):
    """Who plays which part in this job, and how columns become states. Helper 0: none, replicated shares instead.

    An empty `id_column`: all files hold the same records in the same order. `private`: only noisy answers are asked, so states are public and nothing
    is refused because of data.
    `guarded`: exact tables may be asked, so conditions and cut points must leave enough records on either side. `covered`: noise hides whom they single
    out (`dp.promise.covers`), so they need not; noisy tables with a larger epsilon are guarded like exact ones. `neighbors`: what noise is promised for
    (`dp.neighbors.OF_RECORDS`); keys hang on it as on the rest, so all stations were told the same. `unhidden`: small cells of tables are told, as in a
    network, so the task may not say of few records that their value is missing.
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
    neighbors: str = REPLACE_ONE
    unhidden: bool = False

    @property
    def relation(self) -> Relation:
        """Whom noise is for, as it is announced and charged."""
        return Relation(self.neighbors, "record")

    @property
    def everyone(self) -> list[int]:
        """The stations, and the helper if there is one, in order."""
        return sorted([*self.stations, *([self.helper] if self.helper else [])])

    @property
    def computing(self) -> list[int]:
        """The stations that compute on shares: all beside a helper, else the first three (`mpc.replicated`)."""
        return self.stations if self.helper else self.stations[:COMPUTING]

    def __post_init__(self) -> None:
        if self.covered and not self.private:
            raise ValueError("answers without noise are covered by none")
        if self.neighbors not in OF_RECORDS:
            raise ValueError("the relation of neighbours is none of matched records")
        check_bins(self.bins)
        check_domain(self.domain)
        least = 2 if self.helper else 3
        if len(self.stations) > MOST_PARTIES or len(set(self.stations)) != len(self.stations):
            raise ValueError("an organization is named twice, or there are too many")
        if len(self.stations) < least or self.helper in self.stations or (self.union and not self.helper):
            raise ValueError("private products take two data stations and a helper apart from them, or three stations")


class SubmitRequest(Message):
    """Hash the identifiers for the helper; open what is wanted for the other stations."""

    setup: Setup
    wanted: list[Wanted]
    bits: int
    seeded: bool = False

    def __post_init__(self) -> None:
        check_wanted(self.wanted, self.bits, self.setup.private, self.setup.union)  # noise is for counts


class SubmitReply(Message):
    """Sealed hashes, openings, and what central learns of the station's columns.

    `described`: their states, unless these are public; `scales`: of each factor of numbers the power of two, the fraction bits, and 1 if products of
    it are counts, 2 if moreover no value was rounded.
    """

    hashes: dict[int, Sealed]
    columns: Public[list[str]]
    described: Exact[dict[str, Any]] | None
    factors: Public[list[FactorInfo]]
    parcel: Opened | None
    scales: Exact[dict[str, list[int]]] | None
    minimum_rows: Public[int]
    minimum_count: Public[int]


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
        if any(len(pair) != 2 for pair in self.distinct) or len(self.distinct) > MOST_PARTIES**2:
            raise ValueError("pairs of stations are malformed")
        check_dealt(0, self.deal, self.factors)
        check_kinds(self.factors)


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
        check_kinds(self.factors, [parcel.names for parcel in self.parcels])
        if self.setup.private:
            check_true(self.factors)


class Product(Message):
    """A row-wise product to open: the new factor, and the two it is made of."""

    factor: FactorInfo
    left: str
    right: str


class ExtendRequest(Message):
    """Open further factors in the common order."""

    delivery: Delivery
    stage: int
    bits: int
    products: list[Product]
    wanted: list[Wanted]

    def __post_init__(self) -> None:
        """Check the ring, and that every product is as wide as its factors make it, and under masks of this stage."""
        setup, by_name = self.delivery.setup, {info.name: info for info in self.delivery.factors}
        # Numbers are opened in the first stage, and noted there (`multiplied`).
        check_wanted(self.wanted, self.bits, True, setup.union, self.stage)
        check_ring(self.bits, self.delivery.factors, [name for one in self.products for name in (one.left, one.right)])
        for product in self.products:
            if product.factor.stage != self.stage:
                raise ValueError("a product is malformed")
            if NUMBERS in product.left + product.right and NUMBERS not in product.factor.name:
                raise ValueError("a product of numbers is not named so")
            check_product(product.factor, by_name.get(product.left), by_name.get(product.right), setup.private)
        check_sizes(self.delivery.rows, [product.factor for product in self.products])


class ExtendReply(Message):
    """Openings of this stage."""

    factors: Public[list[FactorInfo]]
    described: Exact[dict[str, Any]] | None
    parcel: Opened | None


class TablesRequest(Message):
    """Answer tables over factors, or functions of them, in shares; where they are paid for, with this station's share of the noise.

    `seeded`: and this station's part of the seed of what is added to scores, which it kept when it opened its columns.
    """

    delivery: Delivery
    tables: AskedTables
    bits: int
    noise: Installment | None
    honest_fraction: float
    contrasts: Contrasts | None = None
    seeded: bool = False

    def __post_init__(self) -> None:
        check_kinds(self.delivery.factors, [self.tables.names])
        sizes, rows = self.tables.cells(self.states), max(self.delivery.rows, 1)
        if not sizes.all():
            raise ValueError("a factor of a table has no state")
        largest = float(sizes[self.tables.axes > 2].max(initial=0.0))
        if sizes.sum() > MOST_CELLS or largest * rows * 8 > MOST_FACTOR_BYTES:
            raise ValueError("the tables of a batch are too large")
        check_ring(self.bits, self.delivery.factors, self.tables.names)
        if not 0.0 < self.honest_fraction <= 1.0:
            raise ValueError("the honest fraction is malformed")
        if self.seeded and self.noise is not None:
            raise ValueError("noise needs no seed of the stations")
        if self.contrasts is not None:
            if self.noise is None:
                raise ValueError("functions of tables are answered with noise only")
            self.contrasts.check(self.columns)
            if [math.prod(self.contrasts.states(table)) for table in self.columns] != sizes.tolist():
                raise ValueError("the contrasts do not fit the states of the factors")
            factors = (info for info in self.delivery.factors if info.name in set(self.tables.names))
            if not all(map(names_its_columns, factors)):
                raise ValueError("contrasts are taken of the states of columns only")

    @property
    def states(self) -> dict[str, int]:
        """Number of states of every factor that is described."""
        return {info.name: info.states for info in self.delivery.factors}

    @property
    def queries(self) -> int:
        """Tables that count for `maximum_queries`."""
        states = self.states
        sizes = self.tables.cells({info.name: states[info.view_of or info.name] for info in self.delivery.factors})
        holders = self.tables.joined({info.name: info.holders for info in self.delivery.factors})
        return questions(holders, sizes.tolist())

    @property
    def columns(self) -> list[tuple[str, ...]]:
        """The columns of every table, in the order of its states."""
        return self.tables.joined({info.name: info.columns for info in self.delivery.factors})


class TablesReply(Message):
    """Flat shares of all tables, uniform on their own, and the part of the seed where asked."""

    shares: Share[np.ndarray]
    seed: Masked | None
