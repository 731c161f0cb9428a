"""Formulae of fits to whole records: the pooled answer of lifelines on patsy's design, and what products, knots and expressions may not do."""

from typing import Any

import numpy as np
import pandas as pd
import patsy
import pytest
from cox_rows_kit import ask
from lifelines import CoxPHFitter

from fedbayes.client.models.predictions import by_cox
from fedbayes.federation.errors import ArgumentError, DataProblem, PolicyError, ThresholdError

DOMAIN = {
    "age": {"bounds": [20, 100]},
    "stage": {"categories": ["I", "II", "III"]},
    "arm": {"categories": ["drug", "placebo"]},
    "bmi": {"bounds": [15, 50]},
    "dose": {"bounds": [0, 12]},
}
TASK = {
    "time": "months",
    "event": "died",
    "split": "horizontal",
    "domain": DOMAIN,
    "times": [float(month) for month in range(1, 37)],
    "ties": "efron",
}
BS = "bs(bmi, knots=(32.5,), degree=3, lower_bound=15, upper_bound=50)"


@pytest.fixture(scope="module")
def patients() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    rows = 700
    frame = pd.DataFrame({"age": rng.normal(60, 9, rows).round(1), "stage": rng.choice(["I", "II", "III"], rows)})
    frame["arm"] = rng.choice(["drug", "placebo"], rows)
    frame["bmi"] = rng.uniform(17, 48, rows).round(2)
    frame["dose"] = rng.exponential(size=rows).round(3) + 0.1
    frame["site"] = rng.choice(["north", "south"], rows)
    risk = 0.03 * (frame["age"] - 60) * (frame["stage"] == "III") + 0.02 * (frame["bmi"] - 30) ** 2 / 10
    risk += 0.5 * (frame["arm"] == "drug") * (frame["stage"] == "II")
    frame["months"] = (12 * rng.exponential(np.exp(-risk))).round(2)
    frame["died"] = (rng.random(rows) < 0.75).astype(int)
    return frame


def pooled(frame: pd.DataFrame, model: dict[str, Any], written: str) -> tuple[Any, CoxPHFitter]:
    design = patsy.dmatrix(written, frame, return_type="dataframe").drop(columns="Intercept")
    times = np.array(model["times"])
    cell = np.searchsorted(times, frame["months"])
    table = design.assign(
        time=times[np.minimum(cell, len(times) - 1)], event=np.where(cell < len(times), frame["died"], 0)
    )
    return design, CoxPHFitter().fit(table, "time", "event", fit_options={"precision": 1e-12})


def in_order(values: Any) -> Any:
    return np.asarray(values)[np.argsort(np.asarray(values)[:, 0])]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("formula", "written"),
    [
        ('~ C(stage, reference="II")*age + arm', "C(stage, Treatment('II'))*age + arm"),
        ("~ age + stage:arm", "age + stage:arm"),
        ("~ bs(bmi, df=4) + age:bmi + age", f"{BS} + age:bmi + age"),
        ("~ arm*bs(bmi, df=4)", f"arm*{BS}"),
    ],
)
def test_a_formula_fits_as_lifelines_does(patients: pd.DataFrame, formula: str, written: str) -> None:
    model = ask(patients, {**TASK, "formula": formula})["model"]
    design, peer = pooled(patients, model, written)
    found = [[row["coefficient"], row["standard_error"]] for row in model["coefficients"]]
    wanted = peer.summary[["coef", "se(coef)"]].to_numpy()
    np.testing.assert_allclose(in_order(found), in_order(wanted), rtol=1e-5, atol=1e-6)
    assert model["log_likelihood"] == pytest.approx(peer.log_likelihood_, abs=1e-5)
    here = by_cox(model, patients, None, None)["linear_predictor"].to_numpy()
    there = design.to_numpy() @ peer.params_.to_numpy()
    np.testing.assert_allclose(here - here.mean(), there - there.mean(), atol=1e-5)
    assert model["offset"] == pytest.approx(there.mean(), abs=1e-5)


def test_it_names_terms_levels_and_bounds(patients: pd.DataFrame) -> None:
    model = ask(patients, {**TASK, "formula": '~ C(stage, reference="II"):arm + bs(bmi, df=3)'})["model"]
    assert model["levels"] == {"stage": ["II", "I", "III"], "arm": ["drug", "placebo"]}
    assert model["references"] == {"stage": "II", "arm": "drug"}
    assert model["features"] == list(model["terms"])
    assert "lower_bound=15" in model["formula"]
    assert [row["feature"] for row in model["coefficients"]] == [
        label for part in model["terms"].values() for label in part
    ]


