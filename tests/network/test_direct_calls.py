"""A researcher who calls partial functions directly, on real nodes: every one of every image refuses, before it reads anything."""

from __future__ import annotations

import importlib
import time
from typing import Any

import pytest
from researcher import LONGEST_SECONDS, OVER, POLL_SECONDS, Network, TaskFailed, algorithms

from fedbayes.federation.errors import PolicyError, from_log

pytestmark = pytest.mark.network

AT_ONCE = 12
"""Containers that start at the same time: more would only wait for one another."""

LOOKED_AT = 3
"""Calls that are asked after at a time, those that began first: every look costs the server as much as a part of a call."""


def partials() -> list[tuple[str, str]]:
    """Return (method, function) of every partial function that an image exports."""
    found = []
    for algorithm in algorithms():
        exported = importlib.import_module(f"v6_{algorithm}").__all__
        found += [(algorithm, name) for name in exported if name.startswith("partial_")]
    return found


def forged() -> dict[str, Any]:
    """Return a message as a central function would send it, as far as somebody can make one up."""
    return {
        "protocol": 1,
        "session": "0" * 64,
        "round_name": "1:partial",
        "sender": 1,
        "participants": [1, 2, 3],
        "function": "partial",
        "last": False,
        "body": {},
        "digest": "0" * 64,
    }


@pytest.fixture(scope="module")
def answers(network: Network) -> dict[tuple[str, str], tuple[str, str]]:
    """Call everything, some at a time, spread over the stations; return status and log of each. Nobody's ledger sees any of it."""
    before = {name: network.ledger(name).debits() for name in network.stations}
    waiting = [(number, algorithm, name) for number, (algorithm, name) in enumerate(partials())]
    running: dict[int, tuple[str, str]] = {}
    told: dict[tuple[str, str], tuple[str, str]] = {}
    deadline = time.monotonic() + LONGEST_SECONDS + 2.0 * len(waiting)
    while waiting or running:
        while waiting and len(running) < AT_ONCE:
            number, algorithm, name = waiting.pop()
            arguments = {"message": forged() if number % 2 else None}
            at = network.stations[number % len(network.stations)]
            running[network.submit(algorithm, name, arguments, at=at)] = (algorithm, name)
        for task in list(running)[:LOOKED_AT]:
            status = network.status(task)
            if status in OVER:
                log = "\n".join(str(run.get("log") or "") for run in network.runs(task))
                told[running.pop(task)] = (status, log)
        if time.monotonic() > deadline:
            raise TaskFailed(f"{len(running)} direct calls hang: {sorted(running.values())}")
        time.sleep(POLL_SECONDS)
    assert {name: network.ledger(name).debits() for name in network.stations} == before
    return told


@pytest.mark.parametrize(("algorithm", "function"), partials())
def test_a_direct_call_is_refused(
    algorithm: str, function: str, answers: dict[tuple[str, str], tuple[str, str]]
) -> None:
    status, log = answers[algorithm, function]
    assert status != "completed"
    refusal = from_log(log)
    assert isinstance(refusal, PolicyError), log[-600:]
    assert "central function" in str(refusal)
