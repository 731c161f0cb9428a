"""What one organization does in the published protocol; everything else is the library's."""

from __future__ import annotations

import numpy as np

from fedbayes.federation import Station, partial
from fedbayes.federation.errors import MessageError
from fedbayes.federation.guards.once import OPENED, asked_once
from fedbayes.federation.messages.arrays import from_bytes
from fedbayes.federation.questions.factor_info import Wanted
from fedbayes.federation.replies import SealedReply
from fedbayes.federation.vertical.messages import Delivery
from fedbayes.federation.vertical.opening import Encoder
from fedbayes.federation.vertical.workspace import Workspace
from fedbayes.mpc.prg import expand

from .chain import Protocol, Vector, protocols, term
from .messages import ChainOpenRequest, ChainSumReply, ChainSumRequest

PURPOSE = "published protocol"
OWNERS = "owners of the published protocol"


def added_once(station: Station, owners: list[int]) -> None:
    """Refuse a second sum of a job, or one of other owners than opened: a party that sends other openings then reads a record by the difference."""
    asked_once(station, OWNERS, owners)
    asked_once(station, "sum", station.round_name, "terms are added up once in a job; start another job")


class Chain:
    """One organization's vectors, masks and scalars in every run it takes part in."""

    def __init__(self, station: Station, delivery: Delivery, owners: list[int]) -> None:
        self.station = station
        self.own = station.organization
        self.rows = delivery.rows
        self.runs = protocols(owners, delivery.setup.helper)

    def mask(self, run: Protocol, place: int) -> Vector:
        """Return R of one place; its owner and the run's server can."""
        return self._draw(run, place, "R", self.rows)

    def scalar(self, run: Protocol, place: int) -> int:
        """Return r of any place but the last."""
        return int(self._draw(run, place, "r", 1)[0])

    def _draw(self, run: Protocol, place: int, name: str, size: int) -> Vector:
        owner = run.owners[place]
        key = self.station.channel.key(owner if self.own == run.server else run.server, PURPOSE)
        return expand(key, f"{name}|{place}|{run.path}", size, np.uint32).astype(np.uint32)

    def vector(self, run: Protocol, place: int) -> Vector:
        """Return what this organization brings to a run: its data, or the product of masks that it made for the parent."""
        if run.path == "":
            data = np.asarray(self.station.kept("chain")["data"], dtype=np.uint32)
            if len(data) != self.rows:
                raise MessageError("the request says another number of records than were matched; the job stops")
            return data
        parent, source = self.runs[run.parent], run.sources[place]
        if source >= 0:
            return self.vector(parent, source)
        product = np.ones(self.rows, dtype=np.uint32)
        for masked in run.masked:
            product *= self.mask(parent, masked)
        return product

    def last_scalar(self, run: Protocol) -> int:
        """Return the last place's r, which only the server can compute: the rest of phi(R_1 ... R_n)."""
        product = np.ones(self.rows, dtype=np.uint32)
        for place in range(len(run.owners)):
            product *= self.mask(run, place)
        others = sum(self.scalar(run, place) for place in range(len(run.owners) - 1))
        return (int(product.sum(dtype=np.uint32)) - others) % 2**32

    def letter(self, receiver: int) -> bytes:
        """Return openings and scalars for one receiver, in the order of the runs."""
        pieces: list[Vector] = []
        for run in self.runs.values():
            if self.own in run.owners and receiver in run.owners:
                place = run.owners.index(self.own)
                pieces.append(self.vector(run, place) + self.mask(run, place))
            if run.server == self.own and run.owners[-1] == receiver:
                pieces.append(np.array([self.last_scalar(run)], dtype=np.uint32))
        return np.concatenate(pieces).astype("<u4").tobytes() if pieces else b""

    def total(self, letters: dict[int, bytes]) -> int:
        """Return the sum of this organization's terms over all runs, each times its coefficient."""
        queues = {sender: from_bytes(letter, "<u4") for sender, letter in letters.items()}
        places = dict.fromkeys(queues, 0)

        def take(sender: int, size: int) -> Vector:
            start = places.get(sender, 0)
            if start + size > len(queues.get(sender, ())):
                raise MessageError("what another organization opened is missing; start the job again")
            places[sender] = start + size
            return queues[sender][start : start + size]

        total = 0
        for run in self.runs.values():
            if self.own not in run.owners:
                continue
            place, last = run.owners.index(self.own), len(run.owners) - 1
            openings = [None if owner == self.own else take(owner, self.rows) for owner in run.owners]
            scalar = int(take(run.server, 1)[0]) if place == last else self.scalar(run, place)
            vectors = {"own": self.vector(run, place), "mask": self.mask(run, place)}
            total += run.coefficient * term(place, vectors, openings, scalar)
        return total % 2**32


@partial
def partial_chain_open(station: Station, request: ChainOpenRequest) -> SealedReply:
    """Open this organization's vectors of all runs for the other owners.

    **Reveals** to the owners of a run uniform openings, the helper among them as the publication has it: here it does see masked data.
    **Assumes** that no server of a run colludes with one of its owners.
    """
    setup = request.delivery.setup
    workspace = Workspace(station, setup)
    asked_once(station, PURPOSE, station.round_name, OPENED)
    asked_once(station, OWNERS, request.owners)
    if not setup.guarded:
        raise MessageError("the columns were not opened for exact counts; the job stops")
    workspace.receive(request.delivery)
    if not workspace.is_helper:
        columns = [condition.column for condition in request.conditions]
        wanted = [Wanted("condition", columns, request.conditions)]
        encoder = Encoder(station, setup, wanted)
        values = encoder.part(wanted, 0, 32).values
        if not values:
            raise MessageError("this station has none of the columns that the request says; the job stops")
        station.keep("chain", data=values[0][:, 0][workspace.common_order(encoder.rows)])
    chain = Chain(station, request.delivery, request.owners)
    members = [*request.owners, setup.helper]
    sealed = {peer: station.seal(peer, chain.letter(peer), PURPOSE) for peer in members if peer != station.organization}
    return SealedReply(sealed)


@partial
def partial_chain_sum(station: Station, request: ChainSumRequest) -> ChainSumReply:
    """Return the sum of this organization's terms under masks that cancel over all of them.

    **Reveals** to central the sum over everyone, which is the count; the scalars r alone would not hide a term, as n - 1 may be even.
    **Assumes** that two participants do not collude with central.
    """
    added_once(station, request.owners)
    station.require_asked(request.owners)
    chain = Chain(station, request.delivery, request.owners)
    letters = {sender: station.unseal(sender, sealed, PURPOSE) for sender, sealed in request.sealed.items()}
    total = np.array([chain.total(letters)], dtype=np.uint64)
    return ChainSumReply(
        station.mask(
            station.exact(total, "count", summed=request.delivery.setup.union),
            "",
            [request.delivery.setup, request.owners],
        )
    )
