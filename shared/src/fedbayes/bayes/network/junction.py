"""The junction tree of a network's structure: which tables inference works on, and in which order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

TREE_CELLS = 2**24  # 128 MB of float64


class TooLarge(ValueError):
    """A model that is well-formed, and more than the library works on; the text says of what it has too much, and what to lower."""

    @classmethod
    def to_infer(cls) -> TooLarge:
        """Return the error of a network whose junction tree has too many cells."""
        return cls("the network is too densely connected for exact inference; lower max_parents")


@dataclass(frozen=True)
class JoinTree:
    """Cliques (sorted node positions), for each its parent clique, cliques listed children first."""

    cliques: tuple[tuple[int, ...], ...]
    above: tuple[int, ...]  # -1 at the root, which is the last one
    home: tuple[int, ...]  # clique that holds the family of each node

    def holding(self, nodes: Iterable[int], cardinalities: Sequence[int]) -> int | None:
        """Return the smallest clique that holds all these nodes, or None."""
        wanted = set(nodes)
        held = [(_cells(clique, cardinalities), i) for i, clique in enumerate(self.cliques) if wanted.issubset(clique)]
        return min(held)[1] if held else None


def build_tree(families: Sequence[Sequence[int]], cardinalities: Sequence[int]) -> JoinTree:
    """Return a junction tree of the moral graph: min-fill elimination, ties by weight and position.

    Parameters
    ----------
    families : sequence of node positions
        Parents and child of every node, in node order.
    cardinalities : sequence of int
        Number of states of every node.

    Raises
    ------
    TooLarge
        The cliques would need more than 2^24 cells: the network is too densely connected for exact inference.
    """
    return _tree(_moral(families), families, cardinalities)


def tree_of_graph(edges: Iterable[tuple[int, int]], cardinalities: Sequence[int]) -> JoinTree:
    """Return a junction tree of an undirected graph over node positions; `home` is a clique that holds each node.

    Raises
    ------
    TooLarge
        As `build_tree` does.
    """
    neighbors: list[set[int]] = [set() for _ in cardinalities]
    for a, b in edges:
        neighbors[a].add(b)
        neighbors[b].add(a)
    return _tree(neighbors, [(node,) for node in range(len(cardinalities))], cardinalities)


def _tree(neighbors: list[set[int]], families: Sequence[Sequence[int]], cardinalities: Sequence[int]) -> JoinTree:
    cliques = _maximal(_eliminate(neighbors, cardinalities))
    if sum(_cells(clique, cardinalities) for clique in cliques) > TREE_CELLS:
        raise TooLarge.to_infer()
    sets = [frozenset(clique) for clique in cliques]
    above = _spanning_tree(sets)
    depth_first = _children_first(above)
    new_number = {old: new for new, old in enumerate(depth_first)}
    ordered = [sets[old] for old in depth_first]
    parents = tuple(new_number[above[old]] if above[old] >= 0 else -1 for old in depth_first)
    home = tuple(next(i for i, clique in enumerate(ordered) if clique.issuperset(family)) for family in families)
    return JoinTree(tuple(tuple(sorted(clique)) for clique in ordered), parents, home)


def _cells(clique: Iterable[int], cardinalities: Sequence[int]) -> int:
    return math.prod(cardinalities[node] for node in clique)


def _moral(families: Sequence[Sequence[int]]) -> list[set[int]]:
    neighbors: list[set[int]] = [set() for _ in families]
    for family in families:
        for a, b in combinations(family, 2):
            neighbors[a].add(b)
            neighbors[b].add(a)
    return neighbors


def _eliminate(neighbors: list[set[int]], cardinalities: Sequence[int]) -> Iterator[frozenset[int]]:
    def cost(node: int) -> tuple[float, int, int]:
        """Return what a node adds; those whose clique is too large come last, uncounted: to count them in a dense graph takes minutes."""
        around = neighbors[node]
        cells = _cells((*around, node), cardinalities)
        if cells > TREE_CELLS:
            return math.inf, cells, node
        return sum(b not in neighbors[a] for a, b in combinations(sorted(around), 2)), cells, node

    costs = {node: cost(node) for node in range(len(neighbors))}
    while costs:
        node = min(costs, key=costs.__getitem__)
        if costs[node][0] == math.inf:
            raise TooLarge.to_infer()
        del costs[node]
        yield frozenset(neighbors[node] | {node})
        touched = set(neighbors[node])
        for a in neighbors[node]:
            neighbors[a] |= neighbors[node] - {a}
            neighbors[a].discard(node)
        for a in neighbors[node]:
            touched |= neighbors[a]
        costs.update({a: cost(a) for a in touched})


def _maximal(cliques: Iterator[frozenset[int]]) -> list[frozenset[int]]:
    kept: list[frozenset[int]] = []
    for clique in cliques:
        if not any(clique <= other for other in kept):
            kept.append(clique)
    return kept


def _spanning_tree(sets: Sequence[frozenset[int]]) -> list[int]:
    """Return the parent of every clique in a tree of greatest separators (Prim); empty separators are
    allowed.
    """
    above = [-1] * len(sets)
    latest = len(sets) - 1
    nearest = {outside: (-1, latest) for outside in range(latest)}
    while nearest:
        for outside, best in nearest.items():
            nearest[outside] = max(best, (len(sets[latest] & sets[outside]), latest))
        latest = max(nearest, key=lambda outside: (nearest[outside], outside))
        above[latest] = nearest.pop(latest)[1]
    return above


def _children_first(above: Sequence[int]) -> list[int]:
    order = [above.index(-1)]
    for clique in order:
        order.extend(i for i, parent in enumerate(above) if parent == clique)
    return order[::-1]
