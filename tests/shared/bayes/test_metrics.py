"""Scores: scikit-learn's numbers, also when they come from sums of stations."""

import numpy as np
import pytest
from exact_kit import weighted_auc
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import log_loss, roc_auc_score

from fedbayes.bayes.evaluation import metrics
from fedbayes.bayes.evaluation.tallies import Tallies, joint_table, scores_of, tallies_of_joint, tally


def predictions(rows, classes, seed=0):
    random = np.random.default_rng(seed)
    truth = random.integers(0, classes, rows)
    joint = random.normal(0, 2, (rows, classes)) + 2.0 * np.eye(classes)[truth]
    return truth, joint - np.log(np.exp(joint).sum(axis=1, keepdims=True))


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_exact_scores_are_those_of_scikit_learn(classes):
    truth, logs = predictions(500, classes)
    probabilities = np.exp(logs)
    if classes == 2:
        assert np.isclose(metrics.auc(truth == 1, probabilities[:, 1]), roc_auc_score(truth, probabilities[:, 1]))
    else:
        theirs = roc_auc_score(truth, probabilities, multi_class="ovr", average="weighted")
        assert np.isclose(weighted_auc(truth, probabilities), theirs)
    assert np.isclose(metrics.row_losses(truth, logs).mean(), log_loss(truth, probabilities))


def test_ties_count_half():
    assert metrics.auc(np.array([True, False, True, False]), np.array([1.0, 1.0, 2.0, 0.0])) == 0.875


@pytest.mark.parametrize("classes", [2, 4])
def test_sums_of_stations_are_scores_of_the_pool(classes):
    truth, logs = predictions(3000, classes)
    parts = [tally(truth[i::3], logs[i::3]) for i in range(3)]
    together = parts[0] + parts[1] + parts[2]
    found = scores_of(together)
    assert found["n"] == 3000
    assert np.isclose(found["accuracy"], np.mean(truth == logs.argmax(axis=1)))
    assert np.isclose(found["log_loss"], log_loss(truth, np.exp(logs)))
    assert abs(found["auc"] - weighted_auc(truth, np.exp(logs))) < 2e-4
    again = Tallies.from_flat(*together.flat(), classes)
    assert scores_of(again)["auc"] == found["auc"]


def test_extreme_scores_stay_finite():
    logs = np.array([[0.0, -800.0], [-800.0, 0.0], [0.0, -np.inf]])
    found = scores_of(tally(np.array([0, 1, 1]), logs))
    assert np.isfinite([found["accuracy"], found["auc"], found["log_loss"]]).all()


def test_a_certain_and_right_model_is_calibrated():
    logs = np.log(np.tile([0.95, 0.05], (100, 1)))
    truth = np.repeat([0, 1], [95, 5])
    found = scores_of(tally(truth, logs))["calibration"]
    assert found["error"] < 1e-9
    assert found["rows"].sum() == 100


def test_without_rows_there_is_no_score():
    found = scores_of(tally(np.zeros(0, dtype=int), np.zeros((0, 2))))
    assert np.isnan([found["accuracy"], found["auc"], found["log_loss"]]).all()
    assert np.isnan(metrics.auc(np.zeros(0, dtype=bool), np.zeros(0)))


def test_noisy_tallies_give_possible_scores():
    random = np.random.default_rng(1)
    truth, logs = predictions(200, 3)
    counts, loss = tally(truth, logs, bins=32).flat()
    noisy = Tallies.from_flat(counts + random.integers(-9, 9, len(counts)), loss, 3, bins=32)
    found = scores_of(noisy)
    assert 0 <= found["accuracy"] <= 1
    assert 0 <= found["auc"] <= 1
    with pytest.raises(ValueError, match="counts"):
        Tallies.from_flat(counts[1:], loss, 3, bins=32)


def test_a_class_alone_is_always_right_and_has_no_curve():
    found = scores_of(tally(np.zeros(5, dtype=int), np.zeros((5, 1))))
    assert (found["accuracy"], found["log_loss"], found["n"]) == (1.0, 0.0, 5.0)
    assert np.isnan(found["auc"])


