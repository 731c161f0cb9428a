"""One look for all figures: a colour-blind safe palette (Okabe and Ito), thin axes, no chart junk."""

from __future__ import annotations

import base64
import io
import re
import textwrap
import warnings
from collections.abc import Sequence
from typing import Any

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
FURTHER = ("#7B3F00", "#7A7A7A", "#5B2A86", "#A3C644", "#B00020", "#00A7A7", "#F4A6C0", "#2F4F2F")
"""Where classes are more than the palette of Okabe and Ito has; lines get other dashes too."""
DASHES = ("solid", (0, (4, 1.5)), (0, (1, 1)))
INK = "#222222"
MUTED = "#6b7280"
GRID = "#e5e7eb"
UNEVEN = 30.0
"""Times that the widest bin is wider than the narrowest: beyond it (20 united bins are within) the narrow ones vanish in a figure of 3 inches."""
MOST_TICKS = 7  # that do not run into each other
NOTEBOOK_DPI = 110
"""Dots an inch of figures in notebooks: a figure of 9 inches fills a page's column."""


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure of a size in inches, drawn without a display; notebooks show it, whatever backend they use.

    Texts are drawn as they are: between the dollar signs of a name, such as ``$0-$50``, is no formula.
    """
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    class Picture(Figure):
        def draw(self, renderer: Any) -> None:
            for text in self.findobj(Text):
                text.set_parse_math(False)
            with rc_context({"text.parse_math": False}):  # of ticks that are made while it is drawn
                super().draw(renderer)

        def _repr_png_(self) -> bytes:
            stream = io.BytesIO()
            self.savefig(stream, format="png", dpi=NOTEBOOK_DPI)
            return stream.getvalue()

    figure = Picture(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def clean(axes: Any, grid: str | None = None, x: str = "", y: str = "") -> None:
    """Give axes the common look and names, where they have any; `grid` is "x", "y" or None."""
    name_axes(axes, x, y)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(MUTED)
    axes.tick_params(colors=INK, labelsize=8)
    axes.set_axisbelow(True)
    if grid is not None:
        axes.grid(axis=grid, color=GRID, linewidth=0.8)


def name_axes(axes: Any, x: str = "", y: str = "") -> None:
    """Write the names of axes beside them."""
    if x:
        axes.set_xlabel(x, fontsize=8, color=INK)
    if y:
        axes.set_ylabel(y, fontsize=8, color=INK)


def shade(axes: Any, shades: Any, columns: Sequence[str], rows: Sequence[str], **settings: Any) -> None:
    """Draw a table as shaded cells with the names of its columns and rows; long ones below many columns are turned."""
    axes.imshow(shades, cmap="Blues", vmin=0, **settings)
    turned = len(columns) > 3 and max(map(len, columns)) > 6
    axes.set_xticks(range(len(columns)), columns, rotation=45 if turned else 0, ha="right" if turned else "center")
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(labelsize=8, length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def write_cells(axes: Any, counts: Any, dark: Any, size: float) -> None:
    """Write counts into shaded cells, white where these are `dark`; a dash where a count is hidden."""
    import numpy as np

    for (row, column), count in np.ndenumerate(counts):
        text = "–" if np.isnan(count) else f"{count:,.0f}"
        color = "white" if dark[row, column] else INK
        axes.text(column, row, text, ha="center", va="center", fontsize=size, color=color)


def along(axes: Any, edges: Any) -> Any:
    """Return where to draw the edges of bins: where they are, or side by side where some are too narrow to be seen, and name them on the axis."""
    import numpy as np

    ends = np.asarray(edges, dtype=np.float64)
    widths = np.diff(ends)
    if widths.max() <= UNEVEN * widths.min():
        return ends
    positions = np.arange(len(ends), dtype=np.float64)
    step = -(-len(ends) // MOST_TICKS)
    axes.set_xticks(positions[::step], [f"{edge:.3g}" for edge in ends[::step]])
    return positions


def color_of(position: int) -> str:
    """Return the colour of the class at a position: 16 distinct ones, then from the start."""
    palette = COLORS + FURTHER
    return palette[position % len(palette)]


def dash_of(position: int) -> Any:
    """Return the dash of the class at a position, another one for each round of the first palette."""
    return DASHES[position // len(COLORS) % len(DASHES)]


def wrapped(text: Any, width: int = 22) -> str:
    """Return a text in lines of at most `width` characters, whole: words are broken only where one is longer."""
    return "\n".join(textwrap.wrap(str(text), width)) or str(text)


def wrapped_name(name: Any, width: int = 22) -> str:
    """Return a name whole, in lines; where it has no blanks, underscores, points and hyphens are places to break."""
    return wrapped(re.sub(r"(?<=[_.\-])(?=.)", " ", str(name)), width).replace("_ ", "_")


def to_svg(figure: Any) -> str:
    """Return a figure as a data URI (SVG, no date: the same figure gives the same bytes).

    Text is drawn as shapes; where matplotlib's font lacks a letter it stays text, for the fonts of whoever reads it.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", ".*missing from font")
        drawn = _svg(figure, "path")
        if any("missing from font" in str(warning.message) for warning in caught):
            drawn = _svg(figure, "none")
    return "data:image/svg+xml;base64," + base64.b64encode(drawn).decode()


def _svg(figure: Any, text_as: str) -> bytes:
    import matplotlib as mpl

    stream = io.BytesIO()
    with mpl.rc_context({"svg.fonttype": text_as, "svg.hashsalt": "fedbayes"}):
        figure.savefig(stream, format="svg", metadata={"Date": None})
    return stream.getvalue()
