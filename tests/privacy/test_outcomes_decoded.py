"""What the digits of scores tell whoever has the predictions of the same records: each one's outcome, unless scores are in steps."""

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import by_columns, by_rows
from scipy.stats import rankdata
from subset_kit import subset

from fedbayes.federation.errors import PolicyError
from v6_verticox.cox import survival
from v6_verticox.cox.scores import coarse_score, step_of

ROWS = 32
ASKED = {"id_column": "id"}


def records(rows, effects):
    draw = np.random.default_rng(1)
    features = draw.normal(size=(rows, 2)).round(2)
    days = draw.exponential(10 / np.exp(features @ effects)).round(3)
    ids = [f"p{row}" for row in range(rows)]
    return pd.DataFrame({"id": ids, "u": features[:, 0], "v": features[:, 1], "days": days, "died": 1})


@pytest.fixture(scope="module")
def table():
    return records(ROWS, [0.5, -0.4])


def running(table, allowing):
    split = {"a": ["u"], "b": ["days", "died"], "c": ["v"]}
    return OneProcess(by_columns(table, split), ["h"], {name: {"allow_predictions": True} for name in allowing})


def fitted(federation):
    asked = {"time": "days", "event": "died", "features": ["u", "v"], **ASKED}
    return {"model": federation.run("verticox", "fit", asked)["model"], **ASKED}


@pytest.fixture(scope="module")
def model(table):
    with running(table, "") as federation:
        return fitted(federation)


def who_lived(table, model):
    """Return who lives at a time as the predictions and the Brier score of it say, and who does."""
    with running(table, "abc") as federation:
        metrics = federation.run("verticox", "evaluate", model)["metrics"]
        moment, score = metrics["times"][1], metrics["brier_scores"][1]
        asked = {**model, "times": [moment], "identifiers": True}
        told = federation.run("verticox", "predict", asked)["predictions"]
    survival = np.array(told["survival"])[:, 0]
    alive = subset(1.0 - 2.0 * survival, ROWS * score - (survival**2).sum())
    return alive, (table.set_index("id").loc[told["identifiers"], "days"] > moment).tolist()


def test_predictions_and_one_score_tell_nobody_who_lived(table, model):
    guessed, alive = who_lived(table, model)
    assert np.sum(np.equal(guessed, alive)) < 0.8 * ROWS


@pytest.mark.usefixtures("fine_scores")
def test_control_the_digits_of_one_score_tell_who_lived(table, model):
    guessed, alive = who_lived(table, model)
    assert guessed == alive


FEW = 20
EVERYBODY = (np.arange(2**FEW)[:, None] >> np.arange(FEW) & 1).astype(np.float64)
"""Who may be dead, (assignments, records): all that can be."""


def sure(models, seed, told):
    """Return how many of twenty records are told with 99 % certainty by the Brier scores and areas under curves of some models at one time.

    The one who tries knows all predictions, how many died, and how probable each death is. `told` rounds a score.
    """
    draw = np.random.default_rng(seed)
    columns = draw.normal(size=(FEW, 8))
    risk = np.exp(0.8 * columns[:, 0])
    dead = np.zeros(FEW)
    while not 6 <= dead.sum() <= 14:  # as far from nobody and everybody as nodes demand
        dead = (draw.random(FEW) > np.exp(-0.7 * risk)).astype(np.float64)
    left = EVERYBODY[EVERYBODY.sum(axis=1) == dead.sum()]
    for _ in range(models):
        predictor = columns @ (draw.normal(size=8) * 0.35 + np.eye(8)[0] / 2.0)
        lives, ranks = np.exp(-0.7 * np.exp(predictor)), rankdata(predictor)
        pairs = dead.sum() * (FEW - dead.sum())
        for plain, died, over in (
            ((1.0 - lives) ** 2, lives**2, FEW),
            (0.0 * ranks, ranks - (dead.sum() + 1.0) / 2.0, pairs),
        ):
            scores = (plain.sum() + left @ (died - plain)) / over
            left = left[told(scores) == told((plain.sum() + dead @ (died - plain)) / over)]
    chance = np.exp(left @ np.log(np.expm1(0.7 * risk)))
    return int(np.sum(np.abs(chance @ left / chance.sum() - 0.5) > 0.49))


def in_steps(scores):
    return np.round(scores / step_of(FEW))


def digits(scores):
    return np.round(scores, 12)


def test_two_models_together_tell_few_records():
    assert np.mean([sure(2, seed, in_steps) for seed in range(8)]) < 0.1 * FEW


def test_a_model_for_every_third_record_still_tells():
    """What still succeeds, as with very many exact answers of any kind: six models of twenty records."""
    assert np.mean([sure(6, seed, in_steps) for seed in range(3)]) > 0.9 * FEW


