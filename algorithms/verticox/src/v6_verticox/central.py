"""Cox regression: `fit`."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbayes.bayes.schema import Schema
from fedbayes.federation import Federation, central
from fedbayes.federation.errors import ArgumentError, schema_errors

from . import result
from .arguments import CLUSTER_ROUNDS, SANDWICH_ROUNDS, Fit, checked_terms
from .cox.entering import factor_of
from .cox.scores import step_of_start
from .horizontal import result as horizontal_result
from .horizontal.fitting import Sums, solve_sums
from .horizontal.formula import Design, check_expressions, entry_of
from .horizontal.messages import MOST_COLUMNS, Question, reference_of
from .horizontal.private.fit import private_by_rows
from .horizontal.tallies import stations_of_exact, tally, widths
from .noisy.fit import private_by_columns
from .rounds.lockstep import Alone, alone
from .rounds.setup import Prepared, prepare
from .rounds.stages import mean_predictor
from .rounds.surface import FederatedSurface
from .solvers.bfgs import solve_seen
from .solvers.consensus import solve_consensus
from .solvers.newton import ROUNDS_BESIDE, solve
from .solvers.solution import SeenSolution, Solution

SEEN = ("partial_predict", "partial_residuals")
ADMM = ("partial_admm", "partial_auxiliary")
SUMMING = ("partial_tally", "partial_risk", "partial_squares")
WEIGHING, SCORING = ("partial_weigh",), ("partial_scores",)
ACCURATE = 1e-6  # mean relative error of the reciprocals; larger where risks differ so much that the fixed point rounds some of them
LARGEST_ACCURATE = 11.0  # predictor of a record far away: where one had a risk of more than about e^10, fits were off by up to `COARSE` (README)
KNOWN_LIKELIHOOD = 1e-3
"""Of the log-likelihood: half of the last digit that tables show of its test."""
OFF = 5.0  # steps that are left: so far off were fits at most, about
COARSE = 1e-4  # how far off, in standard deviations
KNOWN_COEFFICIENTS = 1e-5  # standard deviations, where the arithmetic's errors end a fit before the tolerance does
KNOWN_START = 0.1
"""Of the log-likelihood at zero of complete records."""


@central
def fit(federation: Federation, asked: Fit) -> dict[str, Any]:
    """Fit a Cox proportional hazards model to vertically or horizontally split records.

    Returns
    -------
    dict
        ``model.coefficients`` (one record a feature), ``model.baseline``, ``model.log_likelihood`` and more.
    """
    if asked.by_rows:
        return by_rows(federation, asked)
    if asked.added.private:
        return private_by_columns(federation, asked, asked_by_rows(federation, asked))
    called = {"bfgs": SEEN, "admm": ADMM}.get(asked.solver, ())
    prepared = prepare(federation, asked.organizations, asked, called)
    warn_of_a_lone_predictor(federation, prepared, asked)
    outcome = prepared.outcome
    told = {outcome.strata_names[code] for code in outcome.edge_strata}
    result.warn_of_no_hazard(federation, [name for name in outcome.strata_names if name not in told])
    solvers = {"private_newton": private_newton, "bfgs": bfgs, "admm": consensus}
    return solvers[asked.solver](federation, prepared, asked)


def by_rows(federation: Federation, asked: Fit) -> dict[str, Any]:
    """Fit to whole records of different people: Newton's method on sums over risk sets."""
    question = asked_by_rows(federation, asked)
    if asked.added.private:
        return private_by_rows(federation, asked.organizations, question, asked, asked.penalty)
    called = (*SUMMING, *(WEIGHING if asked.weights else ()), *(SCORING if asked.sandwich else ()))
    stations = stations_of_exact(federation, asked.organizations, question, called)
    tallied = tally(federation, stations, question)
    sums = Sums(federation, stations, tallied, asked.limit - asked.sandwich)
    solution = solve_sums(sums, asked.penalty, asked.tolerance)
    scores = sums.scores(solution.sums) if asked.sandwich else None
    model = horizontal_result.model_json(
        tallied,
        question.grids[0],
        solution,
        asked.penalty,
        asked.time_transform,
        scores,
        federation.minimum_count,
    )
    result.warn_of_units(federation, question.labels, solution.coefficients / widths(tallied))
    horizontal_result.warn_of_coarse_times(federation, question.ties, tallied.events, solution)
    return federation.result(
        model=model,
        privacy=horizontal_result.privacy(tallied.question, asked.sandwich),
        diagnostics={"evaluations": solution.evaluations, "times_asked": len(question.times)},
    )


