"""verticox over the embedded federation: parity, roles, bad input."""

import numpy as np
import pandas as pd
import pytest
from limits_kit import predicting
from one_process import OneProcess
from party_kit import by_columns

from fedbayes.federation.embedded import EmbeddedFederation
from fedbayes.federation.errors import ArgumentError, DataProblem, PlacementError, PolicyError, ThresholdError
from v6_verticox.cox import likelihood

ROWS = 120
TASK = {"time": "time", "event": "event", "features": ["age", "group", "dose"], "id_column": "id"}
SPLIT = {
    "a": ["age", "bad", "twin"],
    "b": ["dose", "flat", "both"],
    "c": ["group", "site", "time", "event", "both", "once"],
}


@pytest.fixture(scope="module")
def patients():
    rng = np.random.default_rng(7)
    age, dose, group = rng.normal(60, 9, ROWS), rng.normal(size=ROWS), rng.integers(0, 3, ROWS)
    risk = 0.04 * (age - 60) + 0.5 * dose + 0.6 * (group == 2)
    death, censored = rng.exponential(10 * np.exp(-risk)), rng.exponential(20, ROWS)
    frame = pd.DataFrame({"id": [f"p{i}" for i in range(ROWS)], "age": age, "dose": dose})
    frame["group"] = np.array(["x", "y", "z"])[group]
    frame["site"] = rng.integers(0, 2, ROWS)
    frame["time"] = np.ceil(np.minimum(death, censored))
    frame["event"] = (death <= censored).astype(int)
    frame["flat"], frame["both"], frame["once"] = 1.0, rng.normal(size=ROWS), (np.arange(ROWS) == 3).astype(int)
    frame["twin"] = frame["age"] * 2 + 3
    frame["bad"] = frame["dose"].where(np.arange(ROWS) > 2)
    return frame


@pytest.fixture(scope="module")
def parties(patients):
    return by_columns(patients, SPLIT)


@pytest.fixture(scope="module")
def recorded(parties):
    with EmbeddedFederation(parties=parties, helpers=["helper"], policies=predicting(), record=True) as running:
        yield running


@pytest.fixture(scope="module")
def federation(parties):
    with OneProcess(parties=parties, helpers=["helper"], policies=predicting()) as running:
        yield running


def pooled(patients, ties="breslow", strata=None):
    design = patients[["age", "dose"]].assign(y=patients["group"] == "y", z=patients["group"] == "z").astype(float)
    codes = None if strata is None else patients[strata].to_numpy()
    risk = likelihood.RiskSets.of(patients["time"].to_numpy(), patients["event"].to_numpy(), codes, ties)
    return likelihood.fit(risk, design.to_numpy(), ["age", "dose", "group=y", "group=z"])


def assert_parity(result, expected):
    rows = {row["feature"]: row for row in result["model"]["coefficients"]}
    names = ["age", "dose", "group=y", "group=z"]
    np.testing.assert_allclose([rows[name]["coefficient"] for name in names], expected.coefficients, atol=1e-6)
    errors = np.sqrt(np.diag(np.linalg.inv(expected.information)))
    np.testing.assert_allclose([rows[name]["standard_error"] for name in names], errors, rtol=1e-4)
    gain = expected.log_likelihood - expected.null_log_likelihood
    assert abs(result["model"]["log_likelihood"] - expected.log_likelihood) <= 1e-6 * gain + 1e-6
    assert result["privacy"]["differentially_private"] is False
    assert all(np.diff(result["model"]["baseline"].get("cumulative_hazard", [0, 1])) > 0)


def test_private_newton(recorded, patients):
    result = recorded.run("verticox", "fit", TASK)
    assert_parity(result, pooled(patients))
    assert result["federation"]["rounds"] <= 80
    assert_dealer_and_requests_carry_no_plain_record(recorded, patients)
    assert_roles_see_where_the_baseline_is_read(recorded, patients, result)


