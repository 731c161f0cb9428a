"""The graph of a Bayesian network, drawn in layers from causes to effects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .style import COLORS, INK, MUTED, new_figure, shorten

SWEEPS = 12
WIDEST = 9


def layers_of(nodes: list[str], edges: list[tuple[str, str]]) -> list[list[str]]:
    """Return nodes by layer: each one below all its parents, close to its children, crossings reduced by the barycentre heuristic.

    References
    ----------
    .. [1] Sugiyama, Tagawa and Toda (1981), Methods for visual understanding of hierarchical system structures.
    """
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
        if below:
            level[node] = min(below) - 1 if not list(graph.predecessors(node)) else level[node]
    layers: list[list[str]] = [[] for _ in range(max(level.values(), default=0) + 1)]
    for node in nodes:
        layers[level[node]].append(node)
    layers = [part for layer in layers for part in _split(layer)]
    for sweep in range(SWEEPS):
        _order_once(graph, layers, downwards=sweep % 2 == 0)
    return layers


def _split(layer: list[str]) -> list[list[str]]:
    """Cut a layer that is too wide to be read into several rows of about equal length (no edges run inside a layer)."""
    parts = -(-len(layer) // WIDEST)
    return [layer[part::parts] for part in range(parts)]


def _order_once(graph: Any, layers: list[list[str]], downwards: bool) -> None:
    place = {node: _abscissa(k, len(layer)) for layer in layers for k, node in enumerate(layer)}
    for layer in layers if downwards else layers[::-1]:
        weights = {}
        for node in layer:
            near = list(graph.predecessors(node) if downwards else graph.successors(node))
            weights[node] = sum(place[other] for other in near) / len(near) if near else place[node]
        layer.sort(key=lambda node: weights[node])
        place.update({node: _abscissa(k, len(layer)) for k, node in enumerate(layer)})


def _abscissa(position: int, length: int) -> float:
    return position - (length - 1) / 2


def bayesian_network(model: Mapping[str, Any], highlight: str | None = None) -> Any:
    """Return the drawn graph of a network.

    Parameters
    ----------
    model : dict
        A result's `model` with ``nodes`` and ``edges``.
    highlight : str, optional
        A node drawn in another colour, such as the target.
    """
    nodes = [str(node) for node in model["nodes"]]
    edges = [(str(parent), str(child)) for parent, child in model["edges"]]
    layers = layers_of(nodes, edges)
    widest = max(len(layer) for layer in layers) if layers else 1
    figure = new_figure(min(max(4.0, 1.45 * widest + 0.6), 13.5), max(2.0, 1.05 * len(layers) + 0.4))
    axes = figure.add_subplot()
    axes.set_axis_off()
    place = {
        node: (_abscissa(k, len(layer)) * 1.0 + (0.18 if row % 2 else -0.18), -float(row))
        for row, layer in enumerate(layers)
        for k, node in enumerate(layer)
    }
    labels = {node: _label(axes, place[node], node, node == highlight) for node in nodes}
    axes.set_xlim(-widest / 2 - 0.35, widest / 2 + 0.35)
    axes.set_ylim(-len(layers) + 0.45, 0.55)
    for parent, child in edges:
        _arrow(axes, labels[parent], labels[child], place[parent], place[child])
    return figure


def _label(axes: Any, place: tuple[float, float], name: str, marked: bool) -> Any:
    color = COLORS[1] if marked else COLORS[0]
    box = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": color, "linewidth": 1.3}
    return axes.text(
        *place, _wrapped(name), ha="center", va="center", fontsize=7.5, color=INK, bbox=box, zorder=3, linespacing=0.95
    )


def _wrapped(name: str) -> str:
    text = shorten(name, 26)
    if len(text) <= 13:
        return text
    cut = next((k for k in range(len(text) // 2, len(text) - 1) if text[k] in " _-."), len(text) // 2)
    return text[: cut + 1] + "\n" + text[cut + 1 :]


def _arrow(axes: Any, tail: Any, head: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    distant = abs(start[1] - end[1]) > 1.5
    bend = (0.12 if end[0] >= start[0] else -0.12) if distant else 0.0
    axes.annotate(
        "",
        xy=end,
        xytext=start,
        arrowprops={
            "arrowstyle": "-|>",
            "color": MUTED,
            "linewidth": 0.9,
            "patchA": tail.get_bbox_patch(),
            "patchB": head.get_bbox_patch(),
            "shrinkA": 1,
            "shrinkB": 1,
            "connectionstyle": f"arc3,rad={bend}",
        },
        zorder=2,
    )
