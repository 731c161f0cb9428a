"""missing="complete": the records without a gap at any station, found on shares; the twin drops them from the pooled table."""

import numpy as np
import pandas as pd
import pytest
from mock_kit import NO_DATA, run_mocked
from one_process import OneProcess
from party_kit import by_columns

from fedbayes.federation.errors import ArgumentError, DataProblem, MessageError, ThresholdError
from v6_verticox.cox import likelihood
from v6_verticox.cox.scores import coarse_groups, step_of
from v6_verticox.rounds import setup

ROWS = 400
TASK = {
    "time": "time",
    "event": "event",
    "features": ["age", "dose", "group"],
    "id_column": "id",
    "missing": "complete",
}
SPLIT = {"a": ["age"], "b": ["dose", "rare"], "c": ["group", "site", "time", "event", "whole"]}


def records(seed, digits=None, share=0.1, rows=ROWS):
    rng = np.random.default_rng(seed)
    age, dose = rng.normal(60, 9, rows), rng.normal(size=rows)
    group = rng.choice(["x", "y", "z"], rows)
    risk = 0.04 * (age - 60) + 0.5 * dose + 0.6 * (group == "z")
    death, censored = rng.exponential(10 * np.exp(-risk)), rng.exponential(20, rows)
    time = np.minimum(death, censored)
    frame = pd.DataFrame({"id": [f"p{i}" for i in range(rows)], "age": age, "dose": dose, "group": group})
    frame["site"] = rng.choice(["n", "s"], rows)
    frame["time"] = time if digits is None else np.ceil(time * 10**digits) / 10**digits
    frame["event"] = (death <= censored).astype(float)
    frame["whole"] = rng.normal(size=rows)
    frame["rare"] = (rng.random(rows) < 0.2).astype(float)
    for name in ("age", "dose", "group", "time", "event"):
        frame.loc[rng.random(rows) < share / (1 if name in ("age", "dose") else 3), name] = None
    frame.loc[(frame["rare"] == 1) & (frame.index > 40), "age"] = None if share else 0.0
    return frame


def run(frame, task):
    """In one process, the stations' rows in the same order."""
    frames = [*(frame[columns].copy() for columns in SPLIT.values()), NO_DATA]
    task = {**{key: value for key, value in task.items() if key != "id_column"}, "rows_aligned": True}
    return run_mocked("verticox", "fit", frames, **task)


def run_on_shuffled_files(frame, task):
    with OneProcess(by_columns(frame, SPLIT), helpers=["helper"]) as running:
        return running.run("verticox", "fit", task)


def pooled(frame, strata=None):
    used = frame.dropna(subset=["age", "dose", "group", "time", "event"])
    design = used[["age", "dose"]].assign(y=used["group"] == "y", z=used["group"] == "z").astype(float)
    codes = None if strata is None else used[strata].to_numpy()
    risk = likelihood.RiskSets.of(used["time"].to_numpy(), used["event"].to_numpy(dtype=int), codes)
    return likelihood.fit(risk, design.to_numpy(), ["age", "dose", "group=y", "group=z"]), used, design


@pytest.mark.parametrize(
    ("seed", "digits", "strata"),
    [
        pytest.param(0, None, None, marks=pytest.mark.audit),
        (1, 0, None),
        pytest.param(2, 1, "site", marks=pytest.mark.audit),
    ],
)
@pytest.mark.usefixtures("fine_hazards")
def test_the_fit_is_that_of_the_complete_records(seed, digits, strata):
    frame = records(seed, digits)
    task = {**TASK, "strata": strata}
    result = run(frame, task) if digits is not None else run_on_shuffled_files(frame, task)
    expected, used, design = pooled(frame, strata)
    rows = {row["feature"]: row for row in result["model"]["coefficients"]}
    names = ["age", "dose", "group=y", "group=z"]
    assert len(used) < ROWS - 50
    np.testing.assert_allclose([rows[name]["coefficient"] for name in names], expected.coefficients, atol=1e-6)
    errors = np.sqrt(np.diag(np.linalg.inv(expected.information)))
    np.testing.assert_allclose([rows[name]["standard_error"] for name in names], errors, rtol=1e-4)
    assert (result["model"]["records"], result["model"]["events"]) == (len(used), int(used["event"].sum()))
    assert result["model"]["null_log_likelihood"] == pytest.approx(expected.null_log_likelihood, rel=1e-6)
    assert result["model"]["log_likelihood"] == pytest.approx(expected.log_likelihood, rel=1e-6)
    gain = expected.log_likelihood - expected.null_log_likelihood
    assert result["model"]["likelihood_ratio_test"]["statistic"] == pytest.approx(2 * gain, rel=1e-5)
    assert result["model"]["offset"] == pytest.approx(float(design.mean().to_numpy() @ expected.coefficients), rel=1e-5)
    assert result["federation"]["rounds"] <= 80
    if strata is None:
        check_baseline(result["model"], expected, used, design)


