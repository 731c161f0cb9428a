"""What one station does for an ensemble on its own rows, or on records that the researcher gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fedbayes.bayes.evaluation.coarse import seed_of
from fedbayes.bayes.evaluation.small_counts import grouped
from fedbayes.bayes.schema import Schema
from fedbayes.federation import Station, partial
from fedbayes.federation.errors import DataProblem, MembersError, MessageError, schema_errors
from fedbayes.federation.guards.announced import check_shown
from fedbayes.federation.guards.arrival import check_claimed
from fedbayes.federation.guards.once import ONE_QUESTION, asked_once
from fedbayes.federation.vertical.record_shares import scored_once
from fedbayes.typing import Integers, Words

from . import store, tallies, votes
from .ensemble import Ensemble
from .messages import LocalRequest, PredictionsReply, TalliesReply, TestedRequest, VotesReply
from .model import column_codes
from .own_members import check_members
from .votes import LEAST_LOG


def columns_of(model: Ensemble) -> list[str]:
    """Return all columns of the members."""
    return list(dict.fromkeys(column for member in model.members for column in member.columns))


def states_of(model: Ensemble) -> dict[str, Any]:
    """Return the categories of the members' columns and of the label as a domain: a state is a value, whatever its text."""
    domain: dict[str, Any] = {model.label: {"categories": list(model.classes)}}
    for member in model.members:
        for name, states in member.network.states.items() if member.network is not None else ():
            if name not in member.cuts and name != model.label:
                known = domain.setdefault(name, {"categories": []})["categories"]
                known.extend(state for state in states if state not in known)
    return domain


def right_and_seen(model: Ensemble, organization: int, frame: Any, fewest: int = 1) -> Integers:
    """Return how often the members of others are right on this table, and on how many rows: (members, 2, classes).

    A class that a member predicts for fewer rows than `fewest` counts as the one that it predicts most, so that no member singles out these.
    """
    truth = column_codes(frame[model.label], model.classes, None)
    labelled, classes = truth >= 0, len(model.classes)
    counts = np.zeros((len(model.members), 2, classes), dtype=np.int64)
    for number, member in enumerate(model.members):
        if organization not in member.stations:
            predicted = model.posterior(member, frame, len(frame)).argmax(axis=1)
            sizes = np.bincount(predicted[labelled], minlength=classes)
            predicted = np.where(sizes[predicted] < fewest, sizes.argmax(), predicted)
            counts[number, 0] = np.bincount(truth[labelled & (truth == predicted)], minlength=classes)
            counts[number, 1] = np.bincount(truth[labelled], minlength=classes)
    return counts


def records(station: Station, model: Ensemble, columns: Sequence[str], minimum: bool = True) -> Any:
    """Return columns of the station's own rows; `DataProblem` naming one that holds hardly any of the states that the model knows."""
    domain = states_of(model)
    frame = station.data(list(columns), minimum, domain)
    own = {name: entry for name, entry in domain.items() if name in columns}
    if own:
        with schema_errors(DataProblem):
            Schema.from_domain(own).refuse_unknown(frame)
    return frame


def _records(station: Station, model: Ensemble, *more: str, minimum: bool = True) -> Any:
    """Return the station's own rows: those columns of the members that it has, and more."""
    return records(station, model, [*(name for name in columns_of(model) if name in station.columns), *more], minimum)


@partial
def partial_local(station: Station, request: LocalRequest) -> TalliesReply:
    """Score the ensemble on this station's own rows: all members are in the request.

    Notes
    -----
    **Reveals** to central the sums over the records of all stations, and that of a digest of every station's rows, keyed where the node has a folder
    database. Predictions that fewer records of this station have than it lets be counted are those of a group, so that no network that was made for it
    singles out one record.
    **Assumes** that at least two stations do not collude with central.
    """
    station.require_private(False)
    check_claimed(station, request.model)
    model = Ensemble.read(request.model)
    frame = _records(station, model, model.label)
    logs = model.predict_log_proba(frame, len(frame))
    truth = column_codes(frame[model.label], model.classes, None)
    together = grouped(np.exp(logs), np.ones(len(logs)), station.policy.minimum_count)
    logs = np.log(np.maximum(together, np.exp(LEAST_LOG)))
    seed = seed_of([truth, logs], station.secret_for("exact scores"))
    return _counted(station, tallies.summed(truth, logs, seed).view(np.uint64))


def _counted(station: Station, vector: Words, queries: int = 1) -> TalliesReply:
    return TalliesReply(station.mask(station.exact(vector, "evaluation", queries=queries)))


