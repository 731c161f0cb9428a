"""Networks from measured margins: over both splits, with what they promise and say of themselves."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import with_folders

from fedbayes.bayes.exchange.bif import from_bif, to_bif
from fedbayes.bayes.network import BayesianNetwork
from fedbayes.dp.laws import Change
from fedbayes.dp.ledger import Ledger
from fedbayes.federation.errors import ArgumentError, BudgetError, MessageError, PolicyError
from fedbayes.federation.guards.installments import Installment
from fedbayes.federation.questions.contrasts import Contrasts
from v6_vertibayes import sources
from v6_vertibayes.arguments import BATCHES

PEOPLE = 3000
NAMES = ["flu", "fever", "cough", "age", "visit"]
TREE = [("flu", "fever"), ("flu", "cough"), ("age", "visit")]
DOMAIN = {
    "flu": {"categories": ["no", "yes"]},
    "fever": {"categories": ["no", "yes"]},
    "cough": {"categories": ["rare", "some", "often"]},
    "age": {"bounds": [0, 100]},
    "visit": {"categories": ["no", "yes"]},
}
ASKED = {
    "columns": NAMES,
    "structure": "private",
    "epsilon": 8.0,
    "delta": 1e-5,
    "domain": DOMAIN,
    "bins": {"age": [30.0, 60.0]},
    "label": "flu",
}
HOMES = [["flu", "age"], ["fever", "visit"], ["cough"]]
BESIDE = np.sqrt((4 / 3) / (3 / 2) * BATCHES["horizontal"][0] / BATCHES["vertical"][0])
"""Noise of linked single columns beside that of whole records: three shares of four count, not two of three, and the batch has another part of the budget."""
LIMITS = {"*": {"minimum_rows": 5, "minimum_count": 0}}


def people(seed: int = 1, rows: int = PEOPLE) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    flu = draw.random(rows) < 0.4
    age = draw.uniform(0, 100, rows).round(1)
    return pd.DataFrame(
        {
            "id": [f"p{i}" for i in range(rows)],
            "flu": np.where(flu, "yes", "no"),
            "fever": np.where(draw.random(rows) < 0.1 + 0.7 * flu, "yes", "no"),
            "cough": np.where(
                flu & (draw.random(rows) < 0.8), "often", np.where(draw.random(rows) < 0.5, "some", "rare")
            ),
            "age": age,
            "visit": np.where(draw.random(rows) < 0.1 + 0.8 * (age > 60), "yes", "no"),
        }
    )


def placed(table: pd.DataFrame, split: str) -> tuple[dict, list[str], dict]:
    if split == "horizontal":
        return {f"clinic{i}": table.iloc[i::3] for i in range(3)}, [], {"split": split}
    parties = {f"clinic{i}": table[["id", *names]] for i, names in enumerate(HOMES)}
    return parties, ["helper"], {"id_column": "id"}


def fitted(table: pd.DataFrame, split: str, **changes) -> dict:
    parties, helpers, own = placed(table, split)
    with OneProcess(parties=parties, helpers=helpers, policies=LIMITS) as federation:
        return federation.run("vertibayes", "fit", {**ASKED, **own, **changes})


@pytest.fixture(scope="module", params=["vertical", "horizontal"])
def run(request):
    return request.param, fitted(people(), request.param)


def skeleton(result: dict) -> set[tuple[str, str]]:
    return {tuple(sorted(edge)) for edge in result["model"]["edges"]}


@pytest.mark.parametrize("split", ["vertical", "horizontal"])
def test_the_edges_of_the_data_are_found(split) -> None:
    """One parent a node, so a forest: the edges of the data, and at most one by chance between its two trees."""
    found = skeleton(fitted(people(), split, max_parents=1))
    assert {tuple(sorted(edge)) for edge in TREE} <= found
    assert len(found) <= len(TREE) + 1


def test_tables_are_near_those_of_all_records(run) -> None:
    table, network = people(), BayesianNetwork.from_dict(run[1]["model"])
    drawn = pd.DataFrame(network.decode(network.sample(40_000)))
    for a, b in [("flu", "fever"), ("flu", "cough"), ("fever", "cough")]:
        wanted = pd.crosstab(table[a], table[b], normalize="all")
        found = pd.crosstab(drawn[a], drawn[b], normalize="all")
        assert float((wanted - found).abs().to_numpy().sum()) / 2 < 0.05


def test_statement_and_debits_are_one(run) -> None:
    split, result = run
    privacy = result["privacy"]
    assert (privacy["differentially_private"], privacy["epsilon"], privacy["delta"]) == (True, 8.0, 1e-5)
    assert privacy["neighbors"] == {"vertical": "replace_one", "horizontal": "add_remove"}[split]
    assert "discrete Gaussian" in privacy["mechanism"]
    debits = result["federation"]["debits"]
    assert sorted(debits) == ["clinic0", "clinic1", "clinic2"]
    asked = sum(len(batch["tables"]) for batch in result["diagnostics"]["measured"])
    assert all(cost == {"epsilon": 8.0, "delta": 1e-5, "queries": asked} for cost in debits.values())


def test_it_says_what_was_measured_and_how_well(run) -> None:
    singles, pairs, cliques = run[1]["diagnostics"]["measured"]
    assert singles["tables"] == [[name] for name in NAMES]
    assert len(pairs["tables"]) == (
        15 if run[0] == "vertical" else 10
    )  # single columns again, where the number of records is public
    assert all(1 <= len(table) <= 3 for table in cliques["tables"])
    assert all(0 < batch["expected_total_variation"] < 0.1 for batch in (singles, pairs, cliques))
    assert run[1]["diagnostics"]["structure"]["batches"] == 3
    assert not any("noise alone" in warning for warning in run[1]["warnings"])


def test_one_record_changes_twice_the_cells_between_stations_that_hold_columns() -> None:
    vertical, horizontal = (
        fitted(people(), split)["diagnostics"]["measured"][0] for split in ("vertical", "horizontal")
    )
    assert vertical["deviation"] == pytest.approx(np.sqrt(2) * BESIDE * horizontal["deviation"], rel=0.01)


def test_values_that_are_erased_cost_the_noise_of_a_record_more_and_are_named_as_what_is_promised(tmp_path) -> None:
    parties, helpers, own = placed(people(), "vertical")
    limits = {**LIMITS, **{name: {**LIMITS["*"], "ledger": "ledger"} for name in parties}}
    with OneProcess(with_folders(parties, tmp_path, "ledger"), helpers=helpers, policies=limits) as federation:
        erased = federation.run("vertibayes", "fit", {**ASKED, **own, "neighbors": "zero_out"})
    added = fitted(people(), "horizontal")
    ours, theirs = (result["diagnostics"]["measured"][0] for result in (erased, added))
    assert ours["deviation"] == pytest.approx(BESIDE * theirs["deviation"], rel=0.01)
    privacy = erased["privacy"]
    assert (privacy["neighbors"], privacy["epsilon"], privacy["delta"]) == ("zero_out", 8.0, 1e-5)
    assert privacy["sensitivity"].startswith("1 a table")
    assert "which records are common, and their number, are taken as public" in privacy["composition"]
    for name in parties:
        debits = [entry for entry in Ledger(tmp_path / name / "fedbayes-ledger.sqlite3").entries() if entry.epsilon]
        assert [(entry.epsilon, entry.note) for entry in debits] == [(8.0, "tables, zero_out")], name


def test_a_relation_of_matched_records_is_not_one_of_rows() -> None:
    with pytest.raises(ArgumentError, match=r"neighbors.*replace_one.*zero_out"):
        fitted(people(), "vertical", neighbors="add_remove")
    assert any("neighbors" in text for text in fitted(people(), "horizontal", neighbors="zero_out")["warnings"])


def test_differences_between_states_cost_less_than_the_counts_of_as_many_tables(run) -> None:
    """Ten tables of counts with the part of the budget that the pairs have: their noise, by the library's law."""
    split, result = run
    counts = Change(10.0, np.sqrt(10.0 * (2 if split == "vertical" else 1)), 100)
    budget = Installment(8.0, 1e-5, BATCHES[split], [1])
    assert result["diagnostics"]["measured"][1]["deviation"] < 0.8 * budget.deviation(counts, 3, 0.8)


