"""What stations do in a cross-validation: split the records, fit all folds in the same rounds, judge held-out records.

The outcome holder draws a secret and seals it for the other share holders; the fold of a record follows from the secret and
the record's place in the common order. Every fold has keys, masks and kept arrays of its own.

**Reveals** to central and the helper: of the fits what one fit reveals, for every fold; they do not know which record is in
which fold. To the share holders: the folds, which are random, and uniform vectors. To the outcome holder besides: one linear predictor a
record, under the coefficients of the fit that did not see it, which it does not know. To central: measures of each fold, and of
groups of at least `minimum_count` records.
**Assumes** what one fit does, and that the outcome holder does not learn the coefficients of the fits from central.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from fedbayes.federation import Station, partial
from fedbayes.federation.errors import DataProblem, MessageError, ThresholdError
from fedbayes.federation.guards.announced import check_compared
from fedbayes.federation.guards.once import asked_once
from fedbayes.federation.replies import SealedReply
from fedbayes.federation.vertical.folds import drawn_secret, fold_of
from fedbayes.mpc.prg import KEY_BYTES
from fedbayes.typing import Floats, Indices

from ..cox.outcome import check_carried
from ..messages.folds import (
    DrawRequest,
    FoldReply,
    FoldRequest,
    FoldsReply,
    FoldsRequest,
    HeldOutReply,
    HeldOutRequest,
    JudgeRequest,
    SplitReply,
    SplitRequest,
)
from ..messages.scoring import AssessReply
from ..messages.setup import Outcome, Question
from ..shares.sorting import OutcomeHolder
from .assessing import note_times
from .columns import Survival
from .guards import check_ties
from .holder import note_told
from .judging import judged
from .outcome import describe
from .private import compute, enter, permute
from .scoring import LARGEST_SCORE
from .setup import QUESTION, asked_of, checked_columns, identifier_of, rows_in_order
from .sums import masked_for, received
from .truncation import check_entered, doubled

CUT_ONCE = "records are cut into folds once in a job; start another job"
"""Of every fold it is told how many events, and rows before each time, its training records have, and share holders know whose these are."""


@partial
def partial_draw(station: Station, request: DrawRequest) -> SealedReply:
    """Draw the secret of the folds. The outcome holder only.

    **Reveals** to the other share holders which record is in which fold, which is random. **Assumes** that none of them tells central.
    """
    station.kept("outcome")
    secret = drawn_secret(station)
    others = [member for member in request.holders if member != station.organization]
    return SealedReply({member: station.seal(member, secret, "folds") for member in others})


@partial
def partial_split(station: Station, request: SplitRequest) -> SplitReply:
    """Keep the training records of every fold; the outcome holder describes them.

    **Reveals** to central, from the outcome holder, of the training records of every fold what `outcome.describe` says, at no other times than it knows.
    **Assumes** what the module says.
    """
    station.require_private(False)
    station.require_predictions()
    asked_once(station, QUESTION, request.question)
    asked_once(station, "split", [request.owner, request.folds], CUT_ONCE)
    own = station.organization == request.owner
    if request.sealed is None and not own:
        raise MessageError("the folds that the outcome holder drew are missing; start the job again")
    secret = drawn_secret(station) if request.sealed is None else station.unseal(request.owner, request.sealed, "folds")
    design = station.kept("design")
    copies = int(design["copies"])
    fold = fold_of(secret, len(design["values"]) // copies, request.folds)
    if np.min(np.bincount(fold, minlength=request.folds)) < max(station.policy.minimum_rows, 2):
        raise ThresholdError("folds: a fold has fewer records than this node demands; use fewer folds")
    station.keep("folds", fold=fold, owner=np.array(request.owner))
    _check_features(station, request, fold)
    outcomes = []
    for number in range(request.folds):
        fold_station, training = station.part(f"fold {number}"), fold != number
        rows = doubled(training, copies)
        fold_station.keep("design", **{**design, "values": design["values"][rows]})
        fold_station.keep("presence", present=np.ones(int(rows.sum()), dtype=np.bool_))
        if own:
            outcomes.append(_kept_outcome(fold_station, station.kept("outcome"), training, rows, request))
    exact_outcomes = station.exact(
        outcomes, "verticox: fits of a cross-validation", queries=request.folds, summed=False
    )
    return SplitReply(exact_outcomes if own else None)


def _check_features(station: Station, request: SplitRequest, fold: Indices) -> None:
    """Refuse training records of which few have a category, or anything else that a fit to them would not let a feature set apart.

    Raises
    ------
    ThresholdError
        Naming the feature.
    """
    question = request.question
    asked = asked_of(station, question)
    if not asked.features:
        return
    read = [*identifier_of(question, set(station.columns)), *asked.features, *asked.beside]
    frame = station.data(columns=list(dict.fromkeys(read)))
    frame = frame.iloc[rows_in_order(station, question, len(fold), [], len(frame))]
    for number in range(request.folds):
        with _named_of_folds():
            checked_columns(station, asked, frame[fold != number], max(station.policy.minimum_count, 1))


@contextmanager
def _named_of_folds() -> Iterator[None]:
    """Say of what a fit to training records refuses that it is these."""
    try:
        yield
    except (DataProblem, ThresholdError) as error:
        raise ThresholdError(f"folds: without one of them, {error}, or use more records, or more folds") from None


def _kept_outcome(
    fold_station: Station, whole: dict[str, Any], training: Any, rows: Any, request: SplitRequest
) -> Outcome:
    """Keep the training outcome of one fold, `rows` of `training` records; return what central may know of it: no other times than it knows already."""
    limit = max(fold_station.policy.minimum_count, 1)
    names, ties = [str(name) for name in whole["names"]], request.question.ties
    all_rows = _survival(whole, names, np.ones(len(rows), dtype=np.bool_))
    kept = _survival(whole, names, rows)
    if kept.event.sum() < limit or np.min(np.bincount(kept.stratum[: training.sum()])) < limit:
        raise ThresholdError(
            "folds: there are fewer events, or records in a stratum, than this node demands; use more records"
        )
    _check_cases(kept, whole["weights"][rows], int(training.sum()), request.question, int(whole["limit"]), limit)
    fold_station.keep(
        "outcome",
        time=kept.time,
        event=kept.event,
        stratum=kept.stratum,
        trend=np.zeros(len(kept.time)),
        limit=whole["limit"],
        weights=whole["weights"][rows],
    )
    of_all = describe(all_rows, limit, ties)
    of_training = at_known_edges(describe(kept, limit, ties), of_all, kept, int(whole["limit"]))
    fold_station.keep("edges", rows=np.array(of_training.edge_rows, dtype=np.int64))
    note_told(fold_station, request.question, of_training)
    return of_training


def _check_cases(kept: Survival, weights: Floats, records: int, question: Question, tied: int, limit: int) -> None:
    """Refuse training records of which few weigh, enter or tie unlike the others, as a fit to them does.

    Where records enter, rows beyond the `records` are what takes them out before; `tied`: 0 without Efron's ties.
    """
    with _named_of_folds():
        check_carried(weights[:records], question.weights or "", limit)
        if len(kept.time) > records:
            entered = replace(kept, time=kept.time[:records], event=kept.event[:records])
            check_entered(kept.time[records:], question.entry or "", entered, limit)
        if tied or question.ties == "efron":
            check_ties(kept, limit)


def _survival(whole: dict[str, Any], names: list[str], rows: Any) -> Survival:
    """Return the outcome of some rows, with strata that have one; of which all weigh 1 without weights."""
    codes, stratum = np.unique(whole["stratum"][rows], return_inverse=True)
    weights = None if np.all(whole["weights"] == 1.0) else whole["weights"][rows]
    return Survival(whole["time"][rows], whole["event"][rows], stratum, [names[code] for code in codes], weights)


def at_known_edges(of_training: Outcome, of_all: Outcome, kept: Survival, limit: int) -> Outcome:
    """Return what is told of some records, with the baseline's points at the times that were told of all records."""
    holder = OutcomeHolder(bytes(KEY_BYTES), kept.time, kept.event, kept.stratum, limit)
    time, stratum = holder.when, holder.code
    edges = [
        (edge, code, int(np.flatnonzero((stratum == code) & (time <= edge))[-1]))
        for edge, name in zip(of_all.edges, (of_all.strata_names[code] for code in of_all.edge_strata), strict=True)
        if name in of_training.strata_names
        for code in [of_training.strata_names.index(name)]
        if np.any((stratum == code) & (time <= edge))
    ]
    return replace(
        of_training,
        edges=[edge for edge, _, _ in edges],
        edge_strata=[code for _, code, _ in edges],
        edge_rows=[row for _, _, row in edges],
    )


