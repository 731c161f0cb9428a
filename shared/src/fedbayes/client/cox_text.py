"""A Cox model in words: intervals and tests as survival analysts write them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .formats import number, p_value, title


def interval(entry: Mapping[str, Any]) -> str:
    """Return the 95 % interval of a coefficient's hazard ratio; `lower_95` and `upper_95` belong to the coefficient."""
    low, high = entry.get("lower_95"), entry.get("upper_95")
    if low is None or high is None:
        return number(None)
    return f"{_exponential(low)} to {_exponential(high)}"


def ratio(value: Any) -> str:
    """Return a hazard ratio with three decimals; with three digits where it is far from one."""
    if not isinstance(value, int | float) or not math.isfinite(value):
        return number(None)
    return f"{value:.3f}" if 0.01 <= value < 10.0 else number(float(value), 3)


def coefficient_cells(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a coefficient as the cells of a table: feature, coef, se, hazard ratio, 95 % interval, z, p."""
    return (
        str(entry["feature"]),
        number(entry["coefficient"]),
        number(entry.get("standard_error"), 3),
        ratio(entry.get("hazard_ratio")),
        interval(entry),
        number(entry.get("z"), 3),
        p_value(entry.get("p")),
    )


def _exponential(value: Any) -> str:
    return ratio(math.exp(min(float(value), 700.0)))


def facts_of(model: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return (name, text) of what a fit is told with: records and events, ties, likelihood, tests."""
    names = ("records", "events", "ties", "strata", "penalty", "log_likelihood")
    return [(title(name), number(model[name], 7)) for name in names if model.get(name)] + hypothesis_tests(model)


def chi_squared(test: Mapping[str, Any]) -> str:
    """Return a test as ``chi-squared 33.3 on 7 df, p < 0.001``."""
    degrees, p = test.get("degrees_of_freedom"), p_value(test.get("p"))
    relation = p if p.startswith("<") else f"= {p}"
    return f"chi-squared {number(test.get('statistic'), 4)} on {number(degrees)} df, p {relation}"


def hypothesis_tests(model: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return (name, text) of the likelihood-ratio test and of the check of proportional hazards, where they are told."""
    found = []
    test = model.get("likelihood_ratio_test")
    if isinstance(test, Mapping):
        found.append((title("likelihood_ratio_test"), chi_squared(test)))
    check = model.get("proportional_hazards")
    if isinstance(check, Mapping):
        whole = check.get("global")
        name = f"Proportional hazards ({check.get('time_transform')})"
        found.append(
            (name, chi_squared(whole) if isinstance(whole, Mapping) else str(check.get("reason", "not checked")))
        )
        found += [
            (f"  of {entry['feature']}", chi_squared(entry))
            for entry in check.get("features") or []
            if float(entry["p"]) < 0.05
        ]
    return found


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
    found = []
    for name, told in MEASURES.items():
        if name not in metrics:
            continue
        text = number(metrics[name], 3)
        if isinstance(spread, Mapping):
            text += f" (standard deviation over folds {number(spread.get(name), 2)})"
        found.append((told, text))
    return found
