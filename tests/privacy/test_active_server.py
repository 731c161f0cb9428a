"""An active server, for every method: once keys are known it reads sizes and times, and changes nothing unnoticed."""

from __future__ import annotations

import base64
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from limits_kit import predicting
from party_kit import with_folders

from fedbayes.federation import errors
from fedbayes.federation.embedded import EmbeddedFederation
from fedbayes.federation.messages.codec import decode, encode
from fedbayes.federation.perimeter.envelope import Request
from fedbayes.mpc.relay import KeyPair, SigningPair
from fedbayes.randomness import secret_bytes

ROWS = 120
DOMAIN = {"y": {"categories": ["n", "p"]}, "f": {"categories": ["a", "b", "c"]}}
VERTICAL = {"id_column": "id"}
HORIZONTAL = {"label": "y", "domain": DOMAIN}
TASKS = {
    "dp_naive_bayes": ("h", "fit", {**HORIZONTAL, "epsilon": 1.0}),
    "smooth_naive_bayes": (
        "h",
        "fit",
        {"label": "y", "domain": {"y": DOMAIN["y"], "g": {"bounds": [0, 1]}}, "epsilon": 1.0},
    ),
    "discriminative_naive_bayes": ("h", "fit", {**HORIZONTAL, "rounds": 2}),
    "secure_naive_bayes": ("h", "fit", {**HORIZONTAL, "epsilon": 1.0}),
    "scalar_product": (
        "v",
        "count",
        {
            "conditions": [{"column": "z", "op": "==", "value": 1}, {"column": "w", "op": "==", "value": 1}],
            **VERTICAL,
        },
    ),
    "vertibayes": ("v", "fit", {"columns": ["x", "z", "w"], "structure": [["x", "w"]], **VERTICAL}),
    "bayesian_ensemble": ("v", "fit", {"label": "w", **VERTICAL}),
    "verticox": ("v", "fit", {"time": "time", "event": "event", "features": ["z", "w"], "solver": "bfgs", **VERTICAL}),
}


@pytest.fixture(scope="module")
def parties(tmp_path_factory):
    return stations(tmp_path_factory.mktemp("server"))


def stations(folder):
    """Return {"h": ..., "v": ...}: stations of a horizontal and of a vertical task, each with a ledger folder."""
    rng = np.random.default_rng(4)
    ids = [f"p{i:04d}" for i in range(ROWS)]
    z, w = rng.integers(0, 2, ROWS), rng.integers(0, 2, ROWS)
    times = np.round(rng.exponential(np.exp(-0.4 * z)), 3) + 0.001
    vertical = {
        "a": pd.DataFrame({"id": ids, "x": z ^ (rng.random(ROWS) < 0.2), "time": times, "event": 1}).astype({"x": int}),
        "b": pd.DataFrame({"id": ids, "z": z}),
        "c": pd.DataFrame({"id": ids, "w": w}),
    }
    horizontal = {}
    for name in "abc":
        labels = np.array(["n", "p"])[rng.integers(0, 2, 60)]
        table = {"y": labels, "f": np.array(list("abc"))[rng.integers(0, 3, 60)], "g": rng.random(60)}
        horizontal[name] = pd.DataFrame(table)
    return {kind: with_folders(own, folder / kind, "ledger") for kind, own in (("h", horizontal), ("v", vertical))}


def federation(parties, method, **options):
    kind, _, _ = TASKS[method]
    helpers = ["h"] if kind == "v" else []
    policies = predicting({name: {"ledger": "ledger"} for name in parties[kind]})  # bfgs asks for it
    central = "c" if method == "verticox" else "a"  # bfgs: another organization than the one with the outcome
    return EmbeddedFederation(parties[kind], helpers=helpers, policies=policies, aggregator=central, **options)


@pytest.mark.few(2)
@pytest.mark.parametrize("method", TASKS)
def test_a_server_that_looks_reads_no_message_once_keys_are_known(parties, method):
    _, function, arguments = TASKS[method]
    with federation(parties, method, record=True) as running:
        running.run(method, function, arguments)
        entries = [entry for entry in running.transcript if entry["function"] != function]
    later = [entry for entry in entries if entry["function"] != "partial_open_channel"]
    assert later
    for entry in later:
        message = entry["input"]["kwargs"]["message"]
        assert message["body"] is None
        assert entry["body"] is not None
        for column in ("event", "income", '"f"', '"z"'):
            assert column not in json.dumps({key: message[key] for key in message if key != "manifest"})
        assert set(entry["result"]) == {"organization", "public_key", "sealed", "filed"}


def forged(message, manner):
    """Return a request as an active server would send it on."""
    if manner == "bit":
        raw = bytearray(base64.b64decode(message["sealed"]))
        raw[-1] ^= 1
        return {**message, "sealed": base64.b64encode(bytes(raw)).decode()}
    request: Request = decode(Request, message)
    pair = SigningPair.from_bytes(secret_bytes(32))
    own = {"signer": pair.public_bytes, "reply_key": KeyPair.generate().public_bytes}
    return encode(replace(request, **own).sign(pair))


@pytest.mark.few(2)
@pytest.mark.parametrize("manner", ["bit", "own keys"])
@pytest.mark.parametrize("method", TASKS)
def test_a_server_that_changes_the_last_request_of_a_station_stops_the_job(parties, method, manner):
    _, function, arguments = TASKS[method]
    with federation(parties, method, record=True) as running:
        running.run(method, function, arguments)
        last = [entry["function"] for entry in running.transcript if entry["organization"] == "b"][-1]

    def change(organization, name, message):
        return forged(message, manner) if organization == "b" and name == last else message

    with federation(parties, method, tamper_request=change) as running, pytest.raises(errors.AlgorithmError):
        running.run(method, function, arguments)


@pytest.mark.few(2)
@pytest.mark.parametrize("method", TASKS)
def test_a_server_that_changes_the_last_reply_of_a_station_stops_the_job(parties, method):
    _, function, arguments = TASKS[method]
    with federation(parties, method, record=True) as running:
        running.run(method, function, arguments)
        last = [entry["function"] for entry in running.transcript if entry["organization"] == "b"][-1]

    def change(organization, name, payload):
        if organization != "b" or name != last:
            return payload
        return {**payload, "public_key": base64.b64encode(KeyPair.generate().public_bytes).decode()}

    with federation(parties, method, tamper=change) as running, pytest.raises(errors.MessageError):
        running.run(method, function, arguments)
