"""What the digits of an exact log loss over whole records tell: counts that are hidden beside it, also of one record (a gap, see docs/attacks.md)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import by_rows, remembering

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.federation.errors import PolicyError

ROWS, LARGEST = 240, 30.0
STATES = {"town": list("ABCDEF"), "job": [f"j{number}" for number in range(8)], "age": list(map(str, range(30, 60)))}
LABEL = {"categories": ["no", "yes"]}


def table() -> pd.DataFrame:
    draw = np.random.default_rng(3)
    frame = pd.DataFrame({name: draw.choice(states, ROWS) for name, states in STATES.items()})
    return frame.assign(
        ill=draw.choice(["no", "yes"], ROWS), dose=draw.permutation(np.round(np.linspace(1, 99, ROWS), 2))
    )


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


@pytest.mark.parametrize("label", ["no", "yes"])
def test_a_model_by_hand_tells_the_label_of_whom_it_names(tmp_path, label):
    """Each "yes" that the model misses adds the largest loss, so what is left of the sum is the loss of one record."""
    frame = table()
    alone = ~frame.duplicated(list(STATES), keep=False)
    person = frame[alone & (frame["ill"] == label)].iloc[0]
    with OneProcess(by_rows(frame, "abc"), ["helper"]) as running:
        found = running.run("dp_naive_bayes", "evaluate", {"model": made_for(person)})
    assert found["diagnostics"]["confusion"] == [[None, None], [None, None]], "the table hides it"
    left = found["log_loss"] * ROWS % LARGEST
    assert (1.0 < left < LARGEST - 1.0) is (label == "no")
    with (
        remembering(by_rows(frame, "abc"), tmp_path) as running,
        pytest.raises(PolicyError, match="a fit of this federation made"),
    ):
        running.run("dp_naive_bayes", "evaluate", {"model": made_for(person)})


def decoded(losses: np.ndarray[Any, Any], total: float, right: int) -> Iterator[int]:
    """Yield the label of the only record in the middle one of three bins, of all counts by bin and label that give this loss and accuracy."""
    wrong = losses.argmin(axis=1)
    for below in range(ROWS):
        first, last = np.ogrid[: below + 1, : ROWS - below]
        for label in range(2):
            outer = (below - first) * losses[0, 0] + first * losses[0, 1]
            outer = outer + (ROWS - 1 - below - last) * losses[2, 0] + last * losses[2, 1]
            hits = first if wrong[0] else below - first
            hits = hits + (last if wrong[2] else ROWS - 1 - below - last) + (wrong[1] == label)
            if ((np.abs(outer + losses[1, label] - total) < 2e-7) & (hits == right)).any():
                yield label


@pytest.mark.parametrize("label", ["no", "yes"])
def test_a_sealed_model_with_a_bin_around_a_person_tells_their_label(tmp_path, label):
    """Nodes with folder databases seal the fit, which is private; its probabilities tell the counts of three bins apart."""
    frame = table()
    dose = float(frame.loc[(frame["ill"] == label) & frame["dose"].between(45, 55), "dose"].iloc[0])
    domain = {"dose": {"bounds": [0, 100]}, "ill": LABEL}
    asked = {"label": "ill", "domain": domain, "epsilon": 20.0, "bins": {"dose": [0, dose - 0.1, dose + 0.1, 100]}}
    with remembering(by_rows(frame, "abc"), tmp_path) as running:
        model = running.run("dp_naive_bayes", "fit", asked)["model"]
        found = running.run("dp_naive_bayes", "evaluate", {"model": model})
    logs = NaiveBayes.from_dict(model).predict_log_proba(pd.DataFrame({"dose": [0.0, dose, 100.0]}))
    told = set(decoded(np.minimum(-logs, LARGEST), found["log_loss"] * ROWS, round(found["accuracy"] * ROWS)))
    assert told == {LABEL["categories"].index(label)}
