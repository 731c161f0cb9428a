"""Tables of random networks with missing values count what pandas counts, however the records are split."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

from fedbayes.bayes.network import BayesianNetwork
from v6_vertibayes.arguments import Fit
from v6_vertibayes.model import Variable, learn

LIMITS = {"*": {"minimum_rows": 1, "minimum_count": 0, "minimum_organizations": 2}}


def random_network(seed: int) -> tuple[pd.DataFrame, list[list[str]], dict[str, list[str]]]:
    """Return records with gaps in some columns, random edges, and the categories of every column."""
    draw = np.random.default_rng(seed)
    names = [f"c{place}" for place in range(int(draw.integers(3, 7)))]
    sizes = {name: int(draw.integers(2, 4)) for name in names}
    table = pd.DataFrame({name: draw.integers(0, sizes[name], 120).astype(str) for name in names}, dtype=object)
    table = table.map(lambda code: f"s{code}")
    edges = []
    for place, name in enumerate(names):
        for parent in draw.choice(names[:place], size=int(draw.integers(0, min(place, 3) + 1)), replace=False):
            edges.append([str(parent), name])
    for name in draw.choice(names, size=int(draw.integers(1, len(names))), replace=False):
        table.loc[draw.random(len(table)) < 0.2, str(name)] = None
    table.insert(0, "id", [f"r{row:03d}" for row in range(len(table))])
    return table, edges, {name: [f"s{code}" for code in range(sizes[name])] for name in names}


def expected(table: pd.DataFrame, parents: tuple[str, ...], node: str, states: dict[str, list[str]]) -> np.ndarray:
    """Return P(node | parents) of the records in which all of these are present, half a record added to each cell."""
    there = table[[*parents, node]].dropna()
    counts = np.full([len(states[name]) for name in (*parents, node)], 0.5)
    for values in there.itertuples(index=False):
        counts[tuple(states[name].index(value) for name, value in zip((*parents, node), values, strict=True))] += 1
    return counts / counts.sum(axis=-1, keepdims=True)


def assert_tables(found: BayesianNetwork, table: pd.DataFrame, states: dict[str, list[str]]) -> None:
    for node in found.nodes:
        assert list(found.states[node]) == states[node]
        np.testing.assert_allclose(found.tables[node], expected(table, found.parents[node], node, states), atol=1e-12)


@pytest.mark.parametrize("structure", ["given", "k2", "information"])
def test_each_table_counts_the_records_that_have_its_columns(kit, structure) -> None:
    for seed in range(40):
        table, edges, states = random_network(seed)
        names = list(states)
        variables = [Variable(name, tuple(states[name]), True) for name in names]
        codes = {name: table[name].map(states[name].index, na_action="ignore").fillna(-1) for name in names}
        codes = {name: np.where(c < 0, len(states[name]), c).astype(int) for name, c in codes.items()}

        def oracle(tables, codes=codes, states=states):
            answers = []
            for columns in tables:
                counts = np.zeros([len(states[c]) + 1 for c in columns], dtype=np.int64)
                np.add.at(counts, tuple(codes[c] for c in columns), 1)
                answers.append(counts)
            return answers

        chosen: dict[str, Any] = {"structure": edges} if structure == "given" else {"structure": "k2"}
        chosen["order"] = "information" if structure == "information" else None
        options = Fit.read("fit", {**kit.defaults, "columns": names, "missing": "drop", **chosen})
        assert_tables(learn(options, variables, oracle).network, table, states)


def parties_of(table: pd.DataFrame, split: str, names: list[str]) -> dict[str, pd.DataFrame]:
    if split == "vertical":
        parts = [table[["id", *names[:1]]], table[["id", *names[1:]]]]
    elif split == "horizontal":
        parts = [table.iloc[0::2][names], table.iloc[1::2][names]]
    else:
        parts = [table.iloc[:70][["id", *names[:1]]], table.iloc[50:][["id", *names[1:]]]]
    return {f"s{place}": part.sample(frac=1, random_state=place) for place, part in enumerate(parts)}


@pytest.mark.parametrize("structure", ["k2", "hill_climb"])
@pytest.mark.parametrize("gap", [0.1, 0.4])
def test_gaps_make_no_parents(gap, structure) -> None:
    """Scores of a family with fewer records are larger, whatever the parent: a search that compared them found edges among columns that are independent."""
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"id": range(400), **{name: rng.choice(["u", "v"], 400) for name in "ab"}})
    table["c"] = np.where(rng.random(400) < 0.9, table["b"], "u")
    table.loc[rng.random(400) < gap, "a"] = None
    given = {"columns": ["a", "b", "c"], "structure": structure, "missing": "drop", "id_column": "id"}
    given["domain"] = {name: {"categories": ["u", "v"]} for name in "abc"}
    parties = parties_of(table, "vertical", ["a", "b", "c"])
    with OneProcess(parties=parties, helpers=["helper"], policies=LIMITS) as federation:
        found = federation.run("vertibayes", "fit", given)
    assert [set(edge) for edge in found["model"]["edges"]] == [{"b", "c"}]
    assert not found["warnings"]


@pytest.mark.few(1)
@pytest.mark.parametrize("split", ["vertical", "horizontal", "hybrid"])
def test_splits_count_what_pandas_counts(split) -> None:
    for seed in range(100, 104):
        table, edges, states = random_network(seed)
        names = list(states)
        domain = {name: {"categories": values} for name, values in states.items()}
        given = {"columns": names, "structure": edges, "missing": "drop", "split": split, "domain": domain}
        given |= {} if split == "horizontal" else {"id_column": "id"}
        parties = parties_of(table, split, names)
        helpers = [] if split == "horizontal" else ["helper"]
        with OneProcess(parties=parties, helpers=helpers, policies=LIMITS) as federation:
            result = federation.run("vertibayes", "fit", given)
        seen = table.copy()
        if split == "hybrid":
            seen.loc[70:, names[0]] = None
            seen.loc[:49, names[1:]] = None
        assert_tables(BayesianNetwork.from_dict(result["model"]), seen, states)
        shares = {name: round(float(seen[name].isna().mean()), 4) for name in names}
        assert result["diagnostics"]["missing"] == pytest.approx(shares, abs=1e-4)


@pytest.mark.parametrize("missing", ["em_on_counts", "em", "drop", "category"])
def test_tables_that_noise_left_no_record_are_even_not_a_refusal(kit, missing) -> None:
    """With an epsilon nothing is refused because of data; what is left of one column tells nothing, the other column is as it is."""
    states = {"a": ["x", "y"], "b": ["u", "v"]}
    variables = [Variable(name, tuple(labels), True) for name, labels in states.items()]
    answers = {("a",): np.array([-3, -1, -2]), ("b",): np.array([9000, -4, 2000])}
    given = {**kit.defaults, "columns": list(states), "missing": missing, "structure": [], "epsilon": 0.1}
    options = Fit.read("fit", {**given, "synthetic_rows": 500, "pseudocount": 0.0})
    found = learn(options, variables, lambda tables: [answers[table] for table in tables]).network
    assert found.tables["a"] == pytest.approx([0.5, 0.5], abs=0.1 if missing == "em" else 1e-9)  # 500 records are drawn
    assert found.tables["b"][0] > 0.8


@pytest.mark.parametrize("missing", ["em_on_counts", "drop", "em", "category"])
def test_columns_that_no_record_has_together_are_named(missing) -> None:
    rng = np.random.default_rng(4)
    table = pd.DataFrame(rng.choice(["x", "y"], (400, 3), p=[0.3, 0.7]), columns=["a", "b", "c"])
    table.loc[:199, "a"], table.loc[200:, "b"] = None, None
    parties = {name: table[[name]] for name in table}
    with OneProcess(parties, helpers=["helper"]) as federation:
        asked = {"columns": ["a", "b", "c"], "rows_aligned": True, "structure": [["a", "b"], ["a", "c"]]}
        result = federation.run("vertibayes", "fit", {**asked, "missing": missing})
    named = [text for text in result["warnings"] if "b (a)" in text]
    assert bool(named) == (missing != "category")
    assert not any("c (a)" in text for text in named)
    if missing == "em_on_counts":
        rows = np.array(result["model"]["tables"]["b"]["probabilities"])
        np.testing.assert_allclose(rows[0], rows[1], atol=0.02)


@pytest.mark.parametrize("missing", ["drop", "em_on_counts", "category"])
def test_a_fit_and_an_evaluation_of_its_records_have_the_same_criteria(missing: str) -> None:
    """The records of Schwarz' criterion are all of them, also where one with a gap is left out of every table."""
    draw = np.random.default_rng(2)
    table = pd.DataFrame({name: draw.choice(["u", "v"], 120).astype(object) for name in "ab"})
    table.loc[::7, "a"] = None
    asked = {"columns": ["a", "b"], "domain": {name: {"categories": ["u", "v"]} for name in "ab"}, "missing": missing}
    asked |= {"structure": [["a", "b"]], "split": "horizontal", "label": "b"}
    with OneProcess({name: table.iloc[at::3] for at, name in enumerate("xyz")}, policies=LIMITS) as federation:
        fit = federation.run("vertibayes", "fit", asked)
        judged = federation.run("vertibayes", "evaluate", {"model": fit["model"], "split": "horizontal"})
    told, again = fit["diagnostics"]["criteria"], judged["model"]["criteria"]
    assert told == pytest.approx(again)
    assert told["bic"] == pytest.approx(told["parameters"] * np.log(len(table)) - 2 * told["log_likelihood"])
