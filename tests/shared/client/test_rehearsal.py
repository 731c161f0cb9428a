"""`fedbayes plan --rehearse` runs the task itself on made-up records: its bytes are those of real ones, and less noise is better."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

import fedbayes.federation.embedded as embedded
from fedbayes.client.exits import UsageProblem
from fedbayes.client.plans.made_up import People, deal, deal_columns, deal_rows
from fedbayes.client.plans.planning import plan
from fedbayes.client.plans.setting import Setting
from fedbayes.client.running.local import Job
from fedbayes.federation.embedded import EmbeddedFederation
from fedbayes.randomness import ResearchSampler

DOMAIN: dict[str, Any] = {
    "ill": {"categories": ["no", "yes"]},
    "stage": {"categories": ["I", "II", "III"]},
    "age": {"bounds": [18, 100]},
    "bmi": {"bounds": [10, 60]},
}
TIMES = {"time": "t", "event": "e"}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers are calls in this process, where nothing is asked of what they send."""
    monkeypatch.setattr(embedded, "EmbeddedFederation", OneProcess)


def rehearsed(algorithm: str, function: str, arguments: dict[str, Any], rows: int = 400, **how: Any) -> dict[str, Any]:
    return plan(Job(algorithm, function, arguments), Setting(rows=rows, rehearsals=1, **how))["rehearsal"]


def test_noise_takes_accuracy_where_moments_are_released(calls: None) -> None:
    told = rehearsed("smooth_naive_bayes", "fit", {"label": "ill", "domain": DOMAIN, "epsilon": 0.1}, signal=2.0)
    assert told["measure"] == "accuracy"
    assert list(told["instead"]) == ["epsilon 0.0333", "epsilon 0.3", "next to no noise"]
    exact = told["instead"].pop("next to no noise")
    assert exact > 0.7
    assert max(told["asked"], *told["instead"].values()) <= exact + 0.03


def test_standard_errors_of_a_private_cox_model_grow_with_its_noise(calls: None) -> None:
    asked = {**TIMES, "split": "horizontal", "features": ["age"], "times": [250, 500, 1000], "epsilon": 1.0}
    told = rehearsed("verticox", "fit", {**asked, "domain": {"age": DOMAIN["age"]}}, rows=900)
    errors = {words: one["age"] for words, one in told["instead"].items()}
    assert told["measure"] == "standard error"
    assert errors["next to no noise"] < told["asked"]["age"] < errors["epsilon 0.333"]


@pytest.mark.parametrize(
    ("algorithm", "function", "asked"),
    [
        ("scalar_product", "count", {"conditions": [{"column": "age", "op": ">=", "value": 60}, {"column": "stage", "op": "==", "value": "I"}]}),
        pytest.param("verticox", "fit", {**TIMES, "formula": "~ age + C(stage) + bmi"}, marks=pytest.mark.audit),
        pytest.param(
            "vertibayes",
            "fit",
            {"columns": list(DOMAIN), "structure": "private", "epsilon": 2.0, "delta": 1e-6},
            marks=pytest.mark.audit,
        ),
    ],
)  # fmt: skip
def test_bytes_of_a_rehearsal_are_those_of_the_task(algorithm: str, function: str, asked: dict[str, Any]) -> None:
    dictionary = {"columns": {"id": {"type": "identifier"}, **{name: typed(entry) for name, entry in DOMAIN.items()}}}
    arguments = {**asked, "dictionary": dictionary}
    outcome = {} if "time" not in asked else TIMES
    people = People(DOMAIN, [*outcome.values(), *DOMAIN], identifier="id", **outcome)
    table = people.draw(400, ResearchSampler(77))
    with EmbeddedFederation(deal_columns(table, people, 3), helpers=["z"]) as federation:
        result = federation.run(algorithm, function, arguments)
    planned = plan(Job(algorithm, function, arguments), Setting(rows=400, rehearsals=1))
    assert planned["bytes"] == planned["rehearsal"]["bytes"] == pytest.approx(result.cost.bytes, rel=0.35)
    assert planned["rounds"] == pytest.approx(result.cost.rounds, rel=0.35)


def typed(entry: dict[str, Any]) -> dict[str, Any]:
    return {"type": "category" if "categories" in entry else "number", **entry}


def test_a_model_is_used_on_records_of_its_own_columns(calls: None) -> None:
    people = People(DOMAIN, list(DOMAIN), label="ill", identifier="id")
    table = people.draw(300, ResearchSampler(5))
    given = {"id_column": "id", "label": "ill", "domain": DOMAIN, "bins": 3}
    with OneProcess(deal_columns(table, people, 3), helpers=["z"]) as federation:
        model = federation.run("vertibayes", "fit", {**given, "columns": list(DOMAIN)})["model"]
    known = {"model": model, "id_column": "id", "dictionary": {"columns": {n: typed(e) for n, e in DOMAIN.items()}}}
    for function in ("evaluate", "classify"):
        told = rehearsed("vertibayes", function, known, rows=300)
        assert (told["measure"], told["asked"]) == (None, None)
        assert told["bytes"] > 0


