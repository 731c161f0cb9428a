"""What `fit` returns: model, privacy statement, diagnostics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fedbayes.federation import Federation
from fedbayes.federation import results as common
from fedbayes.typing import Floats

from .arguments import Fit
from .cox.inference import LARGEST_EXPONENT, coefficient_table, in_order, inverse, likelihood_ratio
from .cox.proportional import UNRANKED, UNSEEN, WEIGHTED, check, unavailable
from .cox.survival import curve_json
from .rounds.setup import Prepared

NOT_PRIVATE = "exact coefficients, standard errors and a coarse baseline hazard are released without noise"
BEFORE_TIMES = "how many records leave before each time of the baseline"
"""What of the outcome all roles learn, all but central without the times: where on shares the hazard is read."""
AS_ASKED = ("ties", "penalty", "time", "event", "strata", "weights", "entry")
"""Arguments that a model holds as they were given."""


def model_json(
    prepared: Prepared,
    options: Fit,
    coefficients: Floats,
    information: Floats,
    hazard: Floats,
    gain: float,
    offset: float,
    score: Floats | None,
    counts: Sequence[int | None],
    null: float,
    squares: Floats | None = None,
) -> dict[str, Any]:
    """Return the fitted model as JSON; `coefficients` and `information` in the units of the data.

    `offset` is the linear predictor at the mean of every feature: the baseline is that of a record at the mean.
    `score` is that of the features' interactions with time, in the scale of the parties' columns. `counts`: records and events
    that count. `null`: the log-likelihood at zero. `squares`: sum of products of score residuals, of which the covariance is the
    sandwich; None: that of the model.
    """
    information = information + options.penalty * np.eye(len(coefficients))
    covariance = naive = inverse(information)
    if squares is not None:
        covariance = naive @ squares @ naive
    model = {
        "kind": "cox",
        **{name: getattr(options, name) for name in AS_ASKED},
        "references": dict(prepared.references),
        **prepared.formula,
        "coefficients": coefficient_table(prepared.names, coefficients, covariance),
        "covariance": covariance.tolist(),
        **({} if squares is None else {"robust": True, "naive_covariance": naive.tolist()}),
        **({} if options.cluster is None else {"cluster": options.cluster, "clusters": prepared.plan.clusters[1]}),
        "log_likelihood": null + gain,
        "null_log_likelihood": null,
        "likelihood_ratio_test": likelihood_ratio(gain, len(coefficients)),
        "proportional_hazards": _proportional_hazards(prepared, options, score, naive),
        "offset": offset,
        "baseline": baseline_json(prepared, hazard),
        "missing": options.missing,
        "records": counts[0],
        "events": counts[1],
    }
    return in_order(model, prepared.written, prepared.question.features)


def _proportional_hazards(
    prepared: Prepared, options: Fit, score: Floats | None, covariance: Floats
) -> dict[str, Any] | None:
    """Return the check of proportional hazards, or why there is none."""
    if score is None:
        why = UNRANKED if prepared.plan.complete else WEIGHTED if options.weights else UNSEEN
        return unavailable(options.time_transform, why)
    scales = np.array(prepared.scales)
    return check(prepared.names, score * scales[: len(score)], covariance, options.time_transform)


def warn_of_units(federation: Federation, names: Sequence[str], coefficients: Floats) -> None:
    """Warn of features in units so small that a hazard ratio of one unit is no number; `coefficients` in the units of the data."""
    far = [n for n, value in zip(names, coefficients, strict=True) if abs(value) > LARGEST_EXPONENT]
    if far:
        federation.warn(
            f"the hazard ratio of one unit of {', '.join(far)} is too far from one to be a number and is left out; "
            "give the feature in larger units"
        )


def warn_of_no_hazard(federation: Federation, strata: Sequence[str]) -> None:
    """Warn of strata of which a baseline has no point."""
    if strata:
        named = ", ".join(f"'{name[:60]}'" for name in strata[:5]) + (", ..." if len(strata) > 5 else "")
        federation.warn(
            f"the baseline has no point of stratum {named}, which has too few events for what nodes reveal: "
            "survival that is predicted there is 1 at all times; merge strata and fit again"
        )


def baseline_json(prepared: Prepared, hazard: Floats) -> dict[str, Any]:
    """Return the cumulative baseline hazard at the mean, by stratum, at times with several events between them."""
    outcome = prepared.outcome
    codes, edges = np.array(outcome.edge_strata, dtype=int), np.array(outcome.edges, dtype=float)
    strata = []
    for code, name in enumerate(outcome.strata_names):
        chosen = codes == code
        curve = curve_json(edges[chosen], hazard[chosen])
        strata.append({"stratum": name, **curve})
    return {"strata": strata} if len(strata) > 1 else curve


def privacy(federation: Federation, prepared: Prepared, solver: str) -> dict[str, Any]:
    """Return the privacy statement: what each role learns."""
    statement_of = {"private_newton": _told_in_private, "admm": _told_by_admm}.get(solver, _told_with_predictors)
    base = {
        "researcher": "coefficients, covariance, log-likelihood, baseline hazard at times with several events between them, "
        "linear predictor at the mean, numbers of records and events, categories of text features",
        "helper": "numbers of rows, columns and steps; with an identifier column, sizes of the overlaps",
        **statement_of(federation.name(prepared.plan.holders[-1])),
    }
    base["central"] += f"; {BEFORE_TIMES}"
    for role in ("stations", "helper"):
        base[role] += f"; {BEFORE_TIMES}, without the times"
    if prepared.plan.complete:
        base["stations"] += (
            "; how many records are complete, in each stratum, and the sums of their own columns over these"
        )
        base["central"] += (
            "; of every station the share of records without a gap, rounded up to eighths; seven sums over the events, of which the "
            "log-likelihood at zero is made"
        )
    if prepared.plan.products:
        base["central"] += (
            "; of columns that are multiplied with another organization's the mean of numbers in fours of deviations, and the part of the ones of categories "
            "as a power of two; whether a combination of theirs has few records"
        )
        base["stations"] += "; coarse means of columns that are multiplied with theirs"
    if prepared.question.robust:
        base["central"] += (
            "; at the last step the sum of products of score residuals; sizes of ties of many events, as with Efron's ties"
        )
    base["stations"] += "; with an identifier column, which of their own records are common to all"
    if prepared.question.cluster:
        base["researcher"] += ", the number of clusters"
        base["central"] += (
            "; of the score residuals their sums by cluster only, multiplied and added up over all clusters"
        )
        base["stations"] += (
            "; how many clusters there are, nothing of who is in which but at the station with that column"
        )
    if prepared.question.weights:
        base["central"] += "; the sum of the events' case weights"
    return common.privacy(False, reason=NOT_PRIVATE, unit="row", reveals=base)


def _told_in_private(owner: str) -> dict[str, str]:
    return {
        "central": "what the researcher learns; gradient, information matrix and a scalar check of the reciprocals at every step; "
        "slopes of the likelihood at two to six points of the line from zero to the end, again where they were lost; "
        "at the last step, for every feature, the score of its interaction with time (of which the check of proportional hazards "
        "is made); scales of the features as powers of two, and how far heavy tails reach, to a factor of the root of two",
        "stations": f"numbers of rows and steps, and uniformly distributed vectors; the same for {owner}, which has the outcome",
    }


def _told_by_admm(owner: str) -> dict[str, str]:
    return {
        "central": "norms of the residuals in every iteration; otherwise as with private_newton, at one point",
        "stations": f"{owner}, which has the outcome, learns the total linear predictor of every record in every iteration: with as many "
        "iterations as columns it knows the space that the columns span, and whoever also has the result reads columns with few "
        "values, record by record; the other stations learn a number for every "
        "record in every iteration that follows the outcome (the published exchange)",
    }


def _told_with_predictors(owner: str) -> dict[str, str]:
    return {
        "central": "coefficients and gradient of every step, products of the information matrix with earlier steps, the information matrix itself "
        "at zero, at the end and at one or two points between them, at the end the score of every feature's interaction with time; "
        "scales of the features as powers of two, and how far heavy tails reach, to a factor of the root of two; no record-level value",
        "stations": f"{owner}, which has the outcome, learns the total linear predictor of every record at every step, without the "
        "coefficients: with as many steps as columns it knows the space that the columns span, and whoever also knows "
        "the coefficients of the steps solves for the columns, and with the result alone for those with few values; the "
        "other stations learn uniformly distributed vectors",
    }
