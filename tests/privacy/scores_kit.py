"""The best reader of exact scores: how sure it is of one person's label, whom a model singles out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fedbayes.bayes.evaluation import coarse
from fedbayes.bayes.evaluation.metrics import mean_auc
from fedbayes.bayes.evaluation.small_counts import shown
from fedbayes.bayes.evaluation.tallies import SCORE_BINS, Tallies, scores_of, tally

ROWS, MINIMUM, LARGEST = 240, 5, 30.0
STATES = {"town": list("ABCDEF"), "job": [f"j{number}" for number in range(8)], "age": list(map(str, range(30, 60)))}
LABEL = {"categories": ["no", "yes"]}
CERTAIN = 0.99


def table() -> pd.DataFrame:
    draw = np.random.default_rng(3)
    frame = pd.DataFrame({name: draw.choice(states, ROWS) for name, states in STATES.items()})
    return frame.assign(
        ill=draw.choice(["no", "yes"], ROWS), dose=draw.permutation(np.round(np.linspace(1, 99, ROWS), 2))
    )


def tallied(counts: Any, probabilities: Any, bins: int = SCORE_BINS) -> Tallies:
    """Return the tallies of so many records of each bin and label, (bins, 2), under the model's probabilities of each bin."""
    counts = np.asarray(counts)
    truth, at = np.tile([0, 1], len(counts)), np.repeat(np.arange(len(counts)), 2)
    return tally(np.repeat(truth, counts.ravel()), np.log(probabilities)[np.repeat(at, counts.ravel())], bins)


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
    scores, (total, part) = scores_of(coarse.nested(world, MINIMUM), MINIMUM), coarse.kept_losses(world, MINIMUM)
    scores["accuracy"] = float(np.trace(coarse.gathered(world.confusion, MINIMUM))) / scores["n"]
    losses, curves = (
        (total / scores["n"], part / scores["n"]),
        coarse.tied([(yes, no) for no, yes in world.scores], MINIMUM),
    )
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


def sure_of(found: Any, frame: pd.DataFrame, label: str, logs: Any, bins: int = SCORE_BINS) -> float:
    """Return how sure the best reader of the loss is of "yes" who knows how many others are; `logs`, (2, 2): of everybody else, and of the person."""
    yes = int((frame["ill"] == "yes").sum()) - (label == "yes")
    tables = ([[len(frame) - 1 - yes, yes], [1 - one, one]] for one in range(2))
    return belief(
        [[view(one, tallied(counts, np.exp(logs), bins)) for one, counts in enumerate(tables)]], [found], False
    )