def test_no_rows_have_no_curve():
    found = metrics.roc(np.zeros(0), np.zeros(0))
    assert [len(rates) for rates in found.values()] == [0, 0]


def test_all_scores_follow_of_one_table_of_two_classes():
    truth, logs = predictions(4000, 2)
    logs = logs * 1.0
    logs[:5] = np.log(0.5)  # ties go to the first class, as everywhere
    table = joint_table(truth, logs, 32)
    found, exact = (scores_of(part) for part in (tallies_of_joint(table), tally(truth, logs)))
    assert table.shape == (2, 32)
    assert (found["n"], found["accuracy"]) == (4000, exact["accuracy"])
    assert abs(found["auc"] - exact["auc"]) < 0.004
    assert abs(found["log_loss"] - exact["log_loss"]) < 0.02
    assert abs(found["calibration"]["error"] - exact["calibration"]["error"]) < 0.02
    assert found["calibration"]["rows"].sum() == pytest.approx(4000)


def test_one_noisy_table_says_more_of_the_curve_than_four_noisy_queries():
    random = np.random.default_rng(2)
    truth, logs = predictions(4000, 2)
    exact = scores_of(tally(truth, logs))["auc"]
    counts, loss = tally(truth, logs, 64).flat()
    table = joint_table(truth, logs, 32)
    away = []
    for _ in range(40):
        one = tallies_of_joint(table + random.laplace(0.0, 5.0, table.shape))
        four = Tallies.from_flat(counts + random.laplace(0.0, 20.0, counts.shape), loss, 2, 64)
        away.append([scores_of(found)["auc"] - exact for found in (one, four)])
    together, apart = np.sqrt(np.mean(np.square(away), axis=0))
    assert together < apart / 3


def test_a_table_of_noise_alone_gives_possible_scores():
    for cells in (-5.0, 0.0, 3.0):
        found = scores_of(tallies_of_joint(np.full((2, 32), cells)))
        assert found["n"] == max(0.0, 64 * cells)
        assert np.isnan(found["auc"]) or found["auc"] == pytest.approx(0.5)


@given(
    st.lists(st.integers(0, 30), min_size=8, max_size=8),
    st.lists(st.integers(0, 30), min_size=8, max_size=8),
    st.sampled_from([0, 1, 5, 40]),
)
def test_a_curve_has_the_area_and_no_step_of_few_rows(positive, negative, minimum):
    yes, no = np.array(positive, dtype=float), np.array(negative, dtype=float)
    curve = metrics.roc(yes, no, minimum)
    points = np.stack([curve["false_positive_rate"], curve["true_positive_rate"]], axis=1)
    if not yes.sum() or not no.sum():
        assert not len(points)
        return
    assert points[0].tolist() == [0.0, 0.0]
    assert points[-1].tolist() == [1.0, 1.0]
    steps = np.diff(points, axis=0) * [no.sum(), yes.sum()]
    assert len(steps) == 1 or ((steps < 1e-9) | (steps >= minimum - 1e-9)).all()
    area = float(np.sum(np.diff(points[:, 0]) * (points[1:, 1] + points[:-1, 1]) / 2))
    if minimum == 0:
        assert area == pytest.approx(metrics.auc_from_histograms(yes, no), abs=1.0 / metrics.CURVE_POINTS)


@pytest.mark.parametrize("seed", range(5))
def test_a_curve_of_noisy_counts_ends_at_one_exactly(seed):
    rng = np.random.default_rng(seed)
    curve = metrics.roc(rng.normal(3.0, 2.0, 40), rng.normal(3.0, 2.0, 40))
    for rates in curve.values():
        assert rates[-1] == rates.max() == 1.0


def test_tenths_of_few_rows_are_not_told_and_do_not_follow_from_the_sum():
    confidence = np.zeros((10, 2))
    confidence[9], confidence[8], confidence[5] = (2, 50), (0, 20), (1, 2)
    found = metrics.calibration(confidence, 10)
    assert np.isnan(found["rows"][[5, 8]]).all()
    assert np.isnan(found["accuracy"][[5, 8]]).all()
    assert found["rows"][9] == 52
    assert metrics.calibration(confidence)["rows"].sum() == confidence.sum()
