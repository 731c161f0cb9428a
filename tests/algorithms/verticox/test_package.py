"""Exports and store file, vantage6's mock client, changed and repeated messages."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import v6_verticox as package
from fedbayes.federation.codec import decode, encode
from fedbayes.federation.embedded import EmbeddedFederation
from fedbayes.federation.errors import MessageError
from v6_verticox.cox import likelihood
from v6_verticox.messages.private import Plan, StageInfo
from v6_verticox.shares.program import pack, unpack

STORE = Path(__file__).resolve().parents[3] / "algorithms" / "verticox" / "algorithm_store.json"


def test_the_store_file_lists_exactly_the_exported_functions():
    store = json.loads(STORE.read_text(encoding="utf-8"))
    assert sorted(entry["name"] for entry in store["functions"]) == sorted(package.__all__)
    assert all(hasattr(getattr(package, name), "fedbayes_remote") for name in package.__all__)


@pytest.mark.parametrize("name", ["fit", "evaluate", "predict", "baseline"])
def test_the_store_file_lists_the_arguments(name):
    store = json.loads(STORE.read_text(encoding="utf-8"))
    listed = next(entry["arguments"] for entry in store["functions"] if entry["name"] == name)
    taken = list(getattr(package, name).fedbayes_arguments.parameters)[1:]
    assert sorted(argument["name"] for argument in listed) == sorted(taken)


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"age": rng.normal(size=60), "dose": rng.normal(size=60)})
    frame["time"] = np.ceil(8 * rng.exponential(np.exp(-0.5 * frame["age"])))
    frame["event"] = (rng.uniform(size=60) < 0.7).astype(int)
    return frame


def test_it_runs_under_the_mock_client(records):
    from vantage6.algorithm.tools.mock_client import MockAlgorithmClient

    frames = [records[["age"]], records[["dose", "time", "event"]], pd.DataFrame()]
    datasets = [[{"database": frame, "db_type": "csv"}] for frame in frames]
    client = MockAlgorithmClient(datasets=datasets, organization_ids=[1, 2, 3], module="v6_verticox")
    task = {
        "method": "fit",
        "kwargs": {
            "time": "time",
            "event": "event",
            "features": ["age", "dose"],
            "solver": "bfgs",
            "rows_aligned": True,
        },
    }
    result = client.result.from_task(client.task.create(input_=task, organizations=[1])["id"])[0]
    assert len(result["model"]["coefficients"]) == 2


def test_a_changed_message_stops_the_job(records, tmp_path):
    records[["age"]].to_csv(tmp_path / "a.csv", index=False)
    records[["dose", "time", "event"]].to_csv(tmp_path / "b.csv", index=False)

    def flip(organization, function, payload):
        if function != "partial_stage" or organization != "a":
            return payload
        sealed = str(payload["sealed"])
        middle = len(sealed) // 2
        return {**payload, "sealed": sealed[:middle] + ("A" if sealed[middle] != "A" else "B") + sealed[middle + 1 :]}

    parties = {"a": tmp_path / "a.csv", "b": tmp_path / "b.csv"}
    task = {"time": "time", "event": "event", "features": ["age", "dose"], "rows_aligned": True}
    with (
        EmbeddedFederation(parties=parties, helpers=["helper"], tamper=flip) as federation,
        pytest.raises(MessageError),
    ):
        federation.run("verticox", "fit", task)


def test_messages_survive_the_codec_and_check_themselves():
    plan = Plan([1, 2], [1, 1], 3, 10, [4, 6], 10, [], 0, True)
    assert decode(Plan, encode(plan)) == plan
    with pytest.raises(ValueError, match="roles"):
        Plan([1, 1], [1, 1], 3, 10, [10], 10, [], 0, True)
    with pytest.raises(ValueError, match="shapes"):
        Plan([1, 2], [1, 1], 3, 10, [4, 5], 10, [], 0, True)
    with pytest.raises(ValueError, match="stage"):
        StageInfo("open everything", 0, 0, "", 0, 0, [])


def test_payloads_are_checked():
    from fedbayes.mpc.wide import Wide

    payload = pack({"x": Wide.encode(np.arange(6.0).reshape(3, 2), 4)})
    np.testing.assert_array_equal(unpack(payload)["x"].decode(4), np.arange(6.0).reshape(3, 2))
    with pytest.raises(ValueError, match="length"):
        unpack(payload[:-8])


@pytest.mark.audit
def test_a_neutral_aggregator_and_a_separate_helper(records, tmp_path):
    """Central at an organization with neither outcome nor data; another one deals."""
    records[["age"]].to_csv(tmp_path / "a.csv", index=False)
    records[["dose", "time", "event"]].to_csv(tmp_path / "b.csv", index=False)
    parties = {"a": tmp_path / "a.csv", "b": tmp_path / "b.csv"}
    task = {"time": "time", "event": "event", "features": ["age", "dose"], "rows_aligned": True}
    with EmbeddedFederation(parties=parties, helpers=["neutral", "helper"], aggregator="neutral") as federation:
        result = federation.run("verticox", "fit", task)
    risk = likelihood.RiskSets.of(records["time"].to_numpy(), records["event"].to_numpy())
    expected = likelihood.fit(risk, records[["age", "dose"]].to_numpy(), ["age", "dose"])
    found = {row["feature"]: row["coefficient"] for row in result["model"]["coefficients"]}
    np.testing.assert_allclose([found["age"], found["dose"]], expected.coefficients, atol=1e-6)
    assert result["federation"]["aggregator"] == "neutral"
