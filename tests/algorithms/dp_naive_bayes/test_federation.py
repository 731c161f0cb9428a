"""The whole method in the embedded federation and under vantage6's mock client."""

import json

import numpy as np
import pandas as pd
import pytest
from mock_kit import run_mocked
from one_process import OneProcess
from party_kit import with_folders
from sklearn.metrics import log_loss, roc_auc_score

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.bayes.naive_bayes.counting import fit_model
from fedbayes.bayes.schema import Schema
from fedbayes.federation import errors
from fedbayes.federation.embedded import EmbeddedFederation

NAME = "dp_naive_bayes"


@pytest.fixture(scope="module")
def federation(files):
    with OneProcess(files, helpers=["helper"]) as running:
        yield running


def fit(federation, domain, **arguments):
    return federation.run(NAME, "fit", {"label": "class", "domain": domain, **arguments})


@pytest.mark.parametrize("statistics", ["histogram", "gaussian"])
def test_without_noise_it_is_the_pooled_model(federation, domain, pooled, statistics):
    result = fit(federation, domain, noise="none", statistics=statistics)
    assert not any("noisy" in told for told in result["privacy"]["reveals"].values())
    schema = Schema.from_domain(domain)
    reference = fit_model(schema, "class", schema.encode(pooled), statistics)
    ours = NaiveBayes.from_dict(result["model"])
    assert np.allclose(ours.predict_proba(pooled), reference.predict_proba(pooled), atol=1e-3)
    assert result["privacy"]["differentially_private"] is False
    assert "noise" in result["privacy"]["reason"]
    assert result["federation"]["rounds"] == 2
    assert result["diagnostics"]["stations"] == 5


def test_a_delta_that_would_make_more_noise_is_not_spent(federation, domain):
    few, gaussian = (fit(federation, domain, epsilon=1.0, delta=1e-6, mechanism=law) for law in ("auto", "gaussian"))
    assert (few["privacy"]["delta"], gaussian["privacy"]["delta"]) == (0.0, 1e-6)
    assert "discrete Laplace" in few["privacy"]["mechanism"]
    assert "discrete Gaussian" in gaussian["privacy"]["mechanism"]
    assert any(text.startswith("delta is not spent") for text in few["warnings"])
    name = "noise_deviation_of_a_count"
    assert few["diagnostics"][name] < gaussian["diagnostics"][name]


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "choice",
    [
        {"noise": "distributed"},
        {"noise": "distributed", "delta": 1e-6, "mechanism": "gaussian"},
        {"noise": "distributed", "statistics": "gaussian"},
        {"noise": "local", "aggregation": "median"},
    ],
)
def test_with_a_large_budget_every_way_comes_near_the_pooled_model(federation, domain, pooled, choice):
    result = fit(federation, domain, epsilon=1000, **choice)
    schema = Schema.from_domain(domain)
    reference = fit_model(schema, "class", schema.encode(pooled), choice.get("statistics", "histogram"))
    ours = NaiveBayes.from_dict(result["model"])
    agreement = np.mean(ours.predict(pooled) == reference.predict(pooled))
    assert agreement > 0.75
    privacy = result["privacy"]
    assert privacy["differentially_private"] is False
    assert "epsilon is above 20" in privacy["reason"]
    assert privacy["epsilon"] == 1000
    assert privacy["delta"] == choice.get("delta", 0)
    assert privacy["neighbors"] == "add_remove"
    assert privacy["unit"] == "row"
    assert set(privacy["reveals"]) == {"researcher", "central", "stations"}
    assert result["federation"]["rounds"] == 2


def test_gossip_gives_the_sums(federation, domain, pooled):
    result = fit(federation, domain, epsilon=1e6, noise="local", aggregation="gossip")
    assert result["diagnostics"]["class_counts"]["ill"] == pytest.approx(np.sum(pooled["class"] == "ill"))
    assert [entry["function"] for entry in result["federation"]["per_round"]][1:] == ["partial_gossip"] * 5