@partial
def partial_folds(station: Station, request: FoldsRequest) -> FoldsReply:
    """Answer what the fits of several folds ask in one round; each as the partial function of its field does.

    **Reveals** of every fold what that does. **Assumes** what the module says.
    """
    if len({part.fold for part in request.parts}) != len(request.parts):
        raise MessageError("a fold asks twice in one round; start the job again")
    return FoldsReply([_answered(station.part(f"fold {part.fold}"), part) for part in request.parts])


def _answered(fold_station: Station, part: FoldRequest) -> FoldReply:
    if part.partial_enter is not None:
        return FoldReply(fold_station.public(part.fold), partial_enter=enter(fold_station, part.partial_enter))
    if part.partial_permute is not None:
        return FoldReply(fold_station.public(part.fold), partial_permute=permute(fold_station, part.partial_permute))
    if part.partial_stage is not None:
        return FoldReply(fold_station.public(part.fold), partial_stage=compute(fold_station, part.partial_stage))
    raise MessageError("a fold asks for nothing; start the job again")


def _columns(station: Station, question: Question) -> int:
    """Return how many columns of the fits are here; those that the question names where nobody asked this station to prepare any."""
    try:
        return int(station.kept("design")["values"].shape[1])
    except MessageError:
        return len(asked_of(station, question).named)


