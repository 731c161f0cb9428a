"""Contingency tables in a report."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import html
from ..figures import counts_heatmap
from ..figures.style import to_svg
from ..formats import number

MOST_ROWS = 500


def axes_of(model: Mapping[str, Any]) -> list[tuple[str, list[Any]]]:
    """Return (column, values) of every axis; axes are told as a mapping or as a list of objects."""
    axes = model["axes"]
    if isinstance(axes, Mapping):
        return [(str(name), list(values)) for name, values in axes.items()]
    names = ("column", "name")
    values = ("values", "states", "categories", "labels")
    return [
        (
            str(next(axis[key] for key in names if key in axis)),
            ["missing" if value is None else value for value in next(axis[key] for key in values if key in axis)],
        )
        for axis in axes
    ]


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
    combinations = itertools.product(*(values for _, values in axes))
    rows = [
        (*(str(value) for value in combination), "–" if np.isnan(count) else number(float(count)))
        for combination, count in itertools.islice(zip(combinations, counts.ravel(), strict=True), MOST_ROWS)
    ]
    table = html.table("", (*(name for name, _ in axes), "Count"), rows, numeric=(len(axes),))
    if len(axes) != 2:
        return [table]
    picture = to_svg(counts_heatmap(counts, axes[0], axes[1]))
    return [
        html.picture(picture, f"Counts of {axes[0][0]} by {axes[1][0]}; a dash is a suppressed cell."),
        html.fold("As a list", table),
    ]
