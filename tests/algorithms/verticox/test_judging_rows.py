"""A model judged on whole records at several stations: the pooled measures, few records refused, noise told and paid for."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cox_rows_kit import CLINIC, ask, rossi, table
from lifelines.datasets import load_rossi
from lifelines.utils import concordance_index
from one_process import OneProcess
from party_kit import by_rows, with_folders

from fedbayes.federation.errors import (
    ArgumentError,
    BudgetError,
    MessageError,
    PlacementError,
    PolicyError,
    ThresholdError,
)
from v6_verticox.cox import agreement, survival
from v6_verticox.cox.scores import coarse_score
from v6_verticox.horizontal.judging import layout, scores
from v6_verticox.horizontal.judging.messages import PLACES

ROSSI, FEATURES = rossi()


def judge(
    frame: pd.DataFrame,
    model: Mapping[str, Any],
    stations: int = 3,
    limits: Mapping[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    return ask(frame, {"model": dict(model), **more}, stations, limits, "evaluate")


@cache
def fitted() -> dict[str, Any]:
    return ask(load_rossi(), {**ROSSI, "ties": "efron"})


def predictors(frame: pd.DataFrame, model: Mapping[str, Any]) -> Any:
    values = np.stack([frame[name].to_numpy(float).clip(*model["domain"][name]["bounds"]) for name in FEATURES], axis=1)
    return values @ table(model)["coefficient"].loc[FEATURES].to_numpy() - model["offset"]


def clinic(seed: int = 1, rows: int = 2000) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.normal(60, 9, rows).round(1), "stage": rng.choice(["I", "II", "III"], rows)})
    risk = 0.05 * (frame["age"] - 60) + frame["stage"].map({"I": 0.0, "II": 0.5, "III": 1.0})
    died, left = 15 * rng.exponential(np.exp(-risk)), rng.exponential(40, rows)
    frame["site"] = rng.choice(["n", "s"], rows)
    return frame.assign(months=np.minimum(died, left).round(2), died=(died <= left).astype(int))


@pytest.mark.usefixtures("fine_scores")
def test_measures_are_those_of_the_pooled_records() -> None:
    """Weeks are the grid: Brier scores are exact; of concordance 1 pair in 12 is estimated from pairs at one station."""
    frame, model = load_rossi(), fitted()["model"]
    result = judge(frame, model, times=[20, 35, 45])
    found, risk = result["metrics"], predictors(frame, model)
    time, event = frame["week"].to_numpy(float), frame["arrest"].to_numpy()
    assert (found["records"], found["events"], found["times"]) == (432, 114, [20.0, 35.0, 45.0])
    curve = survival.Steps(np.array(model["baseline"]["time"]), np.array(model["baseline"]["cumulative_hazard"]), 0.0)
    predicted = survival.survival_at(curve, risk, np.array([20.0, 35.0, 45.0]))
    wanted = survival.brier_scores(time, event, predicted, np.array([20.0, 35.0, 45.0]))
    np.testing.assert_allclose(found["brier_scores"], wanted, atol=1e-8)
    assert found["concordance"] == pytest.approx(concordance_index(time, -risk, event), abs=3e-3)
    areas = survival.dynamic_areas(time, event, risk, np.zeros(432), np.array([20.0, 35.0, 45.0]), 1e-9)
    np.testing.assert_allclose(found["auc_by_time"], np.array(areas, dtype=float), atol=5e-3)
    assert result["federation"]["rounds"] == 3
    assert result["federation"]["bytes"] < 750_000
    assert result["concordance"] == found["concordance"]
    assert result["privacy"]["differentially_private"] is False


def test_exact_scores_are_told_in_steps_of_a_record_and_noisy_ones_as_they_are() -> None:
    frame, model = clinic(), ask(clinic(), CLINIC)["model"]
    found = judge(frame, model, times=[6, 12, 24])["metrics"]
    told = [found["concordance"], *found["concordance_by_time"], *found["auc_by_time"], *found["brier_scores"]]
    assert found["step"] == 0.0005
    assert told == [coarse_score(score, found["records"]) for score in told]
    noisy = judge(frame, model, times=[6, 12, 24], epsilon=1.0)["metrics"]
    assert "step" not in noisy
    assert noisy["brier_scores"] != [coarse_score(score, 2_000) for score in noisy["brier_scores"]]


def test_calibration_is_that_of_the_groups_it_tells() -> None:
    """Groups are made of bins; of each, predictions and the Kaplan-Meier curve are those of as many records in the order of their predictors."""
    frame = clinic()
    model = ask(frame, {**CLINIC, "ties": "efron"})["model"]
    result = judge(frame, model, groups=4)
    found = result["metrics"]
    shown, moment = found["calibration"]["groups"], found["calibration"]["time"]
    assert moment == found["times"][len(found["times"]) // 2]
    assert set(found["times"]) <= set(model["times"])  # where the model tells its baseline
    assert found["calibration"] in found["calibration_by_time"]
    assert [group["records"] for group in shown] == pytest.approx([500] * 4, abs=143)  # a bin: one of 14
    coefficients = table(model)["coefficient"]
    risk = coefficients["age"] * frame["age"].clip(30, 90) - model["offset"]
    risk += frame["stage"].map({"I": 0.0, "II": coefficients["stage=II"], "III": coefficients["stage=III"]})
    curve = survival.Steps(np.array(model["baseline"]["time"]), np.array(model["baseline"]["cumulative_hazard"]), 0.0)
    predicted = survival.survival_at(curve, risk.to_numpy(), np.array([moment]))[:, 0]
    order = np.argsort(predicted, kind="stable")
    time, event = np.ceil(frame["months"].to_numpy()).clip(1), frame["died"].to_numpy()
    start = 0
    for group in shown:
        rows = order[start : start + group["records"]]
        start += group["records"]
        assert group["predicted"] == pytest.approx(predicted[rows].mean(), abs=1e-3)
        assert group["predicted"] == pytest.approx(group["observed"], abs=0.06)
        observed = survival.kaplan_meier(time[rows], event[rows]).at(np.array([moment]))[0]
        assert group["observed"] == pytest.approx(observed, abs=0.01)
    assert start == len(frame)


def test_concordance_of_a_fit_is_that_of_pairs_at_one_station() -> None:
    frame, result = load_rossi(), fitted()
    model = result["model"]
    times = np.array(model["times"])
    cell = np.minimum(np.searchsorted(times, frame["week"].to_numpy(float)), len(times))
    event = (frame["arrest"].to_numpy() == 1) & (cell < len(times))
    station = np.arange(len(frame)) % 3
    wanted = survival.concordance(cell.astype(float), event, predictors(frame, model), station, 1e-9)
    assert model["concordance"] == pytest.approx(wanted, abs=model["concordance_step"] / 2.0 + 1e-6)
    assert result["federation"]["rounds"] == 12


@pytest.mark.parametrize("stations", [2, 3, 7])
def test_the_split_over_stations_changes_little(stations: int) -> None:
    frame, model = load_rossi(), fitted()["model"]
    risk = predictors(frame, model)
    wanted = concordance_index(frame["week"], -risk, frame["arrest"])
    assert judge(frame, model, stations)["concordance"] == pytest.approx(wanted, abs=6e-3)


@pytest.mark.usefixtures("fine_scores")
def test_strata_are_compared_within_and_have_their_own_baselines() -> None:
    frame = clinic(2)
    domain = {**CLINIC["domain"], "site": {"categories": ["n", "s"]}}
    model = ask(frame, {**CLINIC, "domain": domain, "strata": "site"})["model"]
    found = judge(frame, model, times=[6, 12, 24])["metrics"]
    coefficients = table(model)["coefficient"]
    risk = (coefficients["age"] * frame["age"].clip(30, 90) - model["offset"]).to_numpy()
    risk = (
        risk
        + frame["stage"].map({"I": 0.0, "II": coefficients["stage=II"], "III": coefficients["stage=III"]}).to_numpy()
    )
    time, event = np.ceil(frame["months"].to_numpy()).clip(1), frame["died"].to_numpy()
    seen = event * (time <= 36)
    wanted = survival.concordance(np.minimum(time, 37), seen, risk, frame["site"].to_numpy(), 1e-9)
    assert found["concordance"] == pytest.approx(wanted, abs=2e-3)
    predicted = np.zeros((len(frame), 3))
    for part in model["baseline"]["strata"]:
        own = (frame["site"] == part["stratum"]).to_numpy()
        curve = survival.Steps(np.array(part["time"]), np.array(part["cumulative_hazard"]), 0.0)
        predicted[own] = survival.survival_at(curve, risk[own], np.array([6.0, 12.0, 24.0]))
    wanted_scores = survival.brier_scores(np.minimum(time, 37), seen, predicted, np.array([6.0, 12.0, 24.0]))
    np.testing.assert_allclose(found["brier_scores"], wanted_scores, atol=1e-8)


def test_a_formula_is_judged() -> None:
    frame = clinic(3)
    task = {name: value for name, value in CLINIC.items() if name != "features"} | {"formula": "~ age*C(stage)"}
    model = ask(frame, task)["model"]
    assert judge(frame, model)["concordance"] == pytest.approx(model["concordance"], abs=0.02)


# -- few records ---------------------------------------------------------------------------------------------------


def changed(model: Mapping[str, Any], **coefficients: float) -> dict[str, Any]:
    entries = [{**one, "coefficient": coefficients.get(one["feature"], 0.0)} for one in model["coefficients"]]
    return {**model, "coefficients": entries}


def test_coefficients_around_one_record_are_refused() -> None:
    """One record is far from all others in a feature with wide bounds: a coefficient that lets it outweigh the rest, either way, is refused."""
    frame = clinic(4)
    wide = {**CLINIC, "domain": {**CLINIC["domain"], "age": {"bounds": [0, 400]}}}
    model = ask(frame, wide)["model"]
    frame.loc[7, "age"] = 390.0
    for size in (0.05, -0.05, 0.5, -0.5):
        with pytest.raises(ThresholdError, match="model: its coefficients make one record, or few, weigh more"):
            judge(frame, changed(model, age=size))


def test_a_domain_around_one_record_is_refused() -> None:
    frame = clinic(5)
    model = ask(frame, CLINIC)["model"]
    highest = float(frame["age"].max())
    frame.loc[7, "age"] = 60.05  # all others are whole tenths: the only record between these bounds
    for bounds in ([highest - 0.05, highest], [60.0, 60.1]):
        aimed = {**model, "domain": {**model["domain"], "age": {"bounds": bounds}}}
        with pytest.raises(ThresholdError, match="model: its domain of 'age' sets fewer records apart"):
            judge(frame, changed(aimed, age=1.0))
    for bounds in ([59.0, 61.0], [60.0, 60.01]):  # many between, or none: two values
        aimed = {**model, "domain": {**model["domain"], "age": {"bounds": bounds}}}
        assert judge(frame, changed(aimed, age=0.5), times=[6, 12, 24])["metrics"]["records"] == len(frame)


def test_curves_of_one_group_at_two_times_tell_of_no_few_events() -> None:
    """Without censoring a group's events by a time are its records less those that survive: between two times that are told none or five."""
    frame = clinic(8, 800)
    frame["died"], frame["months"] = 1, frame["months"].clip(upper=36)
    model = ask(frame, CLINIC)["model"]
    times = [1, 2, 3, 4, 6, 8, 10, 12]
    told = [one["groups"] for one in judge(frame, model, times=times, groups=8)["metrics"]["calibration_by_time"]]
    shown = [
        np.array([round(group["records"] * (1 - group["observed"])) for group in groups]) for groups in told if groups
    ]
    steps = np.diff(np.stack(shown), axis=0)
    assert len(shown) > 2
    assert np.all((steps == 0) | (steps >= 5))


