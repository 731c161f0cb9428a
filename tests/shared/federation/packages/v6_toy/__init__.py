"""A small algorithm that shows every manner of the platform; for the tests of the federation only."""

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from toy_kit import toy_central

from fedbayes.federation import (
    Federation,
    Masked,
    Message,
    Preflight,
    Public,
    Relation,
    Released,
    Sealed,
    Station,
    partial,
)
from fedbayes.federation.remote import disclosure_settings, partial_close, partial_open_channel, preflight
from fedbayes.randomness import secret_bytes

__all__ = [
    "disclosure_settings",
    "partial_close",
    "partial_draw",
    "partial_fail",
    "partial_open_channel",
    "partial_relay",
    "partial_score",
    "partial_sum",
    "preflight",
    "run_draw",
    "run_fail",
    "run_fit",
    "run_relay",
    "run_score",
    "run_sum",
    "run_two_under_one_name",
]

ROWS = Relation("add_remove")


def announced(epsilon: float, function: str) -> Preflight:
    return Preflight(functions=(function,), epsilon=epsilon, relation=ROWS)


class Ask(Message):
    text: str = ""


class Sum(Message):
    values: Masked


class Values(Message):
    values: Released[np.ndarray]


class Letters(Message):
    letters: dict[int, Sealed]


class SealedLetters(Message):
    letters: dict[int, Sealed]
    read: Public[dict[int, str]]


@partial
def partial_sum(station: Station, request: Ask) -> Sum:
    column = station.data([request.text])[request.text]
    receipt = station.charge(0.5, note="sum", relation=ROWS)
    total = np.array([len(column), int(column.sum())], dtype=np.int64)
    return Sum(values=station.mask(station.released(total, receipt)))


@partial
def partial_draw(station: Station, request: Ask) -> Values:
    """Charge, draw, and hang while the file named by the request exists (only its first run)."""
    receipt = station.charge(1.0, note="draw", relation=ROWS)
    hold = Path(request.text) / f"hold-{station.organization}"
    if hold.exists():
        hold.rename(hold.with_suffix(".seen"))
        time.sleep(30)
    drawn = np.frombuffer(secret_bytes(16), dtype=np.uint64)
    return Values(values=station.released(drawn, receipt))


@partial
def partial_fail(station: Station, request: Ask) -> Values:
    manner = request.text if station.organization == 2 else ""
    if manner == "raise":
        raise ValueError("secret value 42")
    if manner == "exit":
        os._exit(3)
    if manner == "sleep":
        time.sleep(30)
    return Values(values=station.released(np.zeros(1), station.charge(0.0, relation=None)))


@partial
def partial_relay(station: Station, request: Letters) -> SealedLetters:
    """Send a letter to every other member; on the second round read the letters."""
    others = [member for member in station.channel.members if member != station.organization]
    if not request.letters:
        station.keep("sent", to=np.array(others))
        text = f"from {station.organization}".encode()
        sealed = {member: station.seal(member, text, "letter") for member in others}
        return SealedLetters(sealed, station.public({}))
    station.kept("sent")
    opened = {k: station.unseal(k, sealed, "letter").decode() for k, sealed in request.letters.items()}
    return SealedLetters({}, station.public(opened))


@toy_central
def run_sum(federation: Federation, column: str, survivors: bool = False, organizations: Any = None) -> dict[str, Any]:
    parties = federation.open_channel(organizations, announced(1.0 if survivors else 0.5, "partial_sum"))
    asked = Ask(text=column)
    total = federation.secure_sum("partial_sum", asked, parties.stations, Sum, "values", survivors=survivors)
    return federation.result(model={"n": int(total[0]), "sum": int(total[1])})


class ScoreRequest(Message):
    column: str
    mean: int
    noisy: bool


@partial
def partial_score(station: Station, request: ScoreRequest) -> Sum:
    """The sum of the column's differences to a mean, exact or noisy."""
    column = station.data([request.column])[request.column]
    total = np.array([int(column.sum()) - request.mean * len(column)], dtype=np.int64)
    if request.noisy:
        return Sum(station.mask(station.released(total, station.charge(0.1, relation=ROWS))))
    return Sum(station.mask(station.exact(total, "score")))


@toy_central
def run_fit(federation: Federation, column: str) -> dict[str, Any]:
    parties = federation.open_channel(None, announced(0.5, "partial_sum"))
    total = federation.secure_sum("partial_sum", Ask(text=column), parties.stations, Sum, "values")
    return federation.result(model={"mean": int(total[1]) // int(total[0])})


@toy_central
def run_score(federation: Federation, column: str, model: dict[str, Any], noisy: bool = False) -> dict[str, Any]:
    parties = federation.open_channel(None, announced(0.1, "partial_score"))
    asked = ScoreRequest(column, int(model["mean"]), noisy)
    total = federation.secure_sum("partial_score", asked, parties.stations, Sum, "values", last=True)
    return federation.result(score=int(total.astype(np.int64)[0]))


@toy_central
def run_two_under_one_name(federation: Federation, columns: list[str]) -> dict[str, Any]:
    """Deviate from the protocol: ask for another sum under the name of a round that is over."""
    parties = federation.open_channel(None, announced(1.0, "partial_sum"))
    totals = []
    for column in columns:
        total = federation.secure_sum("partial_sum", Ask(text=column), parties.stations, Sum, "values")
        totals.append([int(part) for part in total])
        federation._log.entries.pop()
    return federation.result(model=totals)


@toy_central
def run_draw(federation: Federation, folder: str) -> dict[str, Any]:
    parties = federation.open_channel(None, announced(1.0, "partial_draw"))
    replies = federation.round("partial_draw", Ask(text=folder), parties.stations, Values)
    return federation.result(model={str(key): reply.values.value for key, reply in replies.items()})


@toy_central
def run_fail(federation: Federation, manner: str, timeout: float = 60.0) -> dict[str, Any]:
    parties = federation.open_channel(None, Preflight(functions=("partial_fail",)))
    federation.round("partial_fail", Ask(text=manner), parties.stations, Values, timeout=timeout)
    return federation.result()


@toy_central
def run_relay(federation: Federation, swap: bool = False) -> dict[str, Any]:
    parties = federation.open_channel(None, Preflight(functions=("partial_relay",)))
    empty = Letters(letters={})
    sent = federation.round("partial_relay", empty, parties.members, SealedLetters)
    inboxes = {
        member: {sender: reply.letters[member] for sender, reply in sent.items() if sender != member}
        for member in parties.members
    }
    if swap:
        first, second = sorted(inboxes[1])[:2]
        inboxes[1][first], inboxes[1][second] = inboxes[1][second], inboxes[1][first]
    letters = {member: Letters(letters=inbox) for member, inbox in inboxes.items()}
    read = federation.round("partial_relay", letters, parties.members, SealedLetters, last=True)
    texts = {str(key): {str(k): v for k, v in reply.read.value.items()} for key, reply in read.items()}
    return federation.result(model=texts)
