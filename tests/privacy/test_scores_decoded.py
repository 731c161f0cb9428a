"""What exact scores over whole records tell of a person whom the model singles out: the digits of area and log loss were counts that the tables hide."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import by_rows, remembering
from scores_kit import (
    CERTAIN,
    LABEL,
    LARGEST,
    MINIMUM,
    ROWS,
    STATES,
    answered,
    belief,
    made_for,
    someone,
    sure_of,
    table,
    tables_of,
    tallied,
    view,
)

from fedbayes.bayes.evaluation import coarse
from fedbayes.bayes.evaluation.metrics import calibration
from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.federation.errors import PolicyError

BINS = {
    "three": [[0.55, 0.45], [0.95, 0.05], [0.42, 0.58]],
    "heavy": [[0.999, 0.001], [0.9999999, 1e-7], [0.001, 0.999]],
    "five": [[0.75, 0.25], [0.55, 0.45], [0.995, 0.005], [0.44, 0.56], [0.15, 0.85]],
}
"""Probabilities of the two classes in each bin; the person is alone in the middle one."""


def beliefs(name: str, refits: int, draws: int) -> list[float]:
    """Return how sure the best reader is of the true label after so many models that differ a little, for both labels and several draws."""
    probabilities = [np.array(BINS[name])]
    for number in range(1, refits):
        odds = np.random.default_rng(number).lognormal(0.0, 0.03, len(BINS[name]))
        weighed = probabilities[0] * np.stack([odds, np.ones_like(odds)], axis=1)
        probabilities.append(weighed / weighed.sum(axis=1, keepdims=True))
    bins = len(BINS[name])
    sizes = [1 if place == bins // 2 else (ROWS - 1) // (bins - 1) + place % 3 for place in range(bins)]
    rates = [0.5] * bins if name == "heavy" else probabilities[0][:, 1].tolist()
    possible = list(tables_of(sizes, rates, 6 if bins == 3 else 2))
    worlds = [[view(label, tallied(counts, part)) for label, counts in possible] for part in probabilities]
    sure = []
    for label in range(2):
        true = [[size - round(size * rate), round(size * rate)] for size, rate in zip(sizes, rates, strict=True)]
        true[bins // 2] = [1 - label, label]
        for draw in range(draws):
            answers = [answered(tallied(true, part), draw * 1000 + at) for at, part in enumerate(probabilities)]
            of_yes = belief(worlds, answers)
            sure.append(of_yes if label else 1.0 - of_yes)
    return sure


@pytest.mark.few(1)
@pytest.mark.parametrize("name", BINS)
def test_no_answer_makes_the_best_reader_certain_of_a_label(name):
    """It knows the model, how many records are in every bin, nearly how many of each are of a class, and the law of what is added."""
    sure = np.array(beliefs(name, 1, 10))
    assert sure.max() < 0.95
    assert sure.mean() < 0.8


@pytest.mark.audit
@pytest.mark.parametrize("name", ["three", "heavy"])
def test_nor_do_three_models_that_differ_a_little(name):
    assert np.mean(beliefs(name, 3, 10)) < 0.85


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["three", "five"])
def test_control_exact_scores_make_it_certain(name, exact_scores):
    with np.errstate(over="ignore"):
        assert min(beliefs(name, 1, 1)) > CERTAIN


def test_control_the_exact_area_alone_makes_it_certain(exact_scores):
    """Whoever hides the digits of the log loss alone has hidden nothing."""
    with mock.patch.object(coarse, "kept_losses", return_value=(0.0, 1.0)):
        assert min(beliefs("three", 1, 1)) > CERTAIN


def asked_by_hand(frame: pd.DataFrame, label: str) -> tuple[Any, float]:
    """Return the answer about a model by hand, and how sure the best reader of the loss is of "yes" who knows how many others are."""
    person = someone(frame, label)
    model = made_for(person)
    with OneProcess(by_rows(frame, "abc"), ["helper"]) as running:
        found = running.run("dp_naive_bayes", "evaluate", {"model": model})
    assert found["diagnostics"]["confusion"] == [[None, None], [None, None]], "the table hides it"
    other = {name: next(state for state in states if state != person[name]) for name, states in STATES.items()}
    logs = NaiveBayes.from_dict(model).predict_log_proba(pd.DataFrame([other, dict(person[list(STATES)])]))
    return found, sure_of(found, frame, label, logs)


@pytest.mark.parametrize("label", ["no", "yes"])
def test_a_model_by_hand_does_not_tell_the_label_of_whom_it_names(label):
    found, sure = asked_by_hand(table(), label)
    assert 0.1 < sure < 0.9
    assert found["diagnostics"]["log_loss_error"] * ROWS > 4.0, "records that are missed add up to 30 each"


@pytest.mark.parametrize("label", ["no", "yes"])
def test_control_exact_scores_of_a_model_by_hand_tell_it(label, exact_scores):
    """Each "yes" that the model misses adds the largest loss, so what is left of the sum is the loss of one record."""
    found, sure = asked_by_hand(table(), label)
    assert (sure > CERTAIN, sure < 1 - CERTAIN) == (label == "yes", label == "no")
    left = found["log_loss"] * ROWS % LARGEST
    assert (1.0 < left < LARGEST - 1.0) is (label == "no")


def test_models_by_hand_are_refused_where_nodes_check_seals(tmp_path):
    frame = table()
    with (
        remembering(by_rows(frame, "abc"), tmp_path) as running,
        pytest.raises(PolicyError, match="a fit of this federation made"),
    ):
        running.run("dp_naive_bayes", "evaluate", {"model": made_for(someone(frame, "no"))})


def asked_sealed(label: str, folder: Path) -> float:
    """Return how sure the best reader is of "yes" of the person whose dose a bin of a sealed, private fit is around."""
    frame = table()
    dose = float(frame.loc[(frame["ill"] == label) & frame["dose"].between(45, 55), "dose"].iloc[0])
    edges = [0, dose - 0.1, dose + 0.1, 100]
    domain = {"dose": {"bounds": [0, 100]}, "ill": LABEL}
    asked = {"label": "ill", "domain": domain, "epsilon": 20.0, "bins": {"dose": edges}}
    with remembering(by_rows(frame, "abc"), folder) as running:
        model = running.run("dp_naive_bayes", "fit", asked)["model"]
        found = running.run("dp_naive_bayes", "evaluate", {"model": model})
    logs = NaiveBayes.from_dict(model).predict_log_proba(pd.DataFrame({"dose": [0.0, dose, 100.0]}))
    table_of_bins = pd.crosstab(pd.cut(frame["dose"], edges), frame["ill"])
    sizes = table_of_bins.sum(axis=1).tolist()
    assert sizes[1] == 1
    rates = (table_of_bins["yes"] / table_of_bins.sum(axis=1)).tolist()
    return belief([[view(one, tallied(counts, np.exp(logs))) for one, counts in tables_of(sizes, rates, 6)]], [found])


@pytest.mark.parametrize("label", ["no", "yes"])
def test_a_sealed_model_with_a_bin_around_a_person_does_not_tell_their_label(tmp_path, label):
    assert 0.03 < asked_sealed(label, tmp_path) < 0.97


@pytest.mark.audit
@pytest.mark.parametrize("label", ["no", "yes"])
def test_control_exact_scores_of_a_sealed_model_tell_it(tmp_path, label, exact_scores):
    """Nodes with folder databases seal the fit, which is private; its probabilities tell the counts of three bins apart."""
    sure = asked_sealed(label, tmp_path)
    assert (sure > CERTAIN, sure < 1 - CERTAIN) == (label == "yes", label == "no")


def test_noise_that_hides_nobody_does_not_stand_in_for_that():
    frame = table()
    with OneProcess(by_rows(frame, "abc"), ["helper"]) as running:
        found = running.run("dp_naive_bayes", "evaluate", {"model": made_for(someone(frame, "no")), "epsilon": 1000.0})
        small = running.run("dp_naive_bayes", "evaluate", {"model": made_for(someone(frame, "no")), "epsilon": 1.0})
    assert found["diagnostics"]["log_loss_error"] * ROWS >= 2.0, "a loss is at most 8 with noise"
    assert "log_loss_error" not in small["diagnostics"]


@pytest.mark.parametrize(("least", "coarse"), [(1, False), (5, True)])
def test_a_result_says_whether_its_scores_are_coarse(least, coarse):
    frame = table()
    asked = {"model": made_for(someone(frame, "no"))}
    with OneProcess(by_rows(frame, "abc"), [], {name: {"minimum_count": least} for name in "abc"}) as running:
        found = running.run("dp_naive_bayes", "evaluate", asked)
    told = found["privacy"]["reason"], found["privacy"]["reveals"]["researcher"]
    assert ["one record's part" in words for words in told] == [coarse, coarse]
    assert ("log_loss_error" in found["diagnostics"]) is coarse


@pytest.mark.parametrize("label", [0, 1])
def test_two_models_that_predict_one_person_otherwise_still_tell_their_label(label):
    """A gap: of two tasks the accuracies, which are counts, differ by that record."""
    counts = [[70, 50], [1 - label, label], [30, 80]]
    answers = [answered(tallied(counts, [[0.6, 0.4], [0.5 + by, 0.5 - by], [0.4, 0.6]]), 1) for by in (0.05, -0.05)]
    assert round((answers[0]["accuracy"] - answers[1]["accuracy"]) * answers[0]["n"]) == 1 - 2 * label


def test_the_same_question_has_the_same_answer_and_another_one_another():
    """Repetition averages nothing out; what is added follows from rows that nobody has all of."""
    truth, odds = np.arange(60) % 2, np.random.default_rng(0).normal(size=60)
    logs = -np.logaddexp(0.0, np.stack([odds, -odds], axis=1))
    assert coarse.seed_of([truth, logs]) == coarse.seed_of([truth, logs])
    assert (
        len(
            {
                coarse.seed_of([one, own])
                for one, own in ((np.roll(truth, 1), logs), (truth, logs), (truth, 0.999 * logs))
            }
        )
        == 3
    )
    drawn = np.array([coarse.drawn(seed, "auc") for seed in range(-10_000, 10_000)])
    assert abs(drawn.mean()) < 0.03
    assert drawn.std() == pytest.approx(1.0, abs=0.03)
    assert abs(np.corrcoef(drawn, [coarse.drawn(seed, "log_loss") for seed in range(-10_000, 10_000)])[0, 1]) < 0.03


def test_a_tenth_of_its_own_tells_no_label():
    """The error of the calibration is that of the tenths that are told, and all that are hidden have enough rows together."""
    for others in (0, 1):
        confidence = np.zeros((10, 2))
        confidence[9], confidence[7] = (20, 180), (10 + others, 29 - others)
        found = []
        for label in range(2):
            confidence[3], confidence[5] = (1 - label, label), (label, 1 - label)
            found.append(calibration(confidence, MINIMUM))
        assert found[0]["error"] == found[1]["error"] == pytest.approx(0.05)
        assert np.isnan(found[0]["rows"][[3, 5, 7]]).all()


def test_the_digest_of_rows_is_keyed_where_a_node_has_a_folder(tmp_path):
    """Else whoever sees it might try guesses of all rows on it; the same question at the same nodes has the same answer all the same."""
    frame, asked = table(), {"model": made_for(someone(table(), "no"))}

    def losses(folder):
        folder.mkdir()
        with remembering(by_rows(frame, "abc"), folder, allow_foreign_models=True) as running:
            return [running.run("dp_naive_bayes", "evaluate", asked)["log_loss"] for _ in range(2)]

    pairs = [losses(tmp_path / str(number)) for number in range(8)]
    assert all(first == second for first, second in pairs)
    assert len({first for first, _ in pairs}) > 1  # two may be alike by chance, as losses are in steps
    assert coarse.seed_of([np.zeros(3)]) != coarse.seed_of([np.zeros(3)], bytes(32))
