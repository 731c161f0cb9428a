"""The federated network equals the pooled one, however records are split and whatever is missing."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import by_rows

from fedbayes.bayes.network import BayesianNetwork
from fedbayes.bayes.network.variable import MISSING_STATE
from v6_vertibayes.arguments import Fit
from v6_vertibayes.model import Variable, learn

COLUMNS = ["smoke", "age", "cough", "xray", "ill"]


def learned(kit: SimpleNamespace, table: pd.DataFrame, **arguments: object):
    oracle, states = kit.pooled(table)
    variables = [
        Variable(name, tuple(str(label) for label in found.labels if label is not None), found.has_missing, found.cuts)
        for name, found in states.items()
    ]
    return learn(Fit.read("fit", {**kit.defaults, **arguments}), variables, oracle)


def assert_same_network(result: dict, expected: BayesianNetwork) -> None:
    found = BayesianNetwork.from_dict(result["model"])
    assert found.states == expected.states
    assert found.parents == expected.parents
    for node in expected.nodes:
        np.testing.assert_allclose(found.tables[node], expected.tables[node], atol=1e-12)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "arguments",
    [
        {"structure": "k2", "order": "information", "score": "bdeu"},
        {"structure": "hill_climb", "score": "bic", "forbidden_edges": [["smoke", "ill"]]},
    ],
)
def test_fit_equals_pooled(federation, kit, table, given, arguments) -> None:
    result = federation.run("vertibayes", "fit", {**given, **arguments})
    expected = learned(kit, table, **arguments)
    assert_same_network(result, expected.network)
    assert result["diagnostics"]["structure"]["score"] == pytest.approx(expected.structure.score)
    assert result["federation"]["rounds"] <= 3 + 2 * expected.structure.batches
    assert result["diagnostics"]["records"] == len(table)


@pytest.mark.few(1)
@pytest.mark.parametrize("missing", ["category", "em_on_counts"])
def test_missing_values_are_treated_as_pooled(holed_federation, kit, holed, given, missing) -> None:
    arguments = {"structure": "k2", "missing": missing, "max_parents": 2}
    result = holed_federation.run("vertibayes", "fit", {**given, **arguments})
    expected = learned(kit, holed, **arguments)
    assert_same_network(result, expected.network)
    states = result["model"]["nodes"]["smoke"]["states"]
    assert (MISSING_STATE in states) == (missing == "category")


def test_three_steps_come_close_to_the_complete_network(holed_federation, kit, table, given) -> None:
    edges = [["smoke", "ill"], ["ill", "xray"], ["ill", "cough"]]
    arguments = {"structure": edges, "missing": "em", "label": "ill", "validation": "scv", "folds": 3}
    result = holed_federation.run("vertibayes", "fit", {**given, **arguments})
    found = BayesianNetwork.from_dict(result["model"])
    expected = learned(kit, table, structure=edges).network
    np.testing.assert_allclose(found.tables["xray"], expected.tables["xray"], atol=0.12)
    assert result["diagnostics"]["em"]["converged"]
    assert result["diagnostics"]["validation"]["auc"] > 0.8


def test_extra_people_and_other_orders_do_not_matter(table, kit, given) -> None:
    parties = kit.spread(table, extra=25)
    with OneProcess(parties=parties, helpers=["helper"], policies=kit.limits) as embedded:
        bins = {"age": [40.0, 60.0]}
        result = embedded.run("vertibayes", "fit", {**given, "bins": bins, "structure": [["age", "ill"]]})
    assert result["diagnostics"]["records"] == len(table)
    old = (table["age"] >= 60) & (table["ill"] == "yes")
    expected = (old.sum() + 0.5) / ((table["age"] >= 60).sum() + 1.0)
    found = BayesianNetwork.from_dict(result["model"])
    assert found.tables["ill"][2, 1] == pytest.approx(expected)


def test_records_split_by_rows_equal_pooled(table, kit, given) -> None:
    parties = by_rows(table[COLUMNS], [f"hospital{number}" for number in range(3)])
    categories = {name: {"categories": sorted(table[name].unique().tolist())} for name in COLUMNS if name != "age"}
    arguments = {**given, "split": "horizontal", "domain": categories, "bins": {"age": [40.0, 60.0]}}
    with OneProcess(parties=parties, policies=kit.limits) as embedded:
        result = embedded.run("vertibayes", "fit", {**arguments, "structure": "k2"})
    expected = learned(kit, table.assign(age=np.digitize(table["age"], [40, 60])), structure="k2")
    found = BayesianNetwork.from_dict(result["model"])
    assert found.parents == expected.network.parents
    np.testing.assert_allclose(found.tables["ill"], expected.network.tables["ill"])
    assert result["federation"]["rounds"] == 1 + expected.structure.batches
    asked = {"model": result["model"], "label": "ill", "split": "horizontal"}
    noisy = {**arguments, "structure": [["smoke", "ill"]], "epsilon": 5.0}
    with OneProcess(parties=parties, policies=kit.limits) as embedded:
        scores = embedded.run("vertibayes", "evaluate", asked)["model"]
        private = embedded.run("vertibayes", "fit", noisy)
    assert scores["rows"] == len(table)
    assert scores["auc"] > 0.7
    assert private["privacy"]["differentially_private"] is True


def test_hybrid_records_are_united(table, kit, given) -> None:
    homes = [["smoke", "age"], ["cough", "xray", "ill"]]
    parties = {
        f"hospital{number}": table.drop(index=table.index[number::8])[["id", *columns]]
        for number, columns in enumerate(homes)
    }
    edges = [["smoke", "ill"], ["ill", "xray"]]
    arguments = {**given, "split": "hybrid", "structure": edges, "missing": "drop"}
    limits = {**kit.limits, "*": {**kit.limits.get("*", {}), "minimum_organizations": 2}}
    with OneProcess(parties=parties, helpers=["helper"], policies=limits) as embedded:
        result = embedded.run("vertibayes", "fit", arguments)
    assert result["diagnostics"]["records"] == len(table)
    both = table.drop(index=[*table.index[0::8], *table.index[1::8]])
    smokers = both[both["smoke"] == "yes"]
    found = BayesianNetwork.from_dict(result["model"])
    assert found.tables["ill"][1, 1] == pytest.approx(((smokers["ill"] == "yes").sum() + 0.5) / (len(smokers) + 1))


def test_all_pairs_take_one_round(federation, kit, given) -> None:
    result = federation.run("vertibayes", "fit", {**given, "structure": "k2", "max_parents": 1})
    functions = [entry["function"] for entry in result["federation"]["per_round"]]
    assert functions == ["partial_open_channel", "partial_submit", "partial_match", "partial_tables"]
    assert result["diagnostics"]["structure"]["tables"] == 10


def test_description_length_bins_are_those_of_the_pooled_table(federation, kit, table, given) -> None:
    arguments = {**given, "bins": "mdl", "label": "ill", "structure": "naive"}
    result = federation.run("vertibayes", "fit", arguments)
    cuts = result["model"]["nodes"]["age"]["cuts"]
    assert len(cuts) <= 2
    table_of_label = BayesianNetwork.from_dict(result["model"])
    ill = (table["ill"] == "yes").to_numpy()
    placed = np.digitize(table["age"], cuts)
    expected = (np.bincount(placed[ill], minlength=len(cuts) + 1) + 0.5) / (ill.sum() + 0.5 * (len(cuts) + 1))
    np.testing.assert_allclose(table_of_label.tables["age"][1], expected)


def test_svdg_scores_by_folds_of_people(federation, kit, given) -> None:
    edges = [["smoke", "ill"], ["ill", "xray"], ["ill", "cough"]]
    arguments = {**given, "structure": edges, "label": "ill", "validation": "svdg", "folds": 3}
    result = federation.run("vertibayes", "fit", arguments)
    scores = result["diagnostics"]["validation"]
    assert scores["method"] == "svdg"
    assert len(scores["folds"]) == 3
    assert scores["auc"] > 0.75


def test_public_validation_scores_the_records_given(federation, kit, table, given) -> None:
    public = {name: table[name].tolist()[:150] for name in COLUMNS}
    edges = [["smoke", "ill"], ["ill", "xray"], ["ill", "cough"], ["age", "ill"]]
    arguments = {"structure": edges, "label": "ill", "validation": "public", "public_records": public}
    result = federation.run("vertibayes", "fit", {**given, **arguments})
    scores = result["diagnostics"]["validation"]
    assert scores["rows"] == 150
    assert np.sum(scores["confusion"]) == 150
    assert scores["auc"] > 0.75
