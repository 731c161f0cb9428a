"""What one station does in the rounds that are this method's own."""

from __future__ import annotations

import numpy as np

from fedbayes.bayes.evaluation.coarse import seed_of
from fedbayes.bayes.network.record_scores import log_scores
from fedbayes.federation import Station, partial
from fedbayes.federation.errors import ArgumentError, DataProblem
from fedbayes.federation.guards.announced import check_compared, check_shown
from fedbayes.federation.guards.once import ONE_QUESTION, asked_once
from fedbayes.federation.questions.factor_info import FactorInfo
from fedbayes.federation.replies import SealedReply
from fedbayes.federation.vertical.coding import indicators
from fedbayes.federation.vertical.messages import ExtendReply, Setup
from fedbayes.federation.vertical.opening import OwnPart, open_part, place_rows
from fedbayes.federation.vertical.owner import own_states
from fedbayes.federation.vertical.record_shares import identifiers_of, score_share, scored_once, summed
from fedbayes.federation.vertical.replication import Replica, workspace_of
from fedbayes.federation.vertical.sealed_sums import sealed_part
from fedbayes.federation.vertical.workspace import DTYPES, Workspace
from fedbayes.typing import Array, Floats, Integers, Words

from . import store, tallies, votes
from .claimed import check_groups, check_opened, check_votes
from .ensemble import Ensemble, Member, prediction_name
from .local import columns_of, records, states_of
from .members import learned_alone, member_of
from .messages import (
    ColumnsReply,
    ColumnsRequest,
    EvidenceRequest,
    MemberReply,
    MemberRequest,
    PredictedRequest,
    TalliesReply,
    TallyRequest,
    VotesReply,
    VotesRequest,
)
from .model import column_codes
from .own_members import sealed_for_others

ABSENT = 1e-3  # scores of a record without any value differ from what they must be by rounding only
JUDGED = "label, classes and rule of the votes"
"""Name under which a station keeps what the job's votes are compared with, as the manifest's ensemble says."""
Ring = Words


@partial
def partial_columns(station: Station, request: ColumnsRequest) -> ColumnsReply:
    """Return which of the columns named, or of all, this station has and allows.

    Notes
    -----
    **Reveals** names of columns to central. **Assumes** nothing.
    """
    named = request.columns
    return ColumnsReply(station.public([name for name in station.columns if named is None or name in named]))


@partial
def partial_member(station: Station, request: MemberRequest) -> MemberReply:
    """Learn a network from this station's own rows.

    Notes
    -----
    **Reveals** the network to central (unless `secret`: then it stays in the node's ledger folder), the classes that
    occur here and the number of labelled rows, once in a job. **Assumes** nothing: the other stations have no part in it.
    """
    station.require_private(False)
    asked_once(station, "member", station.round_name, ONE_QUESTION)
    own = [c for c in request.columns if c in station.columns and c != request.label]
    if not own:
        raise ArgumentError("features: this station has none of these columns; leave it out or name its columns")
    frame = station.data(columns=[request.label, *own], domain=request.domain)
    station.history.entered.note_alone()
    variables, codes = {}, {}
    for name in (request.label, *own):
        states, codes[name] = own_states(station, name, frame[name], request.domain, request.bins)
        variables[name] = states.variable()
    part = learned_alone(request.learned, request.label, own, variables, codes)
    if part.rows < station.policy.minimum_rows:
        raise DataProblem("too few rows of this station have a value of the label; leave the station out")
    minimum = max(request.minimum_count, float(station.policy.minimum_count))
    member = member_of("", request.label, {station.organization: tuple(own)}, part, variables, minimum)
    content = (store.hidden(station, member) if request.secret else member).to_json()
    learned = station.exact(content, "member", queries=len(own) + 1, summed=False)
    return MemberReply(learned, sealed_for_others(station, content))


class Rows:
    """Places of the station's rows in the common order (or at their places in the union) of the job."""

    def __init__(self, workspace: Workspace, setup: Setup, rows: int, total: int) -> None:
        self.order = workspace.common_order(total)
        self._size = rows if setup.union else None

    def in_job_order(self, values: Array) -> Array:
        """Return values (own rows, ...) as (rows of the job, ...); zero where this station lacks the record."""
        placed: Array = place_rows(values, self.order, self._size)
        return placed


