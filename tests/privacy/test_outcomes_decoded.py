"""What the digits of an exact Brier score tell whoever has the predictions of the same records: each one's outcome (a gap, see docs/attacks.md)."""

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import by_columns

from fedbayes.federation.errors import PolicyError

ROWS = 32
ASKED = {"id_column": "id"}


def sums(numbers):
    """Return the sums of all subsets; the bits of a place say of which."""
    found = np.zeros(1)
    for number in numbers:
        found = np.concatenate([found, found + number])
    return found


def subset(numbers, total):
    """Return which of these numbers add up to a total: sums of half of them are looked for among those of the others."""
    half = len(numbers) // 2
    first, second = sums(numbers[:half]), sums(numbers[half:])
    order = np.argsort(second)
    place = np.clip(np.searchsorted(second[order], total - first), 1, len(second) - 1)
    near = np.where(
        np.abs(second[order][place] - total + first) < np.abs(second[order][place - 1] - total + first),
        place,
        place - 1,
    )
    best = int(np.argmin(np.abs(second[order][near] - total + first)))
    bits = (best, int(order[near[best]]))
    return [bool(bits[at >= half] >> (at - half * (at >= half)) & 1) for at in range(len(numbers))]


@pytest.fixture(scope="module")
def table():
    draw = np.random.default_rng(1)
    features = draw.normal(size=(ROWS, 2)).round(2)
    days = draw.exponential(10 / np.exp(features @ [0.5, -0.4])).round(3)
    ids = [f"p{row}" for row in range(ROWS)]
    return pd.DataFrame({"id": ids, "u": features[:, 0], "v": features[:, 1], "days": days, "died": 1})


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


def test_predictions_and_one_score_tell_who_lived(table, model):
    with running(table, "abc") as federation:
        metrics = federation.run("verticox", "evaluate", model)["metrics"]
        moment, score = metrics["times"][1], metrics["brier_scores"][1]
        asked = {**model, "times": [moment], "identifiers": True}
        told = federation.run("verticox", "predict", asked)["predictions"]
    survival = np.array(told["survival"])[:, 0]
    alive = subset(1.0 - 2.0 * survival, ROWS * score - (survival**2).sum())
    assert alive == (table.set_index("id").loc[told["identifiers"], "days"] > moment).tolist()


@pytest.mark.parametrize("refusing", "abc")
def test_control_each_station_can_refuse_that(table, model, refusing):
    """The one with the outcomes too, though it predicts nothing."""
    with running(table, set("abc") - {refusing}) as federation:
        for task in ("evaluate", "predict"):
            if task == "evaluate" or refusing != "b":
                with pytest.raises(PolicyError, match="single records"):
                    federation.run("verticox", task, model)
