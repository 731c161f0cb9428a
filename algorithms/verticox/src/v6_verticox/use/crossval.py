"""Cross-validation inside one task: the private fits of all folds share their rounds."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedbayes.federation import Federation
from fedbayes.federation import results as common
from fedbayes.federation.arguments import check_mapping
from fedbayes.federation.errors import ArgumentError, ConvergenceError
from fedbayes.federation.replies import SealedReply
from fedbayes.federation.vertical.declared import Matched
from fedbayes.typing import Floats

from ..arguments import Fit
from ..messages.folds import (
    DrawRequest,
    FoldCurves,
    HeldOutReply,
    HeldOutRequest,
    JudgeRequest,
    SplitReply,
    SplitRequest,
)
from ..messages.scoring import AssessReply, Curve
from ..messages.setup import Outcome
from ..result import BEFORE_TIMES
from ..rounds.lockstep import FoldRounds, in_lockstep
from ..rounds.setup import Prepared, prepare
from ..rounds.stages import sealed_parts
from ..rounds.surface import FederatedSurface
from ..solvers.newton import solve
from .located import warn_of_cases

TOLERANCE = 1e-5  # deviations: coefficients of a fold differ from those of another by far more
FOLDING = ("partial_draw", "partial_split", "partial_folds", "partial_held_out", "partial_judge")
MOST_NUMBERS = 1_500_000  # rows times columns of all fits that share rounds: 24 MB for an opening of that shape
REVEALS = {
    "central": "for every fold what a fit reveals: gradient, information matrix and a scalar check at every step, baseline hazard at times "
    f"with several events between them, {BEFORE_TIMES}; measures; not which record is in which fold",
    "researcher": "measures of every fold with enough events, and of groups of records, in steps of about one record",
    "label_holder": "one total linear predictor of every record, under the coefficients of the fit that did not see it, which it does "
    "not know; otherwise uniform vectors",
    "stations": "which records form a fold (at random), numbers of rows and steps, and uniform vectors"
    f"; with an identifier column, which of their own records are common to all; of every fold {BEFORE_TIMES}, without the times",
    "helper": "numbers of rows, columns, folds and steps; with an identifier column, sizes of the overlaps; "
    f"of every fold {BEFORE_TIMES}, without the times",
}


@dataclass(frozen=True, slots=True)
class FoldFit:
    """One fold's coefficients (in the scale of the parties' columns) and baseline."""

    coefficients: Floats
    baseline: FoldCurves


def cross_validate(
    federation: Federation, model: Any, count: int, times: list[float] | None, groups: int, roles: Matched
) -> dict[str, Any]:
    """Fit as many models as there are folds, each without one of them, and judge each on the records it did not see."""
    options = specification(model, roles, "cross-validated; leave folds out")
    prepared = prepare(federation, roles.organizations, options, FOLDING, 1 + count)
    if prepared.plan.products:
        raise ArgumentError(
            f"folds: '{prepared.plan.products[0].term}' is of columns at different organizations, so that no station has a part of a record's prediction; "
            "leave folds out and choose reveal='aggregates'"
        )
    warn_of_cases(federation, model, "the folds are fitted")
    training = split(federation, prepared, count)
    at_once = max(1, MOST_NUMBERS // (prepared.plan.rows * sum(prepared.plan.widths)))
    before = federation.rounds
    fits: list[FoldFit] = []
    for first in range(0, count, at_once):
        numbers = range(first, min(first + at_once, count))
        fits += in_lockstep(federation, [(number, fitting(number, training[number], options)) for number in numbers])
    rounds_of_fits = federation.rounds - before
    values = judge(federation, prepared, fits, times, groups)
    if values["folds_judged"] < count:
        federation.warn(
            "some folds have too few events to be reported one by one; their records are in the pooled measures"
        )
    return federation.result(
        metrics=values,
        concordance=values["concordance"],
        privacy=common.privacy(False, reason="computed from the records without noise", reveals=REVEALS),
        diagnostics={"folds": count, "folds_at_once": min(at_once, count), "rounds_of_all_fits": rounds_of_fits},
    )


def specification(model: Any, roles: Matched, how: str) -> Fit:
    """Return the options of the fits: what the model says, and the solver that shows nobody a record; `how` it is judged, and what to do instead."""
    checked = dict(check_mapping("model", model))
    missing = [name for name in ("time", "event", "features") if name not in checked]
    if missing:
        raise ArgumentError(f"model: '{missing[0]}' is missing; give the `model` of a result of verticox.fit")
    if checked.get("cluster"):
        raise ArgumentError(f"model: a model with cluster is not {how}, or fit without cluster")
    design = "formula" if checked.get("formula") else "features"
    names = ("time", "event", design, "ties", "penalty", "strata", "weights", "entry")
    given = {name: checked[name] for name in names if name in checked}
    matched = {name: getattr(roles, name) for name in ("id_column", "rows_aligned", "helper", "organizations")}
    return Fit.read("fit", {**given, **matched, "tolerance": TOLERANCE, "time_transform": None})


def split(federation: Federation, prepared: Prepared, folds: int) -> list[Prepared]:
    """Let the outcome holder draw the folds and all share holders keep their training records: two rounds."""
    plan = prepared.plan
    owner = plan.holders[-1]
    drawn = federation.round("partial_draw", DrawRequest(plan.holders, folds), [owner], SealedReply)[owner].sealed
    requests = {member: SplitRequest(prepared.question, owner, folds, drawn.get(member)) for member in plan.holders}
    outcomes = federation.round("partial_split", requests, plan.holders, SplitReply)[owner].outcomes
    assert outcomes is not None
    return [_part(prepared, outcome, fold, folds) for fold, outcome in enumerate(outcomes.value)]


def _part(prepared: Prepared, outcome: Outcome, fold: int, folds: int) -> Prepared:
    """Return roles and shapes of one fold's training records."""
    plan = prepared.plan
    held_out = prepared.records // folds + (1 if fold < prepared.records % folds else 0)
    shapes = replace(
        plan,
        rows=sum(outcome.strata),
        strata=outcome.strata,
        records=plan.records - held_out * plan.copies,
        ties=outcome.ties,
        band=outcome.band,
        single=outcome.single,
    )
    return replace(prepared, plan=shapes, outcome=outcome)


