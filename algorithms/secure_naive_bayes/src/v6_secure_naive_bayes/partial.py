"""What one station, or the helper that deals keys, does in a round."""

from __future__ import annotations

import math
from functools import partial as partial_of
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.dp import promise
from fedbayes.federation import Station, partial
from fedbayes.federation.errors import ArgumentError, MessageError, ThresholdError, sampling_errors
from fedbayes.federation.gate import Exact, Receipt, Released
from fedbayes.federation.guards import choosing
from fedbayes.federation.guards.once import ONE_QUESTION, asked_once
from fedbayes.federation.horizontal import EvaluateRequest, SumReply, cells, table_queries, tally_station
from fedbayes.federation.node.secrets import own_keys
from fedbayes.mpc.joye_libert import encrypt_factor
from fedbayes.mpc.packing import Packing

from . import grading, holding, lasting, model
from .drawing import at_most, check_part, drawn_tables
from .horizontal import packing_of
from .keying import deal, encryption_label, station_exponent
from .messages import (
    CipherReply,
    ConfirmRequest,
    CountsRequest,
    DealReply,
    DealRequest,
    FactorsRequest,
    FeaturesReply,
    FeaturesRequest,
    Noise,
    TablesReply,
    TablesRequest,
)

KEPT = "noisy tables"
CHARGED = "numbers of tables that were charged when they were made"


@partial
def partial_deal(station: Station, request: DealRequest) -> DealReply:
    """Deal a modulus and exponents; only at an organization without data.

    **Reveals** to each station its own exponent, to the aggregator its own; the dealer knows all of them.
    **Assumes** that the dealer sees no ciphertext and colludes with nobody: it must not run central or hold
    data.
    """
    return deal(station, request)


@partial
def partial_counts(station: Station, request: CountsRequest) -> CipherReply:
    """Count, add this station's noise shares, encrypt (DataPert and DataEnc of the paper).

    Notes
    -----
    **Reveals** to central the noisy sums over all participants, and nothing of one station.
    **Assumes** that two participants do not collude with central, and that the honest fraction adds its
    noise.
    """
    epsilon, delta = model.charge(request.noise, len(request.columns.features))
    promises = request.noise.private and promise.holds(epsilon, delta)
    station.require_private(promises and request.columns.beyond_promise is None)
    if not promises:
        asked_once(station, "tables", station.round_name, ONE_QUESTION)
    _check_uses(station, request.uses)
    modulus, exponent = station_exponent(station, request.keying)
    counts = _counts(station, request)
    receipt = None
    if request.noise.kind != "none":
        draw = partial_of(noise_shares, request.noise, request.uses, len(request.columns.features), len(counts))
        draw()  # what cannot be sampled is not charged
        relation = request.noise.relation(request.columns.unit.id_column)
        receipt = station.charge(epsilon, delta, note="encrypted tables of counts", relation=relation)
        counts = counts + draw()
    packing = packing_of(request.noise, request.columns, request.bins, len(station.participants), modulus)
    label = encryption_label(station.round_name, request.columns, request.bins, request.noise)
    try:
        sent = packing.encrypt(exponent, counts, label)
    except ValueError:
        raise ArgumentError(
            "a count does not fit its slot of a ciphertext: epsilon is too small, or the station's table is too large "
            "for this method; use dp_naive_bayes"
        ) from None
    return _ciphers(station, _content(station, sent, receipt, "encrypted tables of counts"))


def _counts(station: Station, request: CountsRequest) -> npt.NDArray[np.int64]:
    if request.noise.unit == "party":
        encoded = request.columns.read(station, request.noise.private)
        choosing.note_drawn(station)
        return cell_counts(request, at_most(encoded, request.noise.maximum_records))
    parts = request.columns.parts(station, request.noise.private, cells(request.columns, request.bins))
    return np.asarray(sum(cell_counts(request, part) for part in parts))


def _content(station: Station, value: Any, receipt: Receipt | None, note: str) -> Exact[Any] | Released[Any]:
    """Return an answer as the gate knows it: noisy with a receipt, else exact."""
    return station.released(value, receipt) if receipt is not None else station.exact(value, note)