def test_times_around_few_events_are_refused() -> None:
    frame, model = load_rossi(), fitted()["model"]
    for times in ([20, 21], [1, 30], [20, 20.5, 40]):
        with pytest.raises(ThresholdError, match="times: fewer events or censored records"):
            judge(frame, model, times=times)


def test_no_bin_and_no_united_time_is_of_few_records() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        least = int(rng.integers(1, 20))
        places = np.zeros((2, PLACES), dtype=np.int64)
        np.add.at(places, (0, rng.integers(0, PLACES, 300)), 1)
        np.add.at(places, (1, rng.integers(2000, 2010, rng.integers(20, 300))), 1)
        bins = layout.bins_of(places, least)
        sizes = np.zeros(bins.max() + 1)
        np.add.at(sizes, bins.ravel(), places.ravel())
        assert sizes.min() >= least
        assert (np.bincount([len(np.unique(own)) for own in bins]).nonzero()[0] <= max(least, 1)).all()
        events, others = rng.poisson(rng.choice([1, 5]), 40), rng.poisson(rng.choice([0, 0.2, 4]), 41)
        others[-1] += 60
        ends = sorted(rng.choice(40, 3, replace=False).tolist())
        if layout.apart(events, others, ends, least):
            cells = layout.united_cells(events, others, ends, least)
            died, left = np.bincount(cells[:-1], events), np.bincount(cells, others)
            assert all(cells[end] < cells[end + 1] for end in ends)
            assert died[: cells[-1]].min() >= least
            assert all(count == 0 or count >= least for count in left[:-1])
            assert left[-1] + events[cells[:-1] == cells[-1]].sum() >= least