def test_expressions_need_bounds_and_the_administrators_leave(patients: pd.DataFrame) -> None:
    task = {**TASK, "formula": "~ age + log(dose)", "domain": {**DOMAIN, "log(dose)": {"bounds": [-3, 3]}}}
    with pytest.raises(PolicyError, match="formula"):
        ask(patients, task)
    model = ask(patients, task, limits={"allow_formulas": True})["model"]
    _, peer = pooled(patients, model, "age + np.log(dose)")
    found = {row["feature"]: row["coefficient"] for row in model["coefficients"]}
    np.testing.assert_allclose(
        [found["age"], found["log(dose)"]], [peer.params_["age"], peer.params_["np.log(dose)"]], rtol=1e-6, atol=1e-7
    )
    with pytest.raises(ArgumentError, match=r"give the bounds of 'log\(dose\)' in the domain, under its text"):
        ask(patients, {**task, "domain": DOMAIN}, limits={"allow_formulas": True})
    aimed = {**task, "formula": "~ age + I(dose ** 9)", "domain": {**DOMAIN, "I(dose ** 9)": {"bounds": [0, 1e9]}}}
    with pytest.raises((DataProblem, ArgumentError), match="dose"):
        ask(patients, aimed, limits={"allow_formulas": True})


def test_gaps_are_left_out_where_asked(patients: pd.DataFrame) -> None:
    frame = patients.copy()
    frame.loc[::19, "bmi"], frame.loc[3::31, "stage"] = np.nan, "unknown"
    task = {**TASK, "formula": "~ bs(bmi, df=3)*arm + stage"}
    with pytest.raises(DataProblem, match="has missing values"):
        ask(frame, task)
    model = ask(frame, {**task, "missing": "complete"})["model"]
    assert model["records"] == int((frame["bmi"].notna() & (frame["stage"] != "unknown")).sum())


def test_it_goes_with_strata_weights_and_robust_errors(patients: pd.DataFrame) -> None:
    frame = patients.assign(weight=np.where(np.arange(len(patients)) % 3, 1.0, 2.0))
    task = {**TASK, "domain": {**DOMAIN, "site": {"categories": ["north", "south"]}}}
    model = ask(frame, {**task, "formula": "~ age*arm", "strata": "site", "weights": "weight", "robust": True})["model"]
    assert [row["feature"] for row in model["coefficients"]] == ["age", "arm=placebo", "age:arm=placebo"]
    assert set(model["times"]) == {"north", "south"}


@pytest.mark.parametrize(
    ("formula", "kind", "text"),
    [
        ("~ stage:odd", ThresholdError, "'odd' sets fewer records apart"),
        ("~ age + odd", ThresholdError, "'odd' sets fewer records apart"),
        ("~ age:flag + age", ThresholdError, "'flag' sets fewer records apart"),
        ("~ flag:arm", ThresholdError, "'flag:arm' sets fewer records apart"),
        ("~ arm:bs(bmi, knots=[30, 30.001], df=5)", ThresholdError, "sets fewer records apart"),
        ("~ bs(bmi, df=3, lower_bound=17.2, upper_bound=50)", ThresholdError, "sets fewer records apart"),
        ("~ bs(bmi, knots=[47.8], df=4)", ThresholdError, "sets fewer records apart"),
        ("~ C(age)", ArgumentError, "needs the categories of 'age'"),
        ("~ bs(stage, df=3, lower_bound=0, upper_bound=1)", ArgumentError, "takes numbers; give the bounds of 'stage'"),
        ('~ C(stage, reference="V")', ArgumentError, "reference of 'stage' is none"),
        ("~ unheard", ArgumentError, "'unheard' is not in the domain"),
        ("~ age + same", ArgumentError, "'same' is constant"),
        ("~ age + wide", ArgumentError, "far wider than their values"),
        ("~ age + twin", ArgumentError, "age, twin are collinear"),
        ("~ age +", ArgumentError, "formula"),
        ("~ months + age", ArgumentError, "'months' is named for another role"),
    ],
)
def test_what_is_asked_wrongly_or_sets_few_apart_is_named(
    patients: pd.DataFrame, formula: str, kind: Any, text: str
) -> None:
    frame, place = patients.copy(), np.arange(len(patients))
    frame["odd"] = np.where(place == 11, "rare", "usual")
    frame["flag"] = np.where((frame["arm"] == "drug") & (place < 6), 1, (place > 400) & (frame["arm"] == "placebo"))
    frame.loc[3, "age"] = 20.0
    frame["same"], frame["wide"], frame["twin"] = 5, frame["age"], 2 * frame["age"]
    domain = {
        **DOMAIN,
        "odd": {"categories": ["rare", "usual"]},
        "flag": {"bounds": [0, 1]},
        "same": {"bounds": [5, 10]},
        "wide": {"bounds": [0, 1e9]},
        "twin": {"bounds": [0, 200]},
    }
    if formula == "~ age:flag + age":
        frame["flag"] = (place == 9).astype(int)
    with pytest.raises(kind, match=text):
        ask(frame, {**TASK, "domain": domain, "formula": formula})