def assert_roles_see_where_the_baseline_is_read(federation, patients, result):
    """Requests tell stations and helper after how many records each time of the baseline comes, which the result says."""
    seen = {}
    for entry in federation.transcript:
        for stage in (entry["body"] or {}).get("stages") or []:
            if stage["rows"]:
                seen[entry["organization"]] = stage["rows"]
    before = [int((patients["time"] < time).sum()) for time in result["model"]["baseline"]["time"]]
    assert seen == dict.fromkeys(("a", "b", "c", "helper"), before)
    reveals = result["privacy"]["reveals"]
    assert all("how many records leave before" in reveals[role] for role in ("central", "stations", "helper"))


def assert_dealer_and_requests_carry_no_plain_record(federation, patients):
    text = str(federation.transcript)
    assert len(federation.transcript) > 20
    assert all(str(value) not in text for value in patients["age"].head(20))
    assert all(f"'{value}'" not in text for value in patients["id"].head(20))


@pytest.mark.audit
def test_private_newton_with_efron_ties_and_strata(federation, patients):
    result = federation.run("verticox", "fit", {**TASK, "ties": "efron", "strata": "site"})
    assert_parity(result, pooled(patients, "efron", "site"))
    assert [part["stratum"] for part in result["model"]["baseline"]["strata"]] == ["0", "1"]


@pytest.fixture(scope="module")
def quasi(federation):
    return federation.run("verticox", "fit", {**TASK, "solver": "bfgs", "ties": "efron"})


def test_bfgs(quasi, patients):
    assert_parity(quasi, pooled(patients, "efron"))
    assert quasi["federation"]["rounds"] <= 30
    assert "linear predictor" in quasi["privacy"]["reveals"]["stations"]
    assert "which of their own records are common to all" in quasi["privacy"]["reveals"]["stations"]


def test_evaluate_and_predict(federation, quasi, patients):
    found = federation.run("verticox", "evaluate", {"model": quasi["model"], "id_column": "id"})
    assert 0.5 < found["concordance"] < 0.9
    assert 0.0 < found["metrics"]["integrated_brier_score"] < 0.25
    predicted = federation.run("verticox", "predict", {"model": quasi["model"], "id_column": "id", "identifiers": True})
    with pytest.raises(ThresholdError, match="c: times: fewer events"):
        federation.run("verticox", "evaluate", {"model": quasi["model"], "id_column": "id", "times": [1.0, 1e9]})
    beta = {row["feature"]: row["coefficient"] for row in quasi["model"]["coefficients"]}
    table = patients.set_index("id")
    expected = table["age"] * beta["age"] + table["dose"] * beta["dose"] - quasi["model"]["offset"]
    expected += table["group"].map({"x": 0.0, "y": beta["group=y"], "z": beta["group=z"]})
    values = predicted["predictions"]
    np.testing.assert_allclose(values["linear_predictor"], expected.loc[values["identifiers"]], atol=1e-9)


def test_survival_of_those_who_lived_so_long(federation, quasi):
    times = quasi["model"]["baseline"]["time"]
    task = {"model": quasi["model"], "id_column": "id"}
    whole = np.array(federation.run("verticox", "predict", task)["predictions"]["survival"])
    given = federation.run("verticox", "predict", {**task, "alive_at": times[2]})["predictions"]
    known = np.sort(
        np.array(given["survival"]), axis=0
    )  # without identifiers the records come in another order each time
    assert given["times"] == times
    assert np.all(known[:, :3] == 1.0)
    np.testing.assert_allclose(known[:, 3:], np.sort(whole[:, 3:] / whole[:, [2]], axis=0), atol=1e-12)
    with pytest.raises(ArgumentError, match="alive_at"):
        federation.run("verticox", "predict", {**task, "alive_at": -1.0})


