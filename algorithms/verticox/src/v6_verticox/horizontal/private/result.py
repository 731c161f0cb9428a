"""What a private fit returns: the fields of an exact one as far as noisy sums tell them, and how much of each is noise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...cox.inference import coefficient_table
from ...cox.proportional import unavailable
from ...cox.survival import curve_json
from .fitting import Solution
from .layout import PORTIONS
from .messages import STEPS, Asked
from .outline import Outline

COMPOSITION = (
    "Gaussian: the square of mu, the largest that epsilon and delta allow, over an outline of the records and "
    f"{STEPS} steps ({', '.join(f'{portion:g}' for portion in PORTIONS)} of it)"
)
UNCHECKED = "not tested: a private fit spends no budget on it"
UNEVEN = 0.25
"""`unevenness` above which coefficients are off by a twentieth where the hazard falls, and by a thirtieth where it rises. Found by trial."""
SPENT = 2.0
"""Cumulative hazard of a record at the mean at the end of the grid, above which clips that hold to the end are short: six of seven have the event before."""


def spans(asked: Asked) -> tuple[Any, Any]:
    """Return middle and unit of every design column in the units of the data, (columns,) each."""
    middles = []
    for column in asked.question.schema:
        labels = asked.question.labels_of(column)
        low, high = column.bounds or (0.0, 0.0)
        middles += [1.0 / len(column.keys) if column.is_categorical else (low + high) / 2.0] * len(labels)
    return np.array(middles), np.array([half for _, half in asked.question.spans])


def model_json(asked: Asked, outline: Outline, solution: Solution, penalty: float, split: str) -> dict[str, Any]:
    """Return the fitted model as JSON, in the units of the data; the baseline is that of a record at the (noisy) mean of every feature."""
    question = asked.question
    middle, unit = spans(asked)
    coefficients = solution.coefficients / unit
    covariance = solution.covariance / np.outer(unit, unit)
    labels = question.labels
    return {
        "kind": "cox",
        "split": split,
        "ties": "breslow",
        "penalty": penalty,
        "time": question.time,
        "event": question.event,
        **dict.fromkeys(("strata", "weights", "entry", "cluster", "clusters")),
        "robust": False,
        "features": list(question.domain),
        "domain": question.domain,
        "references": dict(question.references),
        "times": outline.times.tolist(),
        "grid": list(question.times),
        "coefficients": coefficient_table(labels, coefficients, covariance),
        "covariance": covariance.tolist(),
        **dict.fromkeys(("concordance", "log_likelihood", "null_log_likelihood", "likelihood_ratio_test")),
        "proportional_hazards": unavailable("rank", UNCHECKED),
        "offset": float(coefficients @ (middle + unit * outline.mean)),
        "baseline": curve_json(outline.times, solution.cumulative_hazard),
        "missing": "complete",
        "records": round(outline.records),
        "events": round(outline.total),
        "noise": {
            "coefficients": dict(zip(labels, np.sqrt(np.diag(solution.noise)) / unit, strict=True)),
            "records": outline.records_noise,
            "events": outline.events_noise,
        },
    }


def privacy(asked: Asked) -> dict[str, Any]:
    """Return the privacy statement."""
    return asked.noise.statement(
        asked.unit,
        composition=COMPOSITION,
        sensitivity="what a row adds to a sum is cut at 1 (L2), by public bounds and by clips that are told with the question",
        reveals={
            "central": "over all stations, with noise: events and time at risk by time of the grid that was asked for, means and squares of the features; at "
            f"{STEPS} points the slope of the likelihood, how many events the hazard misses, one matrix of squares",
            "stations": "coefficients, means and deviations of the features, and the hazard at each point: all made of noisy sums",
            "researcher": "the model: coefficients with standard errors that hold the noise, baseline hazard, numbers of records and events, all with noise",
        },
    )


def warnings(asked: Asked, outline: Outline, solution: Solution) -> list[str]:
    """Return what the noise does to the answer, told by noisy sums."""
    columns, texts = len(asked.question.labels), []
    if outline.loud or 2 * solution.loud >= columns:
        texts.append(
            f"the noise dominates: it is larger than the sampling error in {solution.loud} of {columns} coefficients"
            + (", and hides even the number of events" if outline.loud else "")
            + f"; what would help: a larger epsilon (now {asked.noise.epsilon:g}) or delta, fewer features, narrower bounds, "
            + ("a grid of times that ends earlier, " if solution.cumulative_hazard[-1] > SPENT else "")
            + "or more rows"
        )
    if len(outline.times) < len(asked.question.times):
        texts.append(
            f"{len(asked.question.times)} times were merged into {len(outline.times)}, so that the events of every interval stand out of the noise; "
            "model.times lists them"
        )
    if unevenness(asked, outline, solution) > UNEVEN:
        texts.append(
            "times: the hazard is taken to be constant between two times of the grid, and it changes much there, so that coefficients may be off "
            "by a twentieth and more; give more times"
        )
    return texts


def unevenness(asked: Asked, outline: Outline, solution: Solution) -> float:
    """Return how much the hazard changes between two times of the united grid, times what a record at the mean spends there: a mean over the events.

    A constant hazard makes no bias however few times there are, and neither does a change where hardly anybody has the event. What the numbers of events,
    with their noise, leave unsure of a change is taken off.
    """
    width = np.diff(outline.times, prepend=0.0)
    spent = np.diff(solution.cumulative_hazard, prepend=0.0)
    if len(width) < 2 or np.any(spent <= 0.0):
        return 0.0
    middles, spread = outline.times - width / 2.0, outline.events_noise / math.sqrt(len(asked.question.times))
    cells = np.diff(np.searchsorted(asked.question.times, outline.times), prepend=-1)
    doubt = (outline.events + spread**2 * cells) / outline.events**2
    change = np.abs(np.gradient(np.log(spent / width), middles)) * width
    unsure = 2.0 * np.sqrt(doubt + np.append(doubt[1:], doubt[-2]))
    return float(np.average(np.maximum(change - unsure, 0.0) * spent, weights=outline.events))
