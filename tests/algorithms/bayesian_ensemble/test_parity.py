"""Federated members, votes and scores equal those of the pooled table, computed here without any federation."""

import numpy as np
import pytest
from exact_kit import weighted_auc
from limits_kit import predicting
from one_process import OneProcess

from fedbayes.bayes.counts.tables import PooledTables
from fedbayes.bayes.evaluation import metrics
from fedbayes.bayes.network.variable import Variable
from fedbayes.federation.vertical.coding import resolve
from v6_bayesian_ensemble import tallies
from v6_bayesian_ensemble.ensemble import Ensemble, Member
from v6_bayesian_ensemble.model import Learning, column_codes, learn_parts

NAME = "bayesian_ensemble"
FOUR_ROUNDS = ["partial_open_channel", "partial_submit", "partial_match", "partial_tables"]


def pooled(table, parts, learning=None):
    """Return the members over the parts' columns, learned from the whole table."""
    variables, codes = {}, {}
    for column in ("ill", *(name for part in parts for name in part)):
        states, codes[column] = resolve(column, table[column], None, "published", True)
        texts = tuple(str(label) for label in states.labels if label is not None)
        variables[column] = Variable(column, texts, states.has_missing, states.cuts)
    cards = {name: len(v.states) + v.missing for name, v in variables.items()}
    found = learn_parts(learning or Learning(), "ill", parts, variables, PooledTables(codes, cards))
    cuts = {name: v.cuts for name, v in variables.items() if v.cuts is not None}
    members = tuple(
        Member(str(at), {at: tuple(part)}, learned.network, cuts, ("no", "yes"), 1 / len(parts), learned.rows)
        for at, (part, learned) in enumerate(zip(parts, found, strict=True))
    )
    return found, Ensemble("ill", ("no", "yes"), members, "mean", "uniform", "vertical")


PARTS = [["smoke", "age"], ["cough", "xray"], ["fever"]]


@pytest.fixture(scope="module")
def fitted(federation):
    return federation.run(NAME, "fit", {"label": "ill", "id_column": "id"})


def test_vertical_members_equal_pooled_ones_in_seven_rounds(fitted, table) -> None:
    parts, ensemble = pooled(table, PARTS)
    read = Ensemble.read(fitted)
    assert [member.network.edges for member in read.members] == [part.network.edges for part in parts]
    for ours, theirs in zip(read.members, ensemble.members, strict=True):
        for node, expected in theirs.network.tables.items():
            assert ours.network.tables[node] == pytest.approx(expected, abs=1e-12)
    assert fitted["federation"]["rounds"] <= 7
    assert fitted["diagnostics"]["records"] == len(table)


def assert_same_members(result, other) -> None:
    for ours, theirs in zip(Ensemble.read(result).members, Ensemble.read(other).members, strict=True):
        assert ours.network.edges == theirs.network.edges
        for node, expected in theirs.network.tables.items():
            assert ours.network.tables[node] == pytest.approx(expected, abs=1e-12)


def test_members_of_two_columns_take_four_rounds(federation, fitted) -> None:
    given = {"label": "ill", "id_column": "id", "features": ["smoke", "age", "cough", "xray", "fever"]}
    found = federation.run(NAME, "fit", given)
    assert [entry["function"] for entry in found["federation"]["per_round"]] == FOUR_ROUNDS
    assert_same_members(found, fitted)


@pytest.mark.audit
def test_members_of_three_columns_take_five_rounds_unless_their_pairs_are_large(table) -> None:
    parties = {"a": table[["id", "smoke", "age", "ill"]], "b": table[["id", "cough", "xray", "fever"]]}
    given = {"label": "ill", "id_column": "id", "features": ["smoke", "age", "cough", "xray", "fever"]}
    limits = predicting({"*": {"minimum_count": 0}})
    with OneProcess(parties, helpers=["helper"], policies=limits) as federation:
        few = federation.run(NAME, "fit", given)
        many = federation.run(NAME, "fit", {**given, "bins": {"age": np.linspace(20, 80, 2000).tolist()}})
    assert few["federation"]["rounds"] == 5
    assert many["federation"]["rounds"] == 6


