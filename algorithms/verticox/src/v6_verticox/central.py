"""Vertical Cox regression: `fit`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fedbayes.federation import Federation, central
from fedbayes.federation.vertical import check_alignment

from . import report
from .admm_central import solve_consensus
from .bfgs import solve_seen
from .messages import FinishReply, FinishRequest
from .newton import solve
from .options import FitOptions
from .partial import OFFSET_BITS
from .setup import Prepared, prepare
from .surface import FederatedSurface

MOST_STEPS = 40
SEEN = ("partial_predict", "partial_residuals")
ADMM = ("partial_admm", "partial_auxiliary")
ACCURATE = 1e-6
LARGEST_ACCURATE = 11.0


@central
def fit(
    federation: Federation,
    time: str,
    event: str,
    features: list[str],
    solver: str = "private_newton",
    ties: str = "breslow",
    penalty: float = 0.0,
    strata: str | None = None,
    rho: float = 0.25,
    gamma_update: str = "standard",
    tolerance: float = 1e-7,
    max_rounds: int | None = None,
    time_transform: str | None = "rank",
    id_column: str | None = None,
    helper: int | str | None = None,
    organizations: list[int | str] | None = None,
    rows_aligned: bool = False,
    missing: str = "refuse",
) -> dict[str, Any]:
    """Fit a Cox proportional hazards model to vertically split records.

    Parameters
    ----------
    federation : Federation
        The rounds.
    time, event : str
        Columns of the outcome holder: non-negative times; 1 for an event, 0 for a censored record.
    features : list of str
        Columns of any stations. Text is coded as one indicator a category, the alphabetically first left out.
    solver : str
        "private_newton": nobody sees a record-level value. "bfgs": fewer rounds, with the leak stated in the result.
        "admm": the published algorithm, for comparison.
    ties : str
        "breslow", or "efron" (not "admm").
    penalty : float
        Ridge: penalty / 2 times the sum of squared coefficients is subtracted from the log partial likelihood.
    strata : str, optional
        Column of the outcome holder; every stratum has a baseline of its own.
    rho : float
        Step parameter of "admm".
    gamma_update : str
        Of "admm": "standard", or "published" as in the published program; both end at the same coefficients.
    tolerance : float
        Wanted accuracy of the coefficients, in standard deviations of a feature.
    max_rounds : int, optional
        80 ("private_newton"), 30 ("bfgs") or 2000 ("admm").
    time_transform : str, optional
        Function of time in the check of proportional hazards: "rank", "km", "identity" or "log"; None: no check.
    id_column : str, optional
        Identifier by which records are aligned; needed unless `rows_aligned`.
    helper : int or str, optional
        The commodity server; the first organization without data that does not run central.
    organizations : list, optional
        All of the collaboration by default.
    rows_aligned : bool
        The caller's word that all files hold the same records in the same order, instead of an `id_column`.
    missing : str
        "refuse": a gap in a column that is used is an error. "complete" (`private_newton`, ties as "breslow"): the records without a gap at any
        station count; nobody sees which.

    Returns
    -------
    dict
        ``model.coefficients`` (one record a feature), ``model.baseline``, ``model.log_likelihood`` and more.
    """
    options = FitOptions.checked(
        {
            "time": time,
            "event": event,
            "features": features,
            "solver": solver,
            "ties": ties,
            "penalty": penalty,
            "strata": strata,
            "rho": rho,
            "gamma_update": gamma_update,
            "tolerance": tolerance,
            "max_rounds": max_rounds,
            "id_column": check_alignment(id_column, rows_aligned) or None,
            "helper": helper,
            "time_transform": time_transform,
            "missing": missing,
        }
    )
    called = {"bfgs": SEEN, "admm": ADMM}.get(options.solver, ())
    prepared = prepare(federation, organizations, options, called)
    warn_of_a_lone_predictor(federation, prepared, options)
    solvers = {"private_newton": private_newton, "bfgs": bfgs, "admm": consensus}
    return solvers[options.solver](federation, prepared, options)


def warn_of_a_lone_predictor(federation: Federation, prepared: Prepared, options: FitOptions) -> None:
    """Warn where a solver that sums predictors would sum only one."""
    if options.solver != "private_newton" and sum(1 for width in prepared.plan.widths[:-1] if width) == 1:
        federation.warn(
            "only one other station has features: the outcome holder sees its linear predictor record by record"
        )


def private_newton(federation: Federation, prepared: Prepared, options: FitOptions) -> dict[str, Any]:
    """Solve with nobody seeing a record-level value."""
    surface = FederatedSurface(federation, prepared, options.max_rounds)
    scales = np.array(prepared.scales)
    solution = solve(surface, options.penalty / scales**2, options.tolerance, MOST_STEPS, likelihood=True)
    if solution.residual > ACCURATE or prepared.tails.largest(solution.coefficients) > LARGEST_ACCURATE:
        federation.warn(
            "risks of records differ by four or more orders of magnitude, so coefficients may be accurate to 1e-4 standard deviations only; "
            "transform features with outliers"
        )
    report.warn_of_units(federation, prepared, solution.coefficients / scales)
    offset, shift = mean_predictor(federation, prepared, solution.coefficients)
    counts = surface.counts if prepared.plan.complete else [prepared.plan.records, prepared.outcome.events]
    if counts is None:
        federation.warn("a few records have gaps; how many is not told, as a node reveals no such count")
    return federation.result(
        model=report.model_json(
            prepared,
            options,
            solution.coefficients / scales,
            solution.information * np.outer(scales, scales),
            surface.hazard * math.exp(shift),
            solution.gain,
            offset,
            None if prepared.plan.complete else surface.trend,
            counts or [None, None],
        ),
        privacy=report.privacy(federation, prepared, options.solver),
        diagnostics={
            "steps": solution.steps,
            "solver": options.solver,
            "log_likelihood_error": solution.gain_error,
        },
    )


def bfgs(federation: Federation, prepared: Prepared, options: FitOptions) -> dict[str, Any]:
    """Solve with the outcome holder seeing the total linear predictor of every step."""
    solution = solve_seen(federation, prepared, options)
    if not solution.exact_information:
        federation.warn("standard errors are those of a quasi-Newton matrix; private_newton gives exact ones")
    return _seen_result(federation, prepared, options, solution, exact_information=solution.exact_information)


def consensus(federation: Federation, prepared: Prepared, options: FitOptions) -> dict[str, Any]:
    """Solve as published; standard errors and baseline from one evaluation on shares."""
    return _seen_result(federation, prepared, options, solve_consensus(federation, prepared, options))


def _seen_result(
    federation: Federation, prepared: Prepared, options: FitOptions, solution: Any, **diagnostics: Any
) -> dict[str, Any]:
    """Return the result of a solver that works on predictors of scaled columns."""
    scales = np.array(prepared.scales)
    report.warn_of_units(federation, prepared, solution.coefficients / scales)
    offset, _ = mean_predictor(federation, prepared, solution.coefficients)
    return federation.result(
        model=report.model_json(
            prepared,
            options,
            solution.coefficients / scales,
            solution.information * np.outer(scales, scales),
            solution.hazard,
            solution.log_likelihood - prepared.outcome.log_likelihood,
            offset,
            solution.trend,
            [prepared.plan.records, prepared.outcome.events],
        ),
        privacy=report.privacy(federation, prepared, options.solver),
        diagnostics={"steps": solution.steps, "solver": options.solver, **diagnostics},
    )


def mean_predictor(federation: Federation, prepared: Prepared, coefficients: np.ndarray) -> tuple[float, float]:
    """Return the linear predictor at the mean, and the part of it by which complete records differ; by a secure sum, the job's last round."""
    plan, start, requests = prepared.plan, 0, {}
    for member, width in zip(plan.holders, plan.widths, strict=True):
        requests[member] = FinishRequest(plan, [float(value) for value in coefficients[start : start + width]])
        start += width
    requests[plan.helper] = FinishRequest(plan, [])
    members = [*plan.holders, plan.helper]
    total = federation.secure_sum("partial_finish", requests, members, FinishReply, last=True)
    own, shift = total.astype(np.int64) / 2.0**OFFSET_BITS
    return float(own + shift), float(shift)