def _ciphers(station: Station, content: Any) -> CipherReply:
    """Return ciphertexts as they may leave: uniform to who lacks the other participants' exponents."""
    return CipherReply(station.share(content), station.public(own_keys(station.folder).public_bytes))


def cell_counts(request: CountsRequest, encoded: dict[str, Any]) -> npt.NDArray[np.int64]:
    """Return all tables side by side, and with `published` the class counts behind them."""
    tables = [query.values for query in table_queries(request.columns, encoded, request.bins)]
    parts = [table.ravel() for table in tables]
    if request.noise.kind == "published":
        parts.append(tables[0].sum(axis=1))
    return np.concatenate(parts)


def noise_shares(noise: Noise, uses: int, features: int, cells: int) -> npt.NDArray[np.int64]:
    """Return `model.draw`, or an error that the researcher can act on."""
    with sampling_errors():
        return model.draw(noise, uses, features, cells)


def _check_uses(station: Station, uses: int) -> None:
    """Refuse a u_k that would make the sum of the noise too quiet or needlessly loud."""
    count = len(station.participants)
    if not 2 * uses > count >= uses:
        raise MessageError("the number for sizing noise does not fit the participants; renew the membership")


@partial
def partial_confirm(station: Station, request: ConfirmRequest) -> CipherReply:
    """Derive the exponent of a new epoch and encrypt a zero: the sum decrypts only if everyone's keys fit.

    Notes
    -----
    **Reveals** nothing about any table.
    **Assumes** nothing further.
    """
    _check_uses(station, request.uses)
    modulus, exponent = station_exponent(station, request.keying)
    packing = Packing(1, len(station.participants), modulus)
    return _ciphers(
        station, packing.encrypt(exponent, np.zeros(1, dtype=np.int64), encryption_label(station.round_name))
    )


@partial
def partial_features(station: Station, request: FeaturesRequest) -> FeaturesReply:
    """Tell which of the public columns this station holds and lets the task see.

    Notes
    -----
    **Reveals** that to central and the other stations, and for an evaluation the number of rows to central. **Assumes** nothing.
    """
    names = [name for name in request.names if name in station.columns]
    if request.rows:
        return FeaturesReply(station.public(names), grading.count(station, names))
    return FeaturesReply(station.public(names), held=holding.columns_held(station, request.names))


@partial
def partial_tables(station: Station, request: TablesRequest) -> TablesReply:
    """Make noisy tables of this station's own features, or take those of an earlier job; keep them, or release them.

    Notes
    -----
    **Reveals** the noisy class counts (one station) and, with `release`, the noisy tables, to central. Tables without noise, or with an epsilon
    that may not be called private, only to as many organizations as the node demands, and if no count is in 1 .. `minimum_count` - 1.
    **Assumes** nothing about other parties: every table carries its whole noise, and all stations say themselves which columns they hold.
    """
    station.check_columns([*request.columns.features, request.columns.label])
    station.require_private(request.promises)
    if not request.release:
        station.require_predictions()
    if not (request.release and request.promises):
        _check_organizations(station)
    if not request.promises:
        asked_once(station, "tables", station.round_name, ONE_QUESTION)
    holding.check_alone(station, request)
    if request.epsilon > 0:
        check_part(station, request)
    path = None if request.tables == "fresh" else lasting.path_of(station, request)
    tables = lasting.read(path) if request.tables == "kept" else None
    reused = tables is not None
    if tables is None:
        tables = lasting.write(path, drawn_tables(station, request), request.tables == "renewed")
    if not request.release:  # what is released is nobody's to multiply: exact tables are never kept
        station.keep(KEPT, **tables)
        tables = station.kept(KEPT)
    released, first = tables["released"], request.columns.classes if request.classes else 0
    leaving = released[first:] if request.release else np.zeros(0, dtype=np.int64)
    return TablesReply(
        _as_it_may_leave(station, request, released[:first]),
        _as_it_may_leave(station, request, leaving),
        station.public(int(tables["made"])),
        station.public(reused),
    )