@partial
def partial_held_out(station: Station, request: HeldOutRequest) -> HeldOutReply:
    """Send this station's part of every record's predictor, under the fit that did not see the record, inside a masked sum.

    Every scorer must allow predictions; a second set of coefficients is refused, since who sees predictors under many of them solves for the columns.

    **Reveals** to the outcome holder the sum of the scorers' parts, record by record. **Assumes** what the module says.
    """
    question = request.question
    station.require_asked(request.scorers)
    asked_once(station, QUESTION, question)
    check_compared(station, [request.receiver], [question.time, question.event])
    common = [question, request.scorers, request.receiver, request.rows]
    if station.organization not in request.scorers:
        if station.has_data and _columns(station, question):
            raise MessageError("records are not scored by all stations that have columns of the model; the job stops")
        return HeldOutReply(masked_for(station, request.receiver, np.zeros(request.rows), "held out", common))
    station.require_private(False)
    station.require_predictions()
    folds = station.kept("folds")
    fold = folds["fold"]
    values = station.kept("design")["values"][: len(fold)]
    if request.receiver != int(folds["owner"]):
        raise MessageError("held-out records are predicted for somebody else than drew the folds; the job stops")
    beta = np.array(request.coefficients, dtype=np.float64)
    if beta.ndim != 2 or beta.shape[1] != values.shape[1] or len(beta) <= fold.max():
        raise MessageError("the coefficients of the folds do not fit this station's columns; start the job again")
    asked_once(station, "held out coefficients", beta, "held-out records are scored once in a job; start the job again")
    total = np.einsum("ij,ij->i", values, beta[fold])
    if np.max(np.abs(total), initial=0.0) >= LARGEST_SCORE:
        raise DataProblem("the linear predictor of this station's features is out of range; check their units")
    return HeldOutReply(masked_for(station, request.receiver, total, "held out", common))


@partial
def partial_judge(station: Station, request: JudgeRequest) -> AssessReply:
    """Compare predictions of held-out records with their outcomes. The outcome holder only.

    **Reveals** to central measures of each fold, and of groups of at least `minimum_count` records, in steps of about one record (`cox.scores`).
    **Assumes** what the module says.
    """
    station.require_private(False)
    asked = [request.baselines, request.times, request.groups]
    asked_once(station, "held-out assessment", asked, "models are assessed once in a job; start the job again")
    kept, fold = station.kept("outcome"), station.kept("folds")["fold"]
    if set(request.scorers) - {station.organization} - set(request.predictors):
        raise MessageError("the linear predictor of a station is missing; start the job again")
    predictor = received(station, request.predictors, len(fold), "held out")
    time, event, stratum = (kept[name][: len(fold)] for name in ("time", "event", "stratum"))
    outcome = Survival(time, event, stratum, [str(name) for name in kept["names"]])
    values = judged(outcome, predictor, fold, request, max(station.policy.minimum_count, 1))
    note_times(station, str(kept["column"]), values["times"], request.times is not None)
    return AssessReply(station.further(values))
