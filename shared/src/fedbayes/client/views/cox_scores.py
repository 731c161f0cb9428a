"""How well a Cox model predicts, in a report: measures, folds, calibration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import html
from ..cox_text import MEASURES, is_blind_score, is_survival_score, score_lines
from ..figures import survival_calibration
from ..figures.style import to_svg
from ..formats import number

CAPTION = (
    "Left: observed survival by predicted survival, groups of records; the dashed line is perfect. Right: Brier score over time; "
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
            [str(place), number(fold.get("records")), *(number(fold.get(name), 3) for name in MEASURES)]
            for place, fold in enumerate(folds, 1)
        ]
        pieces.append(html.table("Every fold, judged by the fit that did not see it", headers, rows, tuple(range(6))))
    pieces += _by_time(metrics)
    return [*pieces, html.picture(to_svg(survival_calibration(metrics)), CAPTION)]


def _by_time(metrics: Mapping[str, Any]) -> list[str]:
    """Return the table of measures at each time, where they are told."""
    if not isinstance(metrics.get("concordance_by_time"), list):
        return []
    columns = [metrics[name] for name in ("times", "concordance_by_time", "auc_by_time", "brier_scores")]
    rows = [[number(value, 3) for value in row] for row in zip(*columns, strict=True)]
    headers = ("Time", "Concordance up to it", "AUC at it", "Brier score")
    return [html.table("Measures by time", headers, rows, numeric=(0, 1, 2, 3))]


def _hazards(part: Mapping[str, Any]) -> list[list[str]]:
    """Return the rows of one stratum: time, cumulative hazard of the records and of the model."""
    expected = part["model_cumulative_hazard"] or [None] * len(part["time"])
    values = zip(part["time"], part["cumulative_hazard"], expected, strict=True)
    return [[str(part["stratum"]), *(number(value) for value in row)] for row in values]


def _blind(metrics: Mapping[str, Any]) -> list[str]:
    rows = [row for part in metrics["baseline"] for row in _hazards(part)]
    names = ("Stratum", "Time", "These records", "Model")
    told = html.table("Cumulative hazard at these records' mean", names, rows, numeric=(1, 2, 3))
    return [html.table("", ("Measure", "Value"), score_lines(metrics)), told]
