"""Squares of measured tables, some as one matrix, against one table after the other."""

from itertools import combinations

import numpy as np
import pytest

from fedbayes.bayes.markov import squares
from fedbayes.bayes.markov.balance import balanced
from fedbayes.bayes.markov.squares import Margin, Squares, along
from fedbayes.bayes.network.junction import tree_of_graph

CARDINALITIES = [2, 3, 1, 4, 17, 5]  # one state; and too many for differences
EDGES = [(0, 1), (1, 3), (0, 3), (3, 4), (3, 5), (4, 5)]  # 2 stands alone
ROWS = 1000.0


def measured(seed: int) -> list[Margin]:
    """Return counts of single columns, and differences of all tables of up to three columns: two batches with matrices of their own."""
    draw = np.random.default_rng(seed)
    alone = [Margin((v,), draw.normal(100.0, 50.0, size), 3.0) for v, size in enumerate(CARDINALITIES)]
    batches = []
    for scale, sizes in ((64, (1, 2)), (3, (2, 3))):
        maps = [balanced(size, scale) / scale for size in CARDINALITIES]
        for axes in (axes for size in sizes for axes in combinations(range(len(CARDINALITIES)), size)):
            shape = [len(maps[v]) for v in axes]
            of = tuple(maps[v] for v in axes)
            batches.append(Margin(axes, draw.normal(0.0, 40.0, shape), float(draw.uniform(1.0, 9.0)), of))
    return [*alone, *batches]


def one_by_one(tree, margins, beliefs):
    """Return half of the weighted squares, and their derivative: every table is summed, mapped, and its residual mapped back."""
    value, slope = 0.0, [np.zeros_like(belief) for belief in beliefs]
    for margin in margins:
        homes = [i for i, clique in enumerate(tree.cliques) if {*margin.axes} <= {*clique}]
        if homes:
            home = min(homes, key=lambda i: beliefs[i].size)
            outside = tuple(i for i, v in enumerate(tree.cliques[home]) if v not in margin.axes)
            residual = margin.of(beliefs[home].sum(axis=outside)) - margin.counts / ROWS
            weight = (ROWS / margin.deviation) ** 2
            value += 0.5 * weight * float((residual**2).sum())
            slope[home] += np.expand_dims(weight * along([matrix.T for matrix in margin.maps], residual), outside)
    return value, slope


@pytest.mark.parametrize("small", [0, 20, 100, squares.SMALL, 10**6])
def test_matrices_of_whole_tables_give_what_one_table_after_the_other_gives(small: int, monkeypatch) -> None:
    monkeypatch.setattr(squares, "SMALL", small)
    tree, margins = tree_of_graph(EDGES, CARDINALITIES), measured(small)
    draw = np.random.default_rng(7)
    beliefs = [
        draw.dirichlet(np.ones(int(np.prod(s)))).reshape(s)
        for s in ([CARDINALITIES[v] for v in c] for c in tree.cliques)
    ]
    value, slope = Squares(tree, CARDINALITIES, margins, ROWS)(beliefs)
    expected, derivative = one_by_one(tree, margins, beliefs)
    assert value == pytest.approx(expected, rel=1e-12)
    for ours, plain in zip(slope, derivative, strict=True):
        np.testing.assert_allclose(ours, plain, rtol=0, atol=1e-12 * np.abs(plain).max())


def test_the_derivative_is_that_of_the_sum() -> None:
    tree = tree_of_graph(EDGES, CARDINALITIES)
    least = Squares(tree, CARDINALITIES, measured(1), ROWS)
    beliefs = [np.full([CARDINALITIES[v] for v in clique], 0.01) for clique in tree.cliques]
    value, slope = least(beliefs)
    moved = [belief.copy() for belief in beliefs]
    moved[-1].flat[3] += 1e-4
    assert (least(moved)[0] - value) / 1e-4 == pytest.approx(slope[-1].flat[3], rel=1e-2)


def test_tables_that_no_clique_holds_count_for_nothing() -> None:
    tree = tree_of_graph([], [2, 2])
    apart = Squares(tree, [2, 2], [Margin((0, 1), np.ones((2, 2)), 1.0)], ROWS)
    value, slope = apart([np.full(2, 0.5)] * 2)
    assert (value, apart.weight) == (0.0, 0.0)
    assert not np.any(slope)


def test_matrices_are_applied_along_their_axes() -> None:
    draw = np.random.default_rng(2)
    table, first, second = draw.normal(size=(3, 4)), draw.normal(size=(2, 3)), draw.normal(size=(5, 4))
    assert along((first, second), table) == pytest.approx(first @ table @ second.T)
    assert (along((), table) == table).all()
