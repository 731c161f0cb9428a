"""What a job announced before its first answer: a station keeps it, the manifest has its digest, and every debit and answer is held to it.

So all stations debit under one relation of neighbours, no more than was announced, and no job that is on record as private gives an exact answer or one
about single records that it did not announce. A method cannot forget this: `Station.charge` asks for the relation, and a job that announced none pays
for nothing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..errors import MessageError
from ..gate import Released, leaving
from ..messages.codec import decode, encode
from ..node.memory import Memory
from ..perimeter.manifest import Manifest, digest_of
from ..perimeter.opening import Preflight, Relation

if TYPE_CHECKING:
    from .member import Member
    from .table_reader import TableReader

SHOWING = ("classify", "predict")
"""Central functions whose answer is about single records."""
_KEPT = "announced"
_DEBIT = "announced-debit"
ROUNDING = 1.0 + 1e-9  # parts of a budget that are added up, or multiplied again, differ from it in the last digits


def keep(memory: Memory, preflight: Preflight | None) -> None:
    """Keep what a job announces in its first round.

    Raises
    ------
    MessageError
        If it has announced something else before.
    """
    text = json.dumps(encode(preflight), sort_keys=True).encode()
    if memory.once(_KEPT, text) != text:
        raise MessageError("this job has announced something else before; start the job again")


def kept(memory: Memory) -> Preflight | None:
    """Return what the job announced, or None."""
    return _read(memory.read(_KEPT) or b"null")


@lru_cache(maxsize=4)  # a round asks several times
def _read(text: bytes) -> Preflight | None:
    content = json.loads(text)
    return None if content is None else decode(Preflight, content)


def is_private(memory: Memory) -> bool:
    """Return whether the job announced that all that leaves is differentially private."""
    announced = kept(memory)
    return announced is not None and announced.private


def digest(preflight: Preflight | None) -> str:
    """Return the digest of an announcement, 64 hexadecimal digits, for the manifest; empty without one."""
    return "" if preflight is None else digest_of(preflight)


def check_agreed(memory: Memory, manifest: Manifest) -> None:
    """Raise `MessageError` if the manifest, which all stations of a job share, is of another announcement than this station got."""
    if manifest.announced != digest(kept(memory)):
        raise MessageError("the manifest of the job announces something else than this station was told; the job stops")


def check_function(memory: Memory, function: str) -> None:
    """Raise `MessageError` if the job did not announce that it calls this partial function."""
    announced = kept(memory)
    if announced is None or function not in announced.functions:
        raise MessageError(f"{function} is none of the functions that the job announced to this station; the job stops")


def check_linked(memory: Memory, column: str) -> None:
    """Raise `MessageError` if the job did not announce that records are linked, or named, by this column."""
    announced = kept(memory)
    if announced is None or announced.linked_by != column:
        raise MessageError("id_column: the job announced another column of identifiers to this station; the job stops")


def check_debit(
    station: Member, entry: tuple[str, str], epsilon: float, delta: float, relation: Relation | None
) -> None:
    """Hold a debit to what the job announced.

    Parameters
    ----------
    station : Member
        Who is to debit.
    entry : tuple of str
        What makes a repeat of the debit recognisable.
    epsilon, delta : float
        Cost.
    relation : Relation or None
        Whom the noise is for; None only where nothing is debited.

    Raises
    ------
    MessageError
        If it is for others, or more with the job's earlier debits, than the job announced.
    """
    if not epsilon and not delta:
        return
    announced = kept(station.memory)
    if announced is None or relation is None or announced.relation != relation:
        raise MessageError(
            "neighbors: the noise of a release is for others than the job announced to this station, or it announced none; the job stops"
        )
    station.memory.note(_DEBIT, [*entry, epsilon, delta])
    debits = station.memory.noted(_DEBIT)
    for position, name in ((2, "epsilon"), (3, "delta")):
        if math.fsum(debit[position] for debit in debits) > announced.bound[position - 2] * ROUNDING:
            raise MessageError(f"{name}: more would be debited than the job announced to this station; the job stops")


def check_exact(station: Member) -> None:
    """Raise `MessageError` if the job announced that all that leaves is differentially private."""
    if is_private(station.memory):
        raise MessageError("the job announced private answers only, and asks for an exact one; the job stops")


def check_summed(station: Member, reply: Any) -> None:
    """Raise `MessageError` if a station's own noisy numbers are to leave where the job announced shares of noise: its answers are sums over the stations."""
    job = kept(station.memory)
    if job is not None and job.honest_fraction > 0.0 and any(isinstance(part, Released) for part in leaving(reply)):
        raise MessageError(
            "noise: the job announced sums with shares of noise, and asks for a station's own numbers; the job stops"
        )


def check_single(station: Member) -> None:
    """Raise `MessageError` if the job did not announce that single records are predicted."""
    announced = kept(station.memory)
    if announced is None or not announced.single_records:
        raise MessageError("the job did not announce that single records are predicted; the job stops")


def check_shown(station: Member) -> None:
    """Raise `MessageError` if what is said of single records is to reach central in a job whose answer is not that: an evaluation shows it sums."""
    if station.require_members().function not in SHOWING:
        raise MessageError(
            "central is told of single records where the researcher asked to predict them, and this job does something else; the job stops"
        )


def check_compared(station: TableReader, receivers: Collection[int], columns: Collection[str]) -> None:
    """Refuse to have single records compared elsewhere than where their outcome is, which might be at central.

    Parameters
    ----------
    station : TableReader
        Who answers.
    receivers : collection of int
        Who is to learn what is said of single records.
    columns : collection of str
        Of the outcome, or the label.

    Raises
    ------
    MessageError
        If this station has these columns and is no receiver, or is one without them; or not all stations of the job are asked, of which one might have them.
    """
    station.require_asked()
    here = station.has_data and set(columns) <= set(station.columns)
    if here is not (station.organization in receivers):
        raise MessageError("what is said of single records is for the station with the outcome; the job stops")