def test_control_the_digits_of_one_model_tell_all():
    assert all(sure(1, seed, digits) == FEW for seed in range(6))


def test_steps_are_what_one_record_changes_and_well_within_the_standard_error():
    draw = np.random.default_rng(0)
    for records in (50, 100, 200, 432, 1_000, 10_000):
        lives = draw.beta(2.0, 2.0, records)
        squares = np.where(draw.random(records) < lives, (1.0 - lives) ** 2, lives**2)
        error = squares.std() / np.sqrt(records)
        assert 1.0 <= step_of(records) * records <= 2.5
        assert step_of(records) < 0.8 * error
        off = coarse_score(squares.mean(), records) - squares.mean()
        assert abs(off) <= step_of(records) / 2.0 + 1e-12


def test_what_is_told_is_in_the_step_that_it_names():
    """The integrated score is that of the Brier scores that are told; folds and groups have the steps of their own records."""
    with running(records(160, [0.3, -0.2]), "abc") as federation:
        model = fitted(federation)
        whole = federation.run("verticox", "evaluate", model)["metrics"]
        parts = federation.run("verticox", "evaluate", {**model, "folds": 2})["metrics"]
    assert whole["step"] == parts["step"] == 0.01
    told = [whole["concordance"], *whole["concordance_by_time"], *whole["auc_by_time"], *whole["brier_scores"]]
    told += parts["pooled"]["brier_scores"] + [parts["pooled"]["calibration_slope"]]
    assert told == [round(round(score / 0.01) * 0.01, 15) for score in told]
    integrated = survival.integrated(np.array(whole["brier_scores"]), np.array(whole["times"]))
    assert whole["integrated_brier_score"] == integrated
    for part in (whole["calibration"], *whole["calibration_by_time"], parts["calibration"]):
        for group in part["groups"]:
            assert group["observed"] == coarse_score(group["observed"], group["records"])
    for fold in parts["folds"]:
        assert fold["calibration_slope"] is not None
        for name in ("concordance", "integrated_brier_score", "calibration_slope", "calibration_difference"):
            assert fold[name] == coarse_score(fold[name], 80)


def told_by_a_concordance(told, few=18):
    """Return of how many records the outcome follows from the concordance of a fit, for who knows all predictors and times, and how many died."""
    draw, outcomes = np.random.default_rng(2), EVERYBODY[: 2**few, :few]
    risk, later = draw.permutation(few), np.triu(np.ones((few, few)), 1)
    dead = (draw.random(few) < 0.5).astype(np.float64)
    left = outcomes[outcomes.sum(axis=1) == dead.sum()]
    pairs, agree = later.sum(axis=1), (later * (risk[:, None] > risk)).sum(axis=1)
    left = left[told(left @ agree / (left @ pairs)) == told(dead @ agree / (dead @ pairs))]
    return len(left), int(np.sum(np.abs(left.mean(axis=0) - 0.5) > 0.49))


def test_the_concordance_of_a_fit_to_whole_records_leaves_thousands_of_outcomes():
    left, known = told_by_a_concordance(lambda scores: np.round(scores / step_of(18)))
    assert left > 1_000
    assert known == 0


def test_control_its_digits_leave_few():
    assert told_by_a_concordance(digits)[0] < 500


@pytest.mark.parametrize("least", [1, 5])
def test_the_concordance_of_a_fit_is_in_the_step_that_it_names(least):
    frame = records(240, [0.5, -0.4]).drop(columns="id").assign(days=lambda table: np.ceil(table["days"]))
    bounds = {"bounds": [-4.0, 4.0]}
    asked = {"time": "days", "event": "died", "split": "horizontal", "times": [2, 5, 9, 20], "features": ["u", "v"]}
    with OneProcess(by_rows(frame, "abc"), ["h"], {name: {"minimum_count": least} for name in "abc"}) as federation:
        model = federation.run("verticox", "fit", {**asked, "domain": {"u": bounds, "v": bounds}})["model"]
    assert model["concordance_step"] == (None if least == 1 else step_of(240))
    assert (coarse_score(model["concordance"], 240) == model["concordance"]) is (least > 1)


@pytest.mark.parametrize("refusing", "abc")
def test_control_each_station_can_refuse_that(table, model, refusing):
    """The one with the outcomes too, though it predicts nothing."""
    with running(table, set("abc") - {refusing}) as federation:
        for task in ("evaluate", "predict"):
            if task == "evaluate" or refusing != "b":
                with pytest.raises(PolicyError, match="single records"):
                    federation.run("verticox", task, model)
