"""Groups: one network over the columns of several parties, learned and scored in shares."""

import json

import numpy as np
import pytest
from one_process import OneProcess

from bayesian_ensemble import simulation
from fedbayes.federation.embedded import EmbeddedFederation
from fedbayes.federation.errors import ArgumentError
from v6_bayesian_ensemble.ensemble import Ensemble
from v6_bayesian_ensemble.model import Learning

NAME = "bayesian_ensemble"
GROUPS = {"both": ["station0", "station1"], "third": ["station2"]}
GIVEN = {"label": "ill", "id_column": "id", "members": GROUPS}
PARTS = [["smoke", "age", "cough", "xray"], ["fever"]]


def joined(table, seed: int = 2):
    """Return the table with an illness that shows in two columns of different stations together only."""
    draw = np.random.default_rng(seed)
    smoke, cough = table["smoke"] == "yes", draw.random(len(table)) < 0.5
    ill = (smoke ^ cough) ^ (draw.random(len(table)) < 0.1)
    return table.assign(cough=np.where(cough, "often", "rare"), ill=np.where(ill, "yes", "no"))


def voted(federation, model, table) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities over the federation, and in one place."""
    content = federation.run(NAME, "classify", {"model": model, "id_column": "id"})["model"]
    indexed = table.set_index("id").loc[content["identifiers"]]
    expected = Ensemble.read(model).predict_log_proba({c: indexed[c] for c in indexed}, len(indexed))
    return np.asarray(content["probabilities"]), np.exp(expected)


@pytest.mark.audit
def test_edges_join_columns_of_two_parties_as_in_the_pooled_table(table, kit) -> None:
    table = joined(table)
    edges = [["ill", "smoke"], ["ill", "cough"], ["smoke", "cough"], ["ill", "fever"]]
    given = {**GIVEN, "features": ["smoke", "age", "cough", "xray", "fever"]}
    parties = kit.vertical(table)
    with EmbeddedFederation(parties=parties, helpers=["helper"], policies=kit.limits, record=True) as federation:
        searched = federation.run(NAME, "fit", given)
        alone = federation.run(NAME, "fit", {**given, "members": "party"})
        fitted = federation.run(NAME, "fit", {**given, "structure": edges})
        ours, expected = voted(federation, fitted["model"], table)
        scores = [
            federation.run(NAME, "evaluate", {"model": found["model"], "id_column": "id"}) for found in (alone, fitted)
        ]
        texts = [json.dumps(m["result"]) for m in federation.transcript if m["function"] == "partial_evidence"]
    members = simulation.vertical(table, "ill", PARTS, Learning())
    for found, simulated in zip(Ensemble.read(searched).members, members, strict=True):
        assert found.network.parents == simulated.network.parents
        for node, expected_table in simulated.network.tables.items():
            assert found.network.tables[node] == pytest.approx(expected_table, abs=1e-12)
    assert ours == pytest.approx(expected, abs=2e-4)
    assert scores[1]["auc"] > 0.85 > 0.75 > scores[0]["auc"]
    assert len(texts) == 4  # three stations and the helper
    assert not any("often" in text for text in texts)


@pytest.mark.few(1)
@pytest.mark.parametrize("vote", ["mean", "log_pool"])
def test_records_with_gaps(holed, kit, vote) -> None:
    parties = kit.vertical(holed)
    with OneProcess(parties=parties, helpers=["helper"], policies=kit.limits) as federation:
        fitted = federation.run(NAME, "fit", {**GIVEN, "vote": vote, "structure": "naive"})
        ours, expected = voted(federation, fitted["model"], holed)
    assert [member["name"] for member in fitted["model"]["members"]] == ["both", "third"]
    assert set(fitted["model"]["members"][0]["columns"]) == {"smoke", "age", "cough", "xray"}
    assert np.mean(np.abs(ours - expected).max(axis=1) < 2e-4) >= 1.0 - 1 / len(holed)


@pytest.mark.audit
def test_a_group_without_a_helper(table, kit) -> None:
    with OneProcess(parties=kit.vertical(table), policies=kit.limits) as federation:
        fitted = federation.run(NAME, "fit", {**GIVEN, "helper": "none"})
        asked = {"model": fitted["model"], "id_column": "id", "helper": "none"}
        content = federation.run(NAME, "classify", asked)["model"]
    indexed = table.set_index("id").loc[content["identifiers"]]
    expected = Ensemble.read(fitted).predict_log_proba({c: indexed[c] for c in indexed}, len(indexed))
    assert np.asarray(content["probabilities"]) == pytest.approx(np.exp(expected), abs=2e-4)


@pytest.mark.audit
def test_a_group_of_hybrid_parties_votes_on_the_records_that_it_has(table, kit) -> None:
    parts = [
        table.iloc[:300][["id", "smoke", "fever"]],
        table[["id", "ill"]],
        table.iloc[100:][["id", "cough", "xray"]],
    ]
    given = {
        **GIVEN,
        "members": [["station0", "station2"]],
        "split": "hybrid",
        "hybrid": "shared",
        "structure": "naive",
    }
    with OneProcess(parties=kit.shuffled(parts), helpers=["helper"], policies=kit.limits) as federation:
        fitted = federation.run(NAME, "fit", given)
        asked = {"model": fitted["model"], "id_column": "id", "identify": "station1"}
        content = federation.run(NAME, "classify", asked)["model"]
    indexed = table.set_index("id").loc[content["identifiers"]].copy()
    place = table.set_index("id").index.get_indexer(indexed.index)
    indexed.loc[place >= 300, ["smoke", "fever"]] = None
    indexed.loc[place < 100, ["cough", "xray"]] = None
    expected = Ensemble.read(fitted).predict_log_proba({c: indexed[c] for c in indexed}, len(indexed))
    assert np.asarray(content["probabilities"]) == pytest.approx(np.exp(expected), abs=2e-4)


def test_edges_between_members_are_refused(federation) -> None:
    with pytest.raises(ArgumentError, match="different members"):
        federation.run(NAME, "fit", {**GIVEN, "features": ["smoke", "fever"], "structure": [["smoke", "fever"]]})
