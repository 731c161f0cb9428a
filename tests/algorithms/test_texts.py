"""Texts of tables come through whole: identifiers as they are written, categories that are called like missing values."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

from fedbayes.bayes.network import BayesianNetwork

PEOPLE = 240
LIMITS = {"*": {"minimum_rows": 5, "minimum_count": 0, "allow_predictions": True}}
STATES = {"a": ["None", "NA", "x"], "b": ["1", "2", "N/A"], "c": ["nan", "null"], "ill": ["None", "NULL"]}


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    draw = np.random.default_rng(5)
    columns = {name: draw.choice(states, PEOPLE) for name, states in STATES.items()}
    columns["c"] = np.where(draw.random(PEOPLE) < 0.8, np.where(columns["ill"] == "None", "nan", "null"), columns["c"])
    return pd.DataFrame({"id": [f"{k:05d}" for k in range(PEOPLE)], **columns})


@pytest.fixture(scope="module")
def federation(table: pd.DataFrame) -> Any:
    parties = {}
    for place, names in enumerate((["a"], ["b", "c"], ["ill"])):
        own = table.sample(frac=1.0, random_state=place)[["id", *names]]
        if place == 1:
            own["id"] = own["id"].astype(int)  # 257 and 00257 are one person
        parties[f"s{place}"] = own
    with OneProcess(parties=parties, helpers=["helper"], policies=LIMITS) as running:
        yield running


DOMAIN = {name: {"categories": states} for name, states in STATES.items()}


@pytest.mark.parametrize("domain", [DOMAIN, {"b": DOMAIN["b"]}], ids=["given", "found"])
def test_categories_called_like_missing_values_are_counted(federation: Any, table: pd.DataFrame, domain: Any) -> None:
    given = {"columns": list(STATES), "id_column": "id", "domain": domain, "missing": "drop", "pseudocount": 0.0}
    edges = [["ill", "c"], ["ill", "b"]]
    fitted = federation.run("vertibayes", "fit", {**given, "structure": edges, "label": "ill"})["model"]
    for name, states in STATES.items():
        assert sorted(fitted["nodes"][name]["states"]) == sorted(states)
    shares = table["a"].value_counts(normalize=True)
    node = BayesianNetwork.from_dict(fitted)
    np.testing.assert_allclose(node.tables["a"], [shares[state] for state in node.states["a"]], atol=1e-6)
    classified = federation.run("vertibayes", "classify", {"model": fitted, "id_column": "id"})["model"]
    assert sorted(classified["identifiers"]) == sorted(table["id"])
    likely = np.asarray(classified["states"])[np.argmax(classified["probabilities"], axis=1)]
    truth = table.set_index("id").loc[classified["identifiers"], "ill"]
    assert (likely == truth.to_numpy()).mean() > 0.8


def test_an_ensemble_tells_identifiers_as_they_are_written(federation: Any, table: pd.DataFrame) -> None:
    given = {"label": "ill", "id_column": "id", "domain": DOMAIN, "split": "vertical"}
    fitted = federation.run("bayesian_ensemble", "fit", given)["model"]
    asked = {"model": fitted, "id_column": "id", "identify": "s2"}
    content = federation.run("bayesian_ensemble", "classify", asked)["model"]
    assert sorted(content["identifiers"]) == sorted(table["id"])
