"""The remote functions of vertically split data: submit, match, extend, tables."""

from __future__ import annotations

import numpy as np

from ...mpc import alignment
from ..decorators import partial
from ..errors import DataProblem, MessageError
from ..station import Station
from .messages import (
    Delivery,
    ExtendReply,
    ExtendRequest,
    MatchReply,
    MatchRequest,
    Parcel,
    SubmitReply,
    SubmitRequest,
    TablesReply,
    TablesRequest,
)
from .opening import Encoder, OwnPart, open_part
from .workspace import DTYPES, Matrix, Workspace, dealt_to, factor

PAIR = "alignment"


@partial
def partial_submit(station: Station, request: SubmitRequest) -> SubmitReply:
    """Hash the identifiers for the helper; open the columns for the other stations, in a secret row order.

    **Reveals** to the helper the number of rows; to the other stations the number of rows and uniform openings; to central which of the
    columns asked for are here, their states where no domain was given, and this node's limits.
    **Assumes** that the helper colludes with no station.
    """
    workspace = Workspace(station, request.setup)
    encoder = Encoder(station, request.setup, request.wanted)
    rows = workspace.own_rows(encoder.rows)
    texts = encoder.identifiers()
    digests = alignment.digests([texts[row] for row in rows])
    hashes = [
        alignment.under_key(digests, workspace.key(peer, PAIR)) for peer in _peers(workspace, request.setup.union)
    ]
    joined = np.concatenate(hashes).astype("<u8").tobytes()
    part = encoder.part(request.wanted, 0, request.bits) if not request.setup.union else OwnPart([], [], {}, {})
    openings = open_part(workspace, part, rows, None)
    parcel = workspace.pack(0, [info.name for info in part.infos], openings, request.bits)
    return SubmitReply(
        hashes=station.channel.seal(request.setup.helper, joined, "hashes"),
        columns=encoder.columns,
        described=part.described,
        factors=part.infos,
        parcel=parcel,
        scales=part.scales,
        minimum_rows=station.policy.minimum_rows,
        minimum_count=station.policy.minimum_count,
    )


def _peers(workspace: Workspace, union: bool) -> list[int]:
    """Return with whom this station's rows are matched: everyone (union), or the first station and everyone (intersection)."""
    others = [peer for peer in workspace.setup.stations if peer != workspace.own]
    leader = workspace.setup.stations[0]
    return others if union or workspace.own == leader else [leader]


@partial
def partial_match(station: Station, request: MatchRequest) -> MatchReply:
    """Match the stations' hashes, tell everyone the common order, and deal the corrections asked for. The helper only.

    **Reveals** to the helper the numbers of rows and of common rows; to central the latter; to each station the places of the
    common rows in everybody's secret order (intersection) or of its own rows in the union.
    """
    workspace = Workspace(station, request.setup)
    if not workspace.is_helper:
        raise MessageError("only the helper matches hashes")
    stations = request.setup.stations
    lists = _unsealed_lists(station, request)
    if request.setup.union:
        places, rows = alignment.unite(stations, lists, workspace.derived("union"))
    else:
        places = alignment.intersect(stations, lists)
        rows = len(places[stations[0]])
    station.keep("sizes", **{str(owner): np.array(len(hashes)) for (owner, _), hashes in lists.items()})
    for party in stations:
        station.keep(f"order-{party}", places=places[party])
    if rows == 0:
        raise DataProblem("the stations have no record in common; check the identifier column")
    return MatchReply(
        rows=rows,
        orders=[_order(workspace, party, places[party]) for party in stations],
        corrections=_deal(workspace, request, rows),
    )


def _unsealed_lists(station: Station, request: MatchRequest) -> dict[tuple[int, int], alignment.Hashes]:
    stations = request.setup.stations
    if sorted(request.hashes) != sorted(stations):
        raise MessageError("the hashes of a station are missing; start the job again")
    lists: dict[tuple[int, int], alignment.Hashes] = {}
    for party in stations:
        plain = station.channel.unseal(party, request.hashes[party], "hashes")
        joined = np.frombuffer(plain, dtype="<u8").astype(np.uint64, copy=False)
        others = [peer for peer in stations if peer != party]
        peers = others if request.setup.union or party == stations[0] else [stations[0]]
        for peer, hashes in zip(peers, np.split(joined, len(peers)), strict=True):
            lists[party, peer] = hashes
    return lists