@partial
def partial_evidence(station: Station, request: EvidenceRequest) -> SealedReply:
    """Return this organization's shares of the scores that the groups' networks give the records, for their leaders.

    Notes
    -----
    **Reveals** to a group's leader the group's class probabilities of each record, of which it casts the vote; to central
    nothing. Everyone learns the tables of the groups' networks that hold the label. Central chooses neither these nor the leaders: the members of a
    group know its network for one of the manifest's ensemble. **Assumes** that the helper colludes with no one.
    """
    if station.organization in request.delivery.setup.stations:
        station.require_predictions()
        station.require_private(False)
    check_groups(station, request)
    scored_once(station, "evidence")
    workspace = workspace_of(station, request.delivery.setup, request.delivery)
    sealed = {}
    common = [request.delivery.setup, request.delivery.rows, request.groups]
    for group in request.groups:
        topic = f"evidence|{group.number}"
        wide = score_share(workspace, request.delivery, group)
        content = station.exact(wide, "evidence", queries=0, summed=request.delivery.setup.union)
        sealed[group.number] = sealed_part(station, group.leader, station.mask(content, topic, common), topic)
    return SealedReply({number: part for number, part in sealed.items() if part is not None})


@partial
def partial_votes(station: Station, request: VotesRequest) -> VotesReply:
    """Return the votes of this station's members on every record of the job.

    Notes
    -----
    **Reveals** the sum of the votes of all members to central or to the holders of the label, never one member's:
    every vote is masked, once in a job, by members of the ensemble that the manifest names. From a record's combined
    probabilities one can infer values of its columns, so every node
    must allow predictions. With two voting stations each can subtract its own vote. **Assumes** that the helper
    colludes with no one.
    """
    model = Ensemble.read(request.model)
    check_votes(station, request.outline, model)
    scored_once(station, "votes")
    station.require_asked(request.delivery.setup.stations)
    asked_once(station, JUDGED, [model.label, list(model.classes), model.vote])
    if not request.holders or request.identify is not None:
        check_shown(station)
    if request.holders:
        check_compared(station, request.holders, [model.label])
    size = (request.delivery.rows, len(model.classes))
    added, behind = np.zeros(size), np.zeros(size)
    identifiers, queries = None, 0
    if station.organization in request.delivery.setup.stations:
        station.require_predictions()
        queries = size[0]
        workspace = workspace_of(station, request.delivery.setup, request.delivery)
        for number, member in enumerate(model.members):
            if member.leader == station.organization:
                ballot, weight = _vote(station, workspace, request, model, number)
                added, behind = added + ballot, behind + weight
        if request.identify == station.organization:
            identifiers = station.further(identifiers_of(workspace, request.delivery.rows))
    common = [
        request.delivery.setup,
        request.delivery.rows,
        model.restricted(0).to_json(),
        request.outline,
        request.holders,
        request.identify,
    ]
    united = request.delivery.setup.union
    content = station.exact(votes.encode(added, behind), "predictions", queries=queries, summed=united)
    masked = station.mask(content, "", common)
    if not request.holders:
        return VotesReply(masked, {}, identifiers)
    sealed = {holder: sealed_part(station, holder, masked, "votes") for holder in request.holders}
    return VotesReply(None, {holder: part for holder, part in sealed.items() if part is not None}, None)


def _vote(
    station: Station, workspace: Workspace, request: VotesRequest, model: Ensemble, number: int
) -> tuple[Floats, Floats]:
    member = store.recalled(station, model.members[number])
    if len(member.stations) == 1:
        frame = records(station, model, member.columns)
        rows = Rows(workspace, request.delivery.setup, request.delivery.rows, len(frame))
        added, behind = model.ballot(member, model.posterior(member, frame, len(frame)))
        return rows.in_job_order(added), rows.in_job_order(behind)
    return _group_vote(station, request, model, member, number)


