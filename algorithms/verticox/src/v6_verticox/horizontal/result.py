"""What a fit over horizontally split records returns: the fields of a vertical one, and the grid."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbayes.federation import Federation
from fedbayes.federation import results as common
from fedbayes.typing import Floats, Integers

from ..cox.inference import coefficient_table, inverse, likelihood_ratio
from ..cox.proportional import WEIGHTED, check, trend, unavailable
from ..cox.scores import told_in_steps
from ..cox.survival import curve_json
from .fitting import Solution
from .formula import entry_of
from .messages import Question
from .tallies import Tallied, widths

NOT_PRIVATE = "exact coefficients, standard errors and a coarse baseline hazard are released without noise, from exact sums over risk sets"

STEEP = 0.1
"""Hazard of a record at the mean between two times of the grid (mean over the events) above which Breslow's ties take a twentieth of a coefficient and more."""


def warn_of_coarse_times(federation: Federation, ties: str, events: Integers, solution: Solution) -> None:
    """Warn where so many events share a time of the united grid that Breslow's ties pull coefficients towards 0."""
    hazard = float(np.average(solution.sums.hazard_increments()[0], weights=events))
    if ties == "breslow" and hazard > STEEP:
        federation.warn(
            "times: many events share a time of the grid, so that Breslow's ties pull coefficients towards 0; "
            "give ties='efron', which loses less, or more times"
        )


def model_json(
    tallied: Tallied,
    grid: Floats,
    solution: Solution,
    penalty: float,
    transform: str | None,
    scores: Floats | None,
    minimum_count: int,
) -> dict[str, Any]:
    """Return the fitted model as JSON, in the units of the data; the baseline is that of a record at the mean of every feature.

    `grid` (times,): as it was asked for.
    `scores` (columns, columns): sum over clusters of products of score residuals, of which the covariance is the sandwich; None: that of the model.
    `minimum_count`: above 1 the concordance is told in steps (`cox.scores`).
    """
    question, unit = tallied.question, widths(tallied)
    labels = question.labels
    coefficients = solution.coefficients / unit
    information = solution.information * np.outer(unit, unit) + penalty * np.eye(len(labels))
    covariance = naive = inverse(information)
    if scores is not None:
        covariance = naive @ (scores * np.outer(unit, unit)) @ naive
    middle, half = np.array(question.spans).T
    gain = solution.log_likelihood - solution.null
    return {
        "kind": "cox",
        "split": "horizontal",
        "penalty": penalty,
        **question_json(question),
        **cases_json(tallied, scores is not None),
        "grid": grid.tolist(),
        "coefficients": coefficient_table(labels, coefficients, covariance),
        "covariance": covariance.tolist(),
        "naive_covariance": naive.tolist(),
        **told_in_steps("concordance", solution.concordance, tallied.records, minimum_count),
        "log_likelihood": solution.log_likelihood,
        "null_log_likelihood": solution.null,
        "likelihood_ratio_test": likelihood_ratio(gain, len(labels)),
        "proportional_hazards": unavailable(transform, WEIGHTED)
        if question.weights
        else check(labels, score(tallied, solution, transform) * unit, naive, transform),
        "offset": float(coefficients @ (middle + half * tallied.centre)),
        "baseline": baseline_json(question, solution.sums.hazard_increments()[0]),
        "records": tallied.records,
        "events": int(tallied.events.sum()),
    }


def question_json(question: Question) -> dict[str, Any]:
    """Return what a model keeps of its question."""
    return {
        "ties": question.ties,
        "time": question.time,
        "event": question.event,
        "features": list(question.domain) if question.design is None else question.design.terms.names,
        **formula_json(question),
        "domain": question.domain,
        "references": dict(question.references),
        "missing": question.missing,
        "times": times_json(question),
    }


def formula_json(question: Question) -> dict[str, Any]:
    """Return what a model keeps of its formula, as in a vertical fit."""
    design = question.design
    if design is None:
        return {}
    named = {name: entry_of(factor) for name, factor in design.terms.factors.items()}
    levels = {name: design.levels(entry) for name, entry in named.items() if design.schema[entry].is_categorical}
    return {"formula": question.formula, "terms": design.by_term, "levels": levels}


def cases_json(tallied: Tallied, robust: bool) -> dict[str, Any]:
    """Return how records count."""
    question = tallied.question
    return {
        "strata": next(iter(question.strata), None),
        "weights": question.weights or None,
        "entry": question.entry or None,
        "robust": robust,
        "cluster": question.cluster or None,
        "clusters": tallied.clusters,
    }


def times_json(question: Question) -> list[float] | dict[str, list[float]]:
    """Return the united grid; of each stratum where there are strata."""
    if not question.strata:
        return list(question.times)
    return {level: own.tolist() for level, own in zip(question.levels, question.grids, strict=True)}


def baseline_json(question: Question, spent: Floats) -> dict[str, Any]:
    """Return the cumulative baseline hazard and survival by stratum, of what a record with no effect spends at each time."""
    parts = []
    for level, times, own in zip(
        question.levels, question.grids, np.split(spent, np.cumsum(question.sizes)[:-1]), strict=True
    ):
        curve = curve_json(times, np.cumsum(own))
        parts.append({"stratum": level, **curve} if question.strata else curve)
    return {"strata": parts} if question.strata else parts[0]


def score(tallied: Tallied, solution: Solution, transform: str | None) -> Floats:
    """Return the score of every column's interaction with a function of time, (columns,), of centred and scaled columns."""
    question, deaths, others = tallied.question, tallied.events, tallied.censored
    times = np.array(question.times)
    when = question.slots.spread(times[:, None])[:, 0]
    when[question.slots.beyond] = [own[-1] for own in question.grids]
    time = np.concatenate([np.repeat(times, deaths), np.repeat(when, others)])
    event = np.repeat([1, 0], [deaths.sum(), others.sum()])
    first = np.cumsum(deaths) - deaths
    values = trend(time, event, transform)[first]
    residuals = solution.sums.died - solution.sums.expected()
    return np.asarray(values @ residuals)


def privacy(question: Question, robust: bool) -> dict[str, Any]:
    """Return the privacy statement: what each role learns."""
    events = ", the same sums over the events of each time" if question.ties == "efron" else ""
    extras = [
        (question.entry, "who enters by time of that grid"),
        (question.weights, "sums of the weights and of their squares by time of the merged grid"),
        (question.cluster, "the number of clusters and what records in those of several weigh"),
    ]
    more = "".join(f", {text}" for asked, text in extras if asked)
    more += (
        ", records in each combination of categories of a product, and what the formula's splines and products set apart"
        * bool(question.formula)
    )
    scores = ", one matrix of squares of score residuals" if robust else ""
    return common.privacy(
        False,
        reason=NOT_PRIVATE,
        unit="row",
        reveals={
            "researcher": "coefficients, covariance, log-likelihood, baseline hazard at times with several events between them, linear predictor at the mean, "
            "numbers of records, events and clusters, the merged grid of times",
            "central": f"over all stations: events and other records by {'stratum and ' if question.strata else ''}time of the grid that was asked for{more}, "
            "records at the bounds of each feature and with each category, means and deviations; at every point of the fit, at the times of the merged "
            f"grid, the sums over the records at risk of their relative risks and of the features weighted by these{events}, the events' sums of features, "
            f"one matrix of squares over all records, and how many pairs of records of one station agree{scores}; nothing of one station",
            "stations": "what central learns of all stations before the first point, by which each works out the merged grid itself; coefficients and hazards "
            "of the times at every point" + (", at the last also the features' means at risk" if robust else ""),
        },
    )
