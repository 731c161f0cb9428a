"""The rounds before any arithmetic: placement of roles, record alignment, columns."""

from __future__ import annotations

from dataclasses import dataclass

from fedbayes.federation import Federation, Parties
from fedbayes.federation.errors import ArgumentError, PlacementError, ThresholdError
from fedbayes.federation.vertical.messages import MatchReply, MatchRequest, Parcel, Setup, SubmitReply, SubmitRequest

from .messages import Outcome, Plan, PrepareReply, PrepareRequest, Question
from .options import FitOptions
from .tails import Tails

ALIGNMENT_BITS = 64
RECORDS_PER_COLUMN = 5


@dataclass(frozen=True)
class Prepared:
    """Roles, shapes and what central knows of the columns.

    Parameters
    ----------
    plan : Plan
    names : list of str
        Design columns in the order of `plan.holders`.
    scales : list of float
    outcome : Outcome
    question : Question
    tails : Tails
        How far each design column's tails reach.
    """

    plan: Plan
    names: list[str]
    scales: list[float]
    outcome: Outcome
    question: Question
    tails: Tails


def choose_helper(federation: Federation, parties: Parties, helper: int | str | None) -> int:
    """Return the dealer: an organization without data in this task that does not run central.

    Raises
    ------
    PlacementError
        When there is none, or the one asked for has data or runs central.
    """
    if helper is not None:
        chosen = federation.resolve([helper], "helper")[0]
        if chosen in parties.stations:
            raise PlacementError("helper holds data of this task; name an organization without data")
        if chosen == federation.organization:
            raise PlacementError("helper runs the central function; start the task at another organization")
        if chosen not in parties.helpers:
            raise PlacementError("helper must be among organizations; add it there")
        return chosen
    free = [member for member in parties.helpers if member != federation.organization]
    if not free:
        raise PlacementError(
            "a helper is needed: an organization without data in this task that does not run central; add one to organizations"
        )
    return free[0]


def prepare(federation: Federation, parties: Parties, options: FitOptions) -> Prepared:
    """Align the records and learn which station has which columns."""
    helper = choose_helper(federation, parties, options.helper)
    if len(parties.stations) < 2:
        raise PlacementError("vertical Cox regression needs two or more organizations with data; add one")
    question = Question(
        options.time,
        options.event,
        list(options.features),
        options.strata,
        list(parties.stations),
        helper,
        options.id_column,
        options.ties,
        options.time_transform if options.solver != "admm" else None,
    )
    rows, orders = aligned(federation, question)
    requests = {
        member: PrepareRequest(question, rows, [order for order in orders if order.stage == member])
        for member in parties.stations
    }
    replies = federation.round("partial_prepare", requests, parties.stations, PrepareReply)
    return _planned(federation, question, replies)


def aligned(federation: Federation, question: Question) -> tuple[int, list[Parcel]]:
    """Return the number of common records and the stations' sealed orders; (0, []) without an identifier column."""
    if question.id_column is None:
        return 0, []
    setup = Setup(question.helper, question.stations, question.id_column, False, {}, "published", False)
    submitted = federation.round(
        "partial_submit", SubmitRequest(setup, [], ALIGNMENT_BITS), question.stations, SubmitReply
    )
    hashes = {member: reply.hashes.content for member, reply in submitted.items()}
    matched = federation.round("partial_match", MatchRequest(setup, hashes, [], []), [question.helper], MatchReply)
    reply = matched[question.helper]
    least = max(answer.minimum_rows.value for answer in submitted.values())
    if reply.rows.value < least:
        raise ThresholdError("fewer records are common to all stations than a node demands")
    return reply.rows.value, reply.parcels(question.helper)


def _planned(federation: Federation, question: Question, replies: dict[int, PrepareReply]) -> Prepared:
    outcomes = [member for member, reply in replies.items() if reply.outcome is not None]
    if not outcomes:
        raise ArgumentError(f"time and event: no station has the columns '{question.time}' and '{question.event}'")
    if len(outcomes) > 1:
        names = " and ".join(federation.name(member) for member in outcomes)
        raise ArgumentError(f"time and event: the outcome is at two stations ({names}); leave one of them out")
    owner = outcomes[0]
    _check_features(federation, question, replies)
    holders = [member for member, reply in replies.items() if reply.columns and member != owner] + [owner]
    if len(holders) < 2:
        raise PlacementError("all features are where the outcome is; use an ordinary Cox model at that station")
    involved = {replies[member].rows for member in holders}
    if len(involved) > 1:
        raise ArgumentError(
            "id_column: the stations have different numbers of rows; name the column that identifies records"
        )
    outcome = replies[owner].outcome
    assert outcome is not None
    widths = [len(replies[member].scales) for member in holders]
    rows = sum(outcome.strata)
    plan = Plan(holders, widths, question.helper, rows, outcome.strata, involved.pop(), outcome.ties, outcome.band, outcome.single)
    if plan.records < RECORDS_PER_COLUMN * sum(widths):
        raise ThresholdError("there are too few records for that many design columns; use fewer features")
    labels_in_order = [label for member in holders for labels in replies[member].columns.values() for label in labels]
    scales = [scale for member in holders for scale in replies[member].scales]
    tails = Tails.of([ends for member in holders for ends in replies[member].reach])
    return Prepared(plan, labels_in_order, scales, outcome, question, tails)


def _check_features(federation: Federation, question: Question, replies: dict[int, PrepareReply]) -> None:
    for feature in question.features:
        owners = [member for member, reply in replies.items() if feature in reply.columns]
        if not owners:
            raise ArgumentError(f"features: no station has the column '{feature}'; check its name")
        if len(owners) > 1:
            names = " and ".join(federation.name(member) for member in owners)
            raise ArgumentError(f"features: '{feature}' is at two stations ({names}); rename one of the columns")