@pytest.mark.few(1)
@pytest.mark.parametrize(("vote", "weights"), [("mean", "uniform"), ("majority", "uniform"), ("log_pool", "dynamic")])
def test_votes_over_stations_equal_votes_in_one_place(federation, fitted, table, vote, weights) -> None:
    model = {**fitted["model"], "vote": vote, "weights": weights}
    content = federation.run(NAME, "classify", {"model": model, "id_column": "id"})["model"]
    indexed = table.set_index("id").loc[content["identifiers"]]
    expected = Ensemble.read(model).predict_log_proba({c: indexed[c] for c in indexed}, len(indexed))
    assert np.asarray(content["probabilities"]) == pytest.approx(np.exp(expected), abs=2e-6)
    assert content["predicted"][0] in ("no", "yes")


def test_scores_over_stations_equal_scores_in_one_place(federation, fitted, table) -> None:
    scores = federation.run(NAME, "evaluate", {"model": fitted["model"], "id_column": "id"})
    logs = Ensemble.read(fitted).predict_log_proba({c: table[c] for c in table}, len(table))
    truth = column_codes(table["ill"], ["no", "yes"], None)
    assert scores["n"] == len(table)
    assert scores["accuracy"] == pytest.approx(np.mean(truth == logs.argmax(axis=1)))
    assert scores["log_loss"] == pytest.approx(metrics.row_losses(truth, logs).mean(), abs=1e-8)
    assert scores["auc"] == pytest.approx(weighted_auc(truth, logs), abs=2e-3)
    assert scores["auc_by_scoring"]["published"] == pytest.approx(scores["auc"], abs=1e-9)


def test_missing_values_are_left_out_of_tables_and_summed_over_in_votes(holed, kit) -> None:
    parts, _ = pooled(holed, PARTS, Learning(structure="augmented"))
    with OneProcess(parties=kit.vertical(holed), helpers=["helper"], policies=kit.limits) as federation:
        fitted = federation.run(NAME, "fit", {"label": "ill", "id_column": "id", "structure": "augmented"})
        scores = federation.run(NAME, "evaluate", {"model": fitted["model"], "id_column": "id"})
    read = Ensemble.read(fitted)
    for member, part in zip(read.members, parts, strict=True):
        for node, expected in part.network.tables.items():
            assert member.network.tables[node] == pytest.approx(expected, abs=1e-12)
    labelled = holed["ill"].notna()
    assert scores["n"] == labelled.sum()
    assert scores["unlabelled"] == (~labelled).sum()
    both = scores["auc_by_scoring"]
    assert both["published"] < both["labelled"] * (1.02 - (~labelled).mean())
    logs = read.predict_log_proba({c: holed[c] for c in holed}, len(holed))
    truth = column_codes(holed["ill"], ["no", "yes"], None)
    assert scores["auc"] == pytest.approx(weighted_auc(truth[labelled], logs[labelled]), abs=2e-3)


def test_rows_members_equal_those_of_each_file(rows_federation, table) -> None:
    arguments = {"label": "ill", "id_column": "id", "split": "horizontal", "weights": "rows"}
    fitted = rows_federation.run(NAME, "fit", arguments)
    read = Ensemble.read(fitted)
    for at, member in enumerate(read.members):
        parts, _ = pooled(table.iloc[at::3], [["smoke", "age", "cough", "xray", "fever"]])
        for node, expected in parts[0].network.tables.items():
            assert member.network.tables[node] == pytest.approx(expected, abs=1e-12)
    scores = rows_federation.run(NAME, "evaluate", {"model": fitted["model"]})
    logs = read.predict_log_proba({c: table[c] for c in table}, len(table))
    truth = column_codes(table["ill"], ["no", "yes"], None)
    assert scores["accuracy"] == pytest.approx(np.mean(truth == logs.argmax(axis=1)))
    content = rows_federation.run(NAME, "classify", {"model": fitted["model"], "id_column": "id"})["model"]
    assert sorted(content["identifiers"]) == sorted(table["id"])
    assert set(content["stations"]) == {"station0", "station1", "station2"}


