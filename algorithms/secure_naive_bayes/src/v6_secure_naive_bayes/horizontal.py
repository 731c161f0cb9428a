"""Horizontally split records: the encrypted sum of all tables, and the renewal of keys (HDPNB)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.federation import Federation, Parties, Preflight, results
from fedbayes.federation.errors import ArgumentError, MessageError
from fedbayes.federation.horizontal import Columns, cells, model_from_tables, split_tables
from fedbayes.mpc.joye_libert import AggregateBroken
from fedbayes.mpc.moduli import Modulus
from fedbayes.mpc.packing import Packing
from fedbayes.typing import Integers

from . import model
from .arguments import Change
from .keying import MOST_SUMS, Keyring, check_work, encryption_label, open_keyring
from .membership import Membership
from .messages import CipherReply, ConfirmRequest, CountsRequest, Noise
from .options import check_membership, resolve_member

BYTES_OF_A_MASKED_COUNT = 8  # a word of the ring Z/2^64


@dataclass(frozen=True)
class Sums:
    """Decrypted sums.

    Attributes
    ----------
    counts : ndarray of int64
        All tables side by side, and with `published` the class counts behind them.
    deviation : float
        Standard deviation of the noise in one cell.
    report : dict
        Sizes and times of the encryption.
    """

    counts: Integers
    deviation: float
    report: dict[str, Any]

    def drowned(self, columns: Columns) -> bool:
        """Return whether the noise hides the classes; see `model.drowned`."""
        tables = len(columns.features)
        rows = float(self.counts.sum()) / tables
        return model.drowned(self.deviation, rows, columns.classes, len(self.counts), tables)


def packing_of(noise: Noise, columns: Columns, bins: dict[str, Any], stations: int, modulus: Modulus) -> Packing:
    """Return how the tables of one station are packed."""
    length = cells(columns, bins) + (columns.classes if noise.kind == "published" else 0)
    return Packing.fitting(length, stations, modulus, model.largest_count(noise, len(columns.features)))


def encrypted_sums(
    federation: Federation,
    keyring: Keyring,
    columns: Columns,
    bins: dict[str, Any],
    noise: Noise,
    state: Membership,
    relaxed: bool,
) -> Sums:
    """Ask for the encrypted noisy tables, one round, and decrypt their sum (ResultDec of the paper).

    Parameters
    ----------
    federation : Federation
        With an open channel.
    keyring : Keyring
        Of this computation.
    columns, bins
        What is counted.
    noise : Noise
        The stations' noise.
    state : Membership
        Whose numbers u_k size the noise when `relaxed`.
    relaxed : bool
        Whether the caller keeps a membership; otherwise every station uses the exact number of stations.

    Raises
    ------
    ArgumentError
        When there are more cells than a round has time to encrypt.
    MessageError
        When the ciphertexts do not belong together.

    Notes
    -----
    **Reveals** the noisy sums to central. **Assumes** what `fedbayes.mpc.joye_libert.encrypt` does.
    """
    stations = keyring.stations
    packing = packing_of(noise, columns, bins, len(stations), keyring.modulus)
    patience = check_work("bins and categories", packing.blocks, MOST_SUMS, keyring.modulus.bits)
    uses = state.uses if relaxed else dict.fromkeys(stations, len(stations))
    requests = {
        member: CountsRequest(columns, bins, noise, keyring.keying(member), uses[member]) for member in stations
    }
    label = encryption_label(f"{federation.rounds + 1}:partial_counts", columns, bins, noise)
    replies = federation.round("partial_counts", requests, stations, CipherReply, patience, last=True)
    began = time.monotonic()
    counts = decrypt(federation, keyring, packing, replies, label)
    report = {
        "modulus_bits": keyring.modulus.bits,
        "modulus": keyring.modulus.source,
        "keys": "dealer" if keyring.dealer else "dealerless",
        "counts": packing.size,
        "ciphertexts_per_station": packing.blocks,
        "bytes_per_station": packing.blocks * packing.ciphertext_bytes,
        "bytes_per_station_with_pairwise_masks": packing.size * BYTES_OF_A_MASKED_COUNT,
        "seconds_decrypting": round(time.monotonic() - began, 4),
    }
    spread = model.deviation(noise, uses.values(), len(columns.features), cells(columns, bins))
    return Sums(counts, spread, report)


def decrypt(
    federation: Federation,
    keyring: Keyring,
    packing: Packing,
    replies: Mapping[int, CipherReply],
    label: str,
) -> Integers:
    """Return the sum of encrypted vectors; `MessageError` when they do not belong together."""
    exponent = keyring.exponent(
        federation.session, {member: reply.public_key.value for member, reply in replies.items()}
    )
    try:
        return packing.decrypt_sum(exponent, [reply.ciphertexts.value for reply in replies.values()], label)
    except AggregateBroken as problem:
        raise MessageError(f"{problem}; the job stops") from None


def finish(columns: Columns, bins: dict[str, Any], noise: Noise, sums: Sums) -> NaiveBayes:
    """Return the model of the decrypted sums; post-processing, so it spends no privacy."""
    size = cells(columns, bins)
    tables = split_tables(columns, bins, sums.counts[:size])
    fitted = model_from_tables(columns, tables, bins, sums.deviation)
    if noise.kind != "published":
        return fitted
    counts = sums.counts[size:].astype(np.float64)
    return NaiveBayes(fitted.schema, fitted.label, counts, fitted.features, sums.deviation)


def renew(federation: Federation, asked: Change, joins: bool) -> dict[str, Any]:
    """Renew every member's keys after a join or a leave, and confirm them by an encrypted sum of zeros.

    Notes
    -----
    **Reveals** nothing about any table. **Assumes** what `fit` does.
    """
    before = check_membership(federation, asked.membership)
    after = resolve_member(federation, before, asked.organization, joins)
    organizations: list[int | str] | None = None if asked.keys == "dealer" else list(after.uses)
    parties = federation.open_channel(organizations, Preflight(functions=("partial_confirm",), private=True))
    missing = [federation.name(member) for member in after.uses if member not in parties.stations]
    if missing:
        raise ArgumentError(
            f"organization or membership: without the task's database at {', '.join(missing)}; let those with data take part only"
        )
    members = tuple(sorted(after.uses))
    keyring = open_keyring(federation, Parties(members, parties.helpers), asked.keys, asked.modulus_bits, after.epoch)
    requests = {member: ConfirmRequest(keyring.keying(member), after.uses[member]) for member in members}
    label = encryption_label(f"{federation.rounds + 1}:partial_confirm")
    replies = federation.round("partial_confirm", requests, members, CipherReply, last=True)
    total = decrypt(federation, keyring, Packing(1, len(members), keyring.modulus), replies, label)
    if total.any():
        raise MessageError("the members' new keys do not fit one another; the job stops")
    return federation.result(
        membership=after.to_dict(),
        privacy=results.not_private("no table is read; nothing about data is released"),
        diagnostics={"epoch": after.epoch, "changed": [federation.name(member) for member in after.changed(before)]},
    )
