"""What columns hold, in a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import html
from ..figures.style import to_svg
from ..figures.tables import column_panels
from ..formats import counted, number, title
from ..text.description import HEADING, cells, rows

MOST_FIGURES = 24  # of a page


def pieces(model: Mapping[str, Any]) -> list[str]:
    """Return one row a column, the distributions, and all cells behind a fold."""
    columns = dict(list(model["columns"].items())[:MOST_FIGURES])
    description = f"Counts of {counted(len(columns), 'column')}: lengths of bars, of numbers their areas. What is hidden has no bar."
    return [
        html.table("", tuple(title(name) for name in HEADING), rows(model), (1, 2, 3)),
        html.panels(
            {f"Counts of {name}.": to_svg(drawn) for name, drawn in column_panels(columns).items()}, description
        ),
        html.fold(
            "All counts",
            html.table("", ("Column", "Value", "Count"), [(*cell[:2], number(cell[2])) for cell in cells(model)], (2,)),
        ),
    ]
