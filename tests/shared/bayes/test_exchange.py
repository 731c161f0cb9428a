"""Networks in the formats of other programs: round trips, names that are no identifiers, damaged files."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from fedbayes.bayes.bif import from_bif, identifiers, to_bif
from fedbayes.bayes.conversion import from_pgmpy, to_pgmpy
from fedbayes.bayes.network import BayesianNetwork
from fedbayes.bayes.xdsl import from_xdsl, to_xdsl


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


def assert_same(found: BayesianNetwork, expected: BayesianNetwork) -> None:
    assert found.states == expected.states
    assert found.parents == expected.parents
    for node in expected.nodes:
        np.testing.assert_allclose(found.tables[node], expected.tables[node], atol=1e-15)


@pytest.mark.parametrize("convert", [lambda n: from_bif(to_bif(n)), lambda n: from_xdsl(to_xdsl(n))])
def test_round_trips_keep_names_and_numbers(convert, network: BayesianNetwork) -> None:
    found = convert(network)
    reordered = BayesianNetwork({node: found.states[node] for node in network.nodes}, found.parents, found.tables)
    assert_same(reordered, network)


@pytest.mark.parametrize("name", ["alarm", "asia", "cancer", "earthquake", "sachs", "survey"])
def test_published_files_round_trip(name: str, paper_folder) -> None:
    text = (paper_folder / "networks" / f"{name}.bif").read_text()
    network = from_bif(text)
    assert_same(from_bif(to_bif(network)), network)
    again = from_xdsl(to_xdsl(network))
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "not XML"),
        ("<!DOCTYPE x><smile/>", "document type"),
        ("<smile/>", "no chance node"),
        ('<smile><nodes><cpt id="a"><state id="x"/><parents>b</parents></cpt></nodes></smile>', "unknown parent"),
        (
            '<smile><nodes><cpt id="a"><state id="x"/><probabilities>1 2</probabilities></cpt></nodes></smile>',
            "2 probabilities",
        ),
    ],
)
def test_damaged_xdsl_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_xdsl(text)


class _Table(SimpleNamespace):
    @property
    def variables(self) -> list[str]:
        return [self.variable, *getattr(self, "evidence", [])]

    @property
    def cardinality(self) -> list[int]:
        return [self.variable_card, *getattr(self, "evidence_card", [])]


class _Model:
    def __init__(self) -> None:
        self._nodes: list[str] = []
        self.edges: list[tuple[str, str]] = []
        self._tables: dict[str, _Table] = {}

    def add_nodes_from(self, nodes: list[str]) -> None:
        self._nodes += nodes

    def add_edges_from(self, edges: list[tuple[str, str]]) -> None:
        self.edges += edges

    def add_cpds(self, table: _Table) -> None:
        self._tables[table.variable] = table

    def nodes(self) -> list[str]:
        return self._nodes

    def get_cpds(self, node: str) -> _Table:
        return self._tables[node]


def test_pgmpy_conversion_there_and_back(network: BayesianNetwork, monkeypatch: pytest.MonkeyPatch) -> None:
    models, factors = ModuleType("pgmpy.models"), ModuleType("pgmpy.factors.discrete")
    models.BayesianNetwork = _Model  # type: ignore[attr-defined]
    factors.TabularCPD = _Table  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pgmpy.models", models)
    monkeypatch.setitem(sys.modules, "pgmpy.factors.discrete", factors)
    model = to_pgmpy(network)
    model_table = model.get_cpds("Age group")
    assert np.shape(model_table.values) == (3, 2)
    model_table.values = [[[v] for v in row] for row in model_table.values]
    for node in model.nodes():
        model.get_cpds(node).values = np.asarray(model.get_cpds(node).values).reshape(model.get_cpds(node).cardinality)
    assert_same(from_pgmpy(model), network)
