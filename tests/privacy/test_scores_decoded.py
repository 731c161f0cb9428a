"""What exact scores over whole records tell of a person whom the model singles out: the digits of area and log loss were counts that the tables hide."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import by_rows, remembering

from fedbayes.bayes.evaluation import coarse
from fedbayes.bayes.evaluation.metrics import calibration, mean_auc
from fedbayes.bayes.evaluation.small_counts import shown
from fedbayes.bayes.evaluation.tallies import Tallies, scores_of, tally
from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.federation.errors import PolicyError

ROWS, MINIMUM, LARGEST = 240, 5, 30.0
STATES = {"town": list("ABCDEF"), "job": [f"j{number}" for number in range(8)], "age": list(map(str, range(30, 60)))}
LABEL = {"categories": ["no", "yes"]}
CERTAIN = 0.99
BINS = {
    "three": [[0.55, 0.45], [0.95, 0.05], [0.42, 0.58]],
    "heavy": [[0.999, 0.001], [0.9999999, 1e-7], [0.001, 0.999]],
    "five": [[0.75, 0.25], [0.55, 0.45], [0.995, 0.005], [0.44, 0.56], [0.15, 0.85]],
}
"""Probabilities of the two classes in each bin; the person is alone in the middle one."""


def table() -> pd.DataFrame:
    draw = np.random.default_rng(3)
    frame = pd.DataFrame({name: draw.choice(states, ROWS) for name, states in STATES.items()})
    return frame.assign(
        ill=draw.choice(["no", "yes"], ROWS), dose=draw.permutation(np.round(np.linspace(1, 99, ROWS), 2))
    )


def tallied(counts: Any, probabilities: Any) -> Tallies:
    """Return the tallies of so many records of each bin and label, (bins, 2), under the model's probabilities of each bin."""
    counts = np.asarray(counts)
    truth, at = np.tile([0, 1], len(counts)), np.repeat(np.arange(len(counts)), 2)
    return tally(np.repeat(truth, counts.ravel()), np.log(probabilities)[np.repeat(at, counts.ravel())])


def answered(world: Tallies, seed: int) -> dict[str, Any]:
    scores, errors = coarse.coarse_scores(world, MINIMUM, seed)
    return {**scores, "diagnostics": {"confusion": shown(world.confusion, MINIMUM), **errors}}


@dataclass(frozen=True)
class View:
    """What a model's answer says of one possible world."""

    label: int
    scores: dict[str, Any]
    confusion: list[list[float | None]]
    loss: tuple[float, float]
    auc: tuple[float, float]


def view(label: int, world: Tallies) -> View:
    scores, (total, part) = scores_of(world, MINIMUM), coarse.kept_losses(world, MINIMUM)
    scores["accuracy"] = float(np.trace(coarse.gathered(world.confusion, MINIMUM))) / scores["n"]
    losses, curves = (total / scores["n"], part / scores["n"]), coarse.tied(world.scores, MINIMUM)
    return View(label, scores, shown(world.confusion, MINIMUM), losses, (mean_auc(curves), coarse.auc_part(curves)))


def below(value: float, exact: float, part: float) -> float:
    """Return the probability that a score with what is drawn is below a value."""
    away = (value - exact) * math.sqrt(2.0) / part
    return 0.5 * math.exp(away) if away < 0 else 1.0 - 0.5 * math.exp(-away)


def likelihood(value: float, error: float, seen: tuple[float, float], rows: float, high: float) -> float:
    """Return how likely a score and its error are told so in a world: the reader knows all but the draws."""
    (exact, part), half = seen, 0.5 * 10.0 ** -max(0, -math.floor(math.log10(error)))
    octaves = max(0.0, 1.0 - abs(math.log2(error * rows) - math.log2(part * rows)))
    low = -math.inf if value - half <= 0 else value - half
    top = math.inf if value + half >= high else value + half
    return octaves * (below(top, exact, part) - below(low, exact, part))


def tells_the_same(scores: Mapping[str, Any], answer: Mapping[str, Any]) -> bool:
    """Tell whether accuracy, calibration and curve, which are counts, are those of an answer."""
    pairs = [(scores[name], answer[name]) for name in ("accuracy", "n")]
    pairs += [(scores["calibration"][name], answer["calibration"][name]) for name in ("error", "accuracy", "rows")]
    curve, seen = scores["roc"][0], answer["roc"][0]
    pairs += [(curve[name], seen[name]) for name in ("true_positive_rate", "false_positive_rate")]
    arrays = [[np.array(part, dtype=np.float64) for part in pair] for pair in pairs]
    return all(one.shape == two.shape and np.allclose(one, two, atol=1e-9, equal_nan=True) for one, two in arrays)


