"""Vertically split records: every station holds some features of the same records, and the label (VDPNB)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.bayes.naive_bayes.unknown import loud_warnings
from fedbayes.dp.laws import usual_deviation
from fedbayes.federation import Broadcast, Federation, Parties
from fedbayes.federation.errors import ArgumentError, MessageError, adding_up
from fedbayes.federation.horizontal import (
    Columns,
    asked_columns,
    cells,
    check_bins,
    model_from_tables,
    resolve_columns,
    split_tables,
)
from fedbayes.mpc.joye_libert import AggregateBroken, decrypt_product

from . import model, result
from .arguments import Fit
from .keying import Keyring
from .messages import CipherReply, FactorsRequest, FeaturesReply, FeaturesRequest, Noise, TablesReply, TablesRequest
from .options import before_vertical_fit


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
    letters : dict of int to Broadcast
        Station -> the columns that it holds, for the other stations.
    """

    columns: Columns
    bins: dict[str, Any]
    owners: dict[int, list[str]]
    letters: dict[int, Broadcast]

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

    def letters_to(self, member: int) -> dict[int, Broadcast]:
        """Return what the other stations say to one."""
        return {sender: letter.to_one(member) for sender, letter in self.letters.items() if sender != member}

    def named(self, federation: Federation) -> dict[str, list[str]]:
        """Return the same with names of stations."""
        return {federation.name(member): names for member, names in self.owners.items()}


def assign(federation: Federation, parties: Parties, columns: Columns, bins: dict[str, Any]) -> Split:
    """Ask which station holds which feature; one round.

    Raises
    ------
    ArgumentError
        When a feature is at no station or at two, or a station with features lacks the label.
    """
    names = [*columns.features, columns.label]
    if set(names) <= set(parties.holders):  # announced, so that `fedbayes check` foresees a refusal
        announced = {member: [name for name in names if member in parties.holders[name]] for member in parties.stations}
        _owners(federation, columns, announced)
    replies = federation.round("partial_features", FeaturesRequest(names), parties.stations, FeaturesReply)
    owners = _owners(federation, columns, {member: reply.names.value for member, reply in replies.items()})
    return Split(columns, bins, owners, {member: reply.held for member, reply in replies.items() if reply.held})


def _owners(federation: Federation, columns: Columns, held: Mapping[int, Sequence[str]]) -> dict[int, list[str]]:
    owners = owners_of(columns.features, held, "features: column", "every feature must be at exactly one")
    for member in owners:
        if columns.label not in held[member]:
            raise ArgumentError(
                f"label: {federation.name(member)} does not hold the label; every station needs it beside its features "
                "(vertibayes and bayesian_ensemble take records of which one station has the label)"
            )
    return owners


def owners_of(
    features: Sequence[str], held: Mapping[int, Sequence[str]], subject: str, remedy: str
) -> dict[int, list[str]]:
    """Return every station's features, in their order; `held` are the columns of each station.

    Raises
    ------
    ArgumentError
        In the words of `subject` and `remedy`, when a feature is at no station or at two.
    """
    owners: dict[int, list[str]] = {}
    for feature in features:
        holders = [member for member, names in held.items() if feature in names]
        if len(holders) != 1:
            where = "at no station that lets it be used" if not holders else "at more than one station"
            raise ArgumentError(f"{subject} '{feature[:100]}' is {where}; {remedy}")
        owners.setdefault(holders[0], []).append(feature)
    return owners


def _ask_tables(
    federation: Federation, split: Split, epsilon: float, release: bool, tables: str = "fresh"
) -> dict[int, TablesReply]:
    """Ask for noisy tables, one round, at `epsilon` in all; where they stay, the first station tells the class counts."""
    each = epsilon / (len(split.columns.features) + (0 if release else 1))
    requests = {
        member: TablesRequest(
            split.of(member),
            split.bins_of(member),
            each,
            member == split.stations[0] and not release,
            release,
            tables,
            epsilon,
            split.letters_to(member),
        )
        for member in split.stations
    }
    return federation.round("partial_tables", requests, split.stations, TablesReply, last=release)


def check_split(federation: Federation, split: Split) -> None:
    """Refuse, before anything is charged, to multiply the counts of too few stations.

    Raises
    ------
    ArgumentError
        When a single station holds everything: its products would be its counts.
    """
    if len(split.stations) < 2:
        raise ArgumentError(
            f"organizations: all features are at {federation.name(split.stations[0])}; a product of one hides nothing"
        )