def test_a_result_travels_as_json_and_evaluates(federation, domain, pooled, exact_scores):
    model = json.loads(json.dumps(fit(federation, domain, noise="none")["model"]))
    found = federation.run(NAME, "evaluate", {"model": model, "label": "class"})
    known = pooled.dropna(subset=["class"])
    ours = NaiveBayes.from_dict(model)
    probabilities = ours.predict_proba(known)
    truth = known["class"].map({name: code for code, name in enumerate(ours.classes)}).to_numpy()
    assert found["n"] == len(known)
    assert found["accuracy"] == pytest.approx(np.mean(ours.predict(known) == known["class"]))
    assert found["log_loss"] == pytest.approx(log_loss(truth, probabilities), abs=1e-9)
    theirs = roc_auc_score(truth, probabilities, multi_class="ovr", average="weighted")
    assert found["auc"] == pytest.approx(theirs, abs=2e-3)
    assert found["privacy"]["differentially_private"] is False
    assert found["calibration"]["error"] < 0.5


def test_noisy_scores_say_what_they_cost(federation, domain, pooled):
    model = fit(federation, domain, noise="none")["model"]
    found = federation.run(NAME, "evaluate", {"model": model, "epsilon": 20, "delta": 0})
    assert found["privacy"]["epsilon"] == 20
    assert found["privacy"]["differentially_private"] is True
    known = pooled.dropna(subset=["class"])
    right = np.mean(NaiveBayes.from_dict(model).predict(known) == known["class"])
    assert found["accuracy"] == pytest.approx(right, abs=0.1)
    assert 0.5 < found["auc"] <= 1


def test_stations_join_later(files, domain, pooled):
    with OneProcess(files, helpers=["helper"], policies={"*": {"minimum_organizations": 2}}) as running:
        first = fit(running, domain, noise="none", organizations=["h0", "h1", "h2"])
        arguments = {"model": first["model"], "noise": "none", "organizations": ["h3", "h4", "helper"]}
        later = running.run(NAME, "update", arguments)
        again = running.run(NAME, "update", {**arguments, "model": later["model"]})
    known = pooled.dropna(subset=["class"])
    ours = NaiveBayes.from_dict(later["model"])
    assert ours.class_counts.tolist() == [np.sum(known["class"] == name) for name in ours.classes]
    schema = Schema.from_domain(domain)
    batch = fit_model(schema, "class", schema.encode(pooled))
    assert np.allclose(ours.predict_proba(pooled), batch.predict_proba(pooled), atol=1e-12)
    releases = later["model"]["provenance"]["releases"]
    assert [entry["organizations"] for entry in releases] == [["h0", "h1", "h2"], ["h3", "h4"]]
    assert any("h3, h4" in warning and "twice" in warning for warning in again["warnings"])
    assert again["privacy"]["differentially_private"] is False


def test_one_station_alone_joins_under_local_noise(federation, domain):
    first = fit(federation, domain, epsilon=1, organizations=["h0", "h1", "h2"])
    later = federation.run(
        NAME, "update", {"model": first["model"], "epsilon": 2, "noise": "local", "organizations": ["h3"]}
    )
    assert later["privacy"]["differentially_private"] is True
    assert later["diagnostics"]["stations"] == 1


def test_a_robust_model_takes_no_updates(federation, domain):
    model = fit(federation, domain, epsilon=100, noise="local", aggregation="krum")["model"]
    with pytest.raises(errors.ArgumentError, match="model cannot be updated"):
        federation.run(NAME, "update", {"model": model, "epsilon": 1, "noise": "local"})


def test_a_model_whose_edges_are_not_from_bound_to_bound_takes_no_updates(federation, domain):
    """Stations would count in a bin more than it has, after they have paid."""
    model = fit(federation, domain, epsilon=100, noise="local")["model"]
    model["features"]["age"]["edges"][0] += 5e-324 if not model["features"]["age"]["edges"][0] else 1e-9
    with pytest.raises(errors.ArgumentError, match=r"cannot be updated.*bound to bound"):
        federation.run(NAME, "update", {"model": model, "epsilon": 1, "noise": "local"})


