"""What a fit over horizontally split records returns: the fields of a vertical one, and the grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fedbayes.federation import results as common

from ..cox.likelihood import coefficient_table, inverse, likelihood_ratio
from ..cox.proportional import check, trend
from .fitting import Known, Solution, widths

Vector = npt.NDArray[np.float64]
NOT_PRIVATE = "exact coefficients, standard errors and a coarse baseline hazard are released without noise, made of exact sums over risk sets"


def model_json(known: Known, solution: Solution, penalty: float, transform: str | None) -> dict[str, Any]:
    """Return the fitted model as JSON, in the units of the data; the baseline is that of a record at the mean of every feature."""
    question, unit = known.question, widths(known)
    labels = question.labels
    coefficients = solution.coefficients / unit
    information = solution.information * np.outer(unit, unit) + penalty * np.eye(len(labels))
    covariance = inverse(information)
    middle = np.array([middle for middle, _ in question.spans])
    half = np.array([half for _, half in question.spans])
    hazard = np.cumsum(solution.sums.spent()[0])
    gain = solution.log_likelihood - solution.null
    return {
        "kind": "cox",
        "split": "horizontal",
        "ties": question.ties,
        "penalty": penalty,
        "time": question.time,
        "event": question.event,
        "strata": None,
        "features": list(question.domain),
        "domain": question.domain,
        "references": dict(question.references),
        "times": list(question.times),
        "coefficients": coefficient_table(labels, coefficients, information),
        "covariance": covariance.tolist(),
        "log_likelihood": solution.log_likelihood,
        "null_log_likelihood": solution.null,
        "likelihood_ratio_test": likelihood_ratio(gain, len(labels)),
        "proportional_hazards": check(labels, score(known, solution, transform) * unit, covariance, transform),
        "offset": float(coefficients @ (middle + half * known.centre)),
        "baseline": {
            "time": list(question.times),
            "cumulative_hazard": hazard.tolist(),
            "survival": np.exp(-hazard).tolist(),
        },
        "missing": question.missing,
        "records": known.records,
        "events": int(known.events.sum()),
    }


def score(known: Known, solution: Solution, transform: str | None) -> Vector:
    """Return the score of every column's interaction with a function of time, (columns,), of centred and scaled columns."""
    times = np.array(known.question.times)
    when = np.append(times, times[-1])
    deaths, others = known.events, known.censored
    time = np.concatenate([np.repeat(when, deaths), np.repeat(when, others)])
    event = np.repeat([1, 0], [deaths.sum(), others.sum()])
    first = np.cumsum(deaths[:-1]) - deaths[:-1]
    values = trend(time, event, transform)[first]
    residuals = solution.sums.died - solution.sums.expected()
    return np.asarray(values @ residuals)


def privacy(ties: str) -> dict[str, Any]:
    """Return the privacy statement: what each role learns."""
    events = ", the same sums over the events of each time" if ties == "efron" else ""
    return common.privacy(
        False,
        reason=NOT_PRIVATE,
        unit="row",
        reveals={
            "researcher": "coefficients, covariance, log-likelihood, baseline hazard at times with several events between them, linear predictor at the mean, "
            "numbers of records and events, the united grid",
            "central": "over all stations: events and other records by time of the grid that was asked for, records at the bounds of each feature "
            "and with each category, means and deviations; at every point of the fit, at the times of the united grid, the sums over the records at "
            f"risk of their relative risks and of the features weighted by these{events}, the events' sums of features, and one matrix of squares over all "
            "records; nothing of one station",
            "stations": "coefficients, means and deviations of the features, and hazards of the times at every point",
        },
    )
