"""The remote function of vertically split data that matches records: the helper's, or without one two stations'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from ...mpc import alignment
from ...typing import Integers
from ..decorators import partial
from ..errors import ArgumentError, MessageError
from ..gate import Sealed
from ..guards.once import asked_once
from ..station import Station
from .announced import read_announcement
from .ciphers import HASH, PLACE
from .messages import Delivery, MatchReply, MatchRequest, Opened
from .replication import HASHES, Replica, check_matched, workspace_of
from .sides import dealt_corrections, helper_side
from .told import check_told
from .workspace import DTYPES, Workspace

MATCHED_ONCE = "records are matched once in a job; start another job"
"""What is dealt beside them hides products of masks behind pads that follow from names: dealt for other masks too, it would show their difference."""


@partial
def partial_match(station: Station, request: MatchRequest) -> MatchReply:
    """Match the stations' hashes, tell everyone the common order, and deal the corrections asked for. The helper only; without one see `Replica`.

    **Reveals** to the helper the numbers of rows and of common rows, and of united records which columns asked for a station holds; to
    central the number of common rows; to each station the places of the common rows in everybody's secret order (intersection) or of its
    own rows in the union; of these, with an epsilon, those are left out that an earlier station with the same column has too, so that a
    record is counted once.
    **Assumes** that the helper colludes with nobody: with a station it could test guessed identifiers.
    """
    workspace = workspace_of(station, request.setup)
    if isinstance(workspace, Replica):
        return workspace.match(request)
    if not workspace.is_helper:
        raise MessageError("only the helper matches hashes")
    asked_once(station, "match", station.round_name, MATCHED_ONCE)
    stations = request.setup.stations
    lists, sharing = _unsealed_lists(station, request)
    if request.setup.union:
        private = request.setup.private
        positions, rows = alignment.unite(stations, lists, workspace.derived("union"), sharing if private else [])
        # Under an epsilon nothing is refused because of identifiers: central could name any pair, and learn whether it shares a record.
        _check_distinct(sharing if private else request.distinct, positions)
    else:
        positions = alignment.intersect(stations, lists)
        rows = len(positions[stations[0]])
    sizes = {owner: len(hashes) for (owner, _), hashes in lists.items()}
    check_matched(request.setup, rows, sizes.values())
    station.keep("sizes", **{str(owner): np.array(size) for owner, size in sizes.items()})
    for party in stations:
        station.keep(f"order-{party}", places=positions[party])
    return MatchReply(
        rows=station.public(rows),
        orders={party: _order(workspace, party, positions[party]) for party in stations},
        corrections=_deal(workspace, request, rows),
    )


def _check_distinct(pairs: Sequence[Sequence[int]], positions: Mapping[int, Integers]) -> None:
    """Raise `ArgumentError` where two stations that hold the same column have a record in common: it would count twice."""
    for first, second in pairs:
        if len(np.setdiff1d(np.intersect1d(positions[first], positions[second]), [alignment.LEFT_OUT])):
            raise ArgumentError("two stations hold the same column of the same records; leave it out at one of them")


def _unsealed_lists(
    station: Station, request: MatchRequest
) -> tuple[dict[tuple[int, int], alignment.Hashes], list[tuple[int, int]]]:
    """Return the lists of every ordered pair, and the pairs of stations that say they hold the same column."""
    stations = request.setup.stations
    if sorted(request.hashes) != sorted(stations):
        raise MessageError("the hashes of a station are missing; start the job again")
    lists: dict[tuple[int, int], alignment.Hashes] = {}
    columns: dict[int, set[str]] = {}
    for party in stations:
        plain = station.unseal(party, request.hashes[party], HASHES)
        if request.setup.union:
            columns[party], plain = read_announcement(request.setup, plain)
        others = [peer for peer in stations if peer != party]
        peers = others if request.setup.union or party == stations[0] else [stations[0]]
        if len(plain) % (HASH.itemsize * len(peers)):
            raise MessageError("a station has hashed its identifiers for others than are matched; the job stops")
        joined = np.frombuffer(plain, dtype=HASH).astype(np.uint64, copy=False)
        for peer, hashes in zip(peers, np.split(joined, len(peers)), strict=True):
            lists[party, peer] = hashes
    return lists, [pair for pair in combinations(columns, 2) if columns[pair[0]] & columns[pair[1]]]


def _order(workspace: Workspace, party: int, positions: Integers) -> Opened:
    """Return a station's order for all stations; its places in a union for itself alone."""
    receivers = [party] if workspace.setup.union else workspace.setup.stations
    return workspace.parcel("order", party, ["order"], positions.astype(PLACE).tobytes(), receivers)


def _deal(workspace: Workspace, request: MatchRequest, rows: int) -> dict[int, Sealed]:
    if not request.deal:
        return {}
    check_told(workspace.station, request.factors)
    delivery = Delivery(request.setup, rows, request.factors, [], None, request.deal, [])
    bits = request.factors[0].bits
    side = helper_side(workspace, delivery, [name for table in request.deal for name in table], bits)
    dealt = dealt_corrections(request.deal, request.setup.stations).values()
    sealed = {}
    for party in request.setup.stations:
        pieces = [side.correction(entry).reshape(-1) for entry in dealt if entry.receiver == party]
        if pieces:
            flat = np.concatenate(pieces).astype(np.dtype(DTYPES[bits]).newbyteorder("<")).tobytes()
            sealed[party] = workspace.station.seal(party, flat, "corrections")
    return sealed
