"""Labels of a dictionary's categories are read by people; models, files and records keep the codes."""

import copy
import json

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

from fedbayes.client.cli import invoke
from fedbayes.client.labels import labelled, labels_of, legible
from fedbayes.client.pages.report import render
from fedbayes.client.result import Result
from fedbayes.client.text import description

SMOKING = {"0": "never smoked", "1": "smokes now"}
STUDY = {
    "columns": {
        "smoke": {"type": "category", "categories": SMOKING},
        "ill": {"type": "category", "categories": {"n": "healthy", "y": "has the disease"}},
        "age": {"type": "number", "bounds": [0, 100]},
    }
}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(4)
    ill = rng.choice(["n", "y"], 240)
    smoke = np.where(rng.random(240) < np.where(ill == "y", 0.7, 0.3), 1, 0)
    return pd.DataFrame({"smoke": smoke, "ill": ill, "age": rng.integers(20, 90, 240)})


@pytest.fixture(scope="module")
def results(people):
    """A fit, its evaluation and a description over three parties."""
    with OneProcess({name: people.iloc[place::3] for place, name in enumerate("abc")}) as federation:
        asked = {"label": "ill", "epsilon": 5.0, "dictionary": STUDY}
        fitted = federation.run("dp_naive_bayes", "fit", asked)
        judged = federation.run("dp_naive_bayes", "evaluate", {"model": fitted, "epsilon": 5.0})
        described = federation.run("dp_naive_bayes", "describe", {"dictionary": STUDY})
    return {"fit": fitted, "evaluate": judged, "describe": described}


@pytest.mark.parametrize("function", ["fit", "evaluate", "describe"])
def test_summary_and_report_have_labels_and_the_result_has_codes(results, function):
    result = results[function]
    before = json.dumps(result)
    shown = [result.summary(80), render(result, "A").partition("The whole result")[0]]
    for text in shown:
        assert "has the disease" in text
    assert json.dumps(result) == before
    assert max(len(line) for line in shown[0].splitlines()) <= 80


def test_a_description_has_units_and_whole_numbers(people):
    """Of whole numbers a quantile between two of them would be none that a record can have."""
    study = {"columns": {**STUDY["columns"], "age": {"type": "integer", "bounds": [0, 100], "unit": "years"}}}
    study["columns"]["visits"] = {"type": "integer", "bounds": [0, 20]}
    study["columns"]["dead"] = {"type": "integer", "bounds": [0, 1]}
    table = people.assign(visits=np.tile([0, 1, 1, 2, 3, 4], 40), dead=np.tile([0, 1, 1], 80))
    with OneProcess({name: table.iloc[place::3] for place, name in enumerate("abc")}) as federation:
        described = federation.run("dp_naive_bayes", "describe", {"dictionary": study})
    shown = description.rows(legible(described)["model"])
    holds = {row[0]: row[4] for row in shown}
    assert holds["visits"] == "median 1, quartiles 1 to 3"
    assert holds["dead"] == "median 1, quartiles 0 to 1"
    assert holds["age"].endswith(" years")
    plain = {row[0]: row[4] for row in description.rows(described["model"])}
    assert "." in plain["visits"]  # without the dictionary nobody knows
    empty = {"bins": {"edges": [0.0, 0.25, 0.5, 1.0], "counts": [0, 5, 9]}, "whole": True}
    assert description.holds({**empty, "quantiles": {"0.25": 0.26, "0.5": 0.45, "0.75": 0.9}}) == (
        "median 0, quartiles 0 to 1"
    )


def test_a_model_keeps_its_codes(results, people):
    fitted = results["fit"]
    assert fitted["model"]["domain"]["ill"]["categories"] == ["n", "y"]
    assert set(fitted.predict(people)["prediction"]) <= {"n", "y"}
    assert list(fitted.to_sklearn().classes_) == ["n", "y"]


def test_tables_and_figures_have_labels(results):
    frame = results["fit"].to_frame()
    assert {"P(value | healthy)", "P(value | has the disease)"} <= set(frame.columns)
    assert set(SMOKING.values()) <= set(frame["value"])
    assert results["describe"].to_frame()["value"].isin(SMOKING.values()).sum() == 2
    legend = results["fit"].plot().legends[0]
    assert [text.get_text() for text in legend.get_texts()] == ["healthy", "has the disease"]


def test_an_exported_table_has_labels(results, tmp_path):
    results["fit"].save(tmp_path / "fit.json")
    assert invoke(["show", str(tmp_path / "fit.json"), "--export", str(tmp_path / "table.csv")]) == 0
    assert "never smoked" in (tmp_path / "table.csv").read_text(encoding="utf-8")


def told(model, columns, **more):
    arguments = {"dictionary": {"columns": {name: {"categories": entry} for name, entry in columns.items()}}}
    return {"model": model, "provenance": {"arguments": arguments}, **more}


def test_counts_networks_ensembles_and_terms_of_cox_models_have_labels():
    axes = [{"column": "smoke", "labels": ["0", "1", None]}, {"column": "ill", "labels": ["n", "y", None]}]
    shown = labelled(told({"axes": axes, "counts": []}, {"smoke": SMOKING}))["model"]["axes"]
    assert [axis["labels"] for axis in shown] == [["never smoked", "smokes now", None], ["n", "y", None]]
    network = {"nodes": {"smoke": {"states": ["0", "1"]}}, "edges": [], "tables": {}}
    assert labelled(told(network, {"smoke": SMOKING}))["model"]["nodes"]["smoke"]["states"] == [*SMOKING.values()]
    ensemble = {"members": [{"name": "a", "network": network}], "label": "smoke", "classes": ["1", "0"]}
    shown = labelled(told(ensemble, {"smoke": SMOKING}))["model"]
    assert shown["members"][0]["network"]["nodes"]["smoke"]["states"] == [*SMOKING.values()]
    assert shown["classes"] == ["smokes now", "never smoked"]
    cox = {
        "coefficients": [{"feature": "age:smoke=1"}, {"feature": "age"}, {"feature": "other=1"}],
        "references": {"smoke": "0", "other": "0"},
    }
    shown = labelled(told(cox, {"smoke": SMOKING}))["model"]
    assert [entry["feature"] for entry in shown["coefficients"]] == ["age:smoke=smokes now", "age", "other=1"]
    assert shown["references"] == {"smoke": "never smoked", "other": "0"}


def test_a_shared_label_names_its_category_too():
    shown = labels_of(told({}, {"a": {"1": "yes", "2": "yes", "3": "1", "4": " "}}))["a"]
    assert shown == {"1": "yes (1)", "2": "yes (2)", "3": "1 (3)", "4": "4"}
    assert len(set(shown.values())) == len(shown)


@pytest.mark.parametrize("dictionary", [None, {}, {"columns": None}, {"columns": {"a": {"categories": ["1"]}}}, "text"])
def test_without_labels_a_result_is_shown_as_it_is(dictionary):
    result = {"model": {"classes": ["1"], "label": "a"}, "provenance": {"arguments": {"dictionary": dictionary}}}
    before = copy.deepcopy(result)
    assert labelled(result) == before


def test_predictions_keep_codes_in_their_table_and_have_labels_on_the_screen():
    model = {
        "label": "smoke",
        "states": ["0", "1"],
        "identifiers": ["p1"],
        "predicted": ["1"],
        "probabilities": [[0.2, 0.8]],
    }
    result = Result(told(model, {"smoke": SMOKING}))
    assert list(result.to_frame()["prediction"]) == ["1"]
    assert "smokes now" in result.summary(80)
