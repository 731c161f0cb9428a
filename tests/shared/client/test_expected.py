"""The accuracy that a plan expects is that of tasks on such records, and moves as noise does."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

from fedbayes.bayes.naive_bayes.counting import fit_model
from fedbayes.bayes.schema import Schema
from fedbayes.client.plans.expected import Feature, Tables, accuracy
from fedbayes.client.plans.planning import plan
from fedbayes.client.plans.setting import Setting
from fedbayes.client.running.local import Job

FEATURES = [Feature(4, numeric=False)] * 3 + [Feature(10, numeric=True)] * 5
DOMAIN: dict[str, Any] = {
    **{f"c{place}": {"categories": list("pqrs")} for place in range(3)},
    **{f"n{place}": {"bounds": [0, 1]} for place in range(5)},
    "ill": {"categories": ["no", "yes"]},
}


def people(rows: int, random: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return records to fit and to judge, made up as the page says: log-odds and slopes are normal with deviation .5."""
    truth = random.integers(0, 2, 2 * rows)
    frame = pd.DataFrame({"ill": np.array(["no", "yes"])[truth]})
    for place in range(3):
        weights = np.exp(0.5 * random.normal(size=(2, 4)))
        ends = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
        frame[f"c{place}"] = np.array(list("pqrs"))[(random.random(2 * rows)[:, None] > ends[truth, :3]).sum(axis=1)]
    for place in range(5):
        slope = (0.5 * np.sqrt(12.0) * random.normal(size=2))[truth]
        frame[f"n{place}"] = (
            np.log1p(random.random(2 * rows) * np.expm1(slope)) / slope
        )  # density proportional to exp(slope x)
    return frame.iloc[:rows], frame.iloc[rows:].reset_index(drop=True)


def test_noise_takes_of_fits_of_such_records_what_was_expected() -> None:
    random, taken, schema = np.random.default_rng(5), [], Schema.from_domain(DOMAIN)
    for _ in range(6):
        fitted, judged = people(3000, random)
        truth, features = judged["ill"].to_numpy(), judged.drop(columns="ill")
        exact = fit_model(schema, "ill", schema.encode(fitted), bins=10)
        with OneProcess({name: fitted.iloc[start::3] for start, name in enumerate("abc")}) as federation:
            result = federation.fit("dp_naive_bayes", label="ill", domain=DOMAIN, epsilon=0.1, bins=10)
        right = [float(np.mean(model.predict(features) == truth)) for model in (exact, result.to_sklearn())]
        taken.append(right[0] - right[1])
    told = plan(
        Job("dp_naive_bayes", "fit", {"label": "ill", "domain": DOMAIN, "epsilon": 0.1, "bins": 10}), Setting(3, 3000)
    )
    assert told["noise"]["deviation"] == pytest.approx(result["model"]["features"]["n0"]["noise"], rel=0.01)
    expected = told["expected"]["without_noise"] - told["expected"]["asked"]
    assert expected > 0.08
    # One population's loss has a deviation of .04: three standard errors of the mean of six.
    assert np.mean(taken) == pytest.approx(expected, abs=0.05)


def test_accuracy_is_chance_without_a_signal_and_rises_with_signal_and_records() -> None:
    assert accuracy(Tables(4, FEATURES, 0.0), 5000, 0.0) == pytest.approx(0.25, abs=0.01)
    quiet, loud = (accuracy(Tables(2, FEATURES, noise), 3000, 0.5) for noise in (0.0, 200.0))
    assert 0.5 < loud + 0.05 < quiet < accuracy(Tables(2, FEATURES, 0.0), 3000, 1.5)
    assert accuracy(Tables(2, FEATURES, 200.0), 300_000, 0.5) == pytest.approx(quiet, abs=0.02)


@pytest.mark.audit
def test_a_plan_says_what_would_help_and_that_records_are_made_up(command: Any) -> None:  # type: ignore[no-untyped-def]
    given = ["--arg", "label=ill", "--arg", f"domain={json.dumps(DOMAIN)}", "--arg", "epsilon=0.05"]
    told = json.loads(command("plan", "dp_naive_bayes", "fit", *given, "--rows", "2000", "--json")[1])["expected"]
    assert list(told["instead"]) == ["epsilon 0.0167", "epsilon 0.15", "delta 1e-06", "bins 10", "4 of 8 features"]
    assert told["instead"]["epsilon 0.0167"] < told["asked"] < told["instead"]["epsilon 0.15"] < told["without_noise"]
    assert told["instead"]["bins 10"] > told["asked"]
    text = command("plan", "dp_naive_bayes", "fit", *given, "--rows", "2000")[1]
    assert "on made-up records" in text
    assert "expected" not in command("plan", "dp_naive_bayes", "fit", *given)[1]
    assert "expected" not in command("plan", "smooth_naive_bayes", "fit", *given, "--rows", "2000")[1]