def asked_by_rows(federation: Federation, asked: Fit) -> Question:
    """Return the question of a fit to whole records; `ArgumentError` where it contradicts itself."""
    with schema_errors(ArgumentError):
        schema, references, formula = features_by_rows(federation, asked)
        strata = Schema.from_domain(asked.domain).select([asked.strata] if asked.strata else [])
        if any(not column.is_categorical for column in strata):
            raise ArgumentError(
                f"strata: the domain must list the categories of '{asked.strata}'; bin it in the dictionary"
            )
    grid, levels = list(asked.times or []), max([1, *(len(column.keys) for column in strata)])
    return Question(
        time=asked.time,
        event=asked.event,
        domain=schema.to_domain(),
        references=references,
        times=grid * levels,
        sizes=[len(grid)] * levels,
        ties=asked.ties,
        missing=asked.missing,
        strata=strata.to_domain(),
        weights=asked.weights or "",
        entry=asked.entry or "",
        cluster=asked.cluster or "",
        formula=formula,
        robust=asked.sandwich,
    )


def features_by_rows(federation: Federation, asked: Fit) -> tuple[Schema, dict[str, str], str]:
    """Return the domains of the features, the categories that are left out, and the formula, "" without one."""
    dictionary_columns = (federation.dictionary or {}).get("columns", {})
    domain, names, formula_references = Schema.from_domain(asked.domain), asked.columns, {}
    terms = None
    if asked.formula is not None:
        terms = checked_terms("formula", asked.formula, {**domain.to_domain(), **dictionary_columns})
        check_expressions(terms, domain)
        names = list(dict.fromkeys(entry_of(factor) for factor in terms.factors.values()))
        formula_references = {
            factor.columns[0]: factor.reference for factor in terms.factors.values() if factor.reference
        }
    schema = domain.select(names)
    factors = [column for column in schema if column.is_categorical]
    lone = next((column.name for column in factors if len(column.keys) < 2), None)
    if lone is not None:
        raise ArgumentError(f"domain: feature '{lone[:60]}' needs two categories or more; list them, or leave it out")
    references = {
        one.name: reference_of(
            one, formula_references.get(one.name) or dictionary_columns.get(one.name, {}).get("reference")
        )
        for one in factors
    }
    width = sum(max(len(column.categories or ()) - 1, 1) for column in schema)
    if terms is not None:
        design = Design(terms, schema, references)
        design.check()
        width = len(design.labels)
    if width > MOST_COLUMNS:
        argument = "features: categories" if terms is None else "formula: its terms"
        raise ArgumentError(f"{argument} make more than {MOST_COLUMNS} design columns; give fewer")
    return schema, references, "" if terms is None else terms.text


def warn_of_a_lone_predictor(federation: Federation, prepared: Prepared, options: Fit) -> None:
    """Warn where a solver that sums predictors would sum only one."""
    if options.solver != "private_newton" and sum(1 for width in prepared.plan.widths[:-1] if width) == 1:
        federation.warn(
            "only one other station has features: the outcome holder sees its linear predictor record by record"
        )


def private_newton(federation: Federation, prepared: Prepared, options: Fit) -> dict[str, Any]:
    """Solve with nobody seeing a record-level value."""
    kept = SANDWICH_ROUNDS * options.sandwich + CLUSTER_ROUNDS * options.grouped
    surface = FederatedSurface(Alone(federation), prepared, options.limit - kept)
    scales = np.array(prepared.scales)
    solution = alone(
        solve(surface, options.penalty / scales**2, options.tolerance, prepared.most_steps, likelihood=True)
    )
    squares = alone(surface.squares()) if options.sandwich else None
    _warn_of_accuracy(federation, prepared, surface, solution)
    result.warn_of_units(federation, prepared.names, solution.coefficients / scales)
    offset, shift = mean_predictor(federation, prepared, solution.coefficients)
    counts = surface.counts if prepared.plan.complete else [prepared.records, prepared.outcome.events]
    if counts is None:
        federation.warn("a few records have missing values; nodes publish no such small count")
    return federation.result(
        model=result.model_json(
            prepared,
            options,
            solution.coefficients / scales,
            solution.information * np.outer(scales, scales),
            surface.hazard * factor_of(shift),
            solution.gain,
            offset,
            surface.trend if options.checked else None,
            counts or [None, None],
            surface.null,
            squares if squares is None else squares * np.outer(scales, scales),
        ),
        privacy=result.privacy(federation, prepared, options.solver),
        diagnostics={
            "steps": solution.steps,
            "solver": options.solver,
            "log_likelihood_error": solution.gain_error + surface.null_error + start_error(federation, prepared),
        },
    )


