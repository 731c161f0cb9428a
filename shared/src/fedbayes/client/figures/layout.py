"""Places of the nodes of a directed acyclic graph: layers from causes to effects, long edges led around what lies between.

References
----------
.. [1] Sugiyama, Tagawa and Toda (1981), Methods for visual understanding of hierarchical system structures, sections III and IV.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

SWEEPS = 24  # of crossing reduction each way: orders have settled long before
WIDEST = 8  # nodes of a layer that a page holds
NARROWEST = 4  # nodes of the rows in which unconnected ones stand
NODE_GAP = 1.0  # the unit of the drawing
BEND_GAP = 0.35  # of a bend of a long edge beside a node

Node = str | tuple[str, str, int]
"""A node's name, or a bend of the edge (parent, child) in a layer."""


@dataclass(frozen=True)
class Layout:
    """Places (x, y) of nodes, and the points that every edge runs through, its ends included; y falls from causes to effects."""

    places: dict[str, tuple[float, float]]
    routes: dict[tuple[str, str], list[tuple[float, float]]]


def layers_of(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Return nodes by layer: each one below all its parents; sources close to their children; no layer wider than `WIDEST`."""
    import networkx as nx

    graph: Any = nx.DiGraph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(edges)
    order = list(nx.topological_sort(graph))
    level: dict[str, int] = {}
    for node in order:
        level[node] = 1 + max((level[parent] for parent in graph.predecessors(node)), default=-1)
    for node in reversed(order):
        below = [level[child] for child in graph.successors(node)]
        if below and not list(graph.predecessors(node)):
            level[node] = min(below) - 1
    layers: list[list[str]] = [[] for _ in range(max(level.values(), default=-1) + 1)]
    for node in nodes:
        layers[level[node]].append(node)
    return [part for layer in layers for part in _split(layer)]


def _split(layer: list[str]) -> list[list[str]]:
    """Cut a layer that is too wide to be read into several of about equal length (no edges run inside a layer)."""
    parts = -(-len(layer) // WIDEST)
    return [layer[part::parts] for part in range(parts)]


def layout(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> Layout:
    """Return where to draw a graph; one unit is the width of a node, and the distance of two layers. Nodes without edges stand below, in rows."""
    joined = {end for edge in edges for end in edge}
    drawn = _layout([node for node in nodes if node in joined], edges)
    alone = [node for node in nodes if node not in joined]
    across = [x for x, _ in drawn.places.values()]
    left, lowest = min(across, default=0.0), min((y for _, y in drawn.places.values()), default=1.0)
    wide = min(WIDEST, max(NARROWEST, round(max(across, default=0.0) - left) + 1))
    below = {name: (left + NODE_GAP * (k % wide), lowest - 1.0 - k // wide) for k, name in enumerate(alone)}
    return Layout({**drawn.places, **below}, drawn.routes)


def _layout(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> Layout:
    rows: list[list[Node]] = [list(layer) for layer in layers_of(nodes, edges)]
    depth = {node: row for row, layer in enumerate(rows) for node in layer}
    above: dict[Node, list[Node]] = {}
    below: dict[Node, list[Node]] = {}
    chains: dict[tuple[str, str], list[Node]] = {}
    for parent, child in edges:
        bends: list[Node] = [(parent, child, row) for row in range(depth[parent] + 1, depth[child])]
        for row, bend in enumerate(bends, depth[parent] + 1):
            rows[row].append(bend)
        chain: list[Node] = [parent, *bends, child]
        chains[(parent, child)] = chain
        for upper, lower in pairwise(chain):
            below.setdefault(upper, []).append(lower)
            above.setdefault(lower, []).append(upper)
    x = _spread(rows, above, below)
    y = {node: -float(row) for row, layer in enumerate(rows) for node in layer}
    routes = {edge: [(x[node], y[node]) for node in chain] for edge, chain in chains.items()}
    return Layout({name: (x[name], y[name]) for name in nodes}, routes)


def _spread(
    rows: list[list[Node]], above: Mapping[Node, list[Node]], below: Mapping[Node, list[Node]]
) -> dict[Node, float]:
    """Order every row by the mean place of its neighbours (which removes crossings), then pull nodes towards that mean."""
    x: dict[Node, float] = {}
    for row in rows:
        x.update(_pack(row, {node: float(position) for position, node in enumerate(row)}))
    for sweep in range(2 * SWEEPS):
        downwards, ordering = sweep % 2 == 0, sweep < SWEEPS
        for row in rows if downwards else rows[::-1]:
            near = above if downwards else below
            if not ordering:
                near = {node: [*above.get(node, []), *below.get(node, [])] for node in row}
            wanted = {node: _mean([x[other] for other in near.get(node, [])], x[node]) for node in row}
            if ordering:
                row.sort(key=lambda node: wanted[node])
            x.update(_pack(row, wanted))
    return x


def _mean(values: list[float], default: float) -> float:
    return sum(values) / len(values) if values else default


def _pack(row: list[Node], wanted: Mapping[Node, float]) -> dict[Node, float]:
    """Return places in the order of the row, far enough apart, as near to the wanted ones as one pass from the left and a shift allow."""
    placed: dict[Node, float] = {}
    for position, node in enumerate(row):
        left = row[position - 1] if position else None
        least = placed[left] + (_room(left) + _room(node)) / 2 if left is not None else wanted[node]
        placed[node] = max(wanted[node], least)
    shift = _mean([wanted[node] - placed[node] for node in row], 0.0)
    return {node: offset + shift for node, offset in placed.items()}


def _room(node: Node) -> float:
    return NODE_GAP if isinstance(node, str) else BEND_GAP
