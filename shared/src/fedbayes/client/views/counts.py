"""Contingency tables in a report."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import html
from ..figures.model import counts as counts_map
from ..figures.style import to_svg
from ..formats import ranged, word
from ..text.counts import cells_of, read_counts

MOST_ROWS, MOST_CELLS = 500, 400  # of a list, and of a map whose numbers can be read


def pieces(model: Mapping[str, Any]) -> list[str]:
    """Return the table of counts, shaded if it has two axes.

    Raises
    ------
    ValueError
        If axes and counts do not agree.
    """
    axes, counts = read_counts(model)
    rows = list(itertools.islice(cells_of(model), MOST_ROWS))
    table = html.table("", (*(name for name, _ in axes), "Count"), rows, numeric=(len(axes),))
    association = _association(model.get("association"))
    if len(axes) < 2 or counts.size > MOST_CELLS:
        return [table, *association]
    hidden = "; a dash is a hidden cell" if np.isnan(counts).any() else ""
    description = f"Counts of {' by '.join(name for name, _ in axes)}{hidden}."
    return [
        html.picture(to_svg(counts_map({"model": model})), description, wide=counts.shape[-1] > 4),
        *association,
        html.fold("As a list", table),
    ]


def _association(measures: Any) -> list[str]:
    """Return what a table of two columns tells of how they hang together; nothing where it is not told."""
    if not isinstance(measures, Mapping):
        return []
    rows = [(word(name), ranged(value)) for name, value in measures.items() if value is not None]
    return [html.table("Association", ("Measure", "Value"), rows)]
