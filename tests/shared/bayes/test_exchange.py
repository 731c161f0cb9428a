"""Networks in the formats of other programs: round trips, names that are no identifiers, damaged files."""

import json
import sys
from types import ModuleType, SimpleNamespace
from unittest import mock
from xml.etree import ElementTree

import numpy as np
import pytest

from fedbayes.bayes.exchange.bif import from_bif, identifiers, to_bif
from fedbayes.bayes.exchange.pgmpy import to_pgmpy
from fedbayes.bayes.exchange.xdsl import PROPERTY, to_xdsl
from fedbayes.bayes.network import BayesianNetwork


@pytest.fixture
def network() -> BayesianNetwork:
    return BayesianNetwork(
        {"Age group": ("(-inf, 5)", "[5, 7.5)", "[7.5, inf)"), "b": ("0", "1"), "c": ("x", "?")},
        {"Age group": ("b",), "b": (), "c": ("Age group", "b")},
        {
            "Age group": np.array([[0.1, 0.2, 0.7], [1 / 3, 1 / 3, 1 / 3]]),
            "b": np.array([0.25, 0.75]),
            "c": np.linspace(0.05, 0.95, 6).reshape(3, 2, 1) * [1, -1] + [0, 1],
        },
    )


def read_xdsl(text: str) -> BayesianNetwork:
    """Return the network of an exported text, as GeNIe reads it, with the names in our property."""
    elements = {element.get("id"): element for element in ElementTree.fromstring(text).iterfind("./nodes/cpt")}
    names, states, parents, tables = {}, {}, {}, {}
    for key, element in elements.items():
        label = element.find(f"property[@id='{PROPERTY}']")
        own = [state.get("id") for state in element.iterfind("state")]
        told = {"name": key, "states": own} if label is None else json.loads(label.text or "")
        names[key], states[told["name"]] = told["name"], tuple(told["states"])
    for key, element in elements.items():
        above = parents[names[key]] = tuple(names[one] for one in (element.findtext("parents") or "").split())
        shape = [len(states[one]) for one in (*above, names[key])]
        tables[names[key]] = np.array((element.findtext("probabilities") or "").split(), dtype=float).reshape(shape)
    return BayesianNetwork(states, parents, tables)


def assert_same(found: BayesianNetwork, expected: BayesianNetwork) -> None:
    assert found.states == expected.states
    assert found.parents == expected.parents
    for node in expected.nodes:
        np.testing.assert_allclose(found.tables[node], expected.tables[node], atol=1e-15)


@pytest.mark.parametrize("convert", [lambda n: from_bif(to_bif(n)), lambda n: read_xdsl(to_xdsl(n))])
def test_round_trips_keep_names_and_numbers(convert, network: BayesianNetwork) -> None:
    found = convert(network)
    reordered = BayesianNetwork({node: found.states[node] for node in network.nodes}, found.parents, found.tables)
    assert_same(reordered, network)


@pytest.mark.parametrize("name", ["alarm", "asia", "cancer", "earthquake", "sachs", "survey"])
def test_published_files_round_trip(name: str, paper_folder) -> None:
    text = (paper_folder / "networks" / f"{name}.bif").read_text()
    network = from_bif(text)
    assert_same(from_bif(to_bif(network)), network)
    again = read_xdsl(to_xdsl(network))
    assert set(again.edges) == set(network.edges)
    assert all(np.allclose(again.tables[n], network.tables[n]) for n in network.nodes)


def test_exported_files_hold_identifiers_only(network: BayesianNetwork) -> None:
    given = identifiers(["a b", "a_b", "1x", "", "ok"])
    assert list(given.values()) == ["a_b", "a_b_2", "_1x", "_", "ok"]
    assert "variable Age_group {" in to_bif(network)
    assert 'id="Age_group"' in to_xdsl(network)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello", "expected network"),
        ("network x { } variable a { type discrete [ 2 ] { x, y }; } probability ( a ) { table 0.5", "incomplete"),
        ("network x { } variable a { type discrete [ 2 ] { x, y }; }", "no probability block"),
        (
            "network x { } variable a { type discrete [ 2 ] { x, y }; } probability ( a ) { table 0.5, 0.9; }",
            "do not sum",
        ),
        ("network x { } probability ( b ) { table 0.5, 0.5; }", "incomplete"),
    ],
)
def test_damaged_bif_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_bif(text)


def test_a_bif_table_of_too_many_cells_is_refused() -> None:
    states = ", ".join(f"s{place}" for place in range(20))
    nodes = [f"variable v{node} {{ type discrete [ 20 ] {{ {states} }}; }}" for node in range(13)]
    parents = ", ".join(f"v{node}" for node in range(1, 13))
    text = "\n".join(
        ["network n {}", *nodes, f"probability ( v0 | {parents} ) {{ default {', '.join(['0.05'] * 20)}; }}"]
    )
    with pytest.raises(ValueError, match="the table of v0 is too large"):
        from_bif(text)


def test_pgmpy_gets_the_same_nodes_edges_and_tables(network: BayesianNetwork, monkeypatch: pytest.MonkeyPatch) -> None:
    models, factors = ModuleType("pgmpy.models"), ModuleType("pgmpy.factors.discrete")
    models.BayesianNetwork = mock.Mock  # type: ignore[attr-defined]
    factors.TabularCPD = SimpleNamespace  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pgmpy.models", models)
    monkeypatch.setitem(sys.modules, "pgmpy.factors.discrete", factors)
    model = to_pgmpy(network)
    model.add_nodes_from.assert_called_once_with(list(network.nodes))
    model.add_edges_from.assert_called_once_with(network.edges)
    given = {call.args[0].variable: call.args[0] for call in model.add_cpds.call_args_list}
    for node, parents in network.parents.items():
        sizes = [len(network.states[name]) for name in (node, *parents)]
        assert [given[node].variable_card, *getattr(given[node], "evidence_card", [])] == sizes
        assert tuple(getattr(given[node], "evidence", ())) == parents
        assert given[node].state_names == {name: list(network.states[name]) for name in (node, *parents)}
        values = np.array(given[node].values).reshape(sizes)  # the child's states first
        np.testing.assert_allclose(np.moveaxis(values, 0, -1), network.tables[node], atol=1e-15)