def check_baseline(found, expected, used, design):
    predictor = (design - design.mean()).to_numpy() @ expected.coefficients
    risk = likelihood.RiskSets.of(used["time"].to_numpy(), used["event"].to_numpy(dtype=int))
    hazard = likelihood.evaluate_predictor(risk, predictor)[2]
    times = np.sort(used["time"].to_numpy())
    for time, value in zip(found["baseline"]["time"], found["baseline"]["cumulative_hazard"], strict=True):
        last = np.searchsorted(times, time, side="right") - 1
        assert value == pytest.approx(hazard[last], rel=1e-5)


def test_a_few_gaps_are_not_counted():
    frame = records(3, share=0.0)
    frame.loc[[5, 77], "age"] = None
    result = run(frame, TASK)
    assert result["model"]["records"] is None
    assert any("a few records have missing values" in text for text in result["warnings"])
    rows = {row["feature"]: row["coefficient"] for row in result["model"]["coefficients"]}
    assert rows["dose"] == pytest.approx(pooled(frame)[0].coefficients[1], abs=1e-6)


def test_a_few_gaps_are_not_counted_by_groups_and_steps_either():
    """The groups of a calibration are all complete records, and 198 of these have other steps than 200."""
    frame = records(3, share=0.0, rows=200)
    frame.loc[[5, 77], "age"] = None
    metrics = use(frame, "evaluate", run(frame, TASK)["model"])["metrics"]
    groups = [group for one in (metrics["calibration"], *metrics["calibration_by_time"]) for group in one["groups"]]
    assert {group["records"] for group in groups} == {metrics["records"]} == {None}
    assert metrics["step"] == step_of(200) < step_of(198)


