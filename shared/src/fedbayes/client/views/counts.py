"""Contingency tables in a report."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..figures import counts_heatmap
from ..figures.style import to_svg
from ..pages import html
from ..text.counts import axes_of, cells_of

MOST_ROWS = 500


def pieces(model: Mapping[str, Any]) -> list[str]:
    """Return the table of counts, shaded if it has two axes.

    Raises
    ------
    ValueError
        If axes and counts do not agree.
    """
    axes = axes_of(model)
    counts = np.asarray(model["counts"], dtype=np.float64)
    if counts.shape != tuple(len(values) for _, values in axes):
        raise ValueError("axes and counts do not agree")
    rows = list(itertools.islice(cells_of(model), MOST_ROWS))
    table = html.table("", (*(name for name, _ in axes), "Count"), rows, numeric=(len(axes),))
    if len(axes) != 2:
        return [table]
    picture = to_svg(counts_heatmap(counts, axes[0], axes[1]))
    return [
        html.picture(picture, f"Counts of {axes[0][0]} by {axes[1][0]}; a dash is a suppressed cell."),
        html.fold("As a list", table),
    ]
