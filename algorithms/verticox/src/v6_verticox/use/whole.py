"""A fitted model judged on whole records of different people."""

from __future__ import annotations

from typing import Any

from fedbayes.federation import Federation
from fedbayes.federation.errors import ArgumentError

from ..horizontal.judging.exact import judge
from ..horizontal.judging.hazard import hazard_of
from ..horizontal.judging.messages import HazardRequest, Judged
from ..horizontal.judging.model import applied_model, grid_of
from ..horizontal.judging.private import check_noisy, judge_privately, noisy_times, on_grid
from .arguments import Baseline, Evaluate
from .located import checked_model, curves_of, warn_of_cases, warn_of_end


def judge_by_rows(federation: Federation, asked: Evaluate) -> dict[str, Any]:
    """Return the metrics of a model of whole records: exact, or with an epsilon with noise.

    Raises
    ------
    ArgumentError
        If the model is not one of a fit, or the question contradicts it.
    """
    model, strata = of_strata(asked.model)
    warn_of_cases(federation, model)
    warn_of_end(federation, curves_of(model), asked.times)
    judged = applied_model(Judged, model, grid_of(model, asked.times), strata)
    if not asked.added.private:
        return judge(federation, asked.organizations, judged, asked.times, asked.groups)
    check_noisy(judged.question)
    times, ends = noisy_times(grid_of(model, None), asked.times, judged.strata)
    return judge_privately(
        federation,
        asked.organizations,
        on_grid(judged, times),
        model,
        ends,
        asked.groups,
        asked.added,
        asked.whom,
    )


def baseline_by_rows(federation: Federation, asked: Baseline) -> dict[str, Any]:
    """Return the baseline hazard of a model on whole records, which count by the weights and times of entry of the fit.

    Raises
    ------
    ArgumentError
        If the model is not one of a fit.
    """
    model, strata = of_strata(asked.model)
    cases = {name: str(model[name]) for name in ("weights", "entry") if model.get(name)}
    request = applied_model(HazardRequest, model, grid_of(model, None), strata, **cases)
    return hazard_of(federation, asked.organizations, request)


def of_strata(given: Any) -> tuple[dict[str, Any], list[str]]:
    """Return a model of whole records, and the strata of its baseline; `ArgumentError` unless they agree."""
    model = checked_model(given)
    curves = curves_of(model)
    if bool(model.get("strata")) != ("strata" in model["baseline"]):
        raise ArgumentError(
            "model: strata and baseline do not agree; give the `model` of a result of verticox.fit as it is"
        )
    return model, [curve.stratum for curve in curves]
