"""A fitted model applied to vertically split records: `predict`, `evaluate`, `baseline`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fedbayes.federation import Federation, central
from fedbayes.federation import results as common
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.jobs.transport import summed
from fedbayes.federation.perimeter.manifest import outline_of
from fedbayes.federation.vertical.declared import Matched
from fedbayes.typing import Booleans, Floats

from ..cox.survival import Steps, partial_hazards, survival_at
from ..messages.scoring import AssessReply, AssessRequest, read_sum
from ..rounds.stages import sealed_parts
from .arguments import Baseline, Evaluate, Predict
from .blind import judge_blindly
from .crossval import cross_validate
from .located import Located, checked_model, curves_of, warn_of_cases, warn_of_end
from .whole import baseline_by_rows, judge_by_rows

REASON = "computed from the records without noise"
SEES = "the total linear predictor of every record, under the model's coefficients; of a model fitted with missing='complete' which records have a gap"
SCORES = "the metrics, in steps of about one record; with the predictions of the same records very many of these tell each one's outcome"
JOINED = {
    "stations": "the coefficients of the model, which of their own records are common to all, and numbers of rows",
    "helper": "the coefficients of the model and numbers of rows; with an identifier column, sizes of the overlaps",
}


@central
def predict(federation: Federation, asked: Predict) -> dict[str, Any]:
    """Predict records whose features are split over stations that allow predictions.

    Returns
    -------
    dict
        ``predictions``: linear predictor, partial hazard (both against a record at the mean) and survival of every record.
    """
    curves = {curve.stratum: curve for curve in curves_of(checked_model(asked.model))}
    if asked.stratum not in curves:
        raise ArgumentError(f"stratum must be one of the model's: {', '.join(sorted(curves))[:300]}")
    warn_of_end(federation, [curves[asked.stratum]], asked.times)
    located = Located(federation, asked.model, asked)
    replies = located.score(0, asked.identifiers)
    seen = f"{SEES}, and its identifier" if asked.identifiers else SEES
    total = summed([reply.masked for reply in replies.values()])
    predictor, present = read_sum(total.astype(np.int64), located.question.missing == "complete")
    if not present.all():
        federation.warn(
            "records with a missing value at some station have no prediction (null): the model was fitted on complete records"
        )
    predictor = predictor - float(located.model["offset"])
    curve = curves[asked.stratum]
    wanted = np.array(curve.times if asked.times is None else asked.times)
    steps = Steps(np.array(curve.times), np.array(curve.hazard), 0.0)
    if asked.alive_at is not None:
        steps = replace(steps, values=np.maximum(steps.values - steps.at(np.array([asked.alive_at])), 0.0))
    return federation.result(
        predictions={
            "identifiers": [n for reply in replies.values() if reply.identifiers for n in reply.identifiers.value]
            or None,
            "linear_predictor": _of_complete(predictor, present),
            "partial_hazard": _of_complete(partial_hazards(predictor), present),
            "times": wanted,
            "survival": _of_complete(survival_at(steps, predictor, wanted), present),
        },
        privacy=common.privacy(False, reason=REASON, reveals={"central": seen, "researcher": seen, **JOINED}),
    )


@central
def evaluate(federation: Federation, asked: Evaluate) -> dict[str, Any]:
    """Assess a fitted model, or (`folds`) how well its specification predicts records that it has not seen.

    Returns
    -------
    dict
        ``metrics`` with ``concordance``, ``integrated_brier_score``, ``calibration``, and by time; ``concordance`` also at the top. With `folds`:
        the means over the folds, their standard deviations (``spread``), and each fold's (``folds``).
    """
    if asked.by_rows:
        return judge_by_rows(federation, asked)
    model, points, groups = asked.model, asked.times, asked.groups
    if asked.reveal == "aggregates":
        checked = checked_model(model)
        return judge_blindly(federation, checked, curves_of(checked), asked)
    if asked.folds is not None:
        if "baseline" in model:  # of a specification there is none
            warn_of_end(federation, curves_of(model), points)
        return cross_validate(federation, model, asked.folds, points, groups, asked)
    checked = checked_model(model)
    warn_of_end(federation, curves_of(checked), points)
    warn_of_cases(federation, checked)
    values = _assessed(federation, model, "evaluate", points, groups, asked)
    reveals = {"label_holder": SEES, "central": SCORES, "researcher": SCORES, **JOINED}
    return federation.result(
        metrics=values,
        concordance=values["concordance"],
        privacy=common.privacy(False, reason=REASON, reveals=reveals),
    )


@central
def baseline(federation: Federation, asked: Baseline) -> dict[str, Any]:
    """Return Breslow's cumulative baseline hazard of a fitted model on these records, at times with several events between them.

    Of a model with weights or times of entry records have these here too. Of a model of whole records the model's own treatment of ties is used.
    """
    if asked.by_rows:
        return baseline_by_rows(federation, asked)
    values = _assessed(federation, asked.model, "baseline", None, 2, asked)
    hazard = "the baseline hazard at a few times"
    reveals = {"label_holder": SEES, "central": hazard, "researcher": hazard, **JOINED}
    return federation.result(
        baseline={**values, "survival": [float(np.exp(-hazard)) for hazard in values["cumulative_hazard"]]},
        privacy=common.privacy(False, reason=REASON, reveals=reveals),
    )


def _of_complete(values: Floats, present: Booleans) -> Any:
    """Return values by record, None where a record has a gap."""
    if present.all():
        return values
    return [
        row if complete else (None if values.ndim == 1 else [None] * values.shape[1])
        for row, complete in zip(values.tolist(), present, strict=True)
    ]


def _assessed(
    federation: Federation,
    model: Any,
    task: str,
    times: list[float] | None,
    groups: int,
    roles: Matched,
) -> dict[str, Any]:
    curves_of(checked_model(model))  # refuses a baseline that is none, before anybody is asked
    located = Located(federation, model, roles, ["partial_assess"], ("weights", "entry") if task == "baseline" else ())
    owner = located.owners[0]
    replies = located.score(owner)
    request = AssessRequest(
        task,
        outline_of(located.model, baseline=True),
        sorted(member for member, features in located.features.items() if features),
        sealed_parts({member: reply.sealed for member, reply in replies.items()}),
        times,
        groups,
    )
    answer = federation.round("partial_assess", request, [owner], AssessReply, last=True)
    if located.question.missing == "complete":
        federation.warn(
            "records with a missing value at some station are left out: the model was fitted on complete records"
        )
    return dict(answer[owner].values.value)