BAD = [
    ({"solver": "magic"}, ArgumentError, "solver"),
    ({"ties": "exact"}, ArgumentError, "ties"),
    ({"penalty": -1}, ArgumentError, "penalty"),
    ({"penalty": float("nan")}, ArgumentError, "penalty"),
    ({"tolerance": 0}, ArgumentError, "tolerance"),
    ({"max_rounds": True}, ArgumentError, "max_rounds"),
    ({"features": "age"}, ArgumentError, "features"),
    ({"features": []}, ArgumentError, "features"),
    ({"features": ["age", "time"]}, ArgumentError, "features"),
    ({"strata": "time"}, ArgumentError, "strata"),
    ({"features": ["age", "nowhere"]}, ArgumentError, "nowhere"),
    ({"features": ["age", "both"]}, ArgumentError, "both"),
    ({"time": "nowhen"}, (ArgumentError, DataProblem), "nowhen|outcome"),
    ({"features": ["bad", "dose"]}, DataProblem, "bad"),
    ({"features": ["flat", "age"]}, DataProblem, "flat"),
    ({"event": "time", "time": "event"}, DataProblem, "event column"),
    ({"event": "once"}, (DataProblem, ThresholdError), "events"),
    ({"features": ["age", "twin", "dose"]}, ArgumentError, "age, twin"),
    ({"helper": "a"}, PlacementError, "helper"),
    ({"organizations": ["a", "b", "c"]}, ArgumentError, "helper"),
    ({"features": ["group"], "organizations": ["c", "a", "helper"]}, PlacementError, "where the outcome is"),
]


@pytest.mark.few(9)
@pytest.mark.parametrize(("change", "kind", "text"), BAD, ids=[str(next(iter(entry[0].items()))) for entry in BAD])
def test_bad_input_is_named(federation, change, kind, text):
    with pytest.raises(kind, match=text):
        federation.run("verticox", "fit", {**TASK, **change})


def test_bfgs_does_not_run_at_the_outcome_holder(federation):
    with pytest.raises(PlacementError, match="outcome"):
        federation.run("verticox", "fit", {**TASK, "solver": "bfgs"}, organization="c")


def test_helper_does_not_run_central(federation):
    with pytest.raises(PlacementError, match="without data runs central"):
        federation.run("verticox", "fit", TASK, organization="helper")


def test_predictions_need_permission(parties, quasi):
    with OneProcess(
        parties=parties, helpers=["helper"], policies=predicting({"b": {"allow_predictions": False}})
    ) as strict:
        with pytest.raises(PolicyError, match="b:"):
            strict.run("verticox", "evaluate", {"model": quasi["model"], "id_column": "id"})
        with pytest.raises(ArgumentError, match="model"):
            strict.run("verticox", "evaluate", {"model": {"coefficients": []}, "id_column": "id"})


def test_nobody_is_asked_for_predictions_by_default(parties, quasi):
    with (
        EmbeddedFederation(parties=parties, helpers=["helper"]) as usual,
        pytest.raises(PolicyError, match=r"FEDBAYES_ALLOW_PREDICTIONS.*--policy allow_predictions=true"),
    ):
        usual.run("verticox", "evaluate", {"model": quasi["model"], "id_column": "id"})


def test_an_outcome_holder_that_releases_private_answers_only_is_obeyed(parties, quasi):
    holder = next(name for name, columns in SPLIT.items() if TASK["time"] in columns)
    policies = predicting({holder: {"allow_non_private": False}})
    with OneProcess(parties=parties, helpers=["helper"], policies=policies) as strict:
        for function in ("evaluate", "baseline"):
            with pytest.raises(PolicyError, match=f"{holder}: "):
                strict.run("verticox", function, {"model": quasi["model"], "id_column": "id"})


@pytest.mark.audit
def test_admm_as_published(federation, patients):
    task = {**TASK, "solver": "admm", "features": ["age", "dose"], "tolerance": 5e-2, "rho": 1.0}
    task["gamma_update"] = "published"
    result = federation.run("verticox", "fit", task)
    values = patients[["age", "dose"]].to_numpy()
    risk = likelihood.RiskSets.of(patients["time"].to_numpy(), patients["event"].to_numpy())
    expected = likelihood.fit(risk, values, ["age", "dose"])
    rows = {row["feature"]: row for row in result["model"]["coefficients"]}
    errors = np.sqrt(np.diag(np.linalg.inv(expected.information)))
    found = np.array([rows["age"]["coefficient"], rows["dose"]["coefficient"]])
    assert np.all(np.abs(found - expected.coefficients) < 0.25 * errors)
    np.testing.assert_allclose([rows["age"]["standard_error"], rows["dose"]["standard_error"]], errors, rtol=5e-2)
    assert "follows the outcome" in result["privacy"]["reveals"]["stations"]
    with pytest.raises(ArgumentError, match="admm"):
        federation.run("verticox", "fit", {**task, "penalty": 1.0})
