"""Measures of a cross-validation, by the outcome holder: every record is judged under the fit that did not see it.

References
----------
van Houwelingen, Statistics in Medicine 19, 2000 (slope of the linear predictor as a measure of calibration); and those of
`survival`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fedbayes.federation.errors import ArgumentError, ConvergenceError
from fedbayes.typing import Array, Floats, Indices

from ..cox import survival as measures
from ..cox.likelihood import RiskSets, fit
from ..cox.scores import coarse_groups, coarse_score, step_of
from ..messages.folds import JudgeRequest
from .assessing import predicted_survival, times_of
from .columns import Survival
from .guards import check_levels, check_survival, most_groups
from .sums import RESOLUTION

MEASURES = ("concordance", "integrated_brier_score", "calibration_slope", "calibration_difference")


def judged(outcome: Survival, predictor: Floats, fold: Array, request: JudgeRequest, limit: int) -> dict[str, Any]:
    """Return measures by fold, their mean and standard deviation, and calibration over all held-out records.

    Parameters
    ----------
    outcome : Survival
        All records, in the common order.
    predictor : ndarray of float, (records,)
        Of each under the fit that did not see it.
    fold : ndarray of int, (records,)
        Which fit that is.
    request : JudgeRequest
        Baselines of the fits, times, groups.
    limit : int
        A fold with fewer events, or a group with fewer records, is not reported.
    """
    check_levels(predictor, limit)
    times = times_of(outcome, request.times, limit)
    predicted = np.empty((len(predictor), len(times)))
    for number, baseline in enumerate(request.baselines):
        rows = fold == number
        part = Survival(outcome.time[rows], outcome.event[rows], outcome.stratum[rows], outcome.strata_names)
        predicted[rows] = predicted_survival(part, predictor[rows], baseline.curves, times)
    for number in range(len(request.baselines)):
        check_survival(predicted[fold == number], outcome.stratum[fold == number], limit)
    middle = len(times) // 2
    groups = most_groups(outcome, predicted[:, middle], float(times[middle]), request.groups, limit)
    folds = [
        _one_fold(outcome, predictor, predicted, times, np.flatnonzero(fold == number), limit)
        for number in range(len(request.baselines))
    ]
    exact = measures.brier_scores(outcome.time, outcome.event, predicted, times)
    scores = [coarse_score(float(one), len(predictor)) for one in exact]
    by_group = measures.calibration(
        outcome.time, outcome.event, predicted[:, middle], float(times[middle]), groups, RESOLUTION
    )
    pooled_slope = slope(outcome.time, outcome.event, outcome.stratum, predictor)
    return {
        "times": times.tolist(),
        "folds": folds,
        **_spread(folds),
        "pooled": {
            "integrated_brier_score": measures.integrated(np.array(scores), times),
            "brier_scores": scores,
            "calibration_slope": coarse_score(pooled_slope, len(predictor)),
        },
        "calibration": {"time": float(times[middle]), "groups": coarse_groups(by_group)},
        "step": step_of(len(predictor)),
        "records": len(predictor),
        "events": int(outcome.event.sum()),
    }


def _one_fold(
    outcome: Survival, predictor: Floats, predicted: Floats, times: Floats, rows: Indices, limit: int
) -> dict[str, Any]:
    """Return the measures of one fold's held-out records, in their steps; None where they would tell of too few events."""
    time, event = outcome.time[rows], outcome.event[rows]
    sizes: dict[str, Any] = {"records": len(rows), **dict.fromkeys(MEASURES)}
    if event.sum() < limit:
        return sizes
    censoring = measures.censoring_curve(outcome.time, outcome.event)
    middle = len(times) // 2
    observed = float(measures.kaplan_meier(time, event).at(times[middle : middle + 1])[0])
    exact = {
        "concordance": _or_none(
            lambda: measures.concordance(time, event, predictor[rows], outcome.stratum[rows], RESOLUTION)
        ),
        "integrated_brier_score": measures.integrated_brier(time, event, predicted[rows], times, censoring),
        "calibration_slope": slope(time, event, outcome.stratum[rows], predictor[rows]),
        "calibration_difference": observed - float(np.mean(predicted[rows, middle])),
    }
    return sizes | {name: coarse_score(value, len(rows)) for name, value in exact.items()}


def slope(time: Floats, event: Array, stratum: Array, predictor: Floats) -> float | None:
    """Return the coefficient of the linear predictor as the only feature: 1 is well calibrated, less is over-fitted."""
    return _or_none(
        lambda: float(fit(RiskSets.of(time, event, stratum), predictor[:, None], ["linear predictor"]).coefficients[0])
    )


def _or_none(measure: Callable[[], float]) -> float | None:
    try:
        return measure()
    except (ValueError, ArgumentError, ConvergenceError, np.linalg.LinAlgError):
        return None


def _spread(folds: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the mean of each measure over the folds, and under ``spread`` its standard deviation."""
    means: dict[str, Any] = {}
    deviations: dict[str, Any] = {}
    for name in MEASURES:
        values = [entry[name] for entry in folds if entry[name] is not None]
        means[name] = float(np.mean(values)) if values else None
        deviations[name] = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return {**means, "spread": deviations, "folds_judged": sum(entry["concordance"] is not None for entry in folds)}
