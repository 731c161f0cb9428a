"""What stations answer about: the ensemble that the manifest names, of which each is shown the members that it is a part of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fedbayes.bayes.network.variable import MISSING_STATE
from fedbayes.federation import Station
from fedbayes.federation.errors import MessageError
from fedbayes.federation.guards.arrival import check_claimed
from fedbayes.federation.perimeter.manifest import digest_of
from fedbayes.federation.questions.factor_info import Wanted, check_true, names_its_columns
from fedbayes.federation.vertical.messages import Setup
from fedbayes.federation.vertical.opening import Encoder

from .ensemble import Ensemble, Member
from .messages import EvidenceRequest, GroupScores


def _content(station: Station, outline: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the outline of an ensemble that the manifest names (`manifest.outline_of`)."""
    check_claimed(station, outline)
    content = outline.get("model", outline)
    members = content.get("members") if isinstance(content, Mapping) else None
    if not isinstance(members, list) or not all(isinstance(one, Mapping) for one in members):
        raise MessageError("the model of a request is no ensemble; the job stops")
    return dict(content)


def check_votes(station: Station, outline: Mapping[str, Any], model: Ensemble) -> None:
    """Raise `MessageError` where votes are asked otherwise than the manifest's ensemble says, or by other members of this station."""
    content = _content(station, outline)
    asked = {name: value for name, value in model.to_json().items() if name != "members"}
    if asked != {name: content.get(name, 0.0) for name in asked}:
        raise MessageError("the votes of a request are not those of the ensemble; the job stops")
    own = [member.given for member in model.members if station.organization in member.stations]
    for given in own:
        _check_member(content, given)
    if len(own) != len({digest_of(given) for given in own}) or len(own) != _number_of_own(station, content):
        raise MessageError("the votes of a request are not by all members of the ensemble that can vote; the job stops")


def _number_of_own(station: Station, content: Mapping[str, Any]) -> int:
    """Return of how many members this station is a part whose organizations all hold data in the job, by the manifest."""
    present = {str(one) for one in station.require_members().stations}
    named = [set(map(str, member["stations"])) for member in content["members"]]
    return sum(str(station.organization) in stations <= present for stations in named)


def _check_member(content: Mapping[str, Any], entry: Any) -> None:
    if digest_of(entry) not in {member["digest"] for member in content["members"]}:
        raise MessageError("a member of a request is not one of the ensemble; the job stops")


def check_groups(station: Station, request: EvidenceRequest) -> None:
    """Raise `MessageError` where the weights of a group's scores, or who learns them, are not what the group's network says.

    A station checks the groups that it is a part of, and has no column in others.
    """
    content = _content(station, request.outline)
    try:
        check_true(request.delivery.factors)
        for group in request.groups:
            _check_group(station, request, group, content)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as problem:
        raise MessageError(f"the scores of a group are malformed: {type(problem).__name__}; the job stops") from None


def _check_group(station: Station, request: EvidenceRequest, group: GroupScores, content: Mapping[str, Any]) -> None:
    infos = {info.name: info for info in request.delivery.factors}
    columns = [infos[name].columns for name in group.names if names_its_columns(infos[name])]
    entry = request.members.get(group.number)
    if entry is None:
        own = set(station.columns) if station.has_data else set[str]()
        if len(columns) != len(group.names) or {name for one in columns for name in one} & own:
            raise MessageError(
                "a group of a request has columns of a station that is not told its network; the job stops"
            )
        return
    _check_member(content, entry)
    member = Member.from_json(entry)
    classifier = member.classifier(str(content["label"]))
    if classifier is None or member.leader != group.leader:
        raise MessageError("the scores of a group are for somebody else; the job stops")
    if [sorted(one) for one in columns] != [sorted(one) for one in classifier.groups]:
        raise MessageError("the factors of a group are not those of its network; the job stops")
    if not _has_states(request.delivery.setup, member, {name for one in columns for name in one}):
        raise MessageError("the states of the columns are not those of the network; the job stops")
    expected = classifier.weights(columns)
    if not all(np.array_equal(one, other) for one, other in zip(group.weights, expected, strict=True)):
        raise MessageError("the weights of a group's scores are not those of its network; the job stops")


def _has_states(setup: Setup, member: Member, columns: set[str]) -> bool:
    """Say whether columns have the states of a member's network."""
    for name in columns:
        if name in member.cuts:
            if list(setup.bins.get(name, ())) != list(member.cuts[name]):
                return False
        elif member.network is None or setup.domain.get(name) != {
            "categories": [state for state in member.network.states[name] if state != MISSING_STATE]
        }:
            return False
    return True


def check_opened(station: Station, setup: Setup, model: Ensemble) -> None:
    """Raise `MessageError` where members that a fit tests read a column by other states than the job opens it by, under the guards of its owner.

    Their predictions are a column whose table with the label is told: by a cut point around one person it would be that of this person.
    """
    own = [
        name for name in dict.fromkeys(name for one in model.members for name in one.columns) if name in station.columns
    ]
    encoder = Encoder(station, setup, [Wanted("states", own, [])])
    for member in model.members:
        for name in set(member.columns) & set(own):
            states = encoder.states(name)
            named = set(member.network.states.get(name, ())) if member.network is not None else set[str]()
            cuts = tuple(member.cuts[name]) if name in member.cuts else None
            if cuts != states.cuts or not named <= {*states.variable().states, MISSING_STATE}:
                raise MessageError("the states of a member's columns are not those of the job; the job stops")
