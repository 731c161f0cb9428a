"""Figures of tables: counts, and the cost of rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .style import COLORS, INK, along, clean, name_axes, new_figure, shade, wrapped, wrapped_name, write_cells

LABEL, LINE = 18, 0.13
"""Characters of a line of a category's name beside its bar, and the inches that a line takes."""
MOST_BARS = 30
"""Categories of a column that its panel has bars for."""


def counts_heatmap(counts: npt.ArrayLike, rows: tuple[str, Sequence[Any]], columns: tuple[str, Sequence[Any]]) -> Any:
    """Return a table of counts as shaded cells.

    Parameters
    ----------
    counts : array of shape (rows, columns)
        NaN marks a suppressed cell.
    rows, columns : tuple of (name, values)
        The axes.
    """
    table = np.asarray(counts, dtype=np.float64)
    figure = new_figure(min(2.4 + 0.75 * table.shape[1], 12.0), min(1.4 + 0.4 * table.shape[0], 12.0))
    axes = figure.add_subplot()
    counted = np.nan_to_num(table)
    names, below = [wrapped(value, 30) for value in rows[1]], [wrapped(value, 18) for value in columns[1]]
    shade(axes, counted, below, names, aspect="auto")
    name_axes(axes, columns[0], rows[0])
    if table.size <= 400:
        write_cells(axes, table, counted > 0.6 * max(float(counted.max()), 1.0), 7.5)
    return figure


def column_bars(columns: Mapping[str, Mapping[str, Any]]) -> Any:
    """Return one panel a column: its counts as bars over bins or categories.

    Parameters
    ----------
    columns : mapping
        Of a description: column -> its ``bins`` or ``categories``.
    """
    wide = min(3, len(columns))
    high = -(-len(columns) // wide)
    figure = new_figure(3.3 * wide, 2.2 * high)
    for position, (name, entry) in enumerate(columns.items()):
        _draw_column(figure.add_subplot(high, wide, position + 1), name, entry)
    return figure


def column_panels(columns: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the panels of `column_bars`, each a figure of its own, by column."""
    panels = {}
    for name, entry in columns.items():
        lines = [wrapped(value, LABEL) for value in entry.get("categories", {}).get("values", ())[:MOST_BARS]]
        panels[name] = new_figure(3.2, max(2.2, bars_height(lines)))
        _draw_column(panels[name].add_subplot(), name, entry)
    return panels


def bars_height(labels: Sequence[str]) -> float:
    """Return the inches of a figure of bars, each with room for the longest of their labels beside it."""
    longest = max((label.count("\n") for label in labels), default=0)
    return 0.6 + LINE * (longest + 1.5) * len(labels)


def _draw_column(axes: Any, name: str, entry: Mapping[str, Any]) -> None:
    cells = entry["bins" if "bins" in entry else "categories"]
    heights = np.array([np.nan if count is None else max(count, 0) for count in cells["counts"]], dtype=np.float64)
    if "bins" in entry:
        edges = along(axes, cells["edges"])
        # Bins differ in width where small ones were united: areas are the counts.
        axes.bar(edges[:-1], heights / np.diff(edges), np.diff(edges), align="edge", color=COLORS[0], edgecolor="white")
        axes.set_yticks([])
    else:
        heights = heights[:MOST_BARS]
        axes.barh(range(len(heights)), heights, color=COLORS[0])
        axes.set_yticks(range(len(heights)), [wrapped(value, LABEL) for value in cells["values"][: len(heights)]])
        axes.invert_yaxis()
    axes.set_title(wrapped_name(name, 38), fontsize=9, color=INK, loc="left")
    clean(axes, x=str(entry.get("unit") or ""))


def round_costs(per_round: Sequence[Mapping[str, Any]]) -> Any:
    """Return seconds and bytes of every round as two rows of bars."""
    numbers = [int(entry["round"]) for entry in per_round]
    figure = new_figure(min(max(4.5, 0.3 * len(numbers) + 2.0), 10.0), 3.0)
    parts = (
        ("seconds", [float(entry["seconds"]) for entry in per_round]),
        ("KB", [float(entry["bytes"]) / 1000 for entry in per_round]),
    )
    for position, (name, values) in enumerate(parts):
        axes = figure.add_subplot(2, 1, position + 1)
        axes.bar(numbers, values, color=COLORS[position], width=0.7)
        if len(numbers) <= 20:
            axes.set_xticks(numbers)
        clean(axes, "y", y=name)
    name_axes(axes, "round")
    return figure
