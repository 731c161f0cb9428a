"""Structure search by K2 over a table oracle, its search space, and a data-driven order of the nodes.

The search sees counts only. It asks the tables of a whole step in one batch, walks nodes and candidates in
declared order and breaks ties by that order, so equal counts give equal structures wherever they were
counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...typing import Array, Counts
from ..counts.tables import TableCache
from ..network.graph import parents_of_edges, topological_order
from .scores import Ceiling, Score

TIE = 1e-9  # relative: scores closer than this are equal, and the earlier candidate wins
Edge = tuple[str, str]
Parents = dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class SearchSpace:
    """What a search may build.

    Attributes
    ----------
    columns : tuple[str, ...]
        Nodes in declared order.
    max_parents : int
        Largest number of parents of a node.
    required, forbidden : tuple of (parent, child)
        Edges that are always, or never, there.

    Raises
    ------
    ValueError
        Unknown nodes, cyclic required edges, an edge both required and forbidden, more required parents than
        allowed.
    """

    columns: tuple[str, ...]
    max_parents: int = 3
    required: tuple[Edge, ...] = ()
    forbidden: tuple[Edge, ...] = ()

    def __post_init__(self) -> None:
        if self.max_parents < 0:
            raise ValueError("max_parents must be 0 or more")
        for parent, child in self.forbidden:
            if parent not in self.columns or child not in self.columns:
                raise ValueError(f"the forbidden edge {parent} -> {child} names an unknown column")
        both = set(self.required) & set(self.forbidden)
        if both:
            parent, child = min(both)
            raise ValueError(f"the edge {parent} -> {child} is required and forbidden; drop one of the two")
        crowded = [node for node, names in self.start().items() if len(names) > self.max_parents]
        if crowded:
            raise ValueError(f"{crowded[0]} has more required parents than max_parents allows")

    def start(self) -> Parents:
        """Return the parents that the required edges give."""
        return parents_of_edges(self.columns, self.required)

    def allows(self, parent: str, child: str) -> bool:
        """Tell whether the edge may be added."""
        return parent != child and (parent, child) not in self.forbidden

    def sort(self, names: set[str] | frozenset[str]) -> tuple[str, ...]:
        """Return names in declared order."""
        return tuple(column for column in self.columns if column in names)


@dataclass(frozen=True)
class Structure:
    """A learned structure with the counts of its families.

    Attributes
    ----------
    parents : dict[str, tuple[str, ...]]
        Parents of every node, in declared order.
    counts : dict[str, ndarray]
        Family counts of shape ``(*parent cardinalities, child cardinality)``; not whole where they are fitted to noisy tables.
    score : float
        Sum of the family scores, natural logarithm.
    batches, tables : int
        How often, and for how many tables in all, the oracle was asked.
    """

    parents: Parents
    counts: dict[str, Array]
    score: float
    batches: int
    tables: int

    @property
    def edges(self) -> list[Edge]:
        """Edges (parent, child), by child."""
        return [(parent, child) for child, parents in self.parents.items() for parent in parents]


def better(score: float, best: float) -> bool:
    """Tell whether a score beats the best so far by more than rounding."""
    return score > best + TIE * max(1.0, abs(best))


def with_counts(cache: TableCache, space: SearchSpace, parents: Mapping[str, Sequence[str]], score: Score) -> Structure:
    """Return a given structure with its counts, asked in one batch; parents come in declared order."""
    placed = {node: space.sort(frozenset(parents[node])) for node in space.columns}
    topological_order(placed)
    cache.ask([(node, *parents[node]) for node in space.columns])
    counts = {node: cache.family(placed[node], node) for node in space.columns}
    total = sum(score(table) for table in counts.values())
    return Structure(placed, counts, total, cache.batches, cache.asked)


def k2(
    cache: TableCache, space: SearchSpace, order: Sequence[str], score: Score, ceiling: Ceiling | None = None
) -> Structure:
    """Return the structure that greedy K2 finds: at most ``max_parents`` batches of tables.

    Every node adds the predecessor that raises its score most, until none does. All nodes step together, because the
    given order makes them independent; the tables of the final families have all been asked on the way. With a `ceiling` of the score, and exact
    tables, candidates that cannot raise it are not asked about: the structure is the same.

    Raises
    ------
    ValueError
        The order is not a permutation of the columns, or contradicts a required edge.

    References
    ----------
    Cooper and Herskovits (1992), section 4.
    """
    before = predecessors(space, order)
    parents = space.start()
    active = list(space.columns)
    cache.ask(_extensions(space, parents, before, active) + [(node, *parents[node]) for node in active])
    promising = None if ceiling is None else Promising(cache, space.columns, ceiling)
    while active:
        if promising:
            before |= {node: promising(parents[node], node, before[node], score) for node in active}
        cache.ask(_extensions(space, parents, before, active))
        growing = []
        for node in active:
            added = _best_parent(cache, space, parents[node], node, before[node], score)
            if added is not None:
                parents[node] = (*parents[node], added)
                growing.append(node)
        active = growing
    return with_counts(cache, space, parents, score)


class Promising:
    """Tells which candidates may raise a node's score, from exact tables that are known: of others no table is needed.

    Parameters
    ----------
    cache : TableCache
        Knows the tables of single columns.
    columns : sequence of str
        All of them.
    ceiling : callable
        Of the score.
    """

    def __init__(self, cache: TableCache, columns: Sequence[str], ceiling: Ceiling) -> None:
        self._cache, self._ceiling = cache, ceiling
        self._states = {column: cache.family((), column).size for column in columns}
        self._rows = float(cache.family((), columns[0]).sum())
        self._lowest: dict[tuple[int, int], float] = {}

    def __call__(self, parents: Sequence[str], node: str, candidates: Sequence[str], score: Score) -> tuple[str, ...]:
        """Return the candidates whose score with each of the parents alone, were the node a function of the two, would be above the node's own."""
        best = score(self._cache.family(parents, node))
        left = [name for name in candidates if name not in parents]
        return tuple([name for name in left if not any(self._below(best, node, name, parent) for parent in parents)])

    def _below(self, best: float, node: str, candidate: str, parent: str) -> bool:
        states = self._states[node]
        configurations = self._states[parent] * self._states[candidate]
        if self._least(configurations, states) > best or not self._cache.known((parent, candidate)):
            return False
        return self._ceiling(self._cache.family((parent,), candidate), states) <= best

    def _least(self, configurations: int, states: int) -> float:
        """Return the lowest ceiling that so many configurations can have: that of equal ones. No table is looked at where this is too high."""
        key = configurations, states
        if key not in self._lowest:
            self._lowest[key] = self._ceiling(np.full(configurations, self._rows / configurations), states)
        return self._lowest[key]


