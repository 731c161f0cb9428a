"""What the demonstration prints and writes: one table and one figure of everyone's scores, in front of the result's own report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import html
from .figures import score_bars
from .figures.style import to_svg
from .pages.report import render as render_result

POOLED = "pooled records, no privacy"
FEDERATED = "federated, private"


@dataclass(frozen=True)
class Scores:
    """Accuracy and area under the curve on the test records."""

    accuracy: float
    auc: float


Table = dict[str, list[Scores]]


def alone(name: str) -> str:
    """Return the row of a hospital that fits alone."""
    return f"{name} alone, private"


def rows(table: Mapping[str, list[Scores]]) -> list[tuple[str, str, str]]:
    """Return (name, accuracy, area) with mean and standard deviation over the splits."""
    return [
        (name, _spread([s.accuracy for s in scores]), _spread([s.auc for s in scores]))
        for name, scores in table.items()
    ]


def _spread(values: list[float]) -> str:
    return f"{np.mean(values):.3f} ± {np.std(values):.3f}"


def print_table(console: Any, table: Mapping[str, list[Scores]], epsilon: float) -> None:
    """Print the comparison."""
    from rich.table import Table as Drawn

    splits = len(next(iter(table.values())))
    drawn = Drawn(
        title=f"Unseen records, mean ± standard deviation over {splits} random splits; private: epsilon = {epsilon:g}"
    )
    for name in ("who", "accuracy", "AUC"):
        drawn.add_column(name, justify="left" if name == "who" else "right")
    for row in rows(table):
        drawn.add_row(*row, style="bold" if row[0] == FEDERATED else None)
    console.print(drawn)


def render(result: Mapping[str, Any], table: Mapping[str, list[Scores]], epsilon: float) -> str:
    """Return the demonstration's report."""
    splits = len(next(iter(table.values())))
    panels = {
        "accuracy": {name: [s.accuracy for s in scores] for name, scores in table.items()},
        "AUC": {name: [s.auc for s in scores] for name, scores in table.items()},
    }
    sentence = (
        f"Five hospitals hold breast-cancer records and keep them. Together they fit one naive Bayes classifier with epsilon = {epsilon:g}: "
        "one noise term in all, added inside a secure sum, so that nobody sees a single hospital's counts. A hospital that fits alone needs the "
        "same noise for far fewer records."
    )
    comparison = html.section(
        "Comparison",
        html.paragraph(sentence),
        html.table(
            f"Unseen records; mean ± standard deviation over {splits} random splits",
            ("Who", "Accuracy", "AUC"),
            rows(table),
            numeric=(1, 2),
        ),
        html.picture(
            to_svg(score_bars(panels, highlight=FEDERATED)),
            "Accuracy and area under the curve of everyone, with every split as a faint point; the table above has the numbers.",
            "Diamonds: means; lines: one standard deviation; faint points: single splits.",
        ),
    )
    return render_result(result, "Five hospitals, one private classifier", [comparison])
