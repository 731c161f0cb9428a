"""Weights and times of entry of fits to vertically split records: the pooled answers of lifelines and statsmodels, and what is refused."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from lifelines import CoxPHFitter
from limits_kit import predicting
from lin_wei import naive, score_residuals
from one_process import OneProcess
from party_kit import by_columns
from statsmodels.duration.hazard_regression import PHReg

from fedbayes.federation.errors import ArgumentError, DataProblem, ThresholdError

ROWS = 260
SPLIT = {"a": ["age", "bmi", "dose", "arm"], "c": ["months", "died", "weight", "since", "site", "grade"]}
FEATURES = ["age", "bmi", "dose", "arm=placebo"]
TASK = {"time": "months", "event": "died", "features": ["age", "bmi", "dose", "arm"], "id_column": "id"}


@pytest.fixture(scope="module")
def cohort() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"id": [f"p{place}" for place in range(ROWS)], "age": rng.normal(60, 9, ROWS).round(2)})
    frame["bmi"], frame["dose"] = rng.uniform(18, 45, ROWS).round(2), rng.exponential(size=ROWS).round(4)
    frame["arm"], frame["site"] = rng.choice(["drug", "placebo"], ROWS), rng.choice(["north", "south"], ROWS)
    frame["grade"] = rng.normal(size=ROWS).round(3)
    risk = 0.04 * (frame["age"] - 60) + 0.3 * frame["dose"] + 0.4 * (frame["arm"] == "drug")
    frame["months"] = (12 * rng.exponential(np.exp(-risk))).round(2) + 0.01
    frame["died"] = (rng.random(ROWS) < 0.7).astype(int)
    frame["weight"] = rng.choice([0.5, 1.0, 2.0, 3.5], ROWS)
    frame["since"] = np.where(rng.random(ROWS) < 0.4, -1.0, frame["months"] * rng.choice([0.2, 0.5, 0.8], ROWS) - 0.001)
    return frame


def ask(frame: pd.DataFrame, **task: Any) -> dict[str, Any]:
    with OneProcess(by_columns(frame, SPLIT), helpers=["h"]) as running:
        return dict(running.fit("verticox", **{**TASK, **task}))


def design(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[["age", "bmi", "dose"]].assign(**{"arm=placebo": (frame["arm"] == "placebo").astype(float)})


def pooled(frame: pd.DataFrame, columns: pd.DataFrame, **roles: str) -> CoxPHFitter:
    """Return lifelines' fit; times without ties, for which it knows Efron's only."""
    table = columns.join(frame[["months", "died", *roles.values()]])
    return CoxPHFitter().fit(table, "months", "died", fit_options={"precision": 1e-12}, **roles)


def untied(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the records with times that differ, and entries before these."""
    shift = np.argsort(np.argsort(frame["months"], kind="stable")) * 1e-6
    return frame.assign(months=frame["months"] + shift)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("task", "roles"),
    [
        ({"weights": "weight"}, {"weights_col": "weight"}),
        ({"entry": "since"}, {"entry_col": "since"}),
        (
            {"weights": "weight", "entry": "since", "strata": "site"},
            {"weights_col": "weight", "entry_col": "since", "strata": "site"},
        ),
    ],
    ids=["weights", "entry", "all"],
)
def test_it_is_lifelines_on_the_pooled_records(
    cohort: pd.DataFrame, task: dict[str, Any], roles: dict[str, str]
) -> None:
    frame = untied(cohort)
    result = ask(frame, **task)
    model, peer = result["model"], pooled(frame, design(frame), **roles)
    found = pd.DataFrame(model["coefficients"]).set_index("feature")
    np.testing.assert_allclose(found["coefficient"], peer.params_[found.index], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found["standard_error"], peer.standard_errors_[found.index], rtol=1e-5)
    assert model["log_likelihood"] == pytest.approx(peer.log_likelihood_, abs=1e-3)
    assert (model["records"], model["events"]) == (ROWS, int(frame["died"].sum()))
    assert result["federation"]["rounds"] <= 60
    assert {name: model[name] for name in task} == task