def _as_it_may_leave(
    station: Station, request: TablesRequest, values: npt.NDArray[np.int64]
) -> Exact[npt.NDArray[np.int64]] | Released[npt.NDArray[np.int64]] | None:
    """Return numbers of the tables as they may leave; they were charged when they were made, by this job or an earlier one."""
    if not values.size:
        return None
    if request.epsilon == 0:
        return station.exact(values, "exact tables of vertically split records", summed=False)
    return station.released(values, station.charge(0.0, 0.0, CHARGED, relation=None))


def _check_organizations(station: Station) -> None:
    """Refuse, with too few organizations, an encrypted product, and tables that noise does not protect."""
    if len(station.participants) < station.policy.minimum_organizations:
        raise ThresholdError(
            "too few organizations for an encrypted product or for exact tables at this node; include more of them"
        )


@partial
def partial_factors(station: Station, request: FactorsRequest) -> CipherReply:
    """Encrypt, for every record and class, the product of this station's noisy counts, clipped to at least 1.

    Notes
    -----
    **Reveals** to central, per record and class, the product over all stations, and with the class counts the joint log-probability. Two records
    that differ in one value give the ratio of two noisy counts, so enough records give the noisy tables up to a factor; the
    noise protects the data.
    **Assumes** that two participants do not collude with central, for anything beyond that.
    """
    station.require_predictions()
    modulus, exponent = station_exponent(station, request.keying, products=True)
    factors = record_factors(station.kept(KEPT), request.codes, request.classes)
    width = (modulus.bits + 7) // 8
    parties = len(station.participants)
    sent: list[bytes] = []
    try:
        for record, row in enumerate(factors):
            for group, factor in enumerate(row):
                label = f"{station.round_name}|{record}|{group}"
                sent.append(encrypt_factor(modulus, exponent, factor, label, parties).to_bytes(width, "big"))
    except ValueError:
        raise ArgumentError(
            "the product of counts does not fit in the modulus; give fewer features, or raise modulus_bits "
            '(above 3072 with keys="dealer")'
        ) from None
    receipt = station.charge(0.0, 0.0, CHARGED, relation=None)
    return _ciphers(station, station.released(b"".join(sent), receipt))


def record_factors(kept: dict[str, npt.NDArray[Any]], codes: npt.NDArray[np.int32], classes: int) -> list[list[int]]:
    """Return, records by classes, the product of the clipped noisy counts of the values that are present.

    Parameters
    ----------
    kept : dict
        ``released``: class counts (perhaps) and tables, int64; ``shapes``: their shapes, (features, 2).
    codes : ndarray (records, features) of int32
        Values, -1 for missing.
    classes : int
        Number of classes.

    Raises
    ------
    MessageError
        When the codes do not fit the tables.
    """
    shapes = kept["shapes"]
    sizes = shapes.prod(axis=1)
    flat = kept["released"][len(kept["released"]) - int(sizes.sum()) :]
    if (
        bool((shapes[:, 0] != classes).any())
        or codes.shape[1] != len(shapes)
        or bool((codes >= shapes[:, 1] - 1).any())
        or bool((codes < -1).any())
    ):
        raise MessageError("the records do not fit this station's tables")
    parts = np.split(flat, np.cumsum(sizes)[:-1])
    tables = [np.maximum(part.reshape(classes, -1), 1) for part in parts]
    return [
        [
            math.prod(int(table[group, code]) for table, code in zip(tables, record, strict=True) if code >= 0)
            for group in range(classes)
        ]
        for record in codes
    ]


@partial
def partial_evaluate(station: Station, request: EvaluateRequest) -> SumReply:
    """Score a model on this station's rows.

    **Reveals** to central the sum of the tallies over the stations only (``local`` noise: the noisy tallies).
    **Assumes** that at least two stations do not collude with central.
    """
    return tally_station(station, request, NaiveBayes.from_dict)
