"""What results tell beside their answer: tests, intervals, curves and shares, against scipy or the definitions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import stats

from . import cox
from .cases import Difference, close, same

LEVEL = 0.95
"""Of intervals and of what chance reaches, as the pages say."""


def check_association(found: Any, table: Any, axes: list[dict[str, Any]], judged: bool) -> None:
    """Hold chi-squared and odds ratio of a whole table against scipy's; `judged`: exact, of two columns, without a hidden cell."""
    known = table[tuple(slice(-1) if axis["labels"] and axis["labels"][-1] is None else slice(None) for axis in axes)]
    known = known[known.sum(axis=1) > 0][:, known.sum(axis=0) > 0] if judged else known
    if not judged or min(known.shape) < 2:
        return same("association", found, None)
    wanted = stats.chi2_contingency(known, correction=False)
    same("degrees of freedom", found["degrees_of_freedom"], wanted.dof)
    close("chi-squared", found["chi_squared"], float(wanted.statistic), 1e-9)
    close("p of chi-squared", found["p_value"], float(wanted.pvalue), 1e-7, 1e-300)
    close("smallest expected count", found["smallest_expected"], float(wanted.expected_freq.min()), 1e-9)
    if known.shape != (2, 2) or not known.all():
        return same("odds ratio", (found["odds_ratio"], found["odds_ratio_interval"]), (None, None))
    odds = stats.contingency.odds_ratio(known, kind="sample")
    interval = odds.confidence_interval(LEVEL)
    close("odds ratio", found["odds_ratio"], float(odds.statistic), 1e-9)
    close("its interval", found["odds_ratio_interval"], [float(interval.low), float(interval.high)], 1e-7)


def check_chance(column: str, found: Any, pairs: list[tuple[Any, Any]]) -> None:
    """Hold the bits that chance reaches once in twenty against those of the likelihood ratio's law."""
    freedom = math.prod(len({repr(pair[side]) for pair in pairs}) - 1 for side in (0, 1))
    wanted = stats.chi2.ppf(LEVEL, freedom) / (2 * len(pairs) * math.log(2)) if freedom else 0.0
    close(f"what chance reaches of {column!r}", found, float(wanted), 1e-7)


def check_tests(model: Any, names: list[str], covariance: Any, tolerance: float) -> None:
    """Hold covariance and likelihood-ratio test of a Cox fit against those of the pooled one."""
    deviation = np.sqrt(np.diag(covariance))
    order = [names.index(row["feature"]) for row in model["coefficients"]]
    shown = np.array(model["covariance"]) / np.outer(deviation, deviation)[np.ix_(order, order)]
    wanted = (covariance / np.outer(deviation, deviation))[np.ix_(order, order)]
    if (deviation > 1e-9).all():
        close("covariance, in deviations", shown.tolist(), wanted.tolist(), 0.0, 40 * tolerance)
    test = model["likelihood_ratio_test"]
    same("degrees of freedom", test["degrees_of_freedom"], len(names))
    close("p of the ratio", test["p"], float(stats.chi2.sf(test["statistic"], len(names))), 1e-9, 1e-300)


def check_hazards_test(
    found: Any, names: list[str], kind: str, data: tuple[Any, Any, Any, Any], fit: cox.Fit, ties: str, tolerance: float
) -> None:
    """Hold the check of proportional hazards against equations 10 and 11 of Grambsch and Therneau (1994); data: times, events, strata, design."""
    time, event, strata, x = data
    if found is None or found["features"] is None:
        return
    trend = _trend(time, event, kind)
    score = np.zeros(x.shape[1])
    weight = np.exp((x - x.mean(axis=0)) @ fit.coefficients)
    for row in np.flatnonzero(event == 1):
        at_risk = (strata == strata[row]) & (time >= time[row])
        tied = at_risk & (time == time[row]) & (event == 1)
        means = []
        for place in range(int(tied.sum()) if ties == "efron" else 1):
            own = weight * (at_risk - place / tied.sum() * tied)
            means.append(own @ x / own.sum())
        score += trend[row] * (x[row] - np.mean(means, axis=0))
    covariance = np.linalg.inv(fit.information)
    shift = covariance @ score
    wanted = {name: float(shift[at] ** 2 / covariance[at, at]) for at, name in enumerate(names)}
    for one in found["features"]:
        _check_test(f"proportional hazards of {one['feature']!r}", one, wanted[one["feature"]], 1, tolerance)
    _check_test("proportional hazards", found["global"], float(score @ shift), len(names), tolerance)


def _check_test(what: str, found: Any, statistic: float, freedom: int, tolerance: float) -> None:
    same(f"degrees of freedom, {what}", found["degrees_of_freedom"], freedom)
    close(what, found["statistic"], statistic, 100 * tolerance, 100 * tolerance)
    close(f"p, {what}", found["p"], float(stats.chi2.sf(found["statistic"], freedom)), 1e-9, 1e-300)


