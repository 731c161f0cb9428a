"""What an administrator can forbid of each method: the page names every function, and is what tasks announce."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from fedbayes.client.plans.planning import plan
from fedbayes.client.plans.setting import Setting
from fedbayes.client.running.catalogue import installed
from fedbayes.client.running.local import Job

ROOT = Path(__file__).parents[2]
METHODS = {path.name for path in (ROOT / "algorithms").iterdir() if (path / "pyproject.toml").exists()}
OF_ALL = ("describe", "preflight", "disclosure_settings")
DOMAIN = {"y": {"categories": ["p", "q"]}, "x": {"bounds": [0, 1]}, "z": {"categories": ["a", "b"]}}
NUMBERS = {"y": DOMAIN["y"], "x": DOMAIN["x"]}
BAYES = {"label": "y", "domain": DOMAIN}
NETWORK = {
    "nodes": {"z": {"states": ["a", "b"]}, "y": {"states": ["p", "q"]}},
    "edges": [["z", "y"]],
    "tables": {
        "z": {"parents": [], "probabilities": [0.5, 0.5]},
        "y": {"parents": ["z"], "probabilities": [[0.5, 0.5], [0.5, 0.5]]},
    },
}
JUDGED = {"model": NETWORK, "label": "y"}
COX = {"time": "t", "event": "e", "features": ["x"]}
GRID = {"times": [6, 12, 18], "domain": DOMAIN}
FITTED = {
    "kind": "cox",
    **COX,
    "strata": None,
    "coefficients": [{"feature": "x", "coefficient": 0.5}],
    "references": {},
    "offset": 0.1,
    "baseline": {"time": [1.0, 2.0], "cumulative_hazard": [0.1, 0.2]},
}
LINKED = {"id_column": "id"}
TABLE = {"columns": ["y", "z"], "domain": DOMAIN, **LINKED}
CASES: list[tuple[str, str, dict[str, Any], bool, bool]] = [
    ("dp_naive_bayes", "fit", {**BAYES, "epsilon": 1}, True, False),
    ("dp_naive_bayes", "fit", {**BAYES, "epsilon": 1, "noise": "none"}, False, False),
    ("smooth_naive_bayes", "fit", {"label": "y", "domain": NUMBERS, "epsilon": 1}, True, False),
    (
        "smooth_naive_bayes",
        "fit",
        {"label": "y", "domain": NUMBERS, "epsilon": 1, "sensitivity": "published"},
        False,
        False,
    ),
    ("discriminative_naive_bayes", "fit", BAYES, False, False),
    ("discriminative_naive_bayes", "fit", {**BAYES, "epsilon": 1, "delta": 1e-6}, True, False),
    ("secure_naive_bayes", "fit", {**BAYES, "epsilon": 1}, True, False),
    ("secure_naive_bayes", "fit", {**BAYES, "epsilon": 1, "split": "vertical"}, True, False),
    ("secure_naive_bayes", "fit", {**BAYES, "noise": "none", "split": "vertical"}, False, False),
    ("secure_naive_bayes", "classify", {**BAYES, "epsilon": 1, "records": [{"x": 0.5, "z": "a"}]}, True, True),
    ("scalar_product", "contingency", TABLE, False, False),
    ("scalar_product", "contingency", {**TABLE, "epsilon": 1}, True, False),
    ("scalar_product", "scalar_product", {"columns": ["x", "w"], **LINKED}, False, False),
    ("vertibayes", "fit", {**TABLE, "epsilon": 1, "delta": 1e-6}, True, False),
    ("vertibayes", "fit", TABLE, False, False),
    ("vertibayes", "classify", {**JUDGED, **LINKED}, False, True),
    ("vertibayes", "evaluate", {**JUDGED, **LINKED}, False, False),
    ("vertibayes", "evaluate", {**JUDGED, **LINKED, "method": "records"}, False, True),
    ("vertibayes", "evaluate", {**JUDGED, "split": "horizontal", "epsilon": 1}, True, False),
    ("bayesian_ensemble", "fit", {**BAYES, **LINKED}, False, False),
    ("bayesian_ensemble", "fit", {**BAYES, "split": "horizontal"}, False, False),
    ("verticox", "fit", {**COX, **LINKED}, False, False),
    ("verticox", "fit", {**COX, **LINKED, **GRID, "epsilon": 1}, True, False),
    ("verticox", "fit", {**COX, **GRID, "split": "horizontal", "epsilon": 1}, True, False),
    ("verticox", "evaluate", {"model": FITTED, **LINKED}, False, True),
    ("verticox", "evaluate", {"model": FITTED, **LINKED, "reveal": "aggregates"}, False, False),
    ("verticox", "baseline", {"model": FITTED, **LINKED}, False, True),
    ("verticox", "predict", {"model": FITTED, **LINKED}, False, True),
]
"""A task, and whether it is private and predicts single records: what its row on the page says."""


def rows() -> dict[str, list[str]]:
    """Return method -> cells of its row on the administrators' page."""
    page = (ROOT / "docs/node-administrators.md").read_text(encoding="utf-8")
    part = page.partition("### What each method asks for")[2].partition("`disclosure_settings`")[0]
    table = (line.strip("|").split(" | ") for line in part.splitlines() if line.startswith("| ["))
    return {re.findall(r"`(\w+)`", first)[0]: cells for first, *cells in table}


def test_the_page_names_every_function_of_every_method() -> None:
    told = rows()
    assert set(told) == METHODS
    for method in installed():
        if method.name in METHODS:
            left, lost, predicting = told[method.name]
            for function in method.functions:
                named = f"`{function.name}`" in left + lost + predicting
                assert named or function.name in OF_ALL, (method.name, function.name)


@pytest.mark.parametrize(("method", "function", "arguments", "private", "predicts"), CASES)
def test_a_task_announces_what_the_page_says(
    method: str, function: str, arguments: dict[str, Any], private: bool, predicts: bool
) -> None:
    planned = plan(Job(method, function, arguments), Setting(stations=3))
    assert (planned["private"], planned["single_records"]) == (private, predicts)
    left, _, predicting = rows()[method]
    if private:
        assert f"`{function}`" in left
    if predicts:
        assert f"`{function}`" in predicting
    else:
        assert f"`{function}`" not in predicting or function == "evaluate"
    refused = any("allow_non_private=false" in text for text in planned_without_exact(method, function, arguments))
    assert refused is not private


def planned_without_exact(method: str, function: str, arguments: dict[str, Any]) -> list[str]:
    """Return the refusals of a node that gives no exact answers."""
    limits = {"allow_non_private": "false", "allow_predictions": "true"}
    return list(plan(Job(method, function, arguments), Setting(stations=3, limits=limits))["refusals"])
