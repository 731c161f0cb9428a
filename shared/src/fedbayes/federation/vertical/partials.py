"""The remote functions of stations with vertically split data: submit, extend, tables; the helper's is in `matching`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...mpc import alignment
from ...typing import Array, Integers
from ..decorators import partial
from ..errors import MessageError, sampling_errors
from ..gate import Exact, Masked, Released, Sealed
from ..guards.installments import Installment, pay
from ..guards.once import OPENED, asked_once
from ..messages.codec import encode
from ..station import Station
from . import multiplied
from .accounting import REPLACE_ONE, change_of, noise_parties
from .agreement import bound, with_check
from .announced import announcement, check_announced
from .messages import ExtendReply, ExtendRequest, Product, SubmitReply, SubmitRequest, TablesReply, TablesRequest
from .opening import Encoder, OwnPart, open_part
from .replication import HASHES, PAIR, Replica, workspace_of
from .sides import data_side, helper_side
from .states import public_states
from .told import check_told, note_columns, note_opened
from .workspace import Workspace, factor

SEED = "part of a seed"


@partial
def partial_submit(station: Station, request: SubmitRequest) -> SubmitReply:
    """Hash the identifiers for the helper; open the columns for the other stations, in a secret row order.

    **Reveals** to the helper the number of rows (of united records under an epsilon without those that lack or repeat an identifier), and of united
    records which of the columns asked for are here; to the other stations the number of rows and uniform openings; to central the number of rows, which
    of the columns asked for are here, their states where no domain was given, of numbers that are to be multiplied the power of two above the largest and
    whether few are exact, and this node's limits; to all of these whether such numbers are few different ones with few digits.
    **Assumes** that the helper colludes with no station; without one, that the second and the third station, which match, collude with none.
    """
    if request.wanted and not request.setup.covered and (request.setup.private or request.setup.guarded):
        station.require_private(False)
    workspace = workspace_of(station, request.setup)
    asked_once(station, "stage 0", station.round_name, OPENED)
    encoder = Encoder(station, request.setup, request.wanted)
    rows, digested = workspace.submit_rows(encoder.identifiers())
    if request.seeded:
        station.keep(SEED, seed=np.array([encoder.seed()]))
    part = encoder.part([] if request.setup.union else request.wanted, 0, request.bits)
    note_columns(station, request.setup)
    note_opened(station, part.infos)
    for info in part.infos:
        if info.name in part.products:
            multiplied.note(workspace, info.name, info.columns, part.products[info.name])
    if isinstance(workspace, Replica):
        hashes = workspace.submit(digested)
        parcel = workspace.pack_shares(0, part, rows, None, request.bits)
    else:
        hashes = _keyed_hashes(workspace, digested, encoder.columns)
        parcel = workspace.pack(
            0, [info.name for info in part.infos], open_part(workspace, part, rows, None), request.bits
        )
    return SubmitReply(
        hashes=hashes,
        columns=station.public(encoder.columns),
        described=_described(station, part),
        factors=station.public(part.infos),
        parcel=parcel,
        scales=station.further(part.scales) if part.scales else None,
        minimum_rows=station.public(station.policy.minimum_rows),
        minimum_count=station.public(station.policy.minimum_count),
    )


def _described(station: Station, part: OwnPart) -> Exact[dict[str, Any]] | None:
    """Return the states found in the data; public ones follow from domain and bins, which central has."""
    states_of = {name: states.to_json() for name, states in part.described.items() if not states.public}
    return station.further(states_of) if states_of else None


def _keyed_hashes(workspace: Workspace, digests: bytes, columns: list[str]) -> dict[int, Sealed]:
    """Return the identifiers under the keys of the pairs, sealed for the helper; of a union with what the station announces."""
    hashes = [
        alignment.under_key(digests, workspace.key(peer, PAIR)) for peer in _peers(workspace, workspace.setup.union)
    ]
    joined = np.concatenate(hashes).astype("<u8").tobytes()
    if workspace.setup.union:
        joined = announcement(workspace, columns, joined)
    return {workspace.setup.helper: workspace.station.seal(workspace.setup.helper, joined, HASHES)}


def _peers(workspace: Workspace, union: bool) -> list[int]:
    """Return with whom this station's rows are matched: everyone (union), or the first station and everyone (intersection)."""
    others = [peer for peer in workspace.setup.stations if peer != workspace.own]
    leader = workspace.setup.stations[0]
    return others if union or workspace.own == leader else [leader]


