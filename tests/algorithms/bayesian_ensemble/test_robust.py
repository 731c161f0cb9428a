"""Poisoned and one-sided members: what the weights buy."""

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

from v6_bayesian_ensemble.ensemble import Ensemble
from v6_bayesian_ensemble.model import column_codes

NAME = "bayesian_ensemble"
ARGUMENTS = {"label": "ill", "id_column": "id", "split": "horizontal", "structure": "naive"}


def poisoned(table: pd.DataFrame, files: int, bad: int) -> list[pd.DataFrame]:
    """Split the rows; the first `bad` parts have their labels turned round."""
    parts = [table.iloc[at::files].copy() for at in range(files)]
    for part in parts[:bad]:
        part["ill"] = np.where(part["ill"] == "yes", "no", "yes")
    return parts


@pytest.fixture(scope="module")
def attacked(kit):
    parts = poisoned(kit.population(8, 750), 5, 2)
    with OneProcess(parties=kit.shuffled(parts), helpers=["helper"], policies=kit.limits) as federation:
        yield federation


def honest_accuracy(federation, model, clean: pd.DataFrame) -> float:
    records = {name: clean[name].tolist() for name in ("smoke", "age", "cough", "xray", "fever")}
    found = federation.run(NAME, "classify", {"model": model, "records": records})["model"]["predicted"]
    return float(np.mean(np.asarray(found) == clean["ill"].to_numpy()))


def test_weights_by_held_out_score_cut_poisoned_members(attacked, kit) -> None:
    clean = kit.population(9, 400)
    uniform = attacked.run(NAME, "fit", ARGUMENTS)
    weighed = attacked.run(NAME, "fit", {**ARGUMENTS, "weights": "score"})
    weights = {member["name"]: member["weight"] for member in weighed["model"]["members"]}
    assert weights["station0"] == weights["station1"] == 0.0
    assert min(weights["station2"], weights["station3"], weights["station4"]) > 0.1
    assert any("without a vote" in text for text in weighed["warnings"])
    plain, robust = (honest_accuracy(attacked, result["model"], clean) for result in (uniform, weighed))
    assert robust > 0.8
    assert robust > plain - 0.01
    assert weighed["federation"]["rounds"] == uniform["federation"]["rounds"] + 1


def test_stations_that_lack_a_class_leave_it_to_the_others(kit) -> None:
    table = kit.population(4, 600).assign(ill=lambda t: np.where(t["age"] > 70, "very", t["ill"]))
    parts = [table.iloc[at::3] for at in range(3)]
    parts[0] = parts[0][parts[0]["ill"] != "very"]
    with OneProcess(parties=kit.shuffled(parts), helpers=["helper"], policies=kit.limits) as federation:
        fitted = federation.run(NAME, "fit", {**ARGUMENTS, "bins": {"age": [40, 55, 70]}, "vote": "log_pool"})
        assert fitted["model"]["members"][0]["classes"] == ["no", "yes"]
        assert fitted["model"]["classes"] == ["no", "very", "yes"]
        records = {"age": [80.0], "smoke": ["no"], "cough": ["rare"]}
        found = federation.run(NAME, "classify", {"model": fitted["model"], "records": records})["model"]
    assert found["predicted"] == ["very"]


@pytest.mark.audit
def test_vertical_weights_come_from_cross_validation_in_private_tables(kit) -> None:
    table = kit.population(6, 5000)
    draw = np.random.default_rng(1)
    table["fever"] = np.where(draw.random(len(table)) < 0.5, "high", "none")
    parties = kit.vertical(table)
    arguments = {"label": "ill", "id_column": "id", "weights": "score", "structure": "naive"}
    with OneProcess(parties=parties, helpers=["helper"], policies=kit.limits) as federation:
        plain = federation.run(NAME, "fit", {**arguments, "weights": "uniform"})
        result = federation.run(NAME, "fit", {**arguments, "folds": 3})
    weights = {member["name"]: member["weight"] for member in result["model"]["members"]}
    assert weights["station2"] < 0.15
    assert weights["station1"] > weights["station0"] > weights["station2"]
    assert sum(weights.values()) == pytest.approx(1.0)
    for ours, theirs in zip(result["model"]["members"], plain["model"]["members"], strict=True):
        assert ours["network"] == theirs["network"]
    model = Ensemble.read(plain)
    truth = column_codes(table["ill"], model.classes, None)
    scores = []
    for member in model.members[:2]:
        found = member.posterior("ill", model.classes, {c: table[c] for c in member.columns}, len(table)).argmax(axis=1)
        scores.append(np.mean([(found[truth == code] == code).mean() for code in (0, 1)]))
    expected = (scores[0] - 0.5) / (scores[1] - 0.5)
    assert weights["station0"] / weights["station1"] == pytest.approx(expected, rel=0.25)
