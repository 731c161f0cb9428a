"""Directed acyclic graphs over named nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

Edges = tuple[tuple[str, str], ...]
"""Edges (parent, child)."""


def parents_of_edges(nodes: Sequence[str], edges: Iterable[Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Return the parents of every node, in the order in which the edges name them.

    Raises
    ------
    ValueError
        An edge that is not a pair, names an unknown node, is given twice, or the edges form a cycle.
    """
    parents: dict[str, list[str]] = {node: [] for node in nodes}
    for edge in edges:
        if isinstance(edge, str) or len(edge) != 2:
            raise ValueError("an edge is a pair [parent, child]")
        parent, child = edge
        for end in (parent, child):
            if end not in parents:
                raise ValueError(f"the edge {parent} -> {child} names {end!r}, which is not a node")
        if parent in parents[child]:
            raise ValueError(f"the edge {parent} -> {child} is given twice")
        parents[child].append(parent)
    parents_of = {node: tuple(names) for node, names in parents.items()}
    topological_order(parents_of)
    return parents_of


def topological_order(parents: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the nodes, parents first; among free nodes the declared order decides.

    Raises
    ------
    ValueError
        The edges form a cycle (the nodes on it are named).
    """
    placed: dict[str, None] = {}
    waiting = list(parents)
    while waiting:
        free = [node for node in waiting if all(parent in placed for parent in parents[node])]
        if not free:
            raise ValueError(f"the edges form a cycle among {', '.join(sorted(waiting))}; remove or turn one of them")
        placed.update(dict.fromkeys(free))
        waiting = [node for node in waiting if node not in placed]
    return tuple(placed)