@partial
def partial_tested(station: Station, request: TestedRequest) -> TalliesReply:
    """Count how often every other station's member, as it was told, is right on this station's rows, class by class.

    Notes
    -----
    **Reveals** to central, once in a job and for one member of each station, the sums over all stations but the member's own; a class that a member
    predicts for fewer rows of a station than it lets be counted counts as another. A station that lies here moves them by its own share of the rows.
    **Assumes** that at least two stations do not collude with central, which then knows them for a member
    of one of these two from the other one alone, and that most labelled rows lie at stations that count honestly.
    """
    station.require_private(False)
    model = Ensemble.read(request.model)
    _check_tested(station, model)
    check_members(station, model, request.seals)
    frame = _records(station, model, model.label)
    counts = right_and_seen(model, station.organization, frame, station.policy.minimum_count)
    return _counted(station, counts.ravel().view(np.uint64), len(model.members))


def _check_tested(station: Station, model: Ensemble) -> None:
    """Raise `MessageError` unless the members are one of each station, all of which are asked to test them, once in a job.

    By two that differ in one row it would be told; and where fewer test a member, what one of them finds.
    """
    station.require_asked()
    asked_once(station, "tested members", station.round_name, ONE_QUESTION)
    own = sorted(tuple(member.stations) for member in model.members)
    if own != sorted((one,) for one in station.require_members().stations):
        raise MessageError("the members to test are not one of each station of the job; the job stops")


@partial
def partial_predict(station: Station, request: LocalRequest) -> PredictionsReply:
    """Return the ensemble's class probabilities of this station's own rows: all members are in the request.

    Notes
    -----
    **Reveals** them to central, with the identifiers if a column is named; the node must allow predictions.
    **Assumes** nothing: no other station has a part in them.
    """
    check_claimed(station, request.model)
    check_shown(station)
    model = Ensemble.read(request.model)
    frame = _records(station, model, minimum=False)
    station.require_predictions()
    logs = model.predict_log_proba(frame, len(frame))
    identifiers = _names(station, request.id_column) if request.id_column else []
    return PredictionsReply(
        station.exact(np.exp(logs), "predictions", queries=len(frame), summed=False),
        station.further(identifiers),
    )


def _names(station: Station, column: str) -> list[str]:
    """Return what names the station's rows: the node lists the column as one of identifiers, or it has no value twice; any column would else be shown.

    Raises
    ------
    DataProblem
        If it is none.
    """
    texts = station.identifiers(column, minimum=False)
    filled = [text for text in texts if text]
    if station.policy.id_columns is None and len(set(filled)) < len(filled):
        raise DataProblem(
            f"id_column: column '{column[:100]}' has values twice, so it names no records; name another one, or ask the node administrator to list it "
            "(FEDBAYES_ID_COLUMNS)"
        )
    return texts


@partial
def partial_outside(station: Station, request: LocalRequest) -> VotesReply:
    """Return the votes of the members that stayed at this station on records that the researcher gives.

    Notes
    -----
    **Reveals** the records to this station, the sum of the votes over all stations to central.
    **Assumes** that at least two stations with members do not collude with central.
    """
    station.require_predictions()
    check_claimed(station, request.model)
    model = Ensemble.read(request.model)
    _check_voters(station, model)
    scored_once(station, "outside")
    records: Mapping[str, Any] = request.records or {}
    rows = len(next(iter(records.values()), []))
    size = (rows, len(model.classes))
    added, behind = np.zeros(size), np.zeros(size)
    for entry in model.members:
        if entry.leader == station.organization:
            member = store.recalled(station, entry)
            station.history.questions.read({model.label, *member.columns})  # votes tell of these, as sums over them do
            ballot, weight = model.ballot(member, model.posterior(member, records, rows))
            here = model.present(member, records, rows)[:, None]
            added, behind = added + ballot * here, behind + weight * here
    return VotesReply(station.mask(station.exact(votes.encode(added, behind), "predictions", queries=rows)), {}, None)


def _check_voters(station: Station, model: Ensemble) -> None:
    """Raise `MembersError` where the votes of members that stayed are asked of fewer of their stations than the node demands, unless of all of two or more.

    Stations without such a member add zeros, which hide nobody's votes.
    """
    keepers = {member.leader for member in model.members if member.network is None and member.weight > 0}
    asked, least = keepers & station.summed_over(), station.policy.minimum_organizations
    if len(asked) < least and (asked != keepers or len(asked) < 2):
        raise MembersError(
            f"organizations: fewer of them have a secret member of the model than this node demands (minimum_organizations={least}); name all "
            "organizations of the fit"
        )
