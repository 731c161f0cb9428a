"""A fitted model judged on whole records of different people."""

from __future__ import annotations

from typing import Any

from fedbayes.federation import Federation
from fedbayes.federation.errors import ArgumentError

from ..horizontal.judging.exact import judge
from ..horizontal.judging.model import grid_of, judged_model
from ..horizontal.judging.private import check_noisy, judge_privately, noisy_times, on_grid
from .arguments import Evaluate
from .located import checked_model, curves_of, warn_of_cases, warn_of_end


def judge_by_rows(federation: Federation, asked: Evaluate) -> dict[str, Any]:
    """Return the metrics of a model of whole records: exact, or with an epsilon with noise.

    Raises
    ------
    ArgumentError
        If the model is not one of a fit, or the question contradicts it.
    """
    model = checked_model(asked.model)
    warn_of_cases(federation, model)
    warn_of_end(federation, model, asked.times)
    curves = curves_of(model)
    if bool(model.get("strata")) != ("strata" in model["baseline"]):
        raise ArgumentError(
            "model: strata and baseline do not agree; give the `model` of a result of verticox.fit as it is"
        )
    judged = judged_model(model, grid_of(model, asked.times), [curve.stratum for curve in curves])
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
