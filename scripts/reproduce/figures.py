"""Figures of a paper's JSON: a row of axes for every panel, side by side theirs, ours as published, ours by default."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot

from .core import COLUMNS
from .pages import HEADS

MOST_TICKS = 8  # that do not run into each other
NOWHERE = "none"  # the x of what does not depend on it: a line across
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "fedbayes",
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def draw(item: dict[str, Any], path: Path) -> None:
    """Draw an item whose `plot` names its keys `x` and `series`, perhaps `panel`, and scales `logx`, `logy`."""
    plot, keys = item["plot"], item["keys"]
    used = [column for column in COLUMNS if any(row[column] is not None for row in item["rows"])]
    panels = ordered(item, plot.get("panel"))
    with mpl.rc_context(STYLE):
        size = (3.0 * len(used) + 0.6, 1.9 * len(panels) + 0.7)
        drawn, grid = pyplot.subplots(
            len(panels), len(used), figsize=size, sharex=True, sharey="row", squeeze=False, layout="constrained"
        )
        for axes, panel in zip(grid, panels, strict=True):
            rows = [row for row in item["rows"] if panel is None or row["row"][keys.index(plot["panel"])] == panel]
            for one, column in zip(axes, used, strict=True):
                lines(one, item, rows, column)
                if not any(row[column] is not None for row in rows):
                    one.text(0.5, 0.5, "no numbers", transform=one.transAxes, ha="center", va="center", color="0.6")
                one.set_title((f"{panel}: " if panel else "") + HEADS[COLUMNS.index(column)], fontsize=8)
            axes[0].set_ylabel(item["measure"].partition(",")[0])
        for one in grid[-1]:
            one.set_xlabel(plot["x"])
        handles, labels = legend(grid)
        if labels:
            drawn.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 6), frameon=False)
        drawn.savefig(path, metadata={"Date": None})
        pyplot.close(drawn)


def legend(grid: Any) -> tuple[list[Any], list[str]]:
    """Return one handle a series, over all axes."""
    handles: dict[str, Any] = {}
    for one in grid.flat:
        for handle, label in zip(*one.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    return list(handles.values()), list(handles)


def ordered(item: dict[str, Any], key: str | None) -> list[Any]:
    """Return the values of a key in the order of the rows; one None without key."""
    if key is None:
        return [None]
    return list(dict.fromkeys(row["row"][item["keys"].index(key)] for row in item["rows"]))


def lines(axes: Any, item: dict[str, Any], rows: list[dict[str, Any]], column: str) -> None:
    """Draw one line a series, with a band of one standard deviation."""
    plot, keys = item["plot"], item["keys"]
    at = keys.index(plot["x"])
    for color, series in enumerate(ordered(item, plot.get("series"))):
        mine = [row for row in rows if series is None or row["row"][keys.index(plot["series"])] == series]
        mine = [row for row in mine if row[column] is not None]
        if not mine:
            continue
        if mine[0]["row"][at] == NOWHERE:
            axes.axhline(mine[0][column], color=f"C{color}", linewidth=1, linestyle=":", label=series)
            continue
        x = [position(row["row"][at], item) for row in mine]
        y = [row[column] for row in mine]
        label = f"{plot['series']} {series}" if series and series[0].isdigit() and not plot.get("bare") else series
        axes.plot(x, y, marker=".", color=f"C{color}", linewidth=1.2, label=label)
        spread = [row.get(f"spread_{column}") or 0.0 for row in mine]
        if not plot.get("logy"):
            low, high = ([a + sign * b for a, b in zip(y, spread, strict=True)] for sign in (-1, 1))
            axes.fill_between(x, low, high, color=f"C{color}", alpha=0.12, linewidth=0)
    axes.set(xscale="log" if plot.get("logx") else "linear", yscale="log" if plot.get("logy") else "linear")
    names = [name for name in ordered(item, plot["x"]) if name != NOWHERE]
    if not numeric(item):
        axes.set_xticks(range(len(names)), names, rotation=60, ha="right")
    elif len(names) <= MOST_TICKS:
        axes.set_xticks([float(name) for name in names], names)
        axes.minorticks_off()


def numeric(item: dict[str, Any]) -> bool:
    """Return whether the x of all rows are numbers."""
    try:
        [float(name) for name in ordered(item, item["plot"]["x"]) if name != NOWHERE]
    except ValueError:
        return False
    return True


def position(cell: str, item: dict[str, Any]) -> float:
    """Return where a cell is on the x axis: its value, or its place among names."""
    return float(cell) if numeric(item) else float(ordered(item, item["plot"]["x"]).index(cell))