def _order(workspace: Workspace, party: int, places: alignment.Positions) -> Parcel:
    """Return a station's order for all stations; its places in a union for itself alone."""
    receivers = [party] if workspace.setup.union else workspace.setup.stations
    return workspace.parcel("order", party, ["order"], places.astype("<i4").tobytes(), receivers)


def _deal(workspace: Workspace, request: MatchRequest, rows: int) -> dict[int, bytes]:
    if not request.deal:
        return {}
    delivery = Delivery(request.setup, rows, request.factors, [], b"", request.deal, [])
    bits = request.factors[0].bits
    side = workspace.helper_side(delivery, [name for table in request.deal for name in table], bits)
    sealed = {}
    for party in request.setup.stations:
        pieces = [side.correction(entry).reshape(-1) for entry in dealt_to(request.deal, request.setup.stations, party)]
        if pieces:
            flat = np.concatenate(pieces).astype(np.dtype(DTYPES[bits]).newbyteorder("<")).tobytes()
            sealed[party] = workspace.station.channel.seal(party, flat, "corrections")
    return sealed


@partial
def partial_extend(station: Station, request: ExtendRequest) -> ExtendReply:
    """Open further factors in the common order: row-wise products of known ones, and columns of this station.

    **Reveals** uniform openings to the stations, nothing to central or the helper.
    """
    workspace = Workspace(station, request.delivery.setup)
    workspace.receive(request.delivery)
    part = OwnPart([], [], {}, {})
    openings: list[Matrix] = []
    made = [product for product in request.products if workspace.own in product.factor.contributors]
    names = [name for product in made for name in (product.left, product.right)]
    if workspace.is_helper:
        side = workspace.helper_side(request.delivery, names, request.bits)
        pieces = [side.product_part(factor(p.factor), p.left, p.right) for p in made]
    else:
        data = workspace.data_side(request.delivery, names, request.bits)
        pieces = [data.product_part(factor(p.factor), p.left, p.right) for p in made]
        if request.wanted:
            part, openings = _own_columns(workspace, request)
    infos = [*part.infos, *(product.factor for product in made)]
    parcel = workspace.pack(request.stage, [info.name for info in infos], [*openings, *pieces], request.bits)
    return ExtendReply(part.infos, part.described, parcel)


def _own_columns(workspace: Workspace, request: ExtendRequest) -> tuple[OwnPart, list[Matrix]]:
    """Encode and open columns of this station in the common order."""
    setup = request.delivery.setup
    encoder = Encoder(workspace.station, setup, request.wanted)
    part = encoder.part(request.wanted, request.stage, request.bits)
    rows = workspace.own_rows(encoder.rows)
    if setup.union:
        slots = np.empty(encoder.rows, dtype=np.int64)
        slots[rows] = workspace.order_of(workspace.own)
        return part, open_part(workspace, part, slots, request.delivery.rows)
    return part, open_part(workspace, part, rows[workspace.order_of(workspace.own)], None)


@partial
def partial_tables(station: Station, request: TablesRequest) -> TablesReply:
    """Return this organization's shares of tables.

    **Reveals** to central the sum of all shares, which is the tables, with noise where an epsilon is given; no part of them on its own.
    **Assumes** that central is not the helper, and that the helper colludes with no one.
    """
    workspace = Workspace(station, request.delivery.setup)
    tables = [tuple(table) for table in request.tables]
    names = [name for table in tables for name in table]
    workspace.receive(request.delivery)
    if workspace.is_helper:
        side = workspace.helper_side(request.delivery, names, request.bits)
        return TablesReply(side.answers(tables, station.round_name))
    station.require_private(request.epsilon is not None)
    station.charge(epsilon=request.epsilon or 0.0, note="tables", queries=len(tables))
    shares = workspace.data_side(request.delivery, names, request.bits).answers(tables, station.round_name)
    if request.epsilon is not None:
        shares = shares + _noise(shares, request, len(workspace.setup.stations))
    return TablesReply(shares)


def _noise(shares: Matrix, request: TablesRequest, parties: int) -> Matrix:
    """Return this station's share of discrete Laplace noise: one record is in one cell of every table."""
    from ...dp.shares import polya

    scale = len(request.tables) / (request.epsilon or 1.0)
    drawn = polya(shares.shape, scale, parties, request.honest_fraction)
    return drawn.astype(np.int64).astype(shares.dtype)