@partial
def partial_extend(station: Station, request: ExtendRequest) -> ExtendReply:
    """Open further factors in the common order: row-wise products of known ones, and columns of this station.

    **Reveals** uniform openings to the stations; to central which of the columns asked for are opened here, and their states where no domain was given;
    nothing to the helper.
    **Assumes** that the helper colludes with no station; without one, that no two of the first three stations do.
    """
    workspace = workspace_of(station, request.delivery.setup, request.delivery)
    check_told(station, [product.factor for product in request.products])
    made = [product for product in request.products if workspace.own in product.factor.contributors]
    names = [name for product in made for name in (product.left, product.right)]
    targets = [product.factor.name for product in made]
    if isinstance(workspace, Replica):
        return _extend_shares(workspace, request)
    if workspace.is_helper:
        side = helper_side(workspace, request.delivery, names, request.bits)
        pieces = [side.product_part(factor(p.factor), p.left, p.right) for p in made]
        pieces = _agreed(workspace, request, made, pieces)
        return ExtendReply(station.public([]), None, workspace.pack(request.stage, targets, pieces, request.bits))
    data = data_side(workspace, request.delivery, names, request.bits)
    pieces = [data.product_part(factor(p.factor), p.left, p.right) for p in made]
    pieces = _agreed(workspace, request, made, pieces)
    part, order, size = _own_columns(workspace, request)
    openings = open_part(workspace, part, order, size) if part.infos else []
    infos = [info.name for info in part.infos]
    parcel = workspace.pack(request.stage, [*infos, *targets], [*openings, *pieces], request.bits)
    return ExtendReply(station.public(part.infos), _described(station, part), parcel)


def _extend_shares(workspace: Replica, request: ExtendRequest) -> ExtendReply:
    """Share own columns, or pass on shares of products; central asks for one of the two in a round."""
    station = workspace.station
    if request.wanted:
        part, order, size = _own_columns(workspace, request)
        packed = workspace.pack_shares(request.stage, part, order, size, request.bits)
        return ExtendReply(station.public(part.infos), _described(station, part), packed)
    if workspace.position is None:
        return ExtendReply(station.public([]), None, None)
    names = [name for product in request.products for name in (product.left, product.right)]
    side = workspace.computing_side(request.delivery, names, request.bits)
    pieces = [side.product_part(factor(p.factor), p.left, p.right) for p in request.products]
    pieces = _agreed(workspace, request, request.products, pieces)
    targets = [product.factor.name for product in request.products]
    return ExtendReply(station.public([]), None, workspace.pack_products(request.stage, targets, pieces, request.bits))


def _agreed(
    workspace: Workspace, request: ExtendRequest, made: Sequence[Product], pieces: Sequence[Array]
) -> list[Array]:
    """Return parts of products under masks that cancel among its contributors if they were sent the same openings of its factors."""
    masked = []
    for product, piece in zip(made, pieces, strict=True):
        question = f"product|{request.stage}|{product.factor.name}"
        peers = product.factor.contributors
        masked.append(bound(workspace, request.delivery, [product.left, product.right], question, piece.T, peers).T)
    return masked


def _own_columns(workspace: Workspace, request: ExtendRequest) -> tuple[OwnPart, Integers, int | None]:
    """Encode columns of this station; return them with the common order, and the size of a union."""
    setup = request.delivery.setup
    check_announced(workspace, request.wanted)
    if not request.wanted:
        return OwnPart([], [], {}, {}), np.zeros(0, dtype=np.int64), None
    encoder = Encoder(workspace.station, setup, request.wanted)
    part = encoder.part(request.wanted, request.stage, request.bits)
    note_opened(workspace.station, part.infos)
    return part, workspace.common_order(encoder.rows), request.delivery.rows if setup.union else None


