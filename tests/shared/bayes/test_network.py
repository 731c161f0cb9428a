"""Networks: tables, sampling, likelihood and what may be published."""

from itertools import product

import numpy as np
import pytest
from exact_kit import row_log_likelihood

from fedbayes.bayes.exchange.bif import from_bif
from fedbayes.bayes.network import BayesianNetwork
from fedbayes.bayes.network.graph import parents_of_edges, topological_order


@pytest.fixture
def sprinkler() -> BayesianNetwork:
    states = {"rain": ("no", "yes"), "sprinkler": ("off", "on", "broken"), "wet": ("dry", "wet")}
    parents = {"rain": (), "sprinkler": ("rain",), "wet": ("sprinkler", "rain")}
    tables = {
        "rain": np.array([0.8, 0.2]),
        "sprinkler": np.array([[0.5, 0.4, 0.1], [0.9, 0.05, 0.05]]),
        "wet": np.array([[[1.0, 0.0], [0.2, 0.8]], [[0.1, 0.9], [0.01, 0.99]], [[0.9, 0.1], [0.3, 0.7]]]),
    }
    return BayesianNetwork(states, parents, tables)


def test_likelihood_of_all_records_is_a_distribution(sprinkler: BayesianNetwork) -> None:
    codes = np.array(list(product(range(2), range(3), range(2))))
    assert np.exp(row_log_likelihood(sprinkler, codes)).sum() == pytest.approx(1.0)


def test_family_counts_and_rows_agree_on_the_likelihood(sprinkler: BayesianNetwork) -> None:
    codes = sprinkler.sample(500)
    counts = {}
    for node in sprinkler.nodes:
        table = np.zeros(sprinkler.shape(node))
        np.add.at(table, tuple(codes[:, position] for position in sprinkler.family(node)), 1)
        counts[node] = table
    assert sprinkler.log_likelihood(counts) == pytest.approx(row_log_likelihood(sprinkler, codes).sum())
    fitted = BayesianNetwork.from_counts(sprinkler.states, sprinkler.parents, counts)
    assert fitted.log_likelihood(counts) >= sprinkler.log_likelihood(counts)


def test_samples_follow_the_tables(sprinkler: BayesianNetwork) -> None:
    codes = sprinkler.sample(20_000)
    assert codes.shape == (20_000, 3)
    assert (codes[:, 0] == 1).mean() == pytest.approx(0.2, abs=0.03)
    rainy = codes[codes[:, 0] == 1]
    assert (rainy[:, 1] == 0).mean() == pytest.approx(0.9, abs=0.05)
    assert not ((codes[:, 0] == 0) & (codes[:, 1] == 0) & (codes[:, 2] == 1)).any()


def test_criteria_count_free_parameters(sprinkler: BayesianNetwork) -> None:
    assert sprinkler.parameters == 1 + 4 + 6
    assert sprinkler.aic(-100.0) == 222.0
    assert sprinkler.bic(-100.0, np.e**2) == pytest.approx(222.0)
    assert sprinkler.aic_published(-100.0) == -100.0 - (1 + 5 + 11)


def test_publishing_hides_rare_configurations_and_extremes(sprinkler: BayesianNetwork) -> None:
    counts = {node: table * 0 + 100 for node, table in sprinkler.tables.items()}
    counts["wet"][0, 0] = [3, 0]
    published = sprinkler.publish(counts, minimum_count=5, floor=0.01)
    assert all((table >= 0.01).all() and (table <= 0.99).all() for table in published.tables.values())
    assert published.tables["wet"][0, 0, 1] == pytest.approx(0.01 + 0.98 * 500 / 1003)
    with pytest.raises(ValueError, match="counts"):
        sprinkler.publish(minimum_count=5)


