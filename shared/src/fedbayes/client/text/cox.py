"""A Cox model in words: intervals and tests as survival analysts write them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ...bayes.formulae.term_reader import read_terms
from ..formats import number, p_value, title


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


def coefficient_rows(entries: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Return coefficients as the cells of a table: feature, coef, se, hazard ratio, 95 % interval, z, p; decimals are aligned in each column."""
    decimals = _decimals([entry.get(name) for entry in entries for name in ("coefficient", "standard_error")])
    return [
        (
            str(entry["feature"]),
            _fixed(entry["coefficient"], decimals),
            _fixed(entry.get("standard_error"), decimals),
            ratio(entry.get("hazard_ratio")),
            interval(entry),
            _fixed(entry.get("z"), 2),
            p_value(entry.get("p")),
        )
        for entry in entries
    ]


def _decimals(values: Sequence[Any]) -> int:
    """Return how many decimals give the smallest number two digits, 3 to 6."""
    sizes = [abs(float(value)) for value in values if isinstance(value, int | float) and math.isfinite(value) and value]
    return min(max(3, 1 - math.floor(math.log10(min(sizes)))), 6) if sizes else 3


def _fixed(value: Any, decimals: int) -> str:
    if not isinstance(value, int | float) or not math.isfinite(value):
        return number(None)
    return f"{value:.{decimals}f}" if abs(value) < 1e6 else number(float(value), 3)


def _exponential(value: Any) -> str:
    return ratio(math.exp(min(float(value), 700.0)))


def aic_of(model: Mapping[str, Any]) -> float | None:
    """Return Akaike's criterion of the partial likelihood, -2 log L + 2 k; None where there is none, or a penalty makes it none."""
    likelihood = model.get("log_likelihood")
    if not isinstance(likelihood, int | float) or model.get("penalty"):
        return None
    return -2.0 * float(likelihood) + 2.0 * len(model["coefficients"])


def facts_of(model: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return (name, text) of what a fit is told with: records and events, ties, concordance, likelihood, AIC, tests."""
    names = (
        "records",
        "events",
        "ties",
        "strata",
        "weights",
        "entry",
        "robust",
        "cluster",
        "clusters",
        "penalty",
        "concordance",
        "log_likelihood",
        "null_log_likelihood",
    )
    facts = [fact_of(model, name) for name in names if model.get(name)]
    aic, compared = aic_of(model), references_of(model)
    facts += [("Compared with", compared)] if compared else []
    return [*facts, *([("Partial AIC", f"{aic:.2f}")] if aic is not None else []), *hypothesis_tests(model)]


def fact_of(model: Mapping[str, Any], name: str) -> tuple[str, str]:
    """Return a plain field of a fit as (name, text); the concordance of whole records is over pairs of one station, at the united times."""
    if name != "concordance":
        return title(name), number(model[name], 7)
    of = " of pairs of one station, on the grid of times" if model.get("split") == "horizontal" else ""
    of += f", in steps of {number(step, 3)}" if (step := model.get("concordance_step")) else ""
    return title(name) + of, number(model[name], 3)


def references_of(model: Mapping[str, Any]) -> str:
    """Return the reference category of every factor, as ``stage=I, smoker=ex``; empty where there is none."""
    references = model.get("references")
    return ", ".join(f"{name}={level}" for name, level in references.items()) if isinstance(references, Mapping) else ""


def nested_test(larger: Mapping[str, Any], smaller: Mapping[str, Any]) -> dict[str, Any]:
    """Return the likelihood-ratio test of two Cox models, one nested in the other: statistic, degrees_of_freedom, p, added.

    Raises
    ------
    ValueError
        Naming why the two cannot be compared: other outcome, ties, strata, records or events; a penalty; not nested; without a log-likelihood.
    """
    from scipy.stats import chi2

    names = [{str(entry["feature"]) for entry in model["coefficients"]} for model in (larger, smaller)]
    if not names[1] < names[0]:
        raise ValueError("the features of one model must be a part of the other's; give the larger model first")
    splines = [_splines(model) for model in (larger, smaller)]
    if any(splines[0].get(name, text) != text for name, text in splines[1].items()):
        raise ValueError("a spline has other bounds in the other model: fit both with the same")
    other = [
        name
        for name in ("time", "event", "ties", "strata", "weights", "entry", "records", "events")
        if larger.get(name) != smaller.get(name)
    ]
    if other:
        raise ValueError(f"the models differ in {', '.join(other)}: fit both on the same records in the same way")
    likelihoods = [model.get("log_likelihood") for model in (larger, smaller)]
    if any(value is None for value in likelihoods) or larger.get("penalty") or smaller.get("penalty"):
        raise ValueError("both models need a log-likelihood, and no penalty")
    statistic = max(2.0 * (float(likelihoods[0] or 0.0) - float(likelihoods[1] or 0.0)), 0.0)
    degrees = len(names[0]) - len(names[1])
    p = float(chi2.sf(statistic, degrees))
    return {"statistic": statistic, "degrees_of_freedom": degrees, "p": p, "added": sorted(names[0] - names[1])}


def _splines(model: Mapping[str, Any]) -> dict[str, str]:
    """Return the splines of a model's formula by name, with their bounds, which coefficients do not name."""
    factors = read_terms(model["formula"]).factors if model.get("formula") else {}
    return {name: factor.text for name, factor in factors.items() if factor.spline is not None}


def chi_squared(test: Mapping[str, Any]) -> str:
    """Return a test as ``chi-squared 33.3 on 7 df, p < 0.001``."""
    degrees, p = test.get("degrees_of_freedom"), p_value(test.get("p"))
    relation = p if p.startswith("<") else f"= {p}"
    return f"chi-squared {number(test.get('statistic'), 4)} on {number(degrees)} df, p {relation}"


def hypothesis_tests(model: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return (name, text) of the likelihood-ratio test and of the check of proportional hazards, where they are told."""
    lines = []
    test = model.get("likelihood_ratio_test")
    if isinstance(test, Mapping):
        lines.append((title("likelihood_ratio_test"), chi_squared(test)))
    check = model.get("proportional_hazards")
    if isinstance(check, Mapping):
        whole = check.get("global")
        name = f"Proportional hazards ({check.get('time_transform')})"
        lines.append(
            (name, chi_squared(whole) if isinstance(whole, Mapping) else str(check.get("reason", "not checked")))
        )
        lines += [
            (f"  of {entry['feature']}", chi_squared(entry))
            for entry in check.get("features") or []
            if float(entry["p"]) < 0.05
        ]
    return lines
