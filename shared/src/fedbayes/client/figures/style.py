"""One look for all figures: a colour-blind safe palette (Okabe and Ito), thin axes, no chart junk."""

from __future__ import annotations

import base64
import io
from typing import Any

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
INK = "#222222"
MUTED = "#6b7280"
GRID = "#e5e7eb"


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure of a size in inches, drawn without a display."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def clean(axes: Any, grid: str | None = None) -> None:
    """Give axes the common look; `grid` is "x", "y" or None."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(MUTED)
    axes.tick_params(colors=INK, labelsize=8)
    axes.set_axisbelow(True)
    if grid is not None:
        axes.grid(axis=grid, color=GRID, linewidth=0.8)


def shorten(text: Any, longest: int = 22) -> str:
    """Return a text cut to a length."""
    name = str(text)
    return name if len(name) <= longest else name[: longest - 1] + "…"


def to_svg(figure: Any) -> str:
    """Return a figure as a data URI (SVG, text drawn as shapes, no date: the same figure gives the same bytes)."""
    import matplotlib as mpl

    stream = io.BytesIO()
    with mpl.rc_context({"svg.fonttype": "path", "svg.hashsalt": "fedbayes"}):
        figure.savefig(stream, format="svg", metadata={"Date": None})
    return "data:image/svg+xml;base64," + base64.b64encode(stream.getvalue()).decode()