def belief(worlds: Sequence[Sequence[View]], answers: Sequence[Any], curves: bool = True) -> float:
    """Return how sure the best reader is of the label "yes" after the answers of several models: each has the same worlds, in the same order.

    Without `curves` the worlds have other scores than the records, but the same losses.
    """
    weights = [0.0, 0.0]
    for views in zip(*worlds, strict=True):
        weight = 1.0
        for seen, answer in zip(views, answers, strict=True):
            off, rows = answer["diagnostics"], answer["n"]
            if seen.confusion != off["confusion"] or (curves and not tells_the_same(seen.scores, answer)):
                weight = 0.0
                break
            weight *= likelihood(answer["log_loss"], off["log_loss_error"], seen.loss, rows, math.inf)
            if curves:
                weight *= likelihood(answer["auc"], off["auc_error"], seen.auc, 1.0, 1.0)
        weights[views[0].label] += weight
    return weights[1] / sum(weights)


def tables_of(sizes: Sequence[int], rates: Sequence[float], near: int) -> Iterator[tuple[int, list[list[int]]]]:
    """Yield label and counts of every table of bins that the reader thinks possible: it knows the bins' sizes, and of each nearly how many are of a class."""
    middle = len(sizes) // 2
    ranges = []
    for place, (size, rate) in enumerate(zip(sizes, rates, strict=True)):
        expected = round(size * rate)
        around = range(max(0, expected - near), min(size, expected + near) + 1)
        ranges.append(range(2) if place == middle else around)
    for yes in itertools.product(*ranges):
        yield yes[middle], [[size - one, one] for size, one in zip(sizes, yes, strict=True)]


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


@pytest.mark.parametrize("name", BINS)
def test_no_answer_makes_the_best_reader_certain_of_a_label(name):
    """It knows the model, how many records are in every bin, nearly how many of each are of a class, and the law of what is added."""
    sure = np.array(beliefs(name, 1, 10))
    assert sure.max() < 0.95
    assert sure.mean() < 0.8


@pytest.mark.parametrize("name", ["three", "heavy"])
def test_nor_do_three_models_that_differ_a_little(name):
    assert np.mean(beliefs(name, 3, 10)) < 0.85


@pytest.mark.parametrize("name", ["three", "five"])
def test_control_exact_scores_make_it_certain(name, exact_scores):
    with np.errstate(over="ignore"):
        assert min(beliefs(name, 1, 1)) > CERTAIN


def test_control_the_exact_area_alone_makes_it_certain(exact_scores):
    """Whoever hides the digits of the log loss alone has hidden nothing."""
    with mock.patch.object(coarse, "kept_losses", return_value=(0.0, 1.0)):
        assert min(beliefs("three", 1, 1)) > CERTAIN


def made_for(person: pd.Series) -> dict[str, Any]:
    """Return a model by hand that says "yes" of whoever has this person's town, job and age, and "no" of everybody else."""
    features = {}
    for name, states in STATES.items():
        alike = np.array([state == person[name] for state in states])
        counts = [np.where(alike, 1e10, 1e18).tolist(), np.where(alike, 1e18, 0.0).tolist()]
        features[name] = {"kind": "categorical", "counts": counts, "missing": [0, 0], "noise": 0.0, "pseudocount": 1e-9}
    return {
        "format": "fedbayes.naive_bayes/1",
        "label": "ill",
        "domain": {**{name: {"categories": states} for name, states in STATES.items()}, "ill": LABEL},
        "class_counts": [1e18, 1.0],
        "class_noise": 0.0,
        "features": features,
        "provenance": {},
    }


def someone(frame: pd.DataFrame, label: str) -> pd.Series:
    """Return a person whom nobody else is like, and who has this label."""
    return frame[~frame.duplicated(list(STATES), keep=False) & (frame["ill"] == label)].iloc[0]


def asked_by_hand(frame: pd.DataFrame, label: str) -> tuple[Any, float]:
    """Return the answer about a model by hand, and how sure the best reader of the loss is of "yes" who knows how many others are."""
    person = someone(frame, label)
    model = made_for(person)
    with OneProcess(by_rows(frame, "abc"), ["helper"]) as running:
        found = running.run("dp_naive_bayes", "evaluate", {"model": model})
    assert found["diagnostics"]["confusion"] == [[None, None], [None, None]], "the table hides it"
    other = {name: next(state for state in states if state != person[name]) for name, states in STATES.items()}
    logs = NaiveBayes.from_dict(model).predict_log_proba(pd.DataFrame([other, dict(person[list(STATES)])]))
    yes = int((frame["ill"] == "yes").sum()) - (label == "yes")
    worlds = [view(one, tallied([[ROWS - 1 - yes, yes], [1 - one, one]], np.exp(logs))) for one in range(2)]
    return found, belief([worlds], [found], curves=False)


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
    assert coarse.seed_of(truth, logs) == coarse.seed_of(truth, logs)
    assert (
        len({coarse.seed_of(np.roll(truth, 1), logs), coarse.seed_of(truth, logs), coarse.seed_of(truth, 0.999 * logs)})
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

    first, second = losses(tmp_path / "first"), losses(tmp_path / "second")
    assert first[0] == first[1] != second[0] == second[1]
    assert coarse.seed_of(np.zeros(3), np.zeros((3, 2))) != coarse.seed_of(np.zeros(3), np.zeros((3, 2)), bytes(32))
