"""The graph of a Bayesian network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .layout import Layout, layout
from .style import COLORS, INK, MUTED, new_figure, wrapped_name

Point = tuple[float, float]
LINE_LENGTH = 14  # characters of a node's label
LINE_HEIGHT = 0.1  # of a node's label, in units of the layout


def bayesian_network(model: Mapping[str, Any], highlight: str | None = None) -> Any:
    """Return the drawn graph of a network, arrows from parent to child, downwards.

    Parameters
    ----------
    model : dict
        A result's `model` with ``nodes`` and ``edges``.
    highlight : str, optional
        A node drawn in another colour, such as the label.
    """
    return bayesian_networks({"": model}, highlight)


def bayesian_networks(models: Mapping[str, Mapping[str, Any]], highlight: str | None = None) -> Any:
    """Return the drawn graphs of networks, one below the other under their names, as those of an ensemble's members.

    Parameters
    ----------
    models : mapping of str to dict
        Name, "" for none -> a network with ``nodes`` and ``edges``; at least one.
    highlight : str, optional
        A node drawn in another colour, such as the label.
    """
    graphs = {name: _Graph.of(model) for name, model in models.items()}
    heights = [max(1.0, graph.height) + (0.3 if name else 0.0) for name, graph in graphs.items()]
    figure = new_figure(min(max(3.0, *(graph.width for graph in graphs.values())), 14.0), sum(heights))
    grid = figure.add_gridspec(len(graphs), 1, height_ratios=heights)
    for row, (name, graph) in enumerate(graphs.items()):
        axes = figure.add_subplot(grid[row])
        axes.set_title(wrapped_name(name, 40), fontsize=9, color=INK, loc="left")
        graph.draw(axes, highlight)
    return figure


@dataclass(frozen=True)
class _Graph:
    """A network with the place of each node; sizes in inches."""

    nodes: Sequence[str]
    layout: Layout

    @classmethod
    def of(cls, model: Mapping[str, Any]) -> _Graph:
        nodes = [str(node) for node in model["nodes"]]
        return cls(nodes, layout(nodes, [(str(parent), str(child)) for parent, child in model["edges"]]))

    @property
    def span(self) -> tuple[float, float, float]:
        """Left and right end, and the lowest place."""
        points = [*self.layout.places.values(), *(point for route in self.layout.routes.values() for point in route)]
        across = [x for x, _ in points] or [0.0]
        return min(across) - 0.6, max(across) + 0.6, min((y for _, y in points), default=0.0)

    @property
    def width(self) -> float:
        left, right, _ = self.span
        return 1.15 * (right - left)

    @property
    def height(self) -> float:
        return 0.9 * (1.0 - self.span[2])

    def draw(self, axes: Any, highlight: str | None) -> None:
        left, right, lowest = self.span
        axes.set_axis_off()
        axes.set_xlim(left, right)
        axes.set_ylim(lowest - 0.5, 0.5)
        labels = {node: wrapped_name(node, LINE_LENGTH) for node in self.nodes}
        for node in self.nodes:
            _label(axes, self.layout.places[node], labels[node], node == highlight)
        for (parent, child), route in self.layout.routes.items():
            _arrow(axes, route, _half_height(labels[parent]), _half_height(labels[child]))


def _label(axes: Any, position: Point, text: str, marked: bool) -> None:
    color = COLORS[1] if marked else COLORS[0]
    box = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": color, "linewidth": 1.3}
    axes.text(*position, text, ha="center", va="center", fontsize=7.5, color=INK, bbox=box, zorder=3, linespacing=0.95)


def _half_height(text: str) -> float:
    return LINE_HEIGHT * (1.2 + text.count("\n"))


def _arrow(axes: Any, route: Sequence[Point], start_gap: float, end_gap: float) -> None:
    from matplotlib.patches import FancyArrowPatch

    points = [(route[0][0], route[0][1] - start_gap), *route[1:-1], (route[-1][0], route[-1][1] + end_gap)]
    axes.add_patch(
        FancyArrowPatch(path=_curve(points), arrowstyle="-|>", mutation_scale=9, color=MUTED, linewidth=0.9, zorder=2)
    )


def _curve(points: Sequence[Point]) -> Any:
    """Return a smooth path through the points (Catmull-Rom, as Bezier curves); straight between two."""
    from matplotlib.path import Path

    if len(points) == 2:
        return Path(list(points), [Path.MOVETO, Path.LINETO])
    padded = [points[0], *points, points[-1]]
    vertices, codes = [points[0]], [Path.MOVETO]
    for before, start, end, after in zip(padded, padded[1:], padded[2:], padded[3:], strict=False):
        vertices += [
            (start[0] + (end[0] - before[0]) / 6, start[1] + (end[1] - before[1]) / 6),
            (end[0] - (after[0] - start[0]) / 6, end[1] - (after[1] - start[1]) / 6),
            end,
        ]
        codes += [Path.CURVE4] * 3
    return Path(vertices, codes)