def test_records_of_the_researcher_need_no_round(federation, fitted) -> None:
    records = {"smoke": ["yes", None], "cough": ["often", "rare"], "xray": [1, 0], "age": [70.0, None]}
    result = federation.run(NAME, "classify", {"model": fitted["model"], "records": records})
    assert result["federation"]["rounds"] == 0
    assert result["model"]["predicted"] == ["yes", "no"]


def hybrid_files(table, kit):
    parts = [
        table.iloc[:250][["id", "smoke", "age", "ill"]],
        table.iloc[250:450][["id", "smoke", "cough", "ill"]],
        table.iloc[50:560][["id", "xray", "fever"]],
    ]
    return kit.shuffled(parts)


@pytest.mark.few(1)
@pytest.mark.parametrize("hybrid", ["local", "shared"])
def test_hybrid_records_are_scored_by_whoever_has_them(table, kit, hybrid) -> None:
    domain = {"smoke": {"categories": ["no", "yes"]}, "ill": {"categories": ["no", "yes"]}}
    shared = {"id_column": "id", "split": "hybrid", "hybrid": hybrid, "domain": domain, "bins": {"age": [40, 60]}}
    with OneProcess(parties=hybrid_files(table, kit), helpers=["helper"], policies=kit.limits) as federation:
        fitted = federation.run(NAME, "fit", {"label": "ill", **shared})
        scores = federation.run(NAME, "evaluate", {"model": fitted["model"], "id_column": "id"})
    read = Ensemble.read(fitted)
    smokers = table.iloc[:250] if hybrid == "local" else table.iloc[:450]
    ill = smokers[smokers["ill"] == "yes"]
    position = read.members[0].network.states["smoke"].index("yes")
    share = ((ill["smoke"] == "yes").sum() + 0.5) / (len(ill) + 1.0)
    assert read.members[0].network.tables["smoke"][1, position] == pytest.approx(share)
    assert read.members[2].rows == 400
    assert scores["n"] == 450
    assert scores["auc"] > 0.85


@pytest.mark.parametrize("vote", ["log_pool", "mean"])
def test_hybrid_votes_in_one_place_are_those_of_who_has_the_record(table, kit, vote) -> None:
    parts = [
        table.iloc[:250][["id", "smoke", "age", "ill"]],
        table.iloc[250:450][["id", "cough", "ill"]],
        table.iloc[50:560][["id", "xray", "fever"]],
    ]
    domain = {"ill": {"categories": ["no", "yes"]}}
    given = {"label": "ill", "id_column": "id", "split": "hybrid", "domain": domain, "vote": vote}
    with OneProcess(parties=kit.shuffled(parts), helpers=["helper"], policies=kit.limits) as federation:
        fitted = federation.run(NAME, "fit", given)
        asked = {"model": fitted["model"], "id_column": "id", "identify": "station2"}
        content = federation.run(NAME, "classify", asked)["model"]
    found = {name: row for name, row in zip(content["identifiers"], content["probabilities"], strict=True) if name}
    held = table.copy()
    for part, rows in zip(parts, (slice(0, 250), slice(250, 450), slice(50, 560)), strict=True):
        for name in set(part) - {"id", "ill"}:
            held[name] = table[name].where(held.index.isin(held.index[rows])).astype(object)
    held = held.set_index("id").loc[list(found)]
    expected = Ensemble.read(fitted).predict_log_proba({name: held[name] for name in held}, len(held))
    assert len(found) == 510
    assert np.array(list(found.values())) == pytest.approx(np.exp(expected), abs=2e-6)


def test_published_scoring_counts_gaps_as_negatives() -> None:
    truth = np.array([0, 0, 1, 1, -1, -1])
    chances = np.array([0.1, 0.2, 0.8, 0.9, 0.15, 0.85])
    logs = np.log(np.stack([1 - chances, chances], axis=1))
    found = tallies.scores(tallies.summed(truth, logs, 0), 2, 0)
    assert found["auc"] == 1.0
    assert found["n"] == 4
    assert found["unlabelled"] == 2
    by_hand = (2 * metrics.auc(truth == 0, 1 - chances) + 2 * metrics.auc(truth == 1, chances)) / 6
    assert found["auc_published"] == pytest.approx(by_hand)