def test_dictionary_round_trip_and_frames(sprinkler: BayesianNetwork) -> None:
    value = sprinkler.to_dict()
    assert value["edges"] == [["rain", "sprinkler"], ["sprinkler", "wet"], ["rain", "wet"]]
    again = BayesianNetwork.from_dict(value)
    assert again.states == sprinkler.states
    assert all((again.tables[node] == sprinkler.tables[node]).all() for node in sprinkler.nodes)
    frame = sprinkler.table_frame("wet")
    assert frame.loc[("on", "yes"), "wet"] == 0.99
    assert sprinkler.table_frame("rain").shape == (1, 2)
    with pytest.raises(ValueError, match="nodes, edges and tables"):
        BayesianNetwork.from_dict({"nodes": {"a": {}}})
    with pytest.raises(ValueError, match="do not agree"):
        BayesianNetwork.from_dict({**value, "edges": []})


@pytest.mark.parametrize("states", [["", "x"], ["1", "1.0"], ["true", "True"], ["é", "e\u0301"], [" ", "x"]])
def test_states_that_are_empty_or_mean_the_same_are_refused(states):
    value = {"nodes": {"a": {"states": states}}, "tables": {"a": {"parents": [], "probabilities": [0.5, 0.5]}}}
    with pytest.raises(ValueError, match="state of a is empty, or two mean the same"):
        BayesianNetwork.from_dict(value)


def test_encoding_reads_states_however_they_are_written() -> None:
    network = BayesianNetwork(
        {"a": ("TRUE", "FALSE"), "b": ("0", "1")},
        {"a": (), "b": ()},
        {"a": np.array([0.5, 0.5]), "b": np.array([0.5, 0.5])},
    )
    codes = network.encode({"a": [True, "FALSE", None], "b": [1.0, "0", float("nan")]})
    assert codes.tolist() == [[0, 1], [1, 0], [-1, -1]]
    assert network.decode(codes)["a"] == ["TRUE", "FALSE", None]
    with pytest.raises(ValueError, match="a record holds a state that b did not have"):
        network.encode({"b": ["7"]})
    with pytest.raises(ValueError, match="at least one column"):
        network.encode({"c": ["7"]})


def test_a_number_is_the_state_that_a_column_of_decimals_has_for_it() -> None:
    """Whole numbers above 2^53 are rounded there, and a record that the researcher gives is none the less one of them."""
    half = np.array([0.5, 0.5])
    network = BayesianNetwork(
        {"a": (repr(2.0**53), repr(2.0**53 + 4)), "b": (str(2**53 + 1), "0.5")},
        {"a": (), "b": ()},
        {"a": half, "b": half},
    )
    assert network.encode({"a": [str(2**53 + 3), 2**53], "b": [2**53 + 1, "0.50"]}).tolist() == [[1, 0], [0, 1]]
    for other in (2**53 + 8, "x", 2**60):
        with pytest.raises(ValueError, match="a record holds a state that a did not have"):
            network.encode({"a": [other]})
    with pytest.raises(ValueError, match="a record holds a state that b did not have"):
        network.encode({"b": [2**53 + 2]})


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([["a", "b"], ["b", "c"], ["c", "a"]], "cycle among a, b, c"),
        ([["a", "z"]], "'z'"),
        ([["a", "b"], ["a", "b"]], "twice"),
        (["ab"], "pair"),
        ([["a", "a"]], "cycle"),
    ],
)
def test_bad_edges_are_named(edges: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parents_of_edges(["a", "b", "c"], edges)


def test_order_puts_parents_first() -> None:
    parents = parents_of_edges("abcd", [("d", "a"), ("b", "d"), ("c", "a")])
    assert parents["a"] == ("d", "c")
    assert topological_order(parents) == ("b", "c", "d", "a")


@pytest.mark.parametrize(
    ("table", "message"),
    [([0.5, 0.6], "sum to one"), ([[0.5, 0.5]], "shape"), ([1.5, -0.5], "no probability")],
)
def test_bad_tables_are_refused(table: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BayesianNetwork({"a": ("x", "y")}, {"a": ()}, {"a": np.array(table)})


def test_published_networks_are_read(paper_folder) -> None:
    network = from_bif((paper_folder / "networks" / "alarm.bif").read_text())
    assert len(network.nodes) == 37
    assert len(network.edges) == 46
    assert network.parameters == 509