def predecessors(space: SearchSpace, order: Sequence[str]) -> Parents:
    """Return, of every node, what comes before it in the order and may be its parent.

    Raises
    ------
    ValueError
        The order is not a permutation of the columns, or contradicts a required edge.
    """
    if sorted(order) != sorted(space.columns):
        raise ValueError("the order must name every column exactly once")
    position_of = {node: position for position, node in enumerate(order)}
    for parent, child in space.required:
        if position_of[parent] > position_of[child]:
            raise ValueError(f"the required edge {parent} -> {child} contradicts the order; move {parent} forward")
    return {
        node: tuple(name for name in order[: position_of[node]] if space.allows(name, node)) for node in space.columns
    }


def _extensions(
    space: SearchSpace, parents: Parents, predecessors: Parents, active: Sequence[str]
) -> list[tuple[str, ...]]:
    """Return the tables of a step, the candidate last: what comes before it is the same for all candidates."""
    return [
        (node, *parents[node], candidate)
        for node in active
        if len(parents[node]) < space.max_parents
        for candidate in predecessors[node]
        if candidate not in parents[node]
    ]


def _best_parent(
    cache: TableCache,
    space: SearchSpace,
    parents: Sequence[str],
    node: str,
    candidates: Sequence[str],
    score: Score,
) -> str | None:
    if len(parents) >= space.max_parents:
        return None
    best, parent = score(cache.family(parents, node)), None
    for candidate in candidates:
        if candidate in parents:
            continue
        value = score(cache.family((*parents, candidate), node))
        if better(value, best):
            best, parent = value, candidate
    return parent


def information_order(cache: TableCache, space: SearchSpace) -> tuple[str, ...]:
    """Return a data-driven order: the tree of greatest mutual information, walked from its best connected
    node.

    The nodes are appended one by one, always the one with the greatest mutual information to a node already
    placed. Required edges are respected. One batch, all pairs; the first step of K2 then asks nothing.

    References
    ----------
    Chow and Liu (1968), Approximating discrete probability distributions with dependence trees.
    """
    columns = space.columns
    cache.ask([(a, b) for i, a in enumerate(columns) for b in columns[i + 1 :]] or [columns])
    information = np.zeros((len(columns), len(columns)))
    for i, a in enumerate(columns):
        for j, b in enumerate(columns[i + 1 :], start=i + 1):
            information[i, j] = information[j, i] = round(mutual_information(cache.family([a], b)), 9)
    required = space.start()
    placed: list[int] = []
    gain = information.sum(axis=1)
    while len(placed) < len(columns):
        names = {columns[i] for i in placed}
        free = [i for i, c in enumerate(columns) if c not in names and names.issuperset(required[c])]
        best = max(free, key=lambda i: (gain[i], -i))
        placed.append(best)
        gain = information[:, placed].max(axis=1)
    return tuple(columns[i] for i in placed)


def mutual_information(counts: Counts) -> float:
    """Return the mutual information in nats of the two axes of a table; cells that noise made negative count as 0, as in scores."""
    table = np.maximum(counts, 0)
    total = table.sum()
    if total == 0:
        return 0.0
    joint = table / total
    product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    seen = joint > 0
    return float((joint[seen] * np.log(joint[seen] / product[seen])).sum())
