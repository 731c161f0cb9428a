"""vantage6's mock client, changed and repeated messages."""

import numpy as np
import pandas as pd
import pytest
from mock_kit import NO_DATA, run_mocked

from fedbayes.federation.embedded import EmbeddedFederation
from fedbayes.federation.errors import MessageError
from fedbayes.federation.messages.codec import decode, encode
from v6_verticox.cox import likelihood
from v6_verticox.messages.private import Stage
from v6_verticox.messages.setup import Plan
from v6_verticox.shares.travel import pack, unpack


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"age": rng.normal(size=60), "dose": rng.normal(size=60)})
    frame["time"] = np.ceil(8 * rng.exponential(np.exp(-0.5 * frame["age"])))
    frame["event"] = (rng.uniform(size=60) < 0.7).astype(int)
    return frame


def test_it_runs_under_the_mock_client(records, monkeypatch):
    monkeypatch.setenv("FEDBAYES_ALLOW_PREDICTIONS", "true")
    frames = [records[["age"]], records[["dose", "time", "event"]], NO_DATA]
    task = {"time": "time", "event": "event", "features": ["age", "dose"], "solver": "bfgs", "rows_aligned": True}
    result = run_mocked("verticox", "fit", frames, **task)
    assert len(result["model"]["coefficients"]) == 2


def test_a_changed_message_stops_the_job(records):
    def flip(organization, function, payload):
        if function != "partial_stage" or organization != "a":
            return payload
        sealed = str(payload["sealed"])
        middle = len(sealed) // 2
        return {**payload, "sealed": sealed[:middle] + ("A" if sealed[middle] != "A" else "B") + sealed[middle + 1 :]}

    parties = {"a": records[["age"]], "b": records[["dose", "time", "event"]]}
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
        Stage("open everything")


def test_payloads_are_checked():
    from fedbayes.mpc.wide import Wide

    payload = pack({"x": Wide.encode(np.arange(6.0).reshape(3, 2), 4)})
    np.testing.assert_array_equal(unpack(payload)["x"].decode(4), np.arange(6.0).reshape(3, 2))
    with pytest.raises(ValueError, match="length"):
        unpack(payload[:-8])


@pytest.mark.audit
def test_a_neutral_aggregator_and_a_separate_helper(records):
    """Central at an organization with neither outcome nor data; another one deals."""
    parties = {"a": records[["age"]], "b": records[["dose", "time", "event"]]}
    task = {"time": "time", "event": "event", "features": ["age", "dose"], "rows_aligned": True}
    with EmbeddedFederation(parties=parties, helpers=["neutral", "helper"], aggregator="neutral") as federation:
        result = federation.run("verticox", "fit", task)
    risk = likelihood.RiskSets.of(records["time"].to_numpy(), records["event"].to_numpy())
    expected = likelihood.fit(risk, records[["age", "dose"]].to_numpy(), ["age", "dose"])
    found = {row["feature"]: row["coefficient"] for row in result["model"]["coefficients"]}
    np.testing.assert_allclose([found["age"], found["dose"]], expected.coefficients, atol=1e-6)
    assert result["federation"]["aggregator"] == "neutral"
