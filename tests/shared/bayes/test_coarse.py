"""How exact scores are told: close to those of the records beside their standard errors, and without what few records would tell."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.naive_bayes import GaussianNB

from fedbayes.bayes.evaluation import coarse, metrics
from fedbayes.bayes.evaluation.metrics import row_losses
from fedbayes.bayes.evaluation.tallies import Tallies, joint_table, scores_of, tallies_of_joint, tally

MINIMUM = 5


def held_out(load, seed=0):
    """Return true classes and log probabilities of the half that a Gaussian naive Bayes model has not seen."""
    rows, truth = load(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(truth))
    learned, tested = np.array_split(order, 2)
    logs = GaussianNB().fit(rows[learned], truth[learned]).predict_log_proba(rows[tested])
    return truth[tested], metrics.bounded_logs(logs, logs.shape[1])


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris, load_wine])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_added_to_a_log_loss_is_less_than_its_standard_error(load, seed):
    truth, logs = held_out(load, seed)
    losses = row_losses(truth, logs)
    total, part = coarse.kept_losses(tally(truth, logs), MINIMUM)
    assert part < 0.6 * losses.std() * np.sqrt(len(losses))
    assert total == pytest.approx(losses.sum(), abs=0.01 * losses.sum()), "honest models lose nothing by the cut"


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
def test_what_is_added_to_an_area_is_less_than_its_standard_error(load):
    truth, logs = held_out(load, 2)
    random = np.random.default_rng(0)
    again = [random.integers(0, len(truth), len(truth)) for _ in range(100)]
    areas = [scores_of(tally(truth[rows], logs[rows]))["auc"] for rows in again]
    assert coarse.auc_part(coarse.tied([(yes, no) for no, yes in tally(truth, logs).scores], MINIMUM)) < np.std(areas)


@pytest.mark.audit
def test_scores_are_as_far_off_as_their_errors_say_and_right_in_the_mean():
    truth, logs = held_out(load_breast_cancer)
    world = tally(truth, logs)
    exact = scores_of(world, MINIMUM)
    answers = [coarse.coarse_scores(world, MINIMUM, seed) for seed in range(2_000)]
    for score in ("log_loss", "auc"):
        away = np.array([scores[score] - exact[score] for scores, _ in answers])
        errors = np.array([errors[f"{score}_error"] for _, errors in answers])
        assert abs(away.mean()) < 4 * away.std() / np.sqrt(len(away)) + 0.1 * away.std()
        assert 0.5 < errors.mean() / away.std() < 2.0
        assert (np.abs(away) < 12 * errors).all()
        assert {scores["accuracy"] for scores, _ in answers} == {exact["accuracy"]}


def test_digits_that_the_error_hides_are_not_told():
    truth, logs = held_out(load_iris)
    scores, errors = coarse.coarse_scores(tally(truth, logs), MINIMUM, 1)
    for score in ("log_loss", "auc"):
        assert scores[score] == round(scores[score], 1 - int(np.floor(np.log10(errors[f"{score}_error"]))))


def test_without_a_minimum_scores_are_exact():
    truth, logs = held_out(load_iris)
    world = tally(truth, logs)
    for minimum in (0, 1):
        scores, errors = coarse.coarse_scores(world, minimum, 1)
        assert errors == {}
        assert scores["log_loss"] == scores_of(world)["log_loss"]


def test_few_records_beyond_all_others_count_as_the_next():
    """Loss, area and accuracy of four records with a score of their own are those of any others, whatever their labels."""
    told = []
    for labels in ([0, 0, 0, 0], [0, 1, 0, 1], [1, 1, 1, 1]):
        truth = np.array([0] * 20 + [1] * 20 + [0, 1] * 10 + labels)
        odds = np.concatenate([np.full(30, -1.0), np.full(30, 1.0), np.full(4, 20.0)])
        world = tally(truth, -np.logaddexp(0.0, np.stack([odds, -odds], axis=1)))
        told.append((coarse.kept_losses(world, MINIMUM), coarse.gathered(world.confusion, MINIMUM).sum(axis=0)))
    (of_no, part), (_, between), (of_yes, other) = (loss for loss, _ in told)
    assert of_no - of_yes == pytest.approx(4 * np.log1p(np.e), abs=0.2), "as of log-odds of one; it would be 80"
    assert part == between == other == pytest.approx(0.65, abs=0.02)
    assert coarse.gathered(np.array([[20.0, 3.0], [9.0, 1.0]]), MINIMUM).tolist() == [[23.0, 0.0], [10.0, 0.0]]
    assert coarse.gathered(np.array([[2.0, 1.0], [0.0, 1.0]]), MINIMUM).tolist() == [[2.0, 1.0], [0.0, 1.0]]


def test_losses_that_were_cut_before_are_cut_once():
    """Of noise that hides nobody a row's loss is at most 8, and no more is taken off the few largest."""
    truth, odds = np.array([0, 1] * 30 + [1] * 4), np.concatenate([np.full(60, -1.0), np.full(4, -40.0)])
    logs = -np.logaddexp(0.0, np.stack([odds, -odds], axis=1))
    world = tallies_of_joint(joint_table(truth, logs, 32), 8.0)
    total, _ = coarse.kept_losses(world, MINIMUM, 8.0)
    assert world.loss - total == pytest.approx(4 * (8.0 - np.log1p(np.e)), abs=2.0)
    assert coarse.coarse_scores(world, MINIMUM, 1, 8.0)[1]["log_loss_error"] * 64 < 2.0


def test_too_few_records_have_no_area_and_noise_below_zero_is_cut():
    truth, logs = np.array([0, 1, 0, 1, 0, 1]), np.log(np.linspace([0.9, 0.1], [0.2, 0.8], 6))
    scores, errors = coarse.coarse_scores(tally(truth, logs), MINIMUM, 1)
    assert np.isnan(scores["auc"])
    assert set(errors) == {"log_loss_error"}
    whole = tally(*held_out(load_breast_cancer))
    noisy = Tallies(whole.scores - 0.3, whole.confusion - 0.3, whole.confidence - 0.3, whole.loss)
    scores, errors = coarse.coarse_scores(noisy, MINIMUM, 1)
    assert 0.9 < scores["auc"] <= 1
    assert set(errors) == {"log_loss_error", "auc_error"}