def test_a_result_is_a_network_like_any_other(run) -> None:
    network = BayesianNetwork.from_dict(run[1]["model"])
    assert from_bif(to_bif(network)).edges == network.edges
    parties, helpers, own = placed(people(), run[0])
    with OneProcess(parties=parties, helpers=helpers, policies=LIMITS) as federation:
        drawn = federation.run("vertibayes", "sample", {"model": run[1]["model"], "rows": 50})["model"]["records"]
        scores = federation.run("vertibayes", "evaluate", {"model": run[1]["model"], "method": "counts", **own})[
            "model"
        ]
    assert {len(values) for values in drawn.values()} == {50}
    assert scores["auc"] > 0.85


@pytest.mark.parametrize("missing", ["drop", "category", "em_on_counts"])
def test_missing_values_are_a_state_while_it_is_measured(missing) -> None:
    table = people()
    holed = table.assign(cough=table["cough"].mask(np.random.default_rng(3).random(len(table)) < 0.3))
    result = fitted(holed, "horizontal", missing=missing)
    assert result["diagnostics"]["missing"]["cough"] == pytest.approx(0.3, abs=0.03)
    assert ("?" in result["model"]["nodes"]["cough"]["states"]) is (missing == "category")
    network = BayesianNetwork.from_dict(result["model"])
    drawn = pd.DataFrame(network.decode(network.sample(20_000)))
    known = drawn[drawn["cough"] != "?"]
    assert (known["cough"] == "often").mean() == pytest.approx((table["cough"] == "often").mean(), abs=0.05)
    assert (drawn["cough"] == "?").mean() == pytest.approx(0.3 * (missing == "category"), abs=0.03)


def test_noise_that_drowns_the_data_is_a_warning_not_a_refusal() -> None:
    result = fitted(people(rows=60), "horizontal", epsilon=0.1)
    assert any("noise alone" in warning for warning in result["warnings"])
    assert result["privacy"]["differentially_private"] is True