def test_the_steps_of_groups_do_not_say_how_many_records_are_complete():
    """Of 200 records in ten groups, 196 to 200 may be complete: groups of 20 have the steps of those of 19; by their own sizes they would not."""
    told = []
    for records in (196, 200):
        sizes = [records // 10 + (part < records % 10) for part in range(10)]
        groups = [{"records": float(size), "observed": 0.5 + part / 30.0} for part, size in enumerate(sizes)]
        told.append([group["observed"] for group in coarse_groups(groups, fewest=200 - 5 + 1)])
        assert {round(float(observed) / step_of(19.6), 9) % 1 for observed in told[-1]} == {0.0}
    assert told[0] == told[1]
    assert step_of(20) != step_of(19.6)


def test_control_many_gaps_are_counted_by_both():
    frame = records(3, share=0.0, rows=200)
    frame.loc[5:20, "age"] = None
    metrics = use(frame, "evaluate", run(frame, TASK)["model"])["metrics"]
    assert sum(group["records"] for group in metrics["calibration"]["groups"]) == metrics["records"] == 184
    assert metrics["step"] == step_of(184)


@pytest.mark.audit
def test_few_complete_records_are_found_from_far_away():
    frame, rng = records(8, share=0.0, rows=2400), np.random.default_rng(9)
    for name in ("age", "dose"):  # an eighth of the records at two stations: at most one in 64 is complete
        frame.loc[rng.random(len(frame)) < 0.89, name] = None
    used = frame.dropna(subset=["age", "dose"])
    risk = likelihood.RiskSets.of(used["time"].to_numpy(), used["event"].to_numpy(dtype=int))
    expected = likelihood.fit(risk, used[["age", "dose"]].to_numpy(), ["age", "dose"])
    result = run(frame, {**TASK, "features": ["age", "dose"]})
    found = [row["coefficient"] for row in result["model"]["coefficients"]]
    np.testing.assert_allclose(found, expected.coefficients, atol=1e-6)
    assert result["federation"]["rounds"] <= 80


def test_what_only_complete_records_show_is_refused():
    frame = records(4)
    with pytest.raises(DataProblem, match="'rare' has a category with fewer complete records"):
        run(frame, {**TASK, "features": ["age", "rare"]})
    frame["dose"] = frame["dose"].where(frame["age"].isna())
    with pytest.raises((ThresholdError, DataProblem), match="fewer"):
        run(frame, TASK)


def test_what_it_does_not_go_with():
    frame = records(5, digits=0)
    with pytest.raises(ArgumentError, match="solver='private_newton'"):
        run(frame, {**TASK, "solver": "bfgs"})
    with pytest.raises(ArgumentError, match="ties='breslow'"):
        run(frame, {**TASK, "ties": "efron"})
    with pytest.raises(ArgumentError, match="missing must be one of"):
        run(frame, {**TASK, "missing": "drop"})
    with pytest.raises(DataProblem, match=r"has missing values.*missing='complete'"):
        run(frame, {**TASK, "missing": "refuse"})


@pytest.fixture(scope="module")
def fitted():
    frame = records(11)
    return frame, run(frame, TASK)["model"]


@pytest.fixture(autouse=True)
def permitted(monkeypatch):
    monkeypatch.setenv("FEDBAYES_ALLOW_PREDICTIONS", "true")


def use(frame, function, model):
    frames = [*(frame[columns].copy() for columns in SPLIT.values()), NO_DATA]
    return run_mocked("verticox", function, frames, model=model, rows_aligned=True)


def predictor_of(model, frame):
    rows = {row["feature"]: row["coefficient"] for row in model["coefficients"]}
    part = frame["age"] * rows["age"] + frame["dose"] * rows["dose"]
    part += (frame["group"] == "y") * rows["group=y"] + (frame["group"] == "z") * rows["group=z"]
    return (part - model["offset"]).where(frame[["age", "dose", "group"]].notna().all(axis=1))


def test_a_model_of_complete_records_predicts_these_and_no_other(fitted):
    frame, model = fitted
    result = use(frame, "predict", model)
    told = result["predictions"]
    expected = predictor_of(model, frame)
    found = np.array(told["linear_predictor"], dtype=float)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert [value is None for value in told["partial_hazard"]] == expected.isna().tolist()
    assert [row[0] is None for row in told["survival"]] == expected.isna().tolist()
    assert any("no prediction (null)" in text for text in result["warnings"])


@pytest.mark.usefixtures("fine_hazards")
def test_baseline_and_evaluation_of_the_same_records_are_those_of_the_complete_ones(fitted):
    frame, model = fitted
    used = frame.dropna(subset=["age", "dose", "group", "time", "event"])
    again = use(frame, "baseline", model)
    assert again["baseline"]["time"] == pytest.approx(use(used, "baseline", model)["baseline"]["time"])
    risk = likelihood.RiskSets.of(used["time"].to_numpy(), used["event"].to_numpy(dtype=int))
    hazard = likelihood.evaluate_predictor(risk, predictor_of(model, used).to_numpy())[2]
    rows = np.searchsorted(np.sort(used["time"]), again["baseline"]["time"], side="right") - 1
    expected = np.sort(hazard)[rows]
    np.testing.assert_allclose(again["baseline"]["cumulative_hazard"], expected, rtol=1e-8)
    metrics = use(frame, "evaluate", model)
    assert metrics["metrics"]["records"] == len(used)
    assert metrics["concordance"] == pytest.approx(use(used, "evaluate", model)["concordance"])
    assert any("left out" in text for text in metrics["warnings"])


def test_gaps_that_a_model_does_not_take_are_refused_by_name(fitted):
    frame, model = fitted
    for function in ("predict", "baseline", "evaluate"):
        with pytest.raises(DataProblem, match="has missing values; fill them in"):
            use(frame, function, {**model, "missing": "refuse"})


def rarely_complete_late(seed):
    frame = records(seed, share=0.0)
    frame.loc[frame["time"] > frame["time"].median(), "dose"] = None
    return frame


def test_a_coarse_likelihood_at_zero_is_told():
    frame = rarely_complete_late(0)
    result = run(frame, TASK)
    expected, _, _ = pooled(frame)
    off = result["diagnostics"]["log_likelihood_error"]
    model = result["model"]
    assert abs(model["null_log_likelihood"] - expected.null_log_likelihood) <= off < 5.0
    assert abs(model["log_likelihood"] - expected.log_likelihood) <= off
    gain = expected.log_likelihood - expected.null_log_likelihood
    assert model["likelihood_ratio_test"]["statistic"] == pytest.approx(2 * gain, rel=1e-5)
    assert any("the log-likelihood, not its test" in text for text in result["warnings"])


def test_ties_do_not_move_the_likelihood_at_zero():
    """At each tied record all are at risk, so that at the last ones there are many more than its place in the order has one expect."""
    frame = records(3, share=0.0)
    frame["time"] = np.ceil(8 * frame["time"] / frame["time"].max())
    frame.loc[:4, "dose"] = None
    result = run(frame, TASK)
    expected, _, _ = pooled(frame)
    off = result["diagnostics"]["log_likelihood_error"]
    assert abs(result["model"]["null_log_likelihood"] - expected.null_log_likelihood) <= off
    assert off < 0.1


def test_a_likelihood_that_is_known_is_not_doubted():
    result = run(records(1), TASK)
    assert result["diagnostics"]["log_likelihood_error"] < 1e-2
    assert not any("log-likelihood" in text for text in result["warnings"])


@pytest.mark.audit
def test_gaps_of_half_an_outcome_do_not_say_who_is_present(monkeypatch):
    """Central refuses such columns; one that deviates is stopped by the station. The control: without the column the same is answered."""
    frame = records(3)
    monkeypatch.setattr(setup, "check_outcome", lambda *asked: None)
    for half in ("time", "event"):
        with (
            OneProcess(by_columns(frame, {**SPLIT, "a": ["age", half]}), helpers=["helper"]) as running,
            pytest.raises(MessageError, match="one column of the outcome is at this station"),
        ):
            running.run("verticox", "fit", TASK)
    assert run_on_shuffled_files(frame, TASK)["model"]["records"]
