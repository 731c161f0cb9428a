"""Cox models by a formula: the pooled answer of lifelines on patsy's design, in every function; what products and knots may not do."""

import numpy as np
import pandas as pd
import patsy
import pytest
from lifelines import CoxPHFitter
from limits_kit import predicting
from one_process import OneProcess
from party_kit import by_columns

from fedbayes.client.models.predictions import by_cox
from fedbayes.federation.errors import ArgumentError, DataProblem, PolicyError
from v6_verticox.stations.columns import design

ROWS = 240
SPLIT = {"a": ["age", "stage", "grade"], "b": ["bmi", "dose"], "c": ["arm", "time", "event"]}
MATCHED = {"id_column": "id"}
OUTCOME = {"time": "time", "event": "event"}
FORMULA = '~ C(stage, reference="II")*age + bs(bmi, df=4) + C(grade) + arm'
POOLED = "C(stage, Treatment('II'))*age + bs(bmi, knots=(32.5,), degree=3, lower_bound=15, upper_bound=50) + C(grade) + C(arm)"
DICTIONARY = {"columns": {"bmi": {"type": "number", "bounds": [15, 50]}}}


@pytest.fixture(scope="module")
def patients():
    rng = np.random.default_rng(11)
    frame = pd.DataFrame({"id": [f"p{i}" for i in range(ROWS)], "age": rng.normal(60, 9, ROWS).round(2)})
    frame["stage"] = rng.choice(["I", "II", "III"], ROWS)
    frame["grade"] = rng.integers(1, 4, ROWS)
    frame["bmi"] = rng.uniform(18, 45, ROWS).round(2)
    frame["dose"] = rng.exponential(size=ROWS).round(4) + 0.1
    frame["arm"] = rng.choice(["drug", "placebo"], ROWS)
    risk = 0.03 * (frame["age"] - 60) * (frame["stage"] == "III") + 0.02 * (frame["bmi"] - 30) ** 2 / 10
    risk += 0.4 * (frame["grade"] == 3) + 0.3 * np.log(frame["dose"])
    death, censored = rng.exponential(10 * np.exp(-risk)), rng.exponential(20, ROWS)
    frame["time"], frame["event"] = np.minimum(death, censored).round(5), (death <= censored).astype(int)
    return frame


@pytest.fixture(scope="module")
def federation(patients):
    with OneProcess(by_columns(patients, SPLIT), helpers=["helper"], policies=predicting()) as running:
        yield running


@pytest.fixture(scope="module")
def fitted(federation):
    return federation.run("verticox", "fit", {**OUTCOME, **MATCHED, "formula": FORMULA, "dictionary": DICTIONARY})


def pooled(patients, formula=POOLED, strata=None):
    found = patsy.dmatrix(formula, patients, return_type="dataframe").drop(columns="Intercept")
    table = found.join(patients[["time", "event", *([strata] if strata else [])]])
    return found, CoxPHFitter(baseline_estimation_method="breslow").fit(
        table, "time", "event", strata=strata, fit_options={"precision": 1e-10}
    )


def in_order(values):
    return np.asarray(values)[np.argsort(np.asarray(values)[:, 0])]


def test_a_formula_fits_as_lifelines_does(fitted, patients):
    _, expected = pooled(patients)
    rows = fitted["model"]["coefficients"]
    found = [[row["coefficient"], row["standard_error"]] for row in rows]
    wanted = expected.summary[["coef", "se(coef)"]].to_numpy()
    np.testing.assert_allclose(in_order(found), in_order(wanted), rtol=1e-6, atol=1e-6)
    assert fitted["model"]["log_likelihood"] == pytest.approx(expected.log_likelihood_, abs=1e-6)