def keep_tables(
    federation: Federation, split: Split, epsilon: float, tables: str
) -> tuple[npt.NDArray[np.float64], dict[str, dict[str, Any]]]:
    """Let every station make noisy tables, or take those of an earlier job, and keep them for this job.

    The budget is split over the tables and the class counts, which cannot be margins of tables that nobody sees.

    Returns
    -------
    tuple of ndarray (classes,) of float64, and dict
        Noisy class counts, at least 1; and by station when its tables were made, and whether they were paid for earlier.
    """
    each = epsilon / (len(split.columns.features) + 1)
    replies = _ask_tables(federation, split, epsilon, release=False, tables=tables)
    released = replies[split.stations[0]].classes
    counts = np.zeros(0, dtype=np.int64) if released is None else released.value
    if counts.shape != (split.columns.classes,):
        raise MessageError("the class counts do not have the length that was asked for; use one version everywhere")
    if model.drowned(usual_deviation(each, 0.0, 1), float(counts.sum()), len(counts), len(counts), 1):
        federation.warn(model.DROWNED)
    days = {
        federation.name(member): {"made": str(np.datetime64(reply.made.value, "D")), "reused": reply.reused.value}
        for member, reply in replies.items()
    }
    return np.asarray(np.maximum(counts, 1), dtype=np.float64), days


def fit(federation: Federation, asked: Fit) -> dict[str, Any]:
    """Return the model of released noisy tables: a fit on vertically split records.

    Raises
    ------
    ArgumentError
        When the noise is in shares or the unit is a party: no count is summed over stations here.
    """
    noise = asked.settings
    if noise.kind not in ("polya", "none") or noise.unit != "record":
        raise ArgumentError(
            'noise must be "polya" (each table has its whole noise) and unit "record" for vertical data'
        )
    named = asked_columns(asked.label, asked.features, asked.domain)
    parties = federation.open_channel(asked.organizations, before_vertical_fit(noise, named))
    columns = resolve_columns(federation, parties.stations, asked.label, asked.features, asked.domain)
    split = assign(federation, parties, columns, check_bins(columns, asked.bins))
    replies = _ask_tables(federation, split, noise.epsilon, release=True)
    fitted = _released_model(federation, split, noise, replies)
    return result.released(federation, fitted, noise.epsilon, split.named(federation))


def _released_model(federation: Federation, split: Split, noise: Noise, replies: dict[int, TablesReply]) -> NaiveBayes:
    """Return the model of released tables, and warn of what they show: much noise, or other rows."""
    columns = split.columns
    spread = model.deviation(noise, [1], len(columns.features), 1)
    tables: dict[str, npt.NDArray[np.int64]] = {}
    for member, reply in replies.items():
        own, edges = split.of(member), split.bins_of(member)
        if reply.tables is None or reply.tables.value.shape != (cells(own, edges),):
            raise MessageError("the tables do not have the length that was asked for; use one version everywhere")
        tables.update(split_tables(own, edges, reply.tables.value))
    ordered = {name: tables[name] for name in columns.features}
    fitted = model_from_tables(columns, ordered, split.bins, spread)
    rows = float(sum(table.sum() for table in tables.values())) / len(tables)
    if model.drowned(spread, rows, columns.classes, cells(columns, split.bins), len(tables)):
        federation.warn(model.DROWNED)
        return fitted
    if model.disagree(list(tables.values()), spread):
        federation.warn("the tables' numbers of rows differ by more than noise; do all stations hold the same records?")
    for warning in loud_warnings(fitted):
        federation.warn(warning)
    return fitted


def distinct(codes: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.intp]]:
    """Return the records that differ from one another, and for every record which of them it is: equal ones are asked for once."""
    different, back = np.unique(codes, axis=0, return_inverse=True)
    return different, back.reshape(-1)


def posteriors(
    federation: Federation,
    keyring: Keyring,
    split: Split,
    codes: npt.NDArray[np.int32],
    counts: npt.NDArray[np.float64],
    patience: float,
) -> tuple[npt.NDArray[np.float64], dict[str, Any]]:
    """Ask for the encrypted factors of all records, one round, and return their posteriors (records, classes).

    Raises
    ------
    MessageError
        When the ciphertexts do not belong together.

    Notes
    -----
    **Reveals** the products of noisy counts to central; see `partial.partial_factors`.
    """
    stations, classes = split.stations, split.columns.classes
    codes, back = distinct(codes)
    where = {name: position for position, name in enumerate(split.columns.features)}
    own = {member: codes[:, [where[name] for name in split.owners[member]]] for member in stations}
    requests = {member: FactorsRequest(keyring.keying(member), own[member], classes) for member in stations}
    round_name = f"{federation.rounds + 1}:partial_factors"
    replies = federation.round("partial_factors", requests, stations, CipherReply, patience, last=True)
    began = time.monotonic()
    exponent = keyring.exponent(
        federation.session, {member: reply.public_key.value for member, reply in replies.items()}
    )
    width = (keyring.modulus.bits + 7) // 8
    if any(len(reply.ciphertexts.value) != len(codes) * classes * width for reply in replies.values()):
        raise MessageError("an answer does not have the length that was asked for; use one version everywhere")

    def opened(record: int, group: int) -> int:
        start = (record * classes + group) * width
        sent = [int.from_bytes(reply.ciphertexts.value[start : start + width], "big") for reply in replies.values()]
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
    with adding_up():
        return model.class_scores(counts, products, (codes >= 0).sum(axis=1))[back], report
