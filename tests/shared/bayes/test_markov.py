"""Markov networks against brute force over all joint states."""

from itertools import combinations

import numpy as np
import pytest

from fedbayes.bayes.markov import MarkovNetwork
from fedbayes.bayes.markov.balance import simplex
from fedbayes.bayes.markov.model import starts_of
from fedbayes.bayes.markov.squares import Margin, along

CARDINALITIES = [2, 3, 2, 4, 2]
EDGES = [(0, 1), (1, 2), (0, 2), (2, 3)]  # 4 stands alone


def filled(edges=EDGES, seed=1):
    network = MarkovNetwork.over(edges, CARDINALITIES)
    draw = np.random.default_rng(seed)
    network.logs = [draw.normal(0, 1.5, logs.shape) for logs in network.logs]
    return network


def joint(network):
    """Return the distribution over all states, by the definition."""
    total = np.zeros(network.cardinalities)
    for clique, logs in zip(network.tree.cliques, network.logs, strict=True):
        total = total + logs.reshape([n if v in clique else 1 for v, n in enumerate(network.cardinalities)])
    weights = np.exp(total)
    return weights / weights.sum()


def summed(full, axes):
    return full.sum(axis=tuple(v for v in range(full.ndim) if v not in axes))


def test_beliefs_are_the_margins_of_the_joint_distribution():
    network = filled()
    full = joint(network)
    for clique, belief in zip(network.tree.cliques, network.beliefs(), strict=True):
        assert belief == pytest.approx(summed(full, clique))


def test_the_smallest_clique_that_holds_variables_is_found():
    tree = filled().tree
    assert tree.cliques[tree.holding((0, 2), CARDINALITIES)] == (0, 1, 2)
    assert tree.cliques[tree.holding((2,), CARDINALITIES)] == (2, 3)
    assert tree.holding((0, 3), CARDINALITIES) is None


def test_all_pairs_of_states():
    network = filled()
    full, places, found = joint(network), starts_of(CARDINALITIES), filled().pairs()
    for a, b in combinations(range(len(CARDINALITIES)), 2):
        assert found[places[a], places[b]] == pytest.approx(summed(full, (a, b)))
        assert found[places[b], places[a]] == pytest.approx(summed(full, (a, b)).T)
    assert found[places[3], places[3]] == pytest.approx(np.diag(summed(full, (3,))))


def test_pairs_of_states_of_tiny_probability_are_numbers():
    network = filled()
    network.logs = [logs * 60.0 for logs in network.logs]
    assert np.isfinite(network.pairs()).all()


def test_the_directed_network_has_the_same_distribution():
    network = filled()
    full, product = joint(network), np.ones(CARDINALITIES)
    families = network.families()
    assert sorted(families) == list(range(len(CARDINALITIES)))
    for variable, (parents, table) in families.items():
        conditional = table / table.sum(axis=-1, keepdims=True)
        axes = (*parents, variable)
        order = np.argsort(axes)
        wide = [CARDINALITIES[v] if v in axes else 1 for v in range(len(CARDINALITIES))]
        product = product * np.transpose(conditional, order).reshape(wide)
    assert product == pytest.approx(full)


def test_more_edges_leave_the_distribution_as_it_is():
    network = filled()
    assert joint(network.extended([*EDGES, (3, 4), (0, 3)])) == pytest.approx(joint(network))


def test_a_fit_to_exact_margins_finds_them():
    target = joint(filled(seed=5))
    margins = [Margin(axes, 1000 * summed(target, axes), 2.0) for axes in [(0, 1, 2), (2, 3), (4,), (1, 4)]]
    found = MarkovNetwork.over(EDGES, CARDINALITIES).fit(margins, 1000, 2000)
    for margin in margins[:3]:
        assert summed(joint(found), margin.axes) == pytest.approx(margin.counts / 1000, abs=1e-3)


def test_a_fit_weighs_by_variance_and_leaves_nothing_negative():
    """Two tables that disagree: the mean with weights inverse to the variances, among distributions."""
    margins = [Margin((0,), np.array([80.0, 20.0]), 1.0), Margin((0,), np.array([50.0, 50.0]), 2.0)]
    found = MarkovNetwork.over([], [2]).fit(margins, 100, 2000).beliefs()[0]
    assert found[0] == pytest.approx((4 * 0.8 + 0.5) / 5, abs=1e-4)
    below = MarkovNetwork.over([], [3]).fit([Margin((0,), np.array([-5.0, 45.0, 60.0]), 1.0)], 100, 2000).beliefs()[0]
    assert below.min() >= 0.0
    assert below == pytest.approx([0.0, 0.425, 0.575], abs=3e-3)  # the projection on the simplex


def test_a_fit_to_differences_and_single_columns_is_one_to_the_counts() -> None:
    target = joint(filled(seed=5))
    alone = [Margin((v,), 1000 * summed(target, (v,)), 2.0) for v in range(len(CARDINALITIES))]
    found = []
    for axes in [(0, 1), (1, 2), (0, 2), (2, 3), (0, 1, 2)]:
        maps = tuple(simplex(CARDINALITIES[v]) for v in axes)
        found.append(Margin(axes, along(maps, 1000 * summed(target, axes)), 2.0, maps))
    network = MarkovNetwork.over(EDGES, CARDINALITIES).fit([*alone, *found], 1000, 4000)
    for axes in [(0, 1, 2), (2, 3)]:
        assert summed(joint(network), axes) == pytest.approx(summed(target, axes), abs=3e-3)
