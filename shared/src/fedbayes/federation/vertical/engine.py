"""Central's side of the rounds on vertically split data: the next request, and what came back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...dp.shares import HONEST_FRACTION
from ...mpc import factors
from ...mpc import shared_products as products
from ...mpc.alignment import matched_by, matcher_of
from ...mpc.ring import lift
from ...mpc.subset_shares import Table
from ...typing import Integers
from ..errors import ArgumentError, StationError, ThresholdError
from ..guards.installments import Installment
from ..jobs.transport import summed
from ..messages.codec import Message
from ..questions.asked_tables import AskedTables
from ..questions.contrasts import Contrasts
from ..questions.factor_info import MOST_CELLS, FactorInfo, Wanted, factor_name
from ..rounds import Federation
from .accounting import NUMBERS, check_possible
from .agreement import without_check
from .as_asked import check_asked, check_parcel, described_twice, hashes_for, rows_of
from .deliveries import Deliveries, addressed
from .messages import (
    Delivery,
    ExtendReply,
    ExtendRequest,
    MatchReply,
    MatchRequest,
    Opened,
    Parcel,
    Product,
    Setup,
    SubmitReply,
    SubmitRequest,
    TablesReply,
    TablesRequest,
)
from .workspace import DTYPES, factor

SMALL_RING_ROWS = 1 << 15  # counts of fewer rows fit into 16 bits
LARGE_RING_ROWS = 1 << 31  # counts of as many rows would wrap in 32 bits
ROUND_BYTES = 500_000_000
"""Openings of more than this are split over several rounds."""
MOST_BYTES = 2_000_000_000  # that one table or one level of products may take at a station


class Engine:
    """Openings, deliveries and questions of one job.

    Parameters
    ----------
    federation : Federation
        The job.
    setup : Setup
        Roles and column rules.

    Attributes
    ----------
    rows : int
        Common records, after `match`.
    factors : dict of str to FactorInfo
        What has been opened.
    replies : dict of int to SubmitReply
        What every station said of its columns.
    dealt : list of list of str
        Tables that corrections were dealt for.
    seed : int
        What stations gave of it with the last tables (`submit`: `seeded`); 0 where it was not asked for.
    """

    def __init__(self, federation: Federation, setup: Setup) -> None:
        self.federation = federation
        self.setup = setup
        self.rows = 0
        self.factors: dict[str, FactorInfo] = {}
        self.replies: dict[int, SubmitReply] = {}
        self.dealt: list[list[str]] = []
        self._deliveries = Deliveries(self.factors)
        self._stage, self._seeded, self.seed = 0, False, 0

    @property
    def minimum_count(self) -> int:
        """Smallest count that every station's administrator allows an answer and its complement to be."""
        return max(reply.minimum_count.value for reply in self.replies.values())

    def submit(self, wanted: Sequence[Wanted], bits: int = 32, seeded: bool = False) -> dict[int, SubmitReply]:
        """Have identifiers hashed and columns opened. One round at the stations."""
        self._seeded, request = seeded, SubmitRequest(self.setup, list(wanted), bits, seeded)
        self.replies = self.federation.round("partial_submit", request, self.setup.stations, SubmitReply)
        for member, reply in self.replies.items():
            check_asked(reply.factors.value, member, 0, bits, () if self.setup.union else wanted, reply.columns.value)
            self._register(member, 0, reply.factors.value, reply.parcel)
        return self.replies

    def match(self, deal: Sequence[Table] = (), distinct: Sequence[Sequence[int]] = ()) -> int:
        """Have the hashes matched, and corrections dealt for the tables named. One round at the helper; without one two rounds at the stations.

        Parameters
        ----------
        deal : sequence of tables
            Over three or more factors each.
        distinct : sequence of pairs of stations
            Of united records: they must not have a record in common.

        Raises
        ------
        ArgumentError
            When two stations of `distinct` do.
        ThresholdError
            When fewer records are common than a node demands.
        """
        self.dealt = [list(table) for table in deal]
        named = {name for table in deal for name in table}
        factors = [info for info in self.factors.values() if info.name in named]
        if self.setup.helper:
            hashes = {member: hashes_for(reply, self.setup.helper) for member, reply in self.replies.items()}
            request = MatchRequest(self.setup, hashes, factors, self.dealt, distinct=[list(pair) for pair in distinct])
            replies = self.federation.round("partial_match", request, [self.setup.helper], MatchReply)
            reply = replies[self.setup.helper]
            self.rows = rows_of(reply)
            self._deliveries.matched(reply.parcels(self.setup.helper), reply.corrections)
        else:
            self.rows = self._match_without_helper()
            self._deliveries.matched([], {})
        demands = [reply.minimum_rows.value for reply in self.replies.values()]
        if self.rows < max(self.federation.policy.minimum_rows, *demands):
            raise ThresholdError("fewer records are common to all stations than a node demands")
        if self.rows >= LARGE_RING_ROWS:
            raise ArgumentError("there are too many records for the ring of counts")
        return self.rows

    def _match_without_helper(self) -> int:
        """Have two stations match the pairs that they are not of, and all find the common rows: two rounds. Return their number."""
        stations = self.setup.stations
        requests: dict[int, Message] = {}
        for matcher in dict.fromkeys(matcher_of(stations, party) for party in stations[1:]):
            senders = [stations[0], *matched_by(stations, matcher)]
            sealed = {sender: hashes_for(self.replies[sender], matcher) for sender in senders}
            requests[matcher] = MatchRequest(self.setup, sealed, [], [])
        replies = self.federation.round("partial_match", requests, list(requests), MatchReply)
        parcels = [parcel for member, reply in replies.items() for parcel in reply.parcels(member)]
        asked = {
            member: MatchRequest(
                self.setup, {}, [], [], [addressed(parcel, member) for parcel in parcels if member in parcel.keys]
            )
            for member in stations
        }
        rows = {rows_of(one) for one in self.federation.round("partial_match", asked, stations, MatchReply).values()}
        if len(rows) != 1:
            raise StationError("the stations disagree about their common records; the job stops")
        return rows.pop()

    def _register(self, member: int, stage: int, infos: Sequence[FactorInfo], opened: Opened | None) -> None:
        for info in infos:
            earlier = self.factors.get(info.name)
            if earlier is None:
                self.factors[info.name] = info
                continue
            if earlier.width != info.width or earlier.stage != info.stage:
                raise described_twice(self.federation, self.setup, info, (*earlier.holders, *info.holders))
            everyone = sorted({*earlier.holders, *info.holders})
            self.factors[info.name] = FactorInfo(
                info.name, info.columns, everyone, info.width, info.complete, info.bits, info.stage, everyone
            )
        if opened is not None:
            check_parcel(opened, self.factors)
            self._deliveries.add(Parcel.of(member, stage, opened))

    def view(self, name: str) -> str:
        """Return a factor of all states of another one but the last, which no record has; nothing is opened. Its name."""
        info = self.factors[name]
        short = factor_name("view", [name])
        self.factors[short] = replace(info, name=short, width=info.states - 2, complete=True, view_of=name)
        return short

    def first_states(self, name: str, states: int) -> str:
        """Return a factor of the first states of another one, for tables only; nothing is opened. Its name."""
        info = self.factors[name]
        short = factor_name("first", [name, str(states)])
        part: dict[str, Any] = {"name": short, "width": states, "complete": False, "made_of": [], "sides": []}
        self.factors[short] = replace(info, view_of=info.view_of or name, **part)
        return short

    def delivery(self, member: int, asked: set[str]) -> Delivery:
        """Return what a member needs for a question about the factors asked, without what it got before."""
        return self._deliveries.to(member, asked, self.setup, self.rows, self.dealt)

    def extend(
        self, pairs: Mapping[str, tuple[str, str]], wanted: Sequence[Wanted] = (), bits: int = 0
    ) -> dict[int, dict[str, Any]]:
        """Open row-wise products (new name -> the two factors) and further columns. One round at everyone.

        Returns
        -------
        dict
            States that stations found in their data, by station and column.
        """
        self._stage += 1
        made = [self._product(name, left, right, bits) for name, (left, right) in pairs.items()]
        names = {name for product in made for name in (product.left, product.right)}
        ring = bits or self._bits(names)
        requests: dict[int, Message] = {}
        for member in self.setup.everyone:
            own = {n for p in made if member in p.factor.contributors for n in (p.left, p.right)}
            requests[member] = ExtendRequest(self.delivery(member, own), self._stage, ring, made, list(wanted))
        replies = self.federation.round("partial_extend", requests, self.setup.everyone, ExtendReply)
        for product in made:
            self.factors[product.factor.name] = product.factor
        for member, reply in replies.items():
            infos, is_helper = reply.factors.value, member == self.setup.helper
            held = [] if is_helper else self.replies[member].columns.value
            check_asked(infos, member, self._stage, ring, () if is_helper else wanted, held)
            self._register(member, self._stage, infos, reply.parcel)
        return {member: described(reply) for member, reply in replies.items()}

    def extend_by(self, function: str, requests: Callable[[int], Mapping[int, Message]]) -> None:
        """Have a method's own partial open further factors: it replies with `ExtendReply`. One round.

        Parameters
        ----------
        function : str
            The remote function.
        requests : callable
            Stage of the openings -> the request of each station that opens something; masks belong to the stage.
        """
        self._stage += 1
        asked = requests(self._stage)
        for member, reply in self.federation.round(function, asked, sorted(asked), ExtendReply).items():
            check_asked(reply.factors.value, member, self._stage)
            self._register(member, self._stage, reply.factors.value, reply.parcel)

    def _product(self, name: str, left: str, right: str, bits: int) -> Product:
        first, second = self.factors[left], self.factors[right]
        shape = factors.product_factor(name, factor(first), factor(second))
        contributors = sorted([*shape.holders, self.setup.helper]) if self.setup.helper else self.setup.computing
        ring = bits or self._bits({left, right})
        columns = [*first.columns, *second.columns]
        made_of, holders, width = [left, right] if shape.sides else [], list(shape.holders), shape.width
        info = FactorInfo(name, columns, holders, width, shape.complete, ring, self._stage, contributors, True)
        return Product(replace(info, made_of=made_of, sides=list(shape.sides or ())), left, right)

    def _bits(self, names: set[str]) -> int:
        """Return the ring of an answer: the smallest that holds it; corrections bind it to the one they were dealt in."""
        least = min(self.factors[name].bits for name in names)
        return 16 if least == 32 and self.rows < SMALL_RING_ROWS and not self.dealt else least

    def ask(
        self,
        tables: Sequence[Table],
        bits: int = 0,
        noise: Installment | None = None,
        honest_fraction: float = HONEST_FRACTION,
        last: bool = False,
        contrasts: Contrasts | None = None,
    ) -> list[Integers]:
        """Ask for tables over one or two factors, or over those that corrections were dealt for. One round at everyone.

        Returns
        -------
        list of int64 arrays
            One axis a factor; with `contrasts` one axis a column of the factors, as long as it has functions.
        """
        asked = AskedTables.of(tables)
        states = {name: self.factors[name].states for name in asked.names}
        sizes = asked.cells(states)
        if sizes.sum() > MOST_CELLS:
            raise ArgumentError(
                "too many states: the tables would have too many cells; use fewer columns or coarser bins"
            )
        ring = bits or self._bits(set(asked.names))
        requests: dict[int, Message] = {
            member: TablesRequest(
                self.delivery(member, set(asked.names)), asked, ring, noise, honest_fraction, contrasts, self._seeded
            )
            for member in self.setup.everyone
        }
        columns = asked.joined({name: self.factors[name].columns for name in asked.names}) if contrasts else []
        cells = contrasts.functions(columns) if contrasts else int(sizes.sum())
        replies = self.federation.round("partial_tables", requests, self.setup.everyone, TablesReply, last=last)
        self.seed = int(summed([r.seed for r in replies.values() if r.seed])[0]) if self._seeded else 0
        total = without_check([np.asarray(reply.shares.value) for reply in replies.values()], cells, DTYPES[ring])
        if contrasts:
            return contrasts.split(columns, total)
        if not noise and ring != NUMBERS:
            check_possible(lift(total), sizes, self.rows)
        shapes = {name: factor(self.factors[name]) for name in asked.names}
        return products.split_answers(total, tables, shapes)


def described(reply: SubmitReply | ExtendReply) -> dict[str, Any]:
    """Return the states that a station found in its data, by column."""
    return {} if reply.described is None else reply.described.value