def test_cliques_together_have_no_more_cells_than_there_are_records() -> None:
    """With next to no noise every pair of 60 people stands out; one clique over all columns would have 72 cells."""
    model = fitted(people(rows=60), "horizontal", epsilon=1e6, max_parents=4)["model"]
    families = [frozenset([*table["parents"], name]) for name, table in model["tables"].items()]
    cliques = {family for family in families if not any(family < other for other in families)}
    states = {name: len(node["states"]) for name, node in model["nodes"].items()}
    cells = sum(np.prod([states[name] for name in clique]) for clique in cliques)
    assert 30 < cells <= 60


def test_held_out_folds_have_a_part_of_the_budget() -> None:
    result = fitted(people(rows=600), "vertical", validation="svdg", folds=2, synthetic_rows=200)
    assert result["privacy"]["epsilon"] == 8.0
    assert result["federation"]["debits"]["clinic0"]["epsilon"] == 8.0
    assert result["diagnostics"]["validation"]["method"] == "svdg"


def test_a_ledger_is_debited_once_for_all_batches(tmp_path: Path) -> None:
    parties = with_folders(placed(people(rows=300), "horizontal")[0], tmp_path, "ledger")
    policies = {"*": {"minimum_rows": 5, "ledger": "ledger", "budget_epsilon": 10.0, "budget_delta": 1e-4}}
    with OneProcess(parties=parties, policies=policies) as federation:
        federation.run("vertibayes", "fit", {**ASKED, "split": "horizontal"})
        with pytest.raises(BudgetError, match="clinic"):
            federation.run("vertibayes", "fit", {**ASKED, "split": "horizontal"})
    entries = Ledger(tmp_path / "clinic0" / "fedbayes-ledger.sqlite3").entries()
    assert [entry.epsilon for entry in entries if entry.epsilon] == [8.0]


def test_a_delta_beyond_a_nodes_limit_is_refused_before_anything_is_spent() -> None:
    parties, _, own = placed(people(rows=100), "horizontal")
    with (
        OneProcess(parties=parties, policies={"*": {**LIMITS["*"], "maximum_delta": 1e-6}}) as federation,
        pytest.raises(PolicyError, match="delta"),
    ):
        federation.run("vertibayes", "fit", {**ASKED, **own})


@pytest.mark.parametrize("structure", ["k2", "naive", [["flu", "fever"]]])
def test_other_structures_have_less_noise_with_a_delta(structure) -> None:
    result = fitted(people(), "horizontal", structure=structure)
    assert "Gaussian" in result["privacy"]["composition"]
    assert result["privacy"]["epsilon"] == 8.0
    assert result["federation"]["debits"]["clinic1"]["epsilon"] == 8.0


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "given",
    [
        {"helper": "none", "id_column": "id"},
        {"split": "hybrid", "id_column": "id"},
        {"missing": "em", "id_column": "id", "synthetic_rows": 2000},
        {"rows_aligned": True},
    ],
)
def test_other_ways_to_hold_records_give_networks_too(given) -> None:
    table = people()
    parties, helpers, _ = placed(table, "vertical")
    if given.get("split") == "hybrid":
        shared = ["id", "flu", "age", "fever"]
        parties = {
            "clinic0": table[shared][:2000],
            "clinic1": table[shared][2000:],
            "clinic2": table[["id", "cough", "visit"]],
        }
    if "id_column" not in given:
        parties = {name: part.drop(columns="id") for name, part in parties.items()}
    helpers = [] if given.get("helper") == "none" else helpers
    with OneProcess(parties, helpers=helpers, policies=LIMITS) as federation:
        result = federation.run("vertibayes", "fit", {**ASKED, **given})
    assert result["privacy"]["differentially_private"] is True
    assert {cost["epsilon"] for cost in result["federation"]["debits"].values()} == {8.0}
    network = BayesianNetwork.from_dict(result["model"])
    drawn = pd.DataFrame(network.decode(network.sample(40_000)))
    for a, b in [("flu", "fever"), ("flu", "cough")]:
        wanted = pd.crosstab(table[a], table[b], normalize="all")
        found = pd.crosstab(drawn[a], drawn[b], normalize="all")
        assert float((wanted - found).abs().to_numpy().sum()) / 2 < 0.05


@pytest.mark.few(2)
@pytest.mark.parametrize("split", ["vertical", "horizontal"])
def test_functions_of_other_states_than_columns_have_are_refused(split, monkeypatch) -> None:
    """A central that cuts tables elsewhere, with as many cells in all: what one record changes would not be what the maps say."""
    source = sources.VerticalTables if split == "vertical" else sources.HorizontalTables
    asked = source.contrasted
    cut = {"flu": np.ones((1, 4), dtype=np.int64), "cough": np.ones((1, 3), dtype=np.int64)}
    monkeypatch.setattr(source, "contrasted", lambda own, *_: asked(own, [("flu", "cough")], Contrasts(cut, [1])))
    with pytest.raises(MessageError, match="states of their columns"):
        fitted(people(rows=60), split)