def test_the_schema_file_of_the_stations_suffices(files, domain):
    for party in files.values():
        (party["ledger"] / "schema.json").write_text(json.dumps(domain))
    limits = {"*": {"ledger": "ledger", "schema": "schema.json"}}
    with OneProcess(files, policies=limits) as running:
        result = running.run(NAME, "fit", {"label": "class", "epsilon": 5})
        assert result["federation"]["rounds"] == 3
        assert list(result["model"]["features"]) == ["smoker", "stage", "age"]
        (files["h2"]["ledger"] / "schema.json").write_text(json.dumps({**domain, "age": {"bounds": [0, 99]}}))
        with pytest.raises(errors.ArgumentError, match=r"'age'.*h2"):
            running.run(NAME, "fit", {"label": "class", "epsilon": 5})


def test_the_ledger_is_charged_once_a_station(tables, domain, tmp_path):
    from fedbayes.dp.ledger import Ledger

    parties = with_folders({name: tables[name] for name in ("h0", "h1", "h2")}, tmp_path, "ledger")
    limits = {"*": {"ledger": "ledger", "budget_epsilon": 4}}
    with OneProcess(parties, policies=limits) as running:
        running.run(NAME, "fit", {"label": "class", "epsilon": 3, "domain": domain})
        with pytest.raises(errors.BudgetError):
            running.run(NAME, "fit", {"label": "class", "epsilon": 3, "domain": domain})
    for party in parties.values():
        assert len(Ledger(party["ledger"] / "fedbayes-ledger.sqlite3").entries()) == 1


def test_it_runs_under_the_mock_client(tables, domain):
    result = run_mocked("dp_naive_bayes", "fit", [*tables.values()], label="class", domain=domain, epsilon=20)
    assert result["privacy"]["differentially_private"] is True
    assert len(result["model"]["class_counts"]) == 3


def test_central_sees_masked_numbers_only(files, domain, tables, pooled):
    sizes, seen = [], []
    for _ in range(2):
        with EmbeddedFederation(files, record=True) as running:
            running.run(NAME, "fit", {"label": "class", "domain": domain, "epsilon": 1})
            functions = {entry["function"] for entry in running.transcript}
            replies = [entry["result"] for entry in running.transcript if entry["function"] == "partial_statistics"]
        assert functions == {"fit", "partial_open_channel", "partial_statistics"}
        sizes.append([len(reply["sealed"]) for reply in replies])
        seen.append([reply["sealed"] for reply in replies])
    assert len(set(sizes[0] + sizes[1])) == 1
    assert not set(seen[0]) & set(seen[1])


def test_only_declared_functions_are_exported():
    import v6_dp_naive_bayes as package

    exported = [name for name in package.__all__ if callable(getattr(package, name))]
    assert exported == package.__all__
    assert {"fit", "update", "evaluate", "partial_open_channel", "disclosure_settings"} <= set(exported)


def test_settings_are_told(federation):
    told = federation.run(NAME, "disclosure_settings")
    assert told["settings"]["minimum_rows"] == 10


def test_numeric_and_categorical_tables_alone(federation, domain, pooled):
    for features, statistics in ((["age"], "gaussian"), (["smoker", "stage"], "gaussian")):
        part = {name: domain[name] for name in [*features, "class"]}
        result = fit(federation, part, epsilon=50, statistics=statistics)
        accuracy = np.mean(NaiveBayes.from_dict(result["model"]).predict(pooled) == pooled["class"])
        assert accuracy > 0.35


def test_a_class_that_nobody_has_is_warned_of(federation, domain, pooled):
    wider = {**domain, "class": {"categories": ["healthy", "ill", "severe", "unheard of"]}}
    results = [fit(federation, wider, epsilon=10)]
    while not results[-1]["warnings"] and len(results) < 5:  # a noisy 0 exceeds two of its deviations once in 40 fits
        results.append(fit(federation, wider, epsilon=10))
    result = results[-1]
    assert any("class" in warning for warning in result["warnings"])
    assert np.mean(NaiveBayes.from_dict(result["model"]).predict(pooled) == "unheard of") < 0.2


def test_a_station_without_rows_is_named(files, domain):
    parties = {**files, "empty": pd.DataFrame(columns=["age", "smoker", "stage", "class"])}
    with OneProcess(parties) as running, pytest.raises(errors.ThresholdError, match="empty"):
        fit(running, domain, epsilon=1)
    with OneProcess(parties, policies={"empty": {"minimum_rows": 0}}) as running:
        assert fit(running, domain, epsilon=1)["diagnostics"]["stations"] == 6
