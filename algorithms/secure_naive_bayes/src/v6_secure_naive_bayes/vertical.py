"""Vertically split records: every station holds some features of the same records, and the label (VDPNB)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbayes.bayes.counting import column_edges
from fedbayes.bayes.encoding import bin_codes
from fedbayes.bayes.schema import SchemaError
from fedbayes.federation import Federation
from fedbayes.federation.errors import ArgumentError, MessageError
from fedbayes.federation.horizontal import (
    Columns,
    cells,
    check_bins,
    model_from_tables,
    resolve_columns,
    split_tables,
)
from fedbayes.mpc.joye_libert import AggregateBroken, decrypt_product

from . import model, statements
from .keying import Keyring
from .messages import (
    MOST_QUERIES,
    CipherReply,
    FactorsRequest,
    FeaturesReply,
    FeaturesRequest,
    Noise,
    TablesReply,
    TablesRequest,
)


@dataclass(frozen=True)
class Split:
    """Which station holds which features.

    Attributes
    ----------
    columns : Columns
        Of the whole task.
    bins : dict
        Bins of every numeric feature.
    owners : dict of int to list of str
        Station -> its features, in the task's order.
    """

    columns: Columns
    bins: dict[str, Any]
    owners: dict[int, list[str]]

    @property
    def stations(self) -> tuple[int, ...]:
        """Stations that hold a feature, ascending."""
        return tuple(sorted(self.owners))

    def of(self, member: int) -> Columns:
        """Return one station's part of the columns, with the label."""
        names = [*self.owners[member], self.columns.label]
        domain = {name: self.columns.domain[name] for name in names}
        return Columns(self.columns.label, self.owners[member], domain, self.columns.outside)

    def bins_of(self, member: int) -> dict[str, Any]:
        """Return the bins of one station's numeric features."""
        return {name: self.bins[name] for name in self.owners[member] if name in self.bins}

    def named(self, federation: Federation) -> dict[str, list[str]]:
        """Return the same with names of stations."""
        return {federation.name(member): names for member, names in self.owners.items()}


def assign(federation: Federation, stations: tuple[int, ...], columns: Columns, bins: dict[str, Any]) -> Split:
    """Ask which station holds which feature; one round.

    Raises
    ------
    ArgumentError
        When a feature is at no station or at two, or a station with features lacks the label.
    """
    names = [*columns.features, columns.label]
    replies = federation.round("partial_features", FeaturesRequest(names), stations, FeaturesReply)
    owners: dict[int, list[str]] = {}
    for feature in columns.features:
        holders = [member for member, reply in replies.items() if feature in reply.names]
        if len(holders) != 1:
            what = "at no station" if not holders else "at more than one station"
            raise ArgumentError(f"features: column '{feature}' is {what}; every feature must be at exactly one")
        owners.setdefault(holders[0], []).append(feature)
    for member in owners:
        if columns.label not in replies[member].names:
            raise ArgumentError(
                f"label: {federation.name(member)} does not hold the label; every station needs it beside its features"
            )
    return Split(columns, bins, owners)


def _ask_tables(federation: Federation, split: Split, epsilon: float, release: bool) -> dict[int, TablesReply]:
    """Ask for noisy tables, one round, at `epsilon` a table; where they stay, the first station tells the class counts."""
    requests = {
        member: TablesRequest(
            split.of(member), split.bins_of(member), epsilon, member == split.stations[0] and not release, release
        )
        for member in split.stations
    }
    return federation.round("partial_tables", requests, split.stations, TablesReply, last=release)


def keep_tables(federation: Federation, split: Split, epsilon: float) -> npt.NDArray[np.float64]:
    """Let every station make noisy tables and keep them for this job; return noisy class counts, at least 1.

    The budget is split over the tables and the class counts, which cannot be margins of tables that nobody sees.

    Raises
    ------
    ArgumentError
        When a single station holds everything: its products would be its counts.
    """
    if len(split.stations) < 2:
        raise ArgumentError("organizations: all features are at one station; a product of one hides nothing")
    replies = _ask_tables(federation, split, epsilon / (len(split.columns.features) + 1), release=False)
    counts = replies[split.stations[0]].classes
    if counts.shape != (split.columns.classes,):
        raise MessageError("the class counts do not have the length that was asked for; use one version everywhere")
    return np.asarray(np.maximum(counts, 1), dtype=np.float64)