def _trend(time: Any, event: Any, kind: str) -> Any:
    """Return the function of time, with mean 0 and variance 1 over the events."""
    died = time[event == 1]
    made = {
        "rank": lambda: np.array([np.sum(died < moment) + (np.sum(died == moment) + 1) / 2 for moment in time]),
        "km": lambda: np.array([1 - _alive(time, event, moment) for moment in time]),
        "identity": lambda: time,
        "log": lambda: np.log(np.maximum(time, died.min())),
    }[kind]()
    own = made[event == 1]
    return (made - own.mean()) / own.std() if np.ptp(own) > 0 else 0.0 * made


def _alive(time: Any, event: Any, moment: float) -> float:
    alive = 1.0
    for place in np.unique(time[(event == 1) & (time <= moment)]):
        alive *= 1 - ((time == place) & (event == 1)).sum() / (time >= place).sum()
    return float(alive)


def check_judged_times(found: Any, time: Any, event: Any, risk: Any, strata: Any) -> None:
    """Hold what is told of each time, and the integral, against the definitions."""
    half = found["step"] / 2.0 + 1e-9
    moments, brier = found["times"], found["brier_scores"]
    parts = [
        (high + low) / 2 * (later - early)
        for early, later, low, high in zip(moments, moments[1:], brier, brier[1:], strict=False)
    ]
    close("integrated Brier score", found["integrated_brier_score"], sum(parts) / (moments[-1] - moments[0]), 1e-9)
    for moment, early, area in zip(moments, found["concordance_by_time"], found["auc_by_time"], strict=True):
        wanted = cox.concordance(time, event * (time <= moment), risk, strata)
        _maybe(f"concordance up to {moment}", early, wanted, half)
        _maybe(f"area at {moment}", area, dynamic_area(time, event, risk, strata, moment), half)


def _maybe(what: str, found: float | None, wanted: float | None, margin: float) -> None:
    if found is None or wanted is None:
        return same(what, found, wanted)
    close(what, found, wanted, 0.0, margin)


def dynamic_area(time: Any, event: Any, risk: Any, strata: Any, moment: float) -> float | None:
    """Return the area under the curve of who has had the event against who is observed beyond a time, by the inverse chance of being observed until then."""
    agreeing = pairs = 0.0
    for case in np.flatnonzero((event == 1) & (time <= moment)):
        seen = 1.0
        for place in np.unique(time[(event == 0) & (time < time[case])]):
            censored = ((time == place) & (event == 0)).sum()
            seen *= 1 - censored / ((time > place).sum() + censored)
        other = risk[(time > moment) & (strata == strata[case])]
        pairs += len(other) / seen
        agreeing += float(np.where(np.abs(risk[case] - other) <= cox.TIED, 0.5, risk[case] > other).sum()) / seen
    return agreeing / pairs if pairs else None


def check_criteria(found: Any, parameters: int, cells: list[int], rows: int, value: float, margin: float = 0.0) -> None:
    """Hold what follows from a network's log-likelihood; `cells`: of each table, `margin`: of the log-likelihood."""
    same("parameters", found["parameters"], parameters)
    close("log-likelihood", found["log_likelihood"], value, 1e-7, margin + 1e-6 * max(1.0, abs(value)))
    told = found["log_likelihood"]
    close("aic", found["aic"], 2 * parameters - 2 * told, 1e-9)
    close("bic", found["bic"], parameters * math.log(max(rows, 1)) - 2 * told, 1e-9)
    close("aic as published", found["aic_published"], told - sum(cells) + len(cells), 1e-9)


def check_share(what: str, found: Any, without: int, rows: int, margin: float = 1e-6) -> None:
    """Hold a share of records without a value against the count."""
    if found is not None:
        close(what, found, without / max(rows, 1), 0.0, margin)


def check_calibration(found: Any, logs: Any, truth: Any) -> None:
    """Hold the tenths of confidence, where all are told, against those of pooled predictions."""
    if found is None or any(value is None for value in found["rows"]):
        return
    sure = np.exp(logs.max(axis=1))
    if (np.abs(sure * 10 - np.rint(sure * 10)) < 1e-4).any() or (np.diff(np.sort(logs, axis=1))[:, -1] < 1e-6).any():
        return
    right = logs.argmax(axis=1) == truth
    tenth = np.minimum((sure * 10).astype(int), 9)
    rows = np.bincount(tenth, minlength=10)
    if len(found["rows"]) != len(rows):
        raise Difference(f"a calibration of {len(found['rows'])} parts")
    same("rows of tenths", [int(value) for value in found["rows"]], rows.tolist())
    middle, shares = (np.arange(10) + 0.5) / 10, np.zeros(10)
    for place in np.flatnonzero(rows):
        shares[place] = right[tenth == place].mean()
        close("accuracy of a tenth", found["accuracy"][place], float(shares[place]), 1e-6)
    close("middles of the tenths", found["confidence"], middle.tolist(), 1e-9)
    close("error of the calibration", found["error"], float(np.abs(shares - middle) @ rows / rows.sum()), 1e-6)