def test_coefficients_carry_the_names_of_terms(fitted):
    names = [row["feature"] for row in fitted["model"]["coefficients"]]
    assert {"age", "stage=I", "stage=III", "grade=2", "grade=3", "arm=placebo", "stage=I:age", "stage=III:age"} < set(
        names
    )
    assert [f"bs(bmi, df=4)[{place}]" for place in range(4)] == [name for name in names if name.startswith("bs")]
    assert fitted["model"]["features"] == ["stage", "age", "bs(bmi, df=4)", "grade", "arm", "stage:age"]
    assert fitted["model"]["references"] == {"stage": "II", "grade": "1", "arm": "drug"}
    assert "lower_bound=15.0" in fitted["model"]["formula"]


def test_a_formula_costs_no_round(federation):
    columns = ["age", "bmi", "arm"]
    plain = federation.run("verticox", "fit", {**OUTCOME, **MATCHED, "features": columns})
    written = federation.run("verticox", "fit", {**OUTCOME, **MATCHED, "formula": "~ age + bmi + arm"})
    assert abs(written["federation"]["rounds"] - plain["federation"]["rounds"]) in {
        0,
        3,
    }  # a refinement that rounding decides
    found = [[row["coefficient"] for row in result["model"]["coefficients"]] for result in (plain, written)]
    np.testing.assert_allclose(*found, atol=1e-7)


def test_the_model_is_applied(federation, fitted, patients):
    model = {"model": fitted["model"], **MATCHED}
    found, expected = pooled(patients)
    wanted = found.to_numpy() @ expected.params_.to_numpy()
    predicted = federation.run("verticox", "predict", {**model, "identifiers": True})["predictions"]
    own = pd.Series(predicted["linear_predictor"], index=predicted["identifiers"])[patients["id"]].to_numpy()
    np.testing.assert_allclose(own - own.mean(), wanted - wanted.mean(), atol=1e-3)
    here = by_cox(fitted["model"], patients, None, None)["linear_predictor"].to_numpy()
    np.testing.assert_allclose(here, own, atol=1e-6)
    judged = federation.run("verticox", "evaluate", model)
    assert judged["concordance"] == pytest.approx(expected.concordance_index_, abs=2e-3)
    assert federation.run("verticox", "baseline", model)["baseline"]["cumulative_hazard"]


@pytest.mark.audit
def test_the_specification_is_judged_out_of_fold(federation, fitted):
    model = {"model": fitted["model"], **MATCHED}
    blind = federation.run("verticox", "evaluate", {**model, "reveal": "aggregates"})
    assert blind["metrics"]["calibration_slope"] == pytest.approx(1.0, abs=1e-4)
    assert 0.4 < federation.run("verticox", "evaluate", {**model, "folds": 3})["concordance"] < 0.9


REFUSED = [
    ({"formula": "~ age", "features": ["age"]}, "give one of them"),
    ({}, "give one of them"),
    ({"formula": "~ age + bs(bmi, df=4)"}, "needs public bounds"),
    ({"formula": "~ age + nobody"}, "no station has the column 'nobody'"),
    ({"formula": "~ age + time"}, "named for another role"),
    ({"formula": "~ age +"}, "formula: it cannot be read"),
]


@pytest.mark.parametrize(("given", "match"), REFUSED)
def test_wrong_formulae_are_refused(federation, given, match):
    with pytest.raises(ArgumentError, match=match):
        federation.run("verticox", "fit", {**OUTCOME, **MATCHED, **given})


def test_arithmetic_needs_the_nodes_permission(federation, patients):
    task = {**OUTCOME, **MATCHED, "formula": "~ log(dose) + arm"}
    with pytest.raises(PolicyError, match=r"FEDBAYES_ALLOW_FORMULAS.*nothing was spent"):
        federation.run("verticox", "fit", task)
    with OneProcess(
        by_columns(patients, SPLIT), helpers=["helper"], policies={"b": {"allow_formulas": True}}
    ) as running:
        result = running.run("verticox", "fit", task)
    _, expected = pooled(patients, "np.log(dose) + C(arm)")
    found = {row["feature"]: row["coefficient"] for row in result["model"]["coefficients"]}
    assert found["log(dose)"] == pytest.approx(expected.params_["np.log(dose)"], abs=1e-5)
    assert found["arm=placebo"] == pytest.approx(expected.params_["C(arm)[T.placebo]"], abs=1e-5)


