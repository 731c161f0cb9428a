"""The search of cliques by noisy pairs: a tree where the data are one, nothing where noise is all there is."""

from itertools import combinations, pairwise

import numpy as np
import pytest

from fedbayes.bayes.markov.balance import simplex
from fedbayes.bayes.markov.junction_search import Limits, search, surplus
from fedbayes.bayes.markov.squares import Margin, along

PEOPLE = 20_000
TREE = [(0, 1), (1, 2), (1, 3), (3, 4), (0, 5)]
CARDINALITIES = [3, 2, 3, 2, 2, 3]


def records(seed=2, edges=TREE):
    """Draw from a tree whose children copy their parent's state, modulo their own, in about two thirds of the records."""
    draw = np.random.default_rng(seed)
    codes = np.stack([draw.integers(0, n, PEOPLE) for n in CARDINALITIES], axis=1)
    for parent, child in edges:
        copied = draw.random(PEOPLE) < 0.65
        codes[copied, child] = codes[copied, parent] % CARDINALITIES[child]
    return codes


def table_of(codes, axes):
    table = np.zeros([CARDINALITIES[v] for v in axes])
    np.add.at(table, tuple(codes[:, v] for v in axes), 1.0)
    return table


def measured(codes, deviation, seed=3):
    """Return the counts of every variable, and differences between the states of every pair."""
    draw, alone, found = np.random.default_rng(seed), [], []
    for v in range(len(CARDINALITIES)):
        table = table_of(codes, (v,))
        alone.append(Margin((v,), table + draw.normal(0, deviation, table.shape), deviation))
    for axes in combinations(range(len(CARDINALITIES)), 2):
        maps = tuple(simplex(CARDINALITIES[v]) for v in axes)
        table = along(maps, table_of(codes, axes))
        found.append(Margin(axes, table + draw.normal(0, deviation, table.shape), deviation, maps))
    return alone, found


def chow_liu(codes):
    """Return the tree of greatest mutual information, by its definition: no code of the project."""
    gains = []
    for a, b in combinations(range(codes.shape[1]), 2):
        table = np.histogram2d(codes[:, a], codes[:, b], bins=[CARDINALITIES[a], CARDINALITIES[b]])[0] / len(codes)
        expected = np.outer(table.sum(axis=1), table.sum(axis=0))
        seen = table > 0
        gains.append(((table[seen] * np.log(table[seen] / expected[seen])).sum(), a, b))
    tree, group = set(), list(range(codes.shape[1]))
    for _, a, b in sorted(gains, reverse=True):
        if group[a] != group[b]:
            tree.add((a, b))
            group = [group[a] if g == group[b] else g for g in group]
    return tree


@pytest.mark.parametrize("deviation", [0.5, 20.0])
def test_a_tree_is_found_as_chow_and_liu_find_it(deviation):
    codes = records()
    found = search(*measured(codes, deviation), CARDINALITIES, PEOPLE, Limits(2, 1e6))
    cliques = {clique for clique in found.tree.cliques if len(clique) == 2}
    assert cliques == set(TREE) == chow_liu(codes)


def test_hardly_anything_is_found_in_independent_records():
    codes, edges = records(edges=[]), 0
    for seed in range(20):
        found = search(*measured(codes, 400.0, seed), CARDINALITIES, PEOPLE, Limits(4, 1e6))
        edges += sum(len(clique) > 1 for clique in found.tree.cliques)
    assert edges <= 10  # of 300 pairs; one in a hundred stands out by chance, beside which the sample's own is small


def test_cliques_stay_within_their_limits():
    codes = records(edges=[*pairwise(range(6)), (0, 2), (1, 3), (0, 3), (2, 5)])
    loose = search(*measured(codes, 1.0), CARDINALITIES, PEOPLE, Limits(6, 1e6))
    assert max(map(len, loose.tree.cliques)) > 3
    for limits in (Limits(1, 1e6), Limits(2, 1e6), Limits(3, 1e6), Limits(6, 60)):
        found = search(*measured(codes, 1.0), CARDINALITIES, PEOPLE, limits)
        assert max(map(len, found.tree.cliques)) <= limits.variables
        assert found.cells <= limits.cells


def test_noise_alone_is_no_surplus():
    draw, expected = np.random.default_rng(4), np.full((3, 3), 500.0)
    scores = [surplus(Margin((0, 1), expected + draw.normal(0, 30, (3, 3)), 30.0), expected) for _ in range(500)]
    assert np.mean([score > 0 for score in scores]) < 0.02
    moved = expected + np.array([[300.0, -300.0, 0.0], [-300.0, 300.0, 0.0], [0.0] * 3])
    assert surplus(Margin((0, 1), moved, 30.0), expected) == pytest.approx(1200.0 - np.sqrt(2 / np.pi) * 270)


def test_of_differences_the_surplus_is_of_the_counts_that_make_them() -> None:
    maps = (simplex(3), simplex(3))
    moved = np.array([[300.0, -300.0, 0.0], [-300.0, 300.0, 0.0], [0.0] * 3])
    found = surplus(Margin((0, 1), along(maps, moved), 30.0, maps), np.full((3, 3), 500.0))
    assert found == pytest.approx(1200.0 - np.sqrt(2 / np.pi) * 30 * np.sqrt(4 * 9))