def _group_vote(
    station: Station, request: VotesRequest, model: Ensemble, member: Member, number: int
) -> tuple[Floats, Floats]:
    """Return a group's vote from everyone's shares of its scores; it abstains where it has no value of a record."""
    classifier, rows = member.classifier(model.label), request.delivery.rows
    if classifier is None:
        return np.zeros((rows, len(model.classes))), np.zeros((rows, len(model.classes)))
    sealed = request.evidence.get(number, {})
    total = summed(station, request.delivery.setup, sealed, f"evidence|{number}")
    logs = log_scores(total, classifier.prior, rows)
    present = (np.abs(logs - classifier.absent()) > ABSENT).any(axis=1, keepdims=True)
    beliefs = np.exp(logs - logs.max(axis=1, keepdims=True))
    posterior = member.placed(beliefs / beliefs.sum(axis=1, keepdims=True), model.label, model.classes)
    added, behind = model.ballot(member, posterior)
    return added * present, behind * present


@partial
def partial_tally(station: Station, request: TallyRequest) -> TalliesReply:
    """Add up the sealed votes, where they are for this station, and compare them with its labels; all others give zeros, under masks.

    Notes
    -----
    **Reveals** to this station the combined class probabilities of the records; to central sums over records only
    (over all holders of the label, where there are several), and a digest of labels and probabilities, keyed where the node has a folder database
    (`fedbayes.bayes.evaluation.coarse`). **Assumes** what `partial_votes` does and, where there are
    several holders, that at least two of the organizations asked do not collude with central.
    """
    asked_once(station, JUDGED, [request.label, request.classes, request.vote])
    scored_once(station, "tally")
    station.require_asked(request.setup.stations)
    setup, vector = request.setup, np.zeros(tallies.width(len(request.classes)), dtype=np.int64)
    united = setup.union and station.organization in setup.stations and request.label in station.columns
    if request.sealed or united:  # of united records all holders count, or central would see the sum of one
        vector = _tallied(station, request)
    content = station.exact(vector.view(np.uint64), "evaluation", summed=setup.union)
    common = [setup, request.label, request.classes, request.vote, request.rows]
    return TalliesReply(station.mask(content, "", common))


def _tallied(station: Station, request: TallyRequest) -> Integers:
    station.require_predictions()
    workspace = workspace_of(station, request.setup)
    total = summed(station, request.setup, request.sealed, "votes")
    logs = votes.combine(*votes.decode(total, request.rows, len(request.classes)), request.vote)
    known = {request.label: {"categories": request.classes}}
    labels = station.data(columns=[request.label], domain=known)[request.label]
    truth = column_codes(labels, request.classes, None)
    order = Rows(workspace, request.setup, request.rows, len(truth)).order
    if request.setup.union:
        own, logs = truth, logs[order]
    else:  # the common order is another one in every job
        own, logs = truth[np.sort(order)], logs[np.argsort(order)]
    return tallies.summed(own, logs, seed_of([own, logs], station.secret_for("exact scores")))


@partial
def partial_predicted(station: Station, request: PredictedRequest) -> ExtendReply:
    """Open the class that each member of the request predicts for the common records, as a column under masks.

    Notes
    -----
    **Reveals** uniform openings to the stations. What central asks of these columns are tables with the label: how
    often each member is right, not on whom. **Assumes** what the openings of columns do (`vertical.partials.partial_submit`).
    """
    station.require_private(False)
    workspace = workspace_of(station, request.delivery.setup, request.delivery)
    model = Ensemble.read(request.model)
    check_opened(station, request.delivery.setup, model)
    frame = station.data(columns=columns_of(model), domain=states_of(model))
    part = OwnPart([], [], {}, {})
    width, own = len(model.classes) - 1, station.organization
    for member in model.members:
        codes = model.posterior(member, frame, len(frame)).argmax(axis=1)
        name = prediction_name(member.name)
        part.infos.append(FactorInfo(name, [name], [own], width, True, request.bits, request.stage, [own]))
        part.values.append(indicators(codes, width, DTYPES[request.bits]))
    order = Rows(workspace, request.delivery.setup, request.delivery.rows, len(frame)).order
    names = [info.name for info in part.infos]
    if isinstance(workspace, Replica):
        parcel = workspace.pack_shares(request.stage, part, order, None, request.bits)
    else:
        parcel = workspace.pack(request.stage, names, open_part(workspace, part, order, None), request.bits)
    return ExtendReply(station.public(part.infos), None, parcel)