@pytest.mark.parametrize("what", ["domain", "references", "coefficients"])
def test_measures_are_those_of_the_model_that_was_counted(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """Central judged the model by its predictors: stations refuse measures of another, of other bounds or of other indicators."""
    from v6_verticox.horizontal.judging import exact

    frame = clinic(9)
    model, honest = ask(frame, CLINIC)["model"], exact.MeasuresRequest

    def deviating(judged: Any, *more: Any, **named: Any) -> Any:
        request, question = honest(judged, *more, **named), judged.question
        other = {
            "domain": replace(question, domain={**question.domain, "age": {"bounds": [60, 60.1]}}),
            "references": replace(question, references={"stage": "II"}),
            "coefficients": question,
        }[what]
        values = judged.coefficients * (2.0 if what == "coefficients" else 1.0)
        told = [{"feature": name, "coefficient": one} for name, one in zip(other.labels, values, strict=True)]
        outline = judged.model if what == "domain" else {**judged.model, "coefficients": told}
        return replace(request, judged=replace(judged, question=other, model=outline))

    monkeypatch.setattr(exact, "MeasuresRequest", deviating)
    words = "by another outcome, or other columns or bounds, than its own|none that the job's manifest names"
    with pytest.raises(MessageError, match=words):
        judge(frame, model)


def test_limits_of_the_nodes_hold() -> None:
    frame, model = load_rossi(), fitted()["model"]
    with pytest.raises(PolicyError):
        judge(frame, model, limits={"allow_non_private": False})
    with pytest.raises(ThresholdError, match="organizations"):
        judge(frame, model, limits={"minimum_organizations": 4})
    with pytest.raises(PlacementError, match="two or more organizations"):
        judge(frame, model, 1, {"minimum_organizations": 1})


def test_an_evaluation_is_one_question_or_one_debit(tmp_path: Path) -> None:
    """Nodes with a folder let models of their own fits be judged: two questions, the third is refused; one with noise is debited its epsilon."""
    parties = with_folders(by_rows(load_rossi(), "ab"), tmp_path, "ledger")
    policies = {"*": {"ledger": "ledger", "maximum_queries": 2, "minimum_organizations": 2}}
    with OneProcess(parties=parties, policies=policies) as running:
        model = running.run("verticox", "fit", ROSSI)["model"]
        with pytest.raises(PolicyError, match="model"):
            running.run("verticox", "evaluate", {"model": changed(model, age=0.1)})
        result = running.run("verticox", "evaluate", {"model": model})
        assert [entry["queries"] for entry in result["federation"]["debits"].values()] == [1, 1]
        noisy = running.run("verticox", "evaluate", {"model": model, "epsilon": 0.5})
        assert [entry["epsilon"] for entry in noisy["federation"]["debits"].values()] == [0.5, 0.5]
        with pytest.raises(BudgetError):
            running.run("verticox", "evaluate", {"model": model})


@pytest.mark.parametrize(
    ("change", "more", "text"),
    [
        ({"domain": None}, {}, "^model: it has no domain"),
        ({"domain": {"age": {"bounds": [15, 40]}}}, {}, "^model: its domain, references"),
        ({"offset": 1e300}, {}, "^model: its domain, references"),
        ({"grid": [-3, 2]}, {}, "^model: its grid"),
        ({"grid": "week", "times": None}, {}, "^model: its grid"),
        ({"strata": "site"}, {}, "^model: strata and baseline"),
        ({}, {"folds": 3}, "^folds is for columns"),
        ({}, {"reveal": "aggregates"}, "^reveal is for columns"),
        ({}, {"rows_aligned": True}, "^rows_aligned is for columns"),
        ({}, {"unit": "identifier", "id_column": "week"}, "^unit='identifier' is for a private answer"),
        ({"split": "vertical"}, {"epsilon": 1.0, "id_column": "id"}, "^epsilon is for split='horizontal'"),
        ({"covariance": None, "naive_covariance": None}, {"epsilon": 1.0}, "^model: its covariance"),
        ({"missing": "later"}, {}, "^model: its domain, references"),
    ],
    ids=str,
)
def test_models_and_arguments_that_do_not_fit_are_refused(change: Any, more: Any, text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        judge(load_rossi(), {**fitted()["model"], **change}, **more)


# -- with noise ----------------------------------------------------------------------------------------------------


def test_with_noise_measures_are_near_and_the_noise_is_told() -> None:
    """20,000 records, epsilon 1: within five deviations of the noise, and of what bins and a coarser grid cost (.01), of the exact ones."""
    frame = clinic(6, 20_000)
    model = ask(frame, CLINIC)["model"]
    exact = judge(frame, model, times=[6, 12, 24])["metrics"]
    result = judge(frame, model, times=[6, 12, 24], epsilon=1.0, limits={"allow_non_private": False})
    found = result["metrics"]
    noise = found["noise"]
    assert abs(found["concordance"] - exact["concordance"]) < 5 * noise["concordance"] + 0.01
    assert noise["concordance"] < 0.005
    # Over 25 answers these deviate by up to .001 and .006, beside .006 and .008 for bins and grid.
    np.testing.assert_allclose(found["brier_scores"], exact["brier_scores"], atol=0.01 + 5 * 0.001)
    np.testing.assert_allclose(found["auc_by_time"], exact["auc_by_time"], atol=0.01 + 5 * 0.006)
    assert abs(found["records"] - 20_000) < 5 * noise["records"]
    told = result["privacy"]
    assert (told["differentially_private"], told["epsilon"], told["delta"]) == (True, 1.0, 0.0)
    assert result["federation"]["rounds"] == 2
    assert not result["warnings"]


@pytest.mark.parametrize("most", [1000, 0])
def test_deviations_by_the_noise_are_those_of_many_answers(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Tables with noise: the deviation of the concordance is the one that is told, of slopes (small tables) and of noise drawn again (large ones)."""
    from v6_verticox.horizontal.judging import private

    rng = np.random.default_rng(0)
    risks = private._risks(np.array([-1.0, 0.0, 1.0]) if private.NOISY_BINS == 4 else np.linspace(-1.3, 1.3, 9))
    counts = rng.poisson(40, (1, private.NOISY_BINS, 6, 2)).astype(float)
    hazard, times, ends = np.array([[0.1, 0.3]]), [1.0, 2.0], [1, 3]

    def measure(one: Any) -> dict[str, Any]:
        return private._measured(one, risks, hazard, times, ends, 0)

    names = ("concordance", "integrated_brier_score")
    monkeypatch.setattr(private, "MOST_SLOPES", most)
    told = private._spread(counts, 2.0, measure, names)
    drawn = [measure(counts + rng.normal(0, 2.0, counts.shape)) for _ in range(800)]
    for name in names:
        assert np.std([one[name] for one in drawn]) == pytest.approx(told[name], rel=0.25)


@pytest.mark.audit
def test_many_times_measure_a_table_no_more_often_than_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hundred times would be 4,000 slopes of 4,000 cells each."""
    from v6_verticox.horizontal.judging import private

    calls, honest = [], private._measured
    monkeypatch.setattr(private, "_measured", lambda *asked: calls.append(1) or honest(*asked))
    judge(load_rossi(), fitted()["model"], times=np.linspace(1, 51, 200).tolist(), epsilon=1.0)
    assert len(calls) <= private.MOST_SLOPES


def test_small_tables_say_that_noise_dominates() -> None:
    model = fitted()["model"]
    result = judge(load_rossi(), model, epsilon=0.05)
    assert any("the noise dominates" in text for text in result["warnings"])


def test_wild_values_are_taken_by_public_rules() -> None:
    frame = clinic(7, 600)
    model = ask(frame, CLINIC)["model"]
    wild = frame.astype(object)
    wild.loc[::50, "age"], wild.loc[1::50, "stage"], wild.loc[2::50, "died"], wild.loc[3::50, "months"] = (
        "x",
        None,
        3,
        -1,
    )
    found = judge(wild, model, epsilon=20.0)["metrics"]
    assert abs(found["records"] - 552) < 30


# -- the arithmetic ------------------------------------------------------------------------------------------------


def test_counted_pairs_are_those_of_every_pair() -> None:
    rng = np.random.default_rng(1)
    risk, cell, event = rng.integers(0, 6, 80).astype(float), rng.integers(0, 5, 80), rng.random(80) < 0.6
    event &= cell < 4
    agree, total = agreement.agreeing(risk, cell, event, 4)
    wanted = survival.concordance(cell.astype(float), event, risk)
    assert agree / total == pytest.approx(wanted, abs=1e-12)


def test_censoring_weights_are_those_of_records() -> None:
    rng = np.random.default_rng(2)
    time, event = rng.integers(1, 8, 200).astype(float), (rng.random(200) < 0.5).astype(int)
    events = np.array([np.sum((time == t) & (event == 1)) for t in range(1, 8)], dtype=float)
    others = np.array([*(np.sum((time == t) & (event == 0)) for t in range(1, 8)), 0.0])
    before, beyond = scores.observed_until(events, others)
    curve = survival.censoring_curve(time, event)
    np.testing.assert_allclose(1.0 / before, curve.at(np.arange(1.0, 8.0), left=True))
    np.testing.assert_allclose(1.0 / beyond[:-1], curve.at(np.arange(1.0, 7.0)))


@pytest.mark.filterwarnings("error")
def test_survival_of_a_predictor_beyond_what_e_can_be_raised_to() -> None:
    curve = survival.Steps(np.array([1.0, 2.0]), np.array([0.1, 1e9]), 0.0)
    found = survival.survival_at(curve, np.array([800.0, -800.0]), np.array([0.5, 1.0, 2.0]))
    np.testing.assert_array_equal(found, [[1.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
