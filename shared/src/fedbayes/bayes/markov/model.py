"""Markov networks on junction trees, fitted to noisy tables of counts.

A network over variables of so many states is P(x) proportional to exp(sum of a logarithm for every clique); axes of a clique's table are its variables in
rising order. `fit` makes it the network, among all with these cliques, whose margins are nearest to tables that were measured with noise: least squares
with weights inverse to the variances, which also makes the tables agree with one another and leaves no count negative.

References
----------
McKenna, Sheldon, Miklau, Graphical-model based estimation and inference for differential privacy, ICML 2019, section 4 and algorithm 1 (mirror descent).
Koller and Friedman, Probabilistic graphical models, 2009, chapter 10 (calibration of a clique tree).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from ...typing import Floats
from ..network.junction import JoinTree, tree_of_graph
from .squares import Axes, Margin, Squares

IMPOSSIBLE = -1e3
"""Logarithm of a weight that is 0 in floating point beside any other."""
ENOUGH = 0.5
"""Part of the decrease that a linear model promises which a step must keep (Armijo; McKenna et al. take one half)."""
STEADY = 1e-4
"""Relative decrease of the objective below which a fit ends."""
GROWTH = 1.4
"""By which a step becomes longer after one that was kept; one that was not is halved."""
HALVINGS = 40  # of the step length, after which a step is too small to matter
FEWEST_STEPS = 20
"""Of a fit: the first ones, whose length is still being found, say nothing of how near the end is."""


class MarkovNetwork:
    """A Markov network.

    Parameters
    ----------
    tree : JoinTree
        Its cliques.
    cardinalities : sequence of int
        Number of states of every variable.
    logs : list of ndarray, optional
        A table of logarithms for every clique; uniform if left out.
    """

    def __init__(self, tree: JoinTree, cardinalities: Sequence[int], logs: list[Floats] | None = None) -> None:
        self.tree, self.cardinalities = tree, tuple(cardinalities)
        self.logs = logs or [np.zeros([cardinalities[v] for v in clique]) for clique in tree.cliques]
        self._separators = [
            tuple(v for v in clique if above >= 0 and v in tree.cliques[above])
            for clique, above in zip(tree.cliques, tree.above, strict=True)
        ]
        self._beyond: dict[tuple[int, int], Axes] = {}
        self._wider: dict[tuple[int, int], list[int]] = {}
        for clique, above in enumerate(tree.above):
            separator = self._separators[clique]
            for end in (clique, above):
                members = tree.cliques[end]
                self._beyond[clique, end] = tuple(i - len(members) for i, v in enumerate(members) if v not in separator)
                self._wider[clique, end] = self._wide(separator, members)

    @classmethod
    def over(cls, edges: Iterable[tuple[int, int]], cardinalities: Sequence[int]) -> MarkovNetwork:
        """Return the uniform network of an undirected graph, whose cliques are those of a triangulation."""
        return cls(tree_of_graph(edges, cardinalities), cardinalities)

    def extended(self, edges: Iterable[tuple[int, int]]) -> MarkovNetwork:
        """Return the same distribution on the cliques of a graph that has all edges of this one."""
        wider = MarkovNetwork.over(edges, self.cardinalities)
        for clique, logs in zip(self.tree.cliques, self.logs, strict=True):
            home = wider.tree.holding(clique, self.cardinalities)
            if home is not None:
                wider.logs[home] = wider.logs[home] + logs.reshape(self._wide(clique, wider.tree.cliques[home]))
        return wider

    @property
    def cells(self) -> int:
        """Number of cells of all cliques together."""
        return sum(logs.size for logs in self.logs)

    def beliefs(self, logs: Sequence[Floats] | None = None) -> list[Floats]:
        """Return the probabilities of every clique.

        Parameters
        ----------
        logs : sequence of ndarray, optional
            Other logarithms than the network's; all may have a batch axis before the clique's.
        """
        tables = list(self.logs if logs is None else logs)
        up: list[Floats] = []
        for clique, above in enumerate(self.tree.above):
            message = self._message(tables[clique], clique, clique)
            up.append(message)
            if above >= 0:
                tables[above] = tables[above] + self._widened(message, clique, above)
        tables[-1] = tables[-1] - self._widened(up[-1], len(up) - 1, len(up) - 1)
        for clique in range(len(tables) - 2, -1, -1):
            above = self.tree.above[clique]
            down = self._message(tables[above], clique, above) - up[clique]
            tables[clique] = tables[clique] + self._widened(down, clique, clique)
        return [np.exp(table) for table in tables]

    def pairs(self) -> Floats:
        """Return P(state of one variable, state of another), shape (states, states), the states of all variables in a row.

        Blocks of a variable with itself are diagonal. One calibration for every state, all in one batch.
        """
        starts = np.concatenate([[0], np.cumsum(self.cardinalities)])
        states = int(starts[-1])
        logs: list[Floats] = [np.broadcast_to(table, (states, *table.shape)) for table in self.logs]
        for variable, (first, end) in enumerate(pairwise(starts)):
            home = self.tree.home[variable]
            width = self.cardinalities[variable]
            evidence = np.zeros((states, width))
            evidence[first:end] = np.where(np.eye(width) > 0, 0.0, IMPOSSIBLE)
            logs[home] = logs[home] + evidence.reshape([states, *self._wide((variable,), self.tree.cliques[home])])
        conditional = self.beliefs(logs)
        alone = self.beliefs()
        joint = np.empty((states, states))
        for variable, (first, end) in enumerate(pairwise(starts)):
            home = self.tree.home[variable]
            outside = self._outside((variable,), home)
            joint[:, first:end] = conditional[home].sum(axis=tuple(axis + 1 for axis in outside))
        single = np.concatenate(
            [alone[home].sum(axis=self._outside((v,), home)) for v, home in enumerate(self.tree.home)]
        )
        return np.asarray(joint * single[:, None])

    def families(self) -> dict[int, tuple[Axes, Floats]]:
        """Return, for every variable, its parents in a directed network of the same distribution, and P(parents, variable), the variable last.

        Cliques are walked from the root; the variables that a clique has and the one above has not get those before them as parents.
        """
        beliefs = self.beliefs()
        tables: dict[int, tuple[Axes, Floats]] = {}
        for clique in range(len(beliefs) - 1, -1, -1):
            members = self.tree.cliques[clique]
            parents = list(self._separators[clique])
            for variable in (v for v in members if v not in self._separators[clique]):
                axes = (*sorted(parents), variable)
                kept = [v for v in members if v in axes]
                table = beliefs[clique].sum(axis=tuple(i for i, v in enumerate(members) if v not in axes))
                tables[variable] = (axes[:-1], np.transpose(table, [kept.index(v) for v in axes]))
                parents.append(variable)
        return tables

    def fit(self, margins: Sequence[Margin], rows: float, steps: int) -> MarkovNetwork:
        """Return the network with these cliques that is nearest to the margins that its cliques hold, from here on by mirror descent.

        Parameters
        ----------
        margins : sequence of Margin
            What was measured; those that no clique holds are left out.
        rows : float
            Number of records behind the counts.
        steps : int
            Most steps.
        """
        squares = Squares(self.tree, self.cardinalities, margins, rows)
        logs, beliefs = self.logs, self.beliefs()
        value, slope = squares(beliefs)
        length = 2.0 / max(squares.weight, 1e-300)
        for step in range(steps):
            for _ in range(HALVINGS):
                tried = [table - length * part for table, part in zip(logs, slope, strict=True)]
                new_beliefs = self.beliefs(tried)
                below, next_slope = squares(new_beliefs)
                promised = sum(
                    float((part * (old - new)).sum())
                    for part, old, new in zip(slope, beliefs, new_beliefs, strict=True)
                )
                if value - below >= ENOUGH * promised:
                    break
                length /= 2.0
            else:
                break
            steady = value - below <= STEADY * max(value, 1.0)
            logs, beliefs, value, slope = tried, new_beliefs, below, next_slope
            length *= GROWTH
            if steady and step >= FEWEST_STEPS:
                break
        return MarkovNetwork(self.tree, self.cardinalities, logs)

    def _outside(self, axes: Axes, clique: int) -> Axes:
        """Return the positions in a clique of what is not among the variables."""
        return tuple(i for i, v in enumerate(self.tree.cliques[clique]) if v not in axes)

    def _wide(self, axes: Sequence[int], clique: Axes) -> list[int]:
        """Return the shape of a table over some variables of a clique, with 1 for the others."""
        return [self.cardinalities[v] if v in axes else 1 for v in clique]

    def _message(self, table: Floats, clique: int, source: int) -> Floats:
        """Return the logarithm of a table's sums over all but the separator of `clique`; `source` is whose table it is."""
        outside = self._beyond[clique, source]
        if not outside:
            return table
        top = table.max(axis=outside, keepdims=True)
        summed = np.log(np.exp(table - top).sum(axis=outside))
        return np.asarray(summed + top.reshape(summed.shape))

    def _widened(self, message: Floats, clique: int, target: int) -> Floats:
        """Return a message over the separator of `clique` with axes of length 1 for the other variables of a clique."""
        batch = message.ndim - len(self._separators[clique])
        return message.reshape([*message.shape[:batch], *self._wider[clique, target]])


def starts_of(cardinalities: Sequence[int]) -> Mapping[int, slice]:
    """Return where the states of every variable stand in `MarkovNetwork.pairs`."""
    ends = np.cumsum(cardinalities)
    return {v: slice(int(end) - cardinalities[v], int(end)) for v, end in enumerate(ends)}
