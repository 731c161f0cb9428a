"""What leaves: sealed or uniform shares, the same sizes for other data, noise where it is promised."""

import json
from collections import Counter

import numpy as np
import pytest
from one_process import OneProcess

from fedbayes.bayes.network import BayesianNetwork
from fedbayes.federation.embedded import EmbeddedFederation
from fedbayes.federation.errors import ArgumentError, MessageError, StationError

EDGES = [["smoke", "ill"], ["ill", "xray"], ["smoke", "cough"], ["ill", "cough"]]


def recorded(kit, seed: int, given) -> tuple[list[dict], dict]:
    parties = kit.spread(kit.population(seed))
    categories = {"smoke": ["no", "yes"], "cough": ["often", "rare"], "xray": [0, 1], "ill": ["no", "yes"]}
    domain = {name: {"categories": values} for name, values in categories.items()}
    arguments = {**given, "domain": domain, "bins": {"age": [40.0, 60.0]}, "structure": EDGES}
    with EmbeddedFederation(parties=parties, helpers=["helper"], policies=kit.limits, record=True) as embedded:
        result = embedded.run("vertibayes", "fit", arguments)
        return list(embedded.transcript), result


@pytest.fixture(scope="module")
def runs(kit, given):
    return [recorded(kit, seed, given) for seed in (1, 2)]


def sizes(transcript: list[dict]) -> Counter:
    return Counter(
        (message["organization"], message["function"], len(json.dumps(message["result"])) // 64)
        for message in transcript
        if message["function"] != "fit"
    )


@pytest.mark.audit
def test_other_data_give_messages_of_the_same_number_and_size(runs) -> None:
    (first, one), (second, other) = runs
    assert sizes(first) == sizes(second)
    assert one["model"]["tables"] != other["model"]["tables"]


def test_only_declared_rounds_are_run_and_nothing_readable_travels(runs) -> None:
    transcript, result = runs[0]
    declared = {"fit", "partial_open_channel", "partial_submit", "partial_match", "partial_extend", "partial_tables"}
    assert {message["function"] for message in transcript} <= declared
    asked = [entry["function"] for entry in result["federation"]["per_round"]]
    assert set(asked) <= declared
    for message in transcript:
        text = json.dumps(message["result"]) if message["function"] != "fit" else ""
        assert "p0007" not in text
        assert "often" not in text


def test_the_helper_gets_no_opening(runs) -> None:
    for transcript, _ in runs:
        for message in transcript:
            if message["organization"] == "helper":
                assert '"parcels": [{' not in json.dumps(message["input"])


def test_result_states_what_each_role_learns(runs) -> None:
    privacy = runs[0][1]["privacy"]
    assert privacy["differentially_private"] is False
    assert {"central", "stations", "helper", "assumption"} <= set(privacy["reveals"])


def test_noisy_tables_promise_their_epsilon_and_differ(federation, given, kit, table) -> None:
    arguments = {**given, "columns": ["smoke", "ill"], "structure": [["smoke", "ill"]], "epsilon": 2.0}
    with pytest.raises(ArgumentError, match=r"public states.*smoke, ill"):
        federation.run("vertibayes", "fit", arguments)
    arguments["domain"] = {"smoke": {"categories": ["no", "yes"]}, "ill": {"categories": ["no", "yes"]}}
    noisy = [federation.run("vertibayes", "fit", arguments) for _ in range(5)]  # two are alike once in some hundred
    for result in noisy:
        assert result["privacy"]["differentially_private"] is True
        assert result["privacy"]["epsilon"] == 2.0
        assert result["privacy"]["neighbors"] == "replace_one"
        found = BayesianNetwork.from_dict(result["model"])
        smokers = table[table["smoke"] == "yes"]
        assert found.tables["ill"][1, 1] == pytest.approx((smokers["ill"] == "yes").mean(), abs=0.3)
    assert any(result["model"]["tables"] != noisy[0]["model"]["tables"] for result in noisy[1:])


def test_rare_configurations_are_published_as_the_margin(kit, given, table) -> None:
    few = table.assign(smoke=np.where(np.arange(len(table)) < 3, "pipe", table["smoke"]))
    limits = {"*": {"minimum_rows": 5, "minimum_count": 5}}
    arguments = {**given, "columns": ["smoke", "ill"], "structure": [["smoke", "ill"]], "smallest_probability": 0.01}
    with OneProcess(kit.spread(few), helpers=["helper"], policies=limits) as embedded:
        result = embedded.run("vertibayes", "fit", arguments)
    found = BayesianNetwork.from_dict(result["model"])
    pipe = found.states["smoke"].index("pipe")
    share = (few["ill"] == "yes").mean()
    assert found.tables["ill"][pipe, 1] == pytest.approx(0.01 + 0.98 * share)
    assert all((part >= 0.01).all() for part in found.tables.values())
    assert result["diagnostics"]["minimum_count"] == 5


def test_changed_replies_stop_the_job(kit, given, table) -> None:
    def tamper(organization: str, function: str, payload: object) -> object:
        if organization == "station1" and function == "partial_tables" and isinstance(payload, dict):
            sealed = payload["sealed"]
            place = len(sealed) // 2
            payload["sealed"] = sealed[:place] + ("A" if sealed[place] != "A" else "B") + sealed[place + 1 :]
        return payload

    parties = kit.spread(table)
    with (
        EmbeddedFederation(parties=parties, helpers=["helper"], policies=kit.limits, tamper=tamper) as embedded,
        pytest.raises((MessageError, StationError), match=r"changed|sealed|reply"),
    ):
        embedded.run("vertibayes", "fit", {**given, "structure": EDGES})