def fitting(fold: int, prepared: Prepared, options: Fit) -> Callable[[FoldRounds], Coroutine[Any, Any, FoldFit]]:
    """Return the computation of one fold."""

    async def fitted(rounds: FoldRounds) -> FoldFit:
        surface = FederatedSurface(rounds, prepared, options.limit)
        ridge = options.penalty / np.array(prepared.scales) ** 2
        try:
            solution = await solve(surface, ridge, options.tolerance, prepared.most_steps)
        except (ArgumentError, ConvergenceError) as error:
            raise type(error)(f"without fold {fold + 1}: {error}") from None
        return FoldFit(solution.coefficients, FoldCurves(_curves(prepared.outcome, surface.hazard)))

    return fitted


def _curves(outcome: Outcome, hazard: Floats) -> list[Curve]:
    places = [[i for i, code in enumerate(outcome.edge_strata) if code == k] for k in range(len(outcome.strata))]
    return [
        Curve(name, [outcome.edges[i] for i in chosen], [float(hazard[i]) for i in chosen])
        for name, chosen in zip(outcome.strata_names, places, strict=True)
    ]


def judge(
    federation: Federation, prepared: Prepared, fits: list[FoldFit], times: list[float] | None, groups: int
) -> dict[str, Any]:
    """Let the outcome holder compare the predictions of held-out records with their outcomes: two rounds."""
    plan = prepared.plan
    scorers = [member for member, width in zip(plan.holders, plan.widths, strict=True) if width]
    owner, own = plan.holders[-1], [plan.split(fit.coefficients) for fit in fits]
    question = prepared.question
    asked = HeldOutRequest(question, scorers, owner, prepared.records, [])
    requests = dict.fromkeys([*question.stations, plan.helper], asked)
    requests |= {member: replace(asked, coefficients=[one[member] for one in own]) for member in plan.holders}
    replies = federation.round("partial_held_out", requests, list(requests), HeldOutReply)
    request = JudgeRequest(
        prepared.question,
        scorers,
        sealed_parts({member: reply.sealed for member, reply in replies.items()}),
        [fit.baseline for fit in fits],
        times,
        groups,
    )
    return dict(federation.round("partial_judge", request, [owner], AssessReply, last=True)[owner].values.value)