def fit(
    federation: Federation,
    label: Any,
    features: Any,
    domain: Any,
    noise: Noise,
    bins: Any,
    organizations: Any,
) -> dict[str, Any]:
    """Return the model of released noisy tables: a fit on vertically split records.

    Raises
    ------
    ArgumentError
        When the noise is in shares or the unit is a party: no count is summed over stations here.
    """
    if noise.kind not in ("polya", "none") or noise.unit != "record":
        raise ArgumentError(
            'noise must be "polya" (each table has its whole noise) and unit "record" for vertical data'
        )
    parties = federation.open_channel(organizations)
    columns = resolve_columns(federation, parties.stations, label, features, domain)
    split = assign(federation, parties.stations, columns, check_bins(columns, bins))
    replies = _ask_tables(federation, split, noise.epsilon / len(columns.features), release=True)
    tables: dict[str, npt.NDArray[np.int64]] = {}
    for member, reply in replies.items():
        own, edges = split.of(member), split.bins_of(member)
        if reply.tables.shape != (cells(own, edges),):
            raise MessageError("the tables do not have the length that was asked for; use one version everywhere")
        tables.update(split_tables(own, edges, reply.tables))
    ordered = {name: tables[name] for name in columns.features}
    spread = model.deviation(noise, [1], len(columns.features), 1)
    fitted = model_from_tables(columns, ordered, split.bins, spread)
    return federation.result(
        model=fitted.to_dict(),
        privacy=statements.vertical(noise.epsilon, len(columns.features), None),
        diagnostics={"columns": split.named(federation)},
    )


def posteriors(
    federation: Federation,
    keyring: Keyring,
    split: Split,
    codes: npt.NDArray[np.int32],
    counts: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.float64], dict[str, Any]]:
    """Ask for the encrypted factors of all records, one round, and return their posteriors (records,
    classes).

    Raises
    ------
    MessageError
        When the ciphertexts do not belong together.

    Notes
    -----
    **Reveals** the products of noisy counts to central; see `partial.partial_factors`.
    """
    stations, classes = split.stations, split.columns.classes
    where = {name: position for position, name in enumerate(split.columns.features)}
    requests = {
        member: FactorsRequest(
            keyring.keying(member), codes[:, [where[name] for name in split.owners[member]]], classes
        )
        for member in stations
    }
    round_name = f"{federation.rounds + 1}:partial_factors"
    replies = federation.round("partial_factors", requests, stations, CipherReply, last=True)
    began = time.monotonic()
    exponent = keyring.exponent(federation.session, {member: reply.public_key for member, reply in replies.items()})
    width = (keyring.modulus.bits + 7) // 8
    if any(len(reply.ciphertexts) != len(codes) * classes * width for reply in replies.values()):
        raise MessageError("an answer does not have the length that was asked for; use one version everywhere")

    def opened(record: int, group: int) -> int:
        start = (record * classes + group) * width
        sent = [int.from_bytes(reply.ciphertexts[start : start + width], "big") for reply in replies.values()]
        return decrypt_product(keyring.modulus, exponent, sent, f"{round_name}|{record}|{group}")

    try:
        products = [[opened(record, group) for group in range(classes)] for record in range(len(codes))]
    except AggregateBroken as problem:
        raise MessageError(f"{problem}; the job stops") from None
    report = {
        "modulus_bits": keyring.modulus.bits,
        "modulus": keyring.modulus.source,
        "ciphertexts_per_station": len(codes) * classes,
        "bytes_per_station": len(codes) * classes * width,
        "seconds_decrypting": round(time.monotonic() - began, 4),
    }
    return model.class_scores(counts, products, (codes >= 0).sum(axis=1)), report


def check_records(records: Any, columns: Columns, bins: dict[str, Any]) -> npt.NDArray[np.int32]:
    """Return the codes (records, features) of the records to be classified, -1 for missing.

    Raises
    ------
    ArgumentError
        When they are no list of objects, too many, or hold a value outside its domain.
    """
    if not isinstance(records, list) or not 1 <= len(records) <= MOST_QUERIES:
        raise ArgumentError(f"records must be a list of 1 to {MOST_QUERIES} objects")
    known = set(columns.features)
    if any(not isinstance(record, dict) or not known >= set(record) for record in records):
        raise ArgumentError("records must hold objects whose keys are features of the task; leave the label out")
    schema = columns.schema
    codes = np.full((len(records), len(columns.features)), -1, dtype=np.int32)
    for position, name in enumerate(columns.features):
        values = np.array([record.get(name) for record in records], dtype=object)
        try:
            encoded = schema[name].encode(values, "refuse")
        except SchemaError:
            what = "categories" if schema[name].is_categorical else "bounds"
            raise ArgumentError(
                f"records hold a value of '{name}' outside its {what} in the domain; correct it, or leave it out as missing"
            ) from None
        if not schema[name].is_categorical:
            encoded = bin_codes(encoded, column_edges(schema, name, bins))
        codes[:, position] = encoded
    return codes