def test_made_up_records_are_those_of_the_domain() -> None:
    people = People(DOMAIN, ["t", "e", *DOMAIN], label="ill", identifier="id", signal=1.0, **TIMES)
    table = people.draw(1000, ResearchSampler(1))
    assert table["id"].is_unique
    assert set(table["stage"]) == set(DOMAIN["stage"]["categories"])
    assert table["age"].between(18, 100).all()
    assert table["t"].gt(0).all()
    assert 0.2 < table["e"].mean() < 0.8
    assert abs(table.groupby("ill")["age"].mean().diff().iloc[1]) > 1
    assert sum(map(len, deal_rows(table, 3).values())) == 1000
    dealt = deal_columns(table, people, 3)
    assert {"t", "e"} <= set(dealt["station-0"])
    assert sorted(name for part in dealt.values() for name in part if name != "id") == sorted(["t", "e", *DOMAIN])


@pytest.mark.parametrize(
    ("algorithm", "asked"),
    [
        ("vertibayes", {"columns": list(DOMAIN), "bins": 3}),
        ("bayesian_ensemble", {"label": "ill", "bins": 3}),
        pytest.param("bayesian_ensemble", {"label": "ill", "bins": 3, "hybrid": "shared"}, marks=pytest.mark.audit),
    ],
)
def test_a_hybrid_split_is_rehearsed(algorithm: str, asked: dict[str, Any], calls: None) -> None:
    told = rehearsed(algorithm, "fit", {**asked, "split": "hybrid", "id_column": "id", "domain": DOMAIN}, rows=600)
    assert told["rounds"] > 0
    assert told["bytes"] > 0


def test_a_hybrid_split_has_columns_and_rows_at_stations_of_their_own() -> None:
    people = People(DOMAIN, list(DOMAIN), label="ill", identifier="id")
    table = people.draw(300, ResearchSampler(1))
    dealt = deal(table, people, 3, "hybrid")
    assert {name: len(part) for name, part in dealt.items()} == {"station-0": 200, "station-1": 200, "station-2": 100}
    assert set(dealt["station-0"]["id"]) == set(dealt["station-1"]["id"])
    assert not set(dealt["station-0"]["id"]) & set(dealt["station-2"]["id"])
    assert set(dealt["station-0"]) & set(dealt["station-1"]) == {"id"}
    assert set(dealt["station-2"]) == {"id", *DOMAIN}
    with pytest.raises(UsageProblem, match="three stations or more"):
        deal(table, people, 2, "hybrid")


def test_without_a_domain_or_rows_nothing_is_made_up() -> None:
    job = Job("dp_naive_bayes", "fit", {"label": "y", "epsilon": 1.0})
    with pytest.raises(UsageProblem, match="--rehearse needs --rows"):
        plan(job, Setting(rehearsals=1))
    with pytest.raises(UsageProblem, match="domain of column 'y' is not known"):
        plan(job, Setting(rows=100, rehearsals=1))


def test_the_command_prints_what_it_measured(command: Any, calls: None) -> None:
    words = ["plan", "smooth_naive_bayes", "fit", "--arg", "label=ill", "--arg", "epsilon=1"]
    words += ["--arg", f"domain={json.dumps(DOMAIN)}"]
    assert "not known before; --rows N --rehearse 3 measures it" in command(*words)[1]
    code, out, err = command(*words, "--rows", "200", "--rehearse", "1")
    assert (code, err) == (0, "")
    assert "1 run on made-up records" in out
    assert "with next to no noise" in out
    code, _, err = command(*words, "--rehearse", "1")
    assert (code, len(err.splitlines())) == (2, 1)


def test_what_stations_refuse_on_made_up_records_is_said(calls: None) -> None:
    fine = {name: {"bounds": [0, 1]} for name in ("a", "b", "c")}
    asked = {"columns": list(fine), "domain": fine, "bins": 90, "rows_aligned": True}
    with pytest.raises(UsageProblem, match="on made-up records the task ends with"):
        rehearsed("scalar_product", "contingency", asked, rows=60)
    assert isinstance(People(fine, list(fine)).draw(5, ResearchSampler(1)), pd.DataFrame)
    assert np.isfinite(People(fine, list(fine)).draw(5, ResearchSampler(1)).to_numpy()).all()