@partial
def partial_tables(station: Station, request: TablesRequest) -> TablesReply:
    """Return this organization's shares of tables.

    **Reveals** to central the sum of all shares, which is the tables, with noise where they are paid for; no part of them on its own. Where scores are made
    of them, also the sum of a digest of every station's rows, keyed where the node has a folder database (`fedbayes.bayes.evaluation.coarse`).
    **Assumes** that central is not the helper, and that the helper colludes with no one; without one, that no two of the first three stations do.
    """
    tables, names = request.tables.tables, request.tables.names
    setup = request.delivery.setup
    if setup.private != (request.noise is not None) or not (setup.private or setup.guarded):
        raise MessageError("the columns were not opened for tables of this kind; the job stops")
    if setup.covered and not (request.noise and request.noise.covers):
        raise MessageError("the columns were opened for answers whose noise covers single records; the job stops")
    _check_functions(request)
    workspace = workspace_of(station, setup, request.delivery)
    if workspace.is_helper:
        side = helper_side(workspace, request.delivery, names, request.bits)
        shares = _functions(request, side.answers(tables, station.round_name))
        if request.noise is not None and _noise_parties(request) > len(setup.stations):
            shares = shares + _noise(shares, request, request.noise)
        return TablesReply(station.share(_bound(workspace, request, shares)), _seed(station, request))
    multiplied.check(workspace, names)
    if isinstance(workspace, Replica):
        shares = workspace.answers(request.delivery, tables, request.bits)
    else:
        shares = data_side(workspace, request.delivery, names, request.bits).answers(tables, station.round_name)
    answer = station.share(_answer(station, workspace, request, _functions(request, shares)))
    return TablesReply(answer, _seed(station, request))


def _seed(station: Station, request: TablesRequest) -> Masked | None:
    """Return this station's part of the seed of what is added to scores, a helper's zero, where it is asked for."""
    if not request.seeded:
        return None
    own = station.organization != request.delivery.setup.helper
    number = station.kept(SEED)["seed"].view(np.uint64) if own else np.zeros(1, dtype=np.uint64)
    content = station.further(number)
    return station.mask(content, SEED, [request.delivery.setup, request.tables.digest])


def _check_functions(request: TablesRequest) -> None:
    """Raise `MessageError` for functions of other states than domain and bins give the columns."""
    if request.contrasts is None:
        return
    setup = request.delivery.setup
    names = {column for table in request.columns for column in table}
    states = {name: public_states(name, setup.domain, setup.bins, True).cardinality for name in names}
    try:
        request.contrasts.check_states(request.columns, states)
    except ValueError as problem:
        raise MessageError(str(problem)) from None


def _functions(request: TablesRequest, shares: Array) -> Array:
    """Return shares of the functions of the tables that are asked for: linear ones, so everyone takes them of its own share."""
    return shares if request.contrasts is None else request.contrasts.of(request.columns, shares)


def _answer(
    station: Station, workspace: Workspace, request: TablesRequest, shares: Array
) -> Exact[Array] | Released[Array]:
    """Return this station's share of the answers as it may be shared: paid for, with its share of the noise where it is to be noisy."""
    if request.noise is None:
        bound, united = _bound(workspace, request, shares), workspace.setup.union
        return station.exact(bound, "tables", queries=request.queries, summed=united)
    _noise(shares[:0], request, request.noise)  # what cannot be sampled is not charged
    united = workspace.setup.union
    relation, note = workspace.setup.relation, f"tables, {workspace.setup.neighbors}"
    receipt = pay(station, request.noise, relation, note, queries=request.queries, summed=united)
    noisy = shares + _noise(shares, request, request.noise)
    return station.released(_bound(workspace, request, noisy), receipt)


def _bound(workspace: Workspace, request: TablesRequest, shares: Array) -> Array:
    """Return shares of answers that can be added only if everyone was sent the same openings and asked the same."""
    functions = json.dumps(encode(request.contrasts)) if request.contrasts else ""
    question = (
        f"tables|{workspace.station.round_name}|{request.bits}|{request.noise!r}|{request.tables.digest}|{functions}"
    )
    everyone = request.delivery.setup.everyone
    return bound(workspace, request.delivery, request.tables.names, question, with_check(shares), everyone)


def _noise_parties(request: TablesRequest) -> int:
    setup = request.delivery.setup
    with sampling_errors():
        return noise_parties(len(setup.stations), bool(setup.helper), request.honest_fraction)


def _noise(shares: Array, request: TablesRequest, noise: Installment) -> Array:
    """Return this organization's share of the noise for what one record changes in the batch."""
    setup = request.delivery.setup
    if request.contrasts:
        change = request.contrasts.change(request.columns, setup.neighbors == REPLACE_ONE, setup.union)
    else:
        change = change_of(
            request.tables.joined({name: [size] for name, size in request.states.items()}), setup.neighbors
        )
    drawn = noise.shares(shares.shape, change, _noise_parties(request), request.honest_fraction)
    return drawn.astype(np.int64).astype(shares.dtype)
