"""Figures of a naive Bayes model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ...bayes.naive_bayes import NaiveBayes
from ...bayes.naive_bayes.features import Gaussian
from ..models.naive_bayes import information, tables_of
from .style import COLORS, GRID, INK, along, clean, color_of, dash_of, new_figure, wrapped, wrapped_name
from .tables import LABEL, bars_height

MOST_CATEGORIES = 12  # that a small figure can name
FILLED = 3  # classes: areas of more lie over one another
WIDEST_TICKS = 30  # characters below a small figure, side by side


def informative_features(model: Mapping[str, Any], most: int = 20) -> Any:
    """Return bars of the mutual information of features with the class."""
    values = list(information(NaiveBayes.from_dict(model)).items())[:most]
    figure = new_figure(4.8, 0.9 + 0.26 * max(len(values), 1))
    axes = figure.add_subplot()
    names = [wrapped_name(name, 26) for name, _ in values]
    axes.barh(names, [value for _, value in values], color=COLORS[0], height=0.7)
    axes.invert_yaxis()
    clean(axes, "x", "mutual information with the class (bits)")
    return figure


def class_distributions(model: Mapping[str, Any], most: int = 12) -> Any:
    """Return small multiples: P(value | class) of the most informative features."""
    classifier = NaiveBayes.from_dict(model)
    names = list(information(classifier))[:most]
    columns = min(3, max(len(names), 1))
    rows = -(-max(len(names), 1) // columns)
    figure = new_figure(3.1 * columns, 2.1 * rows + 0.4)
    for position, name in enumerate(names):
        _draw_panel(figure.add_subplot(rows, columns, position + 1), classifier, name)
    _legend(figure, [str(name) for name in classifier.classes])
    return figure


def class_panels(model: Mapping[str, Any], most: int = 12) -> dict[str, Any]:
    """Return the panels of `class_distributions`, each a figure of its own, by feature."""
    classifier = NaiveBayes.from_dict(model)
    panels = {}
    for name in list(information(classifier))[:most]:
        panels[name] = new_figure(3.2, _height(classifier, name))
        _draw_panel(panels[name].add_subplot(), classifier, name)
    return panels


def _height(model: NaiveBayes, name: str) -> float:
    """Return the inches of a feature's panel: more where names of categories take several lines beside their bars."""
    labels = _labels(model, name)
    return max(2.3, bars_height(labels) if _are_long(labels) else 0.0)


def _labels(model: NaiveBayes, name: str) -> list[str]:
    return [wrapped(category, LABEL) for category in (model.schema[name].categories or ())[:MOST_CATEGORIES]]


def _are_long(labels: list[str]) -> bool:
    return any("\n" in label for label in labels)


def class_colors(classes: Iterable[str]) -> list[tuple[str, str]]:
    """Return the classes with their colours, for a legend."""
    return [(str(name), color_of(k)) for k, name in enumerate(classes)]


def _draw_panel(axes: Any, model: NaiveBayes, name: str) -> None:
    _draw(axes, model, name)
    axes.set_title(wrapped_name(name, 34), fontsize=9, color=INK, loc="left")
    if not _are_long(_labels(model, name)):
        axes.set_yticks([])
    clean(axes)
    axes.spines["left"].set_visible(False)


def _draw(axes: Any, model: NaiveBayes, name: str) -> None:
    edges, probabilities = tables_of(model, name)
    classes = len(probabilities)
    categories = model.schema[name].categories
    if categories is None:
        edges = along(axes, edges)
        widths = np.diff(edges)
        for k, row in enumerate(probabilities):
            axes.stairs(row / widths, edges, color=color_of(k), linestyle=dash_of(k), linewidth=1.5)
            if classes <= FILLED:
                axes.stairs(row / widths, edges, color=color_of(k), fill=True, alpha=0.15)
        _noise_band(axes, noise_share(model, name) / float(widths.mean()))
        return
    shown, labels = probabilities[:, :MOST_CATEGORIES], _labels(model, name)
    lying = _are_long(labels)
    for k, row in enumerate(shown):
        offset = (k - (classes - 1) / 2) * 0.8 / classes
        draw = axes.barh if lying else axes.bar
        draw(np.arange(len(row)) + offset, row, 0.8 / classes, color=color_of(k))
    _noise_band(axes, noise_share(model, name), lying)
    if lying:
        axes.set_yticks(range(len(labels)), labels, fontsize=7)
        axes.set_xticks([])
        axes.invert_yaxis()
        return
    turned = len(labels) > 4 or max(len(label) for label in labels) * len(labels) > WIDEST_TICKS
    axes.set_xticks(range(len(labels)), labels, rotation=45 if turned else 0, ha="right" if turned else "center")


def noise_share(model: NaiveBayes, name: str) -> float:
    """Return one standard deviation of the noise in a cell of a feature's table, as a part of a class of mean size; 0 where nothing tells it."""
    feature: Any = model.features[name]
    if isinstance(feature, Gaussian):
        return 0.0
    return float(feature.noise) / max(float(np.mean(model.positive_counts)), 1.0)


def _noise_band(axes: Any, level: float, lying: bool = False) -> None:
    """Shade what is lower than one deviation of the noise, without changing what the axes show; `lying` bars grow to the right."""
    if level > 0 and lying:
        wide = axes.get_xlim()
        axes.axvspan(0.0, min(level, wide[1]), color=GRID, zorder=0)
        axes.set_xlim(wide)
    elif level > 0:
        shown = axes.get_ylim()
        axes.axhspan(0.0, min(level, shown[1]), color=GRID, zorder=0)
        axes.set_ylim(shown)


def _mark(position: int, name: str) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=color_of(position), linestyle=dash_of(position), linewidth=4, label=wrapped(name, 30))


def _legend(figure: Any, classes: list[str]) -> None:
    handles = [_mark(k, name) for k, name in enumerate(classes[:16])]
    figure.legend(
        handles=handles,
        loc="outside upper left",
        ncols=max(1, min(len(handles), 90 // (6 + max(len(name[:30]) for name in classes)))),
        frameon=False,
        fontsize=8,
    )