CUTS = {
    "old": {"type": "category", "categories": ["no", "yes"], "cut": {"column": "age", "at": [60]}},
    "older": {"type": "category", "categories": ["no", "yes"], "cut": {"column": "age", "at": [60.2]}},
}


@pytest.mark.parametrize(
    "model",
    [
        {"features": ["old", "older", "arm"]},
        {"formula": "~ old + older + arm"},
        {"formula": "~ old + bs(age, df=3, lower_bound=0, upper_bound=120)"},
    ],
)
def test_thresholds_of_one_column_are_not_compared(federation, model):
    with pytest.raises(DataProblem, match="have thresholds of one column; choose one of them"):
        federation.run("verticox", "fit", {**OUTCOME, **MATCHED, **model, "dictionary": {"columns": CUTS}})


def test_a_recode_of_the_task_is_looked_at(federation, patients):
    recode = {str(value): 0 for value in patients["age"]} | {str(patients["age"][7]): 1}
    recode |= {str(value): 0.001 for value in patients["age"].drop(7)[:20] if value != patients["age"][7]}
    entry = {"columns": {"age": {"type": "number", "recode": recode}}}
    with pytest.raises(DataProblem, match="'age' is recoded to values that fewer records"):
        federation.run("verticox", "fit", {**OUTCOME, **MATCHED, "features": ["age", "arm"], "dictionary": entry})


SOLVED = {"bfgs": {"solver": "bfgs"}, "complete": {"missing": "complete"}, "strata": {"strata": "grade"}}


@pytest.mark.few(1)
@pytest.mark.parametrize("way", SOLVED)
def test_a_formula_fits_in_every_way(patients, way):
    frame, formula, wanted = patients.copy(), FORMULA.split(" + C(grade)")[0], POOLED.split(" + C(grade)")[0]
    split = SPLIT | {"a": ["age", "stage"], "c": [*SPLIT["c"], "grade"]}
    if way == "complete":
        rng = np.random.default_rng(4)
        for name in ("age", "bmi", "stage"):
            frame.loc[rng.choice(ROWS, 20, replace=False), name] = np.nan
    with OneProcess(by_columns(frame, split), helpers=["helper"], policies=predicting()) as running:
        task = {**OUTCOME, **MATCHED, "formula": formula, "dictionary": DICTIONARY}
        model = running.run("verticox", "fit", {**task, **SOLVED[way]})["model"]
    _, expected = pooled(frame.dropna().reset_index(drop=True), wanted, SOLVED[way].get("strata"))
    found = [[row["coefficient"], row["standard_error"]] for row in model["coefficients"]]
    np.testing.assert_allclose(
        in_order(found), in_order(expected.summary[["coef", "se(coef)"]].to_numpy()), rtol=1e-5, atol=1e-6
    )


def test_the_dictionary_tells_the_reference_of_a_feature(patients):
    found = design(patients, ["stage"], 5, {"stage": "III"})
    assert found.columns == {"stage": ["stage=I", "stage=II"]}
    assert found.references == {"stage": "III"}
    np.testing.assert_array_equal(found.values[:, 1] > 0, patients["stage"] == "II")
    with pytest.raises(DataProblem, match="no record of the reference"):
        design(patients, ["stage"], 5, {"stage": "IV"})


def test_a_changed_formula_of_a_model_is_refused(federation, fitted):
    for change in ({"formula": "~ age"}, {"levels": {"x": ["y"]}}, {"terms": {}}, {"formula": "~ ("}):
        with pytest.raises(ArgumentError, match="model"):
            federation.run("verticox", "predict", {"model": {**fitted["model"], **change}, **MATCHED})
