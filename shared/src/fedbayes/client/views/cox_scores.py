"""How well a Cox model predicts, in a report: measures, folds, calibration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import html
from ..figures import survival_panels
from ..figures.style import to_svg
from ..formats import number, title
from ..text.cox_scores import (
    HAZARD_HEADING,
    MEASURES,
    hazard_rows,
    is_blind_score,
    is_survival_score,
    score_lines,
    score_sections,
)

CAPTION = (
    "Observed survival by predicted survival, groups of records; the dashed line is perfect. Where it is told, the Brier score over time: "
    "0.25 is that of a coin."
)


def survival_scores(metrics: Any) -> list[str]:
    """Return the measures of ``verticox.evaluate``; nothing for other metrics."""
    if is_blind_score(metrics):
        return _blind(metrics)
    if not is_survival_score(metrics):
        return []
    pieces = [html.table("", ("Measure", "Value"), score_lines(metrics))]
    folds = metrics.get("folds")
    if isinstance(folds, list):
        headers = ("Fold", "Records", *MEASURES.values())
        rows = [
            [str(number_of_fold), number(fold.get("records")), *(number(fold.get(name), 3) for name in MEASURES)]
            for number_of_fold, fold in enumerate(folds, 1)
        ]
        pieces.append(html.table("Every fold, judged by the fit that did not see it", headers, rows, tuple(range(6))))
    for heading, (names, *cells) in score_sections(metrics):
        pieces.append(html.table(heading, [title(name) for name in names], cells, numeric=tuple(range(len(names)))))
    drawn = {heading: to_svg(figure) for heading, figure in survival_panels(metrics).items()}
    return [*pieces, html.panels(drawn, CAPTION)]


def _blind(metrics: Mapping[str, Any]) -> list[str]:
    rows = [row for part in metrics["baseline"] for row in hazard_rows(part)]
    names = [title(name) for name in HAZARD_HEADING]
    hazards = html.table("Cumulative hazard at these records' mean", names, rows, numeric=(1, 2, 3))
    return [html.table("", ("Measure", "Value"), score_lines(metrics)), hazards]