@pytest.mark.few(1)
@pytest.mark.parametrize("weighted", [False, True])
def test_ties_are_breslows(cohort: pd.DataFrame, weighted: bool) -> None:
    """Whole weights are as many records; entry at an event's time is after it."""
    frame = cohort.assign(months=np.ceil(cohort["months"]), since=np.floor(cohort["since"]))
    frame["weight"] = np.where(np.arange(ROWS) % 3 == 0, 2.0, 1.0)
    model = ask(frame, entry="since", **({"weights": "weight"} if weighted else {}))["model"]
    seen = frame.loc[frame.index.repeat(frame["weight"].astype(int))] if weighted else frame
    after = seen["since"] + 1e-6  # it counts who enters at a time as at risk there
    peer = PHReg(seen["months"] + 1, design(seen), status=seen["died"], entry=after + 1, ties="breslow").fit()
    found = {row["feature"]: (row["coefficient"], row["standard_error"]) for row in model["coefficients"]}
    np.testing.assert_allclose([found[name][0] for name in FEATURES], peer.params, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose([found[name][1] for name in FEATURES], peer.bse, rtol=1e-5)
    assert model["log_likelihood"] == pytest.approx(peer.llf, abs=1e-3)


@pytest.mark.few(1)
@pytest.mark.parametrize("strata", [None, "site"])
@pytest.mark.parametrize(
    "roles",
    [{"weights": "weight"}, {"entry": "since"}, {"weights": "weight", "entry": "since"}],
    ids=["weights", "entry", "both"],
)
@pytest.mark.parametrize("months", [1.0, 4.0])
def test_efrons_ties_are_lifelines(
    cohort: pd.DataFrame, roles: dict[str, str], strata: str | None, months: float
) -> None:
    """Ties of few events, which stay secret, and of many; entries at the times of events, and weights that differ within a tie."""
    frame = cohort.assign(months=np.ceil(cohort["months"] / months), since=np.floor(cohort["since"] / months))
    result = ask(frame, ties="efron", tolerance=1e-9, **roles, **({"strata": strata} if strata else {}))
    model, unsure = result["model"], result["diagnostics"]["log_likelihood_error"]
    named = {f"{role}_col": column for role, column in roles.items()} | ({"strata": strata} if strata else {})
    peer = pooled(frame, design(frame), **named)
    found = pd.DataFrame(model["coefficients"]).set_index("feature")
    np.testing.assert_allclose(found["coefficient"], peer.params_[found.index], rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(found["standard_error"], peer.standard_errors_[found.index], rtol=1e-5)
    assert unsure < 1e-3
    assert model["log_likelihood"] == pytest.approx(peer.log_likelihood_, abs=unsure)
    assert (model["proportional_hazards"]["features"] is None) == ("weights" in roles)


def uneven(frame: pd.DataFrame) -> np.ndarray:
    """Return weights of which tied events (of times in hundredths) have small ones but for one, and all others large ones."""
    died = frame["died"] == 1
    tied = died & frame.loc[died, "months"].duplicated(keep=False).reindex(frame.index, fill_value=False)
    assert tied.sum() >= 20
    return np.where(tied & (tied.cumsum() > 1), 0.02, 40.0)


def test_weights_of_tied_events_are_looked_at_for_efrons_ties_alone(cohort: pd.DataFrame) -> None:
    """The control: with Breslow's the same weights, and with Efron's the same ties, are let through."""
    frame = cohort.assign(weight=uneven(cohort))
    assert ask(frame, weights="weight", features=["age"])["model"]["coefficients"]
    assert ask(frame, ties="efron", features=["age"])["model"]["coefficients"]


def test_the_outcome_holder_may_have_features(cohort: pd.DataFrame) -> None:
    frame = untied(cohort)
    model = ask(frame, features=["age", "grade"], weights="weight", entry="since")["model"]
    peer = pooled(frame, frame[["age", "grade"]], weights_col="weight", entry_col="since")
    found = pd.DataFrame(model["coefficients"]).set_index("feature")
    np.testing.assert_allclose(found["coefficient"], peer.params_[found.index], rtol=1e-5, atol=1e-6)


@pytest.mark.usefixtures("fine_hazards")
def test_the_baseline_counts_who_is_at_risk(cohort: pd.DataFrame) -> None:
    frame = untied(cohort)
    model = ask(frame, entry="since", weights="weight", features=["age"])["model"]
    baseline = model["baseline"]
    predictor = frame["age"] * model["coefficients"][0]["coefficient"] - model["offset"]
    risk, hazard = frame["weight"] * np.exp(predictor), []
    for end in baseline["time"]:
        moments = frame.loc[(frame["died"] == 1) & (frame["months"] <= end)]
        sums = [risk[(frame["since"] < at) & (frame["months"] >= at)].sum() for at in moments["months"]]
        hazard.append(float((moments["weight"] / sums).sum()))
    np.testing.assert_allclose(baseline["cumulative_hazard"], hazard, rtol=1e-5)


def test_a_stratum_without_a_point_of_the_baseline_is_told(cohort: pd.DataFrame) -> None:
    """Of four events there is no hazard: survival is 1 there, which fit and predict say; of the other stratum they say nothing."""
    frame = cohort.assign(site=np.where(np.arange(ROWS) < 40, "south", "north"))
    frame.loc[4:39, "died"] = 0
    limits = predicting({"*": {"minimum_count": 5}})
    with OneProcess(by_columns(frame, SPLIT), helpers=["h"], policies=limits) as running:
        fitted = running.run("verticox", "fit", {**TASK, "features": ["age", "dose"], "strata": "site"})
        ends = {part["stratum"]: part["time"] for part in fitted["model"]["baseline"]["strata"]}
        assert (ends["south"], bool(ends["north"])) == ([], True)
        assert [text for text in fitted["warnings"] if "no point of stratum 'south'," in text]
        found = {
            stratum: running.run(
                "verticox",
                "predict",
                {"model": fitted["model"], "id_column": "id", "stratum": stratum, "times": [1.0, 5.0]},
            )
            for stratum in ends
        }
        whole = running.run("verticox", "fit", {**TASK, "features": ["age", "dose"]})
    told = {stratum: [text for text in one["warnings"] if "no point" in text] for stratum, one in found.items()}
    assert np.all(np.array(found["south"]["predictions"]["survival"]) == 1.0)
    assert np.all(np.array(found["north"]["predictions"]["survival"]) < 1.0)
    assert (len(told["south"]), told["north"]) == (1, [])
    assert not [text for text in whole["warnings"] if "no point" in text]


@pytest.mark.parametrize(
    ("task", "kind", "text"),
    [
        ({"weights": "one"}, DataProblem, "weights column 'one' weighs fewer records"),
        ({"weights": "rare"}, DataProblem, "weights column 'rare' weighs fewer records"),
        ({"weights": "large"}, DataProblem, "weights column 'large' has weights outside 1/64 to 64"),
        ({"weights": "bmi"}, ArgumentError, "'bmi' is named for another role"),
        (
            {"weights": "bmi", "features": ["age", "dose"]},
            ArgumentError,
            "^weights: 'bmi' is at a, and must be at c, where the",
        ),
        ({"weights": "gaps"}, DataProblem, "weights column 'gaps' has missing values"),
        ({"entry": "late"}, DataProblem, "entry column 'late' has records that enter at or after"),
        ({"entry": "lone"}, DataProblem, "entry column 'lone' has fewer records than this node reveals"),
        ({"entry": "flag"}, DataProblem, "'flag' has two values, one of them in fewer records"),
        ({"entry": "gaps"}, DataProblem, "entry column 'gaps' has missing values"),
        ({"entry": "site"}, DataProblem, "entry column 'site' must hold numbers"),
        ({"weights": "weight", "solver": "bfgs"}, ArgumentError, "^weights of a vertical fit is for"),
        ({"weights": "uneven", "ties": "efron"}, ThresholdError, "or so few carry the weight"),
        ({"entry": "since", "missing": "complete"}, ArgumentError, "^entry of a vertical fit is for"),
        ({"weights": "nowhere"}, ArgumentError, "weights: no station has the column 'nowhere'"),
    ],
)
def test_what_is_asked_wrongly_or_singles_out_records_is_named(
    cohort: pd.DataFrame, task: dict[str, Any], kind: Any, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame, place = cohort.copy(), np.arange(ROWS)
    frame["one"] = np.where(place == 7, 60.0, 0.02)
    frame["rare"] = np.where(place == 7, 2.0, 1.0)
    frame["large"] = np.where(place % 2, 100.0, 1.0)
    frame["gaps"] = np.where(place == 3, np.nan, 0.0)
    frame["late"] = frame["months"]
    frame["lone"] = np.where(place == 9, frame["months"] / 2, -1.0 - place / 1e3)
    frame["flag"] = np.where(place == 9, -2.0, -1.0)
    frame["uneven"] = uneven(frame)
    extra = ["one", "rare", "large", "gaps", "late", "lone", "flag", "uneven"]
    monkeypatch.setitem(SPLIT, "c", [*SPLIT["c"], *extra])
    with pytest.raises(kind, match=text):
        ask(frame, **task)


CASES = {"weights": "weight", "entry": "since"}


@pytest.mark.few(1)
@pytest.mark.parametrize("task", [{"weights": "weight"}, {"entry": "since"}, CASES, {**CASES, "strata": "site"}])
@pytest.mark.usefixtures("fine_hazards")
def test_a_model_that_weighs_records_is_used_on_others_as_it_was_fitted(
    cohort: pd.DataFrame, task: dict[str, str]
) -> None:
    """Baseline, slope of calibration and score test are those of the definition; the measures of predictions count records once, and say so."""
    frame = cohort.assign(months=np.ceil(cohort["months"]), since=np.floor(cohort["since"]))
    model = ask(frame.iloc[:150], features=["age", "dose"], **task)["model"]
    others, features = frame.iloc[150:], ["age", "dose"]
    asked = {"model": model, "id_column": "id"}
    with OneProcess(
        by_columns(others, SPLIT), helpers=["h"], policies=predicting({"*": {"minimum_count": 5}})
    ) as running:
        baseline = running.run("verticox", "baseline", asked)["baseline"]
        blind = running.run("verticox", "evaluate", {**asked, "reveal": "aggregates"})["metrics"]
        judged = running.run("verticox", "evaluate", asked)
    beta = np.array([row["coefficient"] for row in model["coefficients"]])
    weight = others["weight"] if "weights" in task else pd.Series(1.0, others.index)
    since = others["since"] if "entry" in task else pd.Series(-np.inf, others.index)
    site = others["site"] if "strata" in task else pd.Series("all", others.index)
    risk = weight * np.exp(others[features].to_numpy() @ beta - model["offset"])
    for stratum, end, hazard in zip(baseline["strata"], baseline["time"], baseline["cumulative_hazard"], strict=True):
        died = others[(others["died"] == 1) & (others["months"] <= end) & (site == stratum)]
        at_risk = [risk[(since < at) & (others["months"] >= at) & (site == stratum)].sum() for at in died["months"]]
        assert hazard == pytest.approx(float((weight[died.index] / at_risk).sum()), rel=1e-6)
    cases = {name: column for name, column in task.items() if name != "strata"}
    outcome = ("months", "died", site.to_numpy())
    score = score_residuals(others, features, beta, *outcome, **cases).sum(axis=0)
    covariance = naive(others, features, beta, *outcome, **cases)
    steepness = beta @ np.linalg.inv(covariance) @ beta
    assert blind["calibration_slope"] == pytest.approx(1.0 + beta @ score / steepness, abs=steepness**-0.5 / 100)
    assert blind["fit_test"]["statistic"] == pytest.approx(float(score @ covariance @ score), rel=1e-2, abs=1e-2)
    assert (blind["records"], blind["events"]) == (len(others), int(others["died"].sum()))
    assert any("fitted with" in text and "counts once" in text for text in judged["warnings"])


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("task", "roles"),
    [({"weights": "weight"}, {"weights_col": "weight"}), ({"entry": "since"}, {"entry_col": "since"})],
)
@pytest.mark.usefixtures("fine_hazards")
def test_predictions_of_such_a_model_are_those_of_lifelines_and_of_the_definition(
    cohort: pd.DataFrame, task: dict[str, Any], roles: dict[str, str]
) -> None:
    frame = untied(cohort)
    peer = pooled(frame, design(frame), **roles)
    with OneProcess(by_columns(frame, SPLIT), helpers=["h"], policies=predicting()) as running:
        model = running.run("verticox", "fit", {**TASK, **task, "tolerance": 1e-9})["model"]
        times = model["baseline"]["time"][:4]
        asked = {"model": model, "id_column": "id", "identifiers": True, "times": times}
        found = running.run("verticox", "predict", asked)["predictions"]
    rows = design(frame.set_index("id").loc[found["identifiers"]])
    np.testing.assert_allclose(found["partial_hazard"], peer.predict_partial_hazard(rows), rtol=1e-4)
    # lifelines' baseline takes no heed of entry, so survival is held against the definition
    risk = peer.predict_partial_hazard(design(frame)).to_numpy()
    case = frame["weight"].to_numpy() if "weights" in task else np.ones(ROWS)
    entry = frame["since"].to_numpy() if "entry" in task else np.full(ROWS, -np.inf)
    time, died = frame["months"].to_numpy(), frame["died"].to_numpy() == 1
    steps = {t: case[died & (time == t)].sum() / (case * risk)[(time >= t) & (entry < t)].sum() for t in time[died]}
    hazard = np.array([sum(step for t, step in steps.items() if t <= moment) for moment in times])
    wanted = np.exp(-np.outer(peer.predict_partial_hazard(rows), hazard))
    np.testing.assert_allclose(found["survival"], wanted, atol=1e-5)


def test_a_baseline_is_refused_where_few_weigh_most(cohort: pd.DataFrame) -> None:
    """The control: by the same model without weights it is told."""
    frame = cohort.assign(weight=np.where(np.arange(ROWS) == 7, 60.0, 0.02 + np.arange(ROWS) % 2 * 0.01))
    model = ask(cohort, features=["age"], weights="weight")["model"]
    with OneProcess(by_columns(frame, SPLIT), helpers=["h"], policies=predicting()) as running:
        with pytest.raises(DataProblem, match="weights column 'weight' weighs fewer records"):
            running.run("verticox", "baseline", {"model": model, "id_column": "id"})
        plain = {name: part for name, part in model.items() if name != "weights"}
        assert running.run("verticox", "baseline", {"model": plain, "id_column": "id"})["baseline"]
