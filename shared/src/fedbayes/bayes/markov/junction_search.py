"""Which cliques a Markov network should have, judged by noisy tables of all pairs of variables.

Greedy: the pairs whose measured table is farthest from the network's, by more than noise explains, become edges; the graph is triangulated, the network
fitted to all tables that its cliques now hold, and the next pairs are judged by it. All of this looks at noisy tables only.

References
----------
McKenna, Mullins, Sheldon, Miklau, AIM: an adaptive and iterative mechanism for differentially private synthetic data, VLDB 2022 (the score of `surplus`:
the distance in the L1 norm less what noise adds to it).
Chow and Liu, Approximating discrete probability distributions with dependence trees, 1968 (the first step is a spanning forest).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri

from ...typing import Floats
from ..network.junction import TREE_CELLS
from .model import MarkovNetwork, starts_of
from .squares import Margin, along

STANDS_OUT = 0.01
"""Chance that a pair without any dependence stands out of the noise, where single columns are known well."""
EDGES_A_STEP = 6  # margins that are measured together in one round
MOST_STEPS = 20  # rounds
FIT_STEPS = 100  # of mirror descent; a fit stops earlier where it no longer moves
Edge = tuple[int, int]


@dataclass(frozen=True)
class Limits:
    """How large the cliques may become.

    Attributes
    ----------
    variables : int
        Most variables of a clique.
    cells : float
        Most cells of all cliques together, but for a spanning forest, which may have more.
    """

    variables: int
    cells: float


def surplus(measured: Margin, expected: Floats) -> float:
    """Return how many counts a table is from what a network expects, beyond what noise adds to that; 0 where noise explains it all.

    Parameters
    ----------
    measured : Margin
        The table.
    expected : ndarray
        Counts of the network.

    Notes
    -----
    Of differences between states (orthonormal ones), the counts are the least that make them.
    """
    apart = measured.counts - measured.of(expected)
    if float((apart * apart).sum()) <= measured.deviation**2 * chdtri(apart.size, STANDS_OUT):
        return 0.0
    moved = along([matrix.T for matrix in measured.maps], apart)
    noise = float(np.sqrt(2.0 / np.pi) * measured.deviation * np.sqrt(apart.size * moved.size))
    return max(float(np.abs(moved).sum()) - noise, 0.0)


def search(
    alone: Sequence[Margin], pairs: Sequence[Margin], cardinalities: Sequence[int], rows: float, limits: Limits
) -> MarkovNetwork:
    """Return a network with the cliques that the pairs suggest, fitted to those of them that its cliques hold.

    Parameters
    ----------
    alone : sequence of Margin
        Every variable.
    pairs : sequence of Margin
        All pairs of variables.
    cardinalities : sequence of int
        Number of states of every variable.
    rows : float
        Number of records.
    limits : Limits
        What the network may need.
    """
    network = MarkovNetwork.over([], cardinalities).fit(alone, rows, FIT_STEPS)
    edges: list[Edge] = []
    for step in range(MOST_STEPS):
        ranked = _ranked(pairs, network, rows)
        chosen = _forest(ranked, limits) if step == 0 else _further(ranked, edges, cardinalities, limits)
        if not chosen:
            break
        edges += chosen
        network = network.extended(edges).fit([*alone, *pairs], rows, FIT_STEPS)
    return network


def _ranked(pairs: Sequence[Margin], network: MarkovNetwork, rows: float) -> list[Edge]:
    """Return the pairs that no clique holds and that stand out, the farthest first."""
    places, joint = starts_of(network.cardinalities), network.pairs() * rows
    scores = []
    for pair in pairs:
        a, b = pair.axes
        if network.tree.holding(pair.axes, network.cardinalities) is None:
            score = surplus(pair, joint[places[a], places[b]])
            if score > 0.0:
                scores.append((-score, (a, b)))
    return [edge for _, edge in sorted(scores)]


def _forest(ranked: Sequence[Edge], limits: Limits) -> list[Edge]:
    """Return a spanning forest of the farthest pairs (Kruskal)."""
    if limits.variables < 2:
        return []
    group: dict[int, int] = {}
    chosen = []

    def root(node: int) -> int:
        while group.get(node, node) != node:
            node = group[node]
        return node

    for a, b in ranked:
        if root(a) != root(b):
            group[root(a)] = root(b)
            chosen.append((a, b))
    return chosen


def _further(ranked: Sequence[Edge], edges: Sequence[Edge], cardinalities: Sequence[int], limits: Limits) -> list[Edge]:
    """Return a few more pairs that keep the cliques small enough."""
    chosen: list[Edge] = []
    for edge in ranked:
        if _fits([*edges, *chosen, edge], cardinalities, limits):
            chosen.append(edge)
        if len(chosen) == EDGES_A_STEP:
            break
    return chosen


def _fits(edges: Sequence[Edge], cardinalities: Sequence[int], limits: Limits) -> bool:
    try:
        network = MarkovNetwork.over(edges, cardinalities)
    except ValueError:
        return False
    widest = max(len(clique) for clique in network.tree.cliques)
    return widest <= limits.variables and network.cells <= min(limits.cells, TREE_CELLS)
