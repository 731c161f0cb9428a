"""Exact inference against enumeration of all records, on random networks and on the papers' ones."""

from collections.abc import Iterable, Iterator
from itertools import combinations, product

import numpy as np
import pytest
from exact_kit import row_log_likelihood
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbayes.bayes.exchange.bif import from_bif
from fedbayes.bayes.network import BayesianNetwork, junction
from fedbayes.bayes.network.inference import JunctionTree, posteriors, query


@st.composite
def networks(draw: st.DrawFn) -> BayesianNetwork:
    cards = draw(st.lists(st.integers(1, 3), min_size=1, max_size=6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    names = [f"n{i}" for i in range(len(cards))]
    order = rng.permutation(len(cards))
    parents, tables = {}, {}
    for position, node in enumerate(order):
        chosen = rng.permutation(order[:position])[: rng.integers(0, 4)]
        table = rng.exponential(size=[*(cards[p] for p in chosen), cards[node]])
        table[rng.random(table.shape) < 0.15] = 0
        table[..., 0] += 1e-3
        parents[names[node]] = tuple(names[p] for p in chosen)
        tables[names[node]] = table / table.sum(axis=-1, keepdims=True)
    states = {name: tuple(f"s{k}" for k in range(card)) for name, card in zip(names, cards, strict=True)}
    return BayesianNetwork(states, parents, tables)


def enumerate_evidence(network: BayesianNetwork, row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return every complete record that agrees with the evidence and its probability."""
    records = np.array(list(product(*(range(len(s)) for s in network.states.values()))))
    agreeing = records[((records == row) | (row < 0)).all(axis=1)]
    return agreeing, np.exp(row_log_likelihood(network, agreeing))


@settings(max_examples=60, deadline=None)
@given(networks(), st.integers(0, 2**32 - 1))
def test_tree_equals_enumeration(network: BayesianNetwork, seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, len(s), 7) for s in network.states.values()])
    codes[rng.random(codes.shape) < 0.5] = -1
    tree = JunctionTree(network)
    likelihood = np.exp(tree.log_likelihood(codes))
    counts, _ = tree.expected_counts(codes, np.arange(7.0))
    expected = {node: np.zeros(network.shape(node)) for node in network.nodes}
    marginals = tree.marginals(codes)
    for weight, row in enumerate(codes):
        records, probability = enumerate_evidence(network, row)
        assert likelihood[weight] == pytest.approx(probability.sum(), abs=1e-12)
        if probability.sum() == 0:
            continue
        share = probability / probability.sum()
        for position, node in enumerate(network.nodes):
            index = tuple(records[:, v] for v in network.family(node))
            np.add.at(expected[node], index, weight * share)
            marginal = np.bincount(records[:, position], share, len(network.states[node]))
            np.testing.assert_allclose(marginals[node][weight], marginal, atol=1e-9)
    for node in network.nodes:
        np.testing.assert_allclose(counts[node], expected[node], atol=1e-8)


@settings(max_examples=40, deadline=None)
@given(networks(), st.integers(0, 2**32 - 1))
def test_blanket_shortcut_equals_tree(network: BayesianNetwork, seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, len(s), 9) for s in network.states.values()])
    codes[:4][rng.random((4, codes.shape[1])) < 0.4] = -1
    target = network.nodes[int(rng.integers(len(network.nodes)))]
    tree = JunctionTree(network)
    masked = codes.copy()
    masked[:, network.nodes.index(target)] = -1
    possible = np.isfinite(tree.log_likelihood(masked))
    found = posteriors(network, codes, target)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_allclose(found[possible], tree.posterior(codes, target)[possible], atol=1e-9)


def test_textbook_posterior_of_asia(paper_folder) -> None:
    network = from_bif((paper_folder / "networks" / "asia.bif").read_text())
    prior = query(network, {})
    assert prior["dysp"]["yes"] == pytest.approx(0.43597, abs=1e-5)
    found = query(network, {"asia": "yes", "xray": "yes"}, ["tub", "lung"])
    assert found["tub"]["yes"] == pytest.approx(0.3377, abs=1e-3)
    assert found["lung"]["yes"] == pytest.approx(0.3715, abs=1e-3)


def test_impossible_evidence_and_unknown_names(paper_folder) -> None:
    network = from_bif((paper_folder / "networks" / "asia.bif").read_text())
    with pytest.raises(ValueError, match="probability 0"):
        query(network, {"either": "no", "tub": "yes"})
    with pytest.raises(ValueError, match="'nope' is not a node"):
        query(network, {"nope": "yes"})
    codes = network.encode({"either": ["no"], "tub": ["yes"]})
    assert JunctionTree(network).log_likelihood(codes)[0] == -np.inf
    np.testing.assert_allclose(JunctionTree(network).posterior(codes, "lung"), [[0.5, 0.5]])


def test_long_evidence_does_not_underflow() -> None:
    nodes = [f"x{i}" for i in range(400)]
    table = np.array([[0.999, 0.001], [0.001, 0.999]])
    network = BayesianNetwork(
        {node: ("a", "b") for node in nodes},
        {node: (nodes[i - 1],) if i else () for i, node in enumerate(nodes)},
        {node: table if i else np.array([0.5, 0.5]) for i, node in enumerate(nodes)},
    )
    codes = (np.arange(400) % 2)[None]
    expected = np.log(0.5) + 399 * np.log(0.001)
    assert JunctionTree(network).log_likelihood(codes)[0] == pytest.approx(expected)


def test_dense_networks_are_refused_before_anything_is_allocated() -> None:
    nodes = [f"x{i}" for i in range(14)]
    states = {node: tuple("abcdef") for node in nodes}
    parents = {node: tuple(nodes[max(0, i - 3) : i]) for i, node in enumerate(nodes[:13])}
    parents[nodes[13]] = ()
    tables = {n: np.full([6] * (len(parents[n]) + 1), 1 / 6) for n in nodes}
    assert JunctionTree(BayesianNetwork(states, parents, tables)).log_likelihood(np.full((1, 14), -1)) == pytest.approx(
        0
    )
    from fedbayes.bayes.network.junction import build_tree

    with pytest.raises(ValueError, match="densely connected"):
        build_tree([tuple(range(14))] * 14, [6] * 14)


def test_a_dense_network_of_many_nodes_is_refused_after_little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of 1 MB: to count what each node adds took whoever was sent it a minute."""
    random, nodes, pairs = np.random.default_rng(1), 400, 0

    def counted(items: Iterable[int], size: int) -> Iterator[tuple[int, ...]]:
        nonlocal pairs
        for pair in combinations(items, size):
            pairs += 1
            yield pair

    monkeypatch.setattr(junction, "combinations", counted)
    parents = [random.choice(node, min(node, 6), replace=False).tolist() for node in range(nodes)]
    with pytest.raises(ValueError, match="densely connected"):
        junction.build_tree([(*above, node) for node, above in enumerate(parents)], [2] * nodes)
    assert 0 < pairs < 10**6


def test_alarm_with_missing_values_agrees_with_relevant_evidence(paper_folder, paper_data) -> None:
    network = from_bif((paper_folder / "networks" / "alarm.bif").read_text())
    frame = paper_data("alarm10k_missing30", nrows=300).rename(columns={"class": "BP"})
    codes = network.encode({name: frame[name].tolist() for name in frame})
    tree = JunctionTree(network)
    marginals = tree.marginals(codes)
    for position, node in enumerate(network.nodes):
        np.testing.assert_allclose(marginals[node].sum(axis=1), 1.0, atol=1e-9)
        seen = codes[:, position] >= 0
        assert (marginals[node][seen].argmax(axis=1) == codes[seen, position]).all()
    found = posteriors(network, codes, "BP")
    np.testing.assert_allclose(found, tree.posterior(codes, "BP"), atol=1e-9)
