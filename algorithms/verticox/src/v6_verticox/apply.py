"""A fitted model applied to vertically split records: `predict`, `evaluate`, `baseline`."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbayes.federation import Federation, central
from fedbayes.federation import results as common
from fedbayes.federation.arguments import check_choice, check_flag, check_number
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.transport import summed

from .blind import judge_blindly
from .crossval import cross_validate
from .located import Located, Roles, checked_model, checked_times, curves_of
from .scoring_messages import AssessReply, AssessRequest
from .sums import SUM_BITS, sealed_parts
from .survival import Steps, survival_at

REASON = "computed from the records without noise"
SEES = "the total linear predictor of every record, under the model's coefficients"


@central
def predict(
    federation: Federation,
    model: dict[str, Any],
    times: list[float] | None = None,
    stratum: str = "all",
    identifiers: bool = False,
    id_column: str | None = None,
    helper: int | str | None = None,
    organizations: list[int | str] | None = None,
    rows_aligned: bool = False,
) -> dict[str, Any]:
    """Predict records whose features are split over stations that allow predictions.

    Parameters
    ----------
    federation : Federation
        The rounds.
    model : dict
        ``model`` of a result of `fit`.
    times : list of float, optional
        Where survival probabilities are wanted; the baseline's times by default.
    stratum : str
        Whose baseline to use, for a stratified model.
    identifiers : bool
        Whether the records' identifiers are returned too (they leave the station).
    id_column, helper, organizations, rows_aligned
        As for `fit`. With `rows_aligned` the records come in the order of the stations' rows, else in an order that is random.

    Returns
    -------
    dict
        ``predictions``: linear predictor, partial hazard (both against a record at the mean) and survival of every record.
    """
    points = checked_times(times, 1)
    curves = {curve.stratum: curve for curve in curves_of(checked_model(model))}
    if not isinstance(stratum, str) or stratum not in curves:
        raise ArgumentError(f"stratum must be one of the model's: {', '.join(sorted(curves))[:300]}")
    check_flag("identifiers", identifiers)
    located = Located(federation, model, Roles(id_column, helper, organizations, rows_aligned))
    replies = located.score(0, identifiers)
    total = summed([reply.masked for reply in replies.values()])
    predictor = total.astype(np.int64) / 2.0**SUM_BITS - float(located.model["offset"])
    curve = curves[stratum]
    wanted = np.array(curve.times if points is None else points)
    steps = Steps(np.array(curve.times), np.array(curve.hazard), 0.0)
    return federation.result(
        predictions={
            "identifiers": [n for reply in replies.values() if reply.identifiers for n in reply.identifiers.value]
            or None,
            "linear_predictor": predictor,
            "partial_hazard": np.exp(predictor),
            "times": wanted,
            "survival": survival_at(steps, np.exp(predictor), wanted),
        },
        privacy=common.privacy(False, reason=REASON, reveals={"central": SEES, "researcher": SEES}),
    )


@central
def evaluate(
    federation: Federation,
    model: dict[str, Any],
    times: list[float] | None = None,
    groups: int = 5,
    folds: int | None = None,
    reveal: str = "predictors",
    id_column: str | None = None,
    helper: int | str | None = None,
    organizations: list[int | str] | None = None,
    rows_aligned: bool = False,
) -> dict[str, Any]:
    """Assess a fitted model, or (`folds`) how well its specification predicts records that it has not seen.

    Parameters
    ----------
    federation : Federation
        The rounds.
    model : dict
        ``model`` of a result of `fit`.
    times : list of float, optional
        Where Brier scores are taken (two or more); quantiles of the event times by default.
    groups : int
        Groups of predicted survival whose calibration is returned.
    folds : int, optional
        Cross-validation in as many folds (10 is usual) inside this one task: fits to all but one fold, for each fold, in the same
        rounds. Of `model` its time, event, features, ties, penalty and strata are used.
    reveal : str
        "predictors": the outcome holder sees one number a record. "aggregates": nobody does; calibration and a test of fit, no
        concordance.
    id_column, helper, organizations, rows_aligned
        As for `fit`.

    Returns
    -------
    dict
        ``metrics`` with ``concordance``, ``integrated_brier_score``, ``calibration``; ``concordance`` also at the top. With `folds`:
        the means over the folds, their standard deviations (``spread``), and each fold's (``folds``).
    """
    points, groups = checked_times(times, 2), check_number("groups", groups, low=2, high=100, integer=True)
    check_choice("reveal", reveal, ("predictors", "aggregates"))
    if folds is not None and reveal == "aggregates":
        raise ArgumentError("reveal='aggregates' judges a given model; leave folds out")
    if reveal == "aggregates":
        told = checked_model(model)
        return judge_blindly(federation, told, curves_of(told), Roles(id_column, helper, organizations, rows_aligned))
    if folds is not None:
        return cross_validate(
            federation, model, folds, points, groups, Roles(id_column, helper, organizations, rows_aligned)
        )
    values = _assessed(
        federation, model, "evaluate", points, groups, Roles(id_column, helper, organizations, rows_aligned)
    )
    reveals = {"label_holder": SEES, "central": "the metrics", "researcher": "the metrics"}
    return federation.result(
        metrics=values,
        concordance=values["concordance"],
        privacy=common.privacy(False, reason=REASON, reveals=reveals),
    )


@central
def baseline(
    federation: Federation,
    model: dict[str, Any],
    id_column: str | None = None,
    helper: int | str | None = None,
    organizations: list[int | str] | None = None,
    rows_aligned: bool = False,
) -> dict[str, Any]:
    """Return Breslow's cumulative baseline hazard of a fitted model on these records, at times with several events between them.

    Parameters
    ----------
    federation : Federation
        The rounds.
    model : dict
        ``model`` of a result of `fit`.
    id_column, helper, organizations, rows_aligned
        As for `fit`.
    """
    values = _assessed(federation, model, "baseline", None, 2, Roles(id_column, helper, organizations, rows_aligned))
    hazard = "the baseline hazard at a few times"
    reveals = {"label_holder": SEES, "central": hazard, "researcher": hazard}
    return federation.result(
        baseline={**values, "survival": [float(np.exp(-hazard)) for hazard in values["cumulative_hazard"]]},
        privacy=common.privacy(False, reason=REASON, reveals=reveals),
    )


def _assessed(
    federation: Federation,
    model: Any,
    task: str,
    times: list[float] | None,
    groups: int,
    roles: Roles,
) -> dict[str, Any]:
    curves = curves_of(checked_model(model))
    located = Located(federation, model, roles, ["partial_assess"])
    if len(located.owners) != 1:
        raise ArgumentError("model: its time and event columns must be at exactly one of the stations")
    owner = located.owners[0]
    replies = located.score(owner)
    request = AssessRequest(
        task,
        located.question,
        sorted(member for member, features in located.features.items() if features),
        sealed_parts({member: reply.sealed for member, reply in replies.items()}),
        float(located.model["offset"]),
        curves,
        times,
        groups,
    )
    answer = federation.round("partial_assess", request, [owner], AssessReply, last=True)
    return dict(answer[owner].values.value)
