"""Central's side of an evaluation on vertically split records: who counts, who deals, and the scores of the tallies; see `grading`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fedbayes.bayes.evaluation.coarse import COARSE, coarse_scores
from fedbayes.bayes.evaluation.small_counts import shown
from fedbayes.bayes.evaluation.tallies import Tallies
from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.federation import Federation, Parties, Preflight, results
from fedbayes.federation.errors import ArgumentError, DataProblem, MessageError, adding_up
from fedbayes.federation.horizontal import SumReply, load_model

from .arguments import Evaluate
from .grading import HIGH, LEAST_STATIONS, SCORE_BINS, loss_bits, tally_size
from .grading_messages import GradesRequest, Plan, ScoresReply, ScoresRequest
from .lattice import Lattice
from .messages import FeaturesReply, FeaturesRequest
from .vertical import owners_of


def evaluate(federation: Federation, asked: Evaluate) -> dict[str, Any]:
    """Evaluate a model on vertically split records: four rounds with the channel.

    Raises
    ------
    ArgumentError
        When fewer than three stations hold features, a column is missing or twice there, or the scores are too many to be told apart.
    """
    model, identifier = load_model(NaiveBayes.from_dict, asked.model), asked.identifier
    column = model.label if asked.label is None else asked.label
    if identifier in (column, *model.features):
        raise ArgumentError("id_column must be neither a feature of the model nor the label")
    if column in model.features:
        raise ArgumentError(f"label {column!r} is a feature of the model; name the column of the true classes")
    functions = ("partial_features", "partial_scores", "partial_grades")
    names = [*model.features, column]
    used = tuple(filter(None, [*names, identifier]))
    preflight = Preflight(used, identifier, functions=functions, queries=2, single_records=True)
    parties = federation.open_channel(asked.organizations, preflight)
    held = federation.round("partial_features", FeaturesRequest(names, True), parties.stations, FeaturesReply)
    named = {member: reply.names.value for member, reply in held.items()}
    owners = owners_of(list(model.features), named, "organizations: the model's column", "include exactly one with it")
    owners = dict(sorted(owners.items()))
    holders = [member for member in owners if column in held[member].names.value]
    if len(owners) < LEAST_STATIONS:
        raise ArgumentError(
            f"organizations: at least three stations must hold features of the model, {len(owners)} do: records are scored over all of them"
        )
    if not holders:
        raise ArgumentError(f"label: no station with a feature of the model holds '{column}'; one of them must")
    rows = {counted.value for member in owners if (counted := held[member].rows) is not None}
    if len(rows) != 1:
        raise DataProblem("the stations do not hold the same number of rows; align them first")
    counters = holders[0], next(member for member in owners if member != holders[0])
    lattice = Lattice(model, owners, next(iter(rows)))
    plan = Plan(
        owners,
        holders[0],
        counters,
        _dealer(federation, parties, owners, counters),
        next(iter(rows)),
        lattice.bits,
        column,
        identifier,
    )
    return _graded(federation, asked.model, lattice, plan)


def _dealer(federation: Federation, parties: Parties, owners: Mapping[int, Any], counters: tuple[int, int]) -> int:
    """Return who deals: an organization without data that does not run central, else a third station."""
    free = [member for member in parties.helpers if member != federation.organization]
    return free[0] if free else next(member for member in owners if member not in counters)


def _graded(federation: Federation, data: dict[str, Any], lattice: Lattice, plan: Plan) -> dict[str, Any]:
    stations = tuple(plan.owners)
    asked = tuple(sorted({*stations, plan.dealer}))
    masked = federation.round("partial_scores", ScoresRequest(data, plan), asked, ScoresReply)
    with adding_up():
        requests = {
            member: GradesRequest(
                data,
                plan,
                {sender: masked[sender].openings[member] for sender in stations if sender != member}
                if member in plan.counters
                else {},
                masked[plan.dealer].keys.get(member),
            )
            for member in stations
        }
    summed = federation.secure_sum("partial_grades", requests, stations, SumReply, field="vector", last=True)
    if summed.shape != (tally_size(lattice.classes) + 1,):
        raise MessageError("the tallies do not fit the model; use one version everywhere")
    numbers = (summed[:-1] >> HIGH).astype(np.float64)
    tallies = Tallies.from_flat(numbers[:-1], numbers[-1] / 2.0 ** loss_bits(plan.rows), lattice.classes, SCORE_BINS)
    scores, errors = coarse_scores(tallies, federation.minimum_count, int(summed[-1]))
    scores["n"] = round(scores["n"])
    if scores["n"] <= 0:
        raise DataProblem("no row has a known label; check the label's column and domain")
    return federation.result(
        model=None,
        privacy=results.not_private("the scores are exact" + (COARSE if errors else ""), _reveals(federation, plan)),
        diagnostics={
            "confusion": shown(tallies.confusion, federation.minimum_count),
            "classes": data["domain"][data["label"]]["categories"],
            "grader": federation.name(plan.holder),
            "counters": [federation.name(member) for member in plan.counters],
            "dealer": federation.name(plan.dealer),
            "step": lattice.step,
            **errors,
        },
        **scores,
    )


def _reveals(federation: Federation, plan: Plan) -> dict[str, str]:
    """Return who learns what of an evaluation."""
    first, second, dealer = (federation.name(member) for member in (*plan.counters, plan.dealer))
    return {
        "researcher": "the scores and the confusion table",
        "central": f"the confusion table, {SCORE_BINS} bins of scores by class, the calibration table and the summed loss over all records; "
        "every station's number of rows and which of the columns it holds",
        "label_holder": f"at {federation.name(plan.holder)}: what every station learns, and nothing of a record's score",
        "stations": "the model, the number of rows and who holds which feature; of values uniform numbers only",
        "helper": "the number of rows, who holds which feature and the model"
        if plan.dealer not in plan.owners
        else "there is none",
        "assumption": f"no two of {first}, {second} (who count) and {dealer} (who deals) collude: two of them could rebuild the scores of records",
    }