def _warn_of_accuracy(
    federation: Federation, prepared: Prepared, surface: FederatedSurface, solution: Solution
) -> None:
    """Warn where coefficients, or the log-likelihood, are known coarsely."""
    coarse = solution.residual > ACCURATE or prepared.tails.largest(solution.coefficients) > LARGEST_ACCURATE
    if coarse or solution.floor > KNOWN_COEFFICIENTS:
        off = max(COARSE if coarse else 0.0, OFF * solution.floor)
        federation.warn(
            f"risks of records differ by four or more orders of magnitude, so coefficients may be accurate to {off:.1g} standard deviations only, "
            "and standard errors to a hundredth; transform features with outliers"
        )
    if solution.gain_error > KNOWN_LIKELIHOOD:
        short = surface.rounds_left() < ROUNDS_BESIDE
        remedy = "raise max_rounds" if short else "transform features with outliers (by their log or rank)"
        federation.warn(
            f"the log-likelihood and its test are accurate to about {solution.gain_error:.1g} only; {remedy}"
        )
    if surface.null_error > KNOWN_START:
        federation.warn(
            f"the log-likelihood, not its test, is only known to within {surface.null_error:.1g}, as records at risk late have gaps far more "
            "often than others; compare models by likelihood_ratio_test, or leave features with such gaps out"
        )


def bfgs(federation: Federation, prepared: Prepared, options: Fit) -> dict[str, Any]:
    """Solve with the outcome holder seeing the total linear predictor of every step."""
    solution = solve_seen(federation, prepared, options)
    if not solution.exact_information:
        federation.warn(
            "standard errors are those of a quasi-Newton matrix, as rounds ran out, and may be a hundredth off; raise max_rounds, or take private_newton"
        )
    return _seen_result(federation, prepared, options, solution, exact_information=solution.exact_information)


def consensus(federation: Federation, prepared: Prepared, options: Fit) -> dict[str, Any]:
    """Solve as published; standard errors and baseline from one evaluation on shares."""
    return _seen_result(federation, prepared, options, solve_consensus(federation, prepared, options))


def _seen_result(
    federation: Federation, prepared: Prepared, options: Fit, solution: SeenSolution, **diagnostics: Any
) -> dict[str, Any]:
    """Return the result of a solver that works on predictors of scaled columns."""
    scales = np.array(prepared.scales)
    result.warn_of_units(federation, prepared.names, solution.coefficients / scales)
    offset, _ = mean_predictor(federation, prepared, solution.coefficients)
    return federation.result(
        model=result.model_json(
            prepared,
            options,
            solution.coefficients / scales,
            solution.information * np.outer(scales, scales),
            solution.hazard,
            solution.log_likelihood - prepared.outcome.log_likelihood,
            offset,
            solution.trend,
            [prepared.records, prepared.outcome.events],
            prepared.outcome.log_likelihood,
        ),
        privacy=result.privacy(federation, prepared, options.solver),
        diagnostics={
            "steps": solution.steps,
            "solver": options.solver,
            "log_likelihood_error": start_error(federation, prepared),
            **diagnostics,
        },
    )


def start_error(federation: Federation, prepared: Prepared) -> float:
    """Return how far the log-likelihoods, not their difference, are off at most, as that at zero of few records is told in steps."""
    if prepared.plan.complete or federation.minimum_count <= 1:
        return 0.0
    return step_of_start(prepared.outcome.log_likelihood, prepared.records, prepared.outcome.events) / 2.0
