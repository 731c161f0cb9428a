"""How well a Cox model predicts, in words: what ``verticox.evaluate`` tells, as lines, as tables and as one list of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..formats import number
from .cox import chi_squared
from .model import spread

MEASURES = {
    "concordance": "Concordance",
    "integrated_brier_score": "Integrated Brier score",
    "calibration_slope": "Calibration slope",
    "calibration_difference": "Observed less predicted survival",
}


def is_survival_score(metrics: Any) -> bool:
    """Whether these are the metrics of ``verticox.evaluate``."""
    return isinstance(metrics, Mapping) and {"concordance", "integrated_brier_score", "calibration"} <= set(metrics)


def is_blind_score(metrics: Any) -> bool:
    """Whether these are the metrics of ``verticox.evaluate`` with ``reveal="aggregates"``."""
    return isinstance(metrics, Mapping) and {"calibration_slope", "fit_test", "baseline"} <= set(metrics)


def score_lines(metrics: Any) -> list[tuple[str, str]]:
    """Return (name, text) of each measure; with folds its mean and standard deviation over them."""
    if is_blind_score(metrics):
        slope, error = (number(metrics[name], 3) for name in ("calibration_slope", "calibration_slope_standard_error"))
        test = chi_squared(metrics["fit_test"])
        return [
            (MEASURES["calibration_slope"], f"{slope} (standard error {error})"),
            ("Test of the coefficients", test),
        ]
    if not is_survival_score(metrics):
        return []
    spread = metrics.get("spread")
    lines = []
    for name, words in MEASURES.items():
        if name not in metrics:
            continue
        text = number(metrics[name], 3)
        if isinstance(spread, Mapping):
            text += f" (standard deviation over folds {number(spread.get(name), 2)})"
        lines.append((words, text))
    if "step" in metrics:
        lines.append(("Told in steps of", number(metrics["step"], 3)))
    return lines


def score_sections(metrics: Any) -> list[tuple[str, list[tuple[str, ...]]]]:
    """Return (heading, rows) of what is told by time or by group: Brier scores, calibration; without predictors the cumulative hazard."""
    if is_blind_score(metrics):
        whole = [hazard_rows(part) for part in metrics["baseline"]]
        rows = [part[index] for part in whole for index in spread(len(part))]
        return [("Cumulative hazard at these records' mean", [HAZARD_HEADING, *rows])]
    if not is_survival_score(metrics):
        return []
    names, moments = by_time(metrics)
    calibration = metrics["calibration"]
    measured: list[tuple[str, ...]] = [(number(time), *map(_share, values)) for time, *values in moments]
    groups: list[tuple[str, ...]] = [
        tuple(_share(group[name]) for name in CALIBRATED) for group in calibration["groups"]
    ]
    sections: list[tuple[str, list[tuple[str, ...]]]] = [
        ("Measures by time", [("time", *names), *measured]),
        (f"Survival at {number(calibration['time'])}", [CALIBRATED, *groups]),
    ]
    return [(heading, rows) for heading, rows in sections if len(rows) > 1]


BEFORE_TIME = {"concordance up to it": "concordance up to", "AUC at it": "AUC"}
"""Name in a table by time -> name before a time in brackets."""
CALIBRATED = ("predicted", "observed", "records")
BY_TIME = {
    "concordance_by_time": "concordance up to it",
    "auc_by_time": "AUC at it",
    "brier_scores": "Brier score",
}


def by_time(metrics: Mapping[str, Any]) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the names of what is told by time, and its rows: time, then one value each."""
    series = {name: metrics.get(name) or (metrics.get("pooled") or {}).get(name) for name in BY_TIME}
    filled = {name: values for name, values in series.items() if isinstance(values, list)}
    rows = list(zip(metrics.get("times") or [], *filled.values(), strict=False)) if filled else []
    return [BY_TIME[name] for name in filled], rows


def _share(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) and abs(value) < 1 else number(value)


HAZARD_HEADING = ("stratum", "time", "these records", "model")


def hazard_rows(part: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the rows of one stratum: its name, time, cumulative hazard of the records and of the model."""
    expected = part["model_cumulative_hazard"] or [None] * len(part["time"])
    values = zip(part["time"], part["cumulative_hazard"], expected, strict=True)
    return [(str(part["stratum"]), *(number(value) for value in row)) for row in values]


def flat_scores(metrics: Any) -> dict[str, Any]:
    """Return name -> number of all that is told of a survival model, the scores by time and group too; empty for other metrics."""
    if is_blind_score(metrics):
        test = {f"fit_test_{name}": value for name, value in metrics["fit_test"].items()}
        plain = {name: value for name, value in metrics.items() if not isinstance(value, list | Mapping | None)}
        return {**plain, **test}
    if not is_survival_score(metrics):
        return {}
    numbers = {name: value for name, value in metrics.items() if not isinstance(value, list | Mapping)}
    spread = {f"{name}_spread": value for name, value in (metrics.get("spread") or {}).items()}
    names, rows = by_time(metrics)
    moments = {
        f"{BEFORE_TIME.get(name, name)}({time:.10g})": value
        for time, *values in rows
        for name, value in zip(names, values, strict=True)
    }
    calibration = metrics["calibration"]
    groups = {
        f"{name}({calibration['time']:.10g}, group {position})": group[name]
        for position, group in enumerate(calibration["groups"], 1)
        for name in CALIBRATED
    }
    return {**numbers, **spread, **moments, **groups}
