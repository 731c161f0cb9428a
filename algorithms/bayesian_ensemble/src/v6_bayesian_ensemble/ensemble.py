"""An ensemble as `fit` returns it and `classify` and `evaluate` read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fedbayes.bayes.network import BayesianNetwork
from fedbayes.bayes.network.inference import posteriors
from fedbayes.bayes.network.probability_tables import cut_points
from fedbayes.bayes.network.record_scores import Classifier
from fedbayes.bayes.network.variable import MISSING_STATE
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.questions.factor_info import factor_name
from fedbayes.federation.vertical.declared import SPLITS
from fedbayes.typing import Booleans, Floats

from . import votes
from .model import codes_of, restricted

MOST_MEMBERS = 1000  # more than any collaboration has organizations


@dataclass(frozen=True)
class Member:
    """One network with a vote.

    Attributes
    ----------
    name : str
        The party's or the group's name.
    stations : dict of int to tuple of str
        Organization -> its columns that the member uses; without the label.
    network : BayesianNetwork or None
        None where it stays at its station.
    cuts : dict
        Column -> cut points of binned columns.
    classes : tuple of str
        Classes that the member has seen.
    weight : float
        Its weight before "dynamic".
    rows : int
        Labelled records behind it.
    given : mapping or None
        What it was read from, as the manifest has its digest.
    """

    name: str
    stations: dict[int, tuple[str, ...]]
    network: BayesianNetwork | None
    cuts: dict[str, tuple[float, ...]]
    classes: tuple[str, ...]
    weight: float = 1.0
    rows: int = 0
    secret_id: str = ""
    given: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns without the label."""
        return tuple(dict.fromkeys(column for columns in self.stations.values() for column in columns))

    @property
    def leader(self) -> int:
        """The organization that votes for the member."""
        return min(self.stations)

    def to_json(self) -> dict[str, Any]:
        """Return the member as JSON."""
        network = None
        if self.network is not None:
            network = self.network.to_dict()
            for name, node in network["nodes"].items():
                node["cuts"] = list(self.cuts[name]) if name in self.cuts else None
        return {
            "name": self.name,
            "stations": {str(key): list(columns) for key, columns in self.stations.items()},
            "columns": list(self.columns),
            "classes": list(self.classes),
            "weight": self.weight,
            "rows": self.rows,
            "secret": self.network is None,
            "secret_id": self.secret_id,
            "network": network,
        }

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> Member:
        """Read what `to_json` wrote; ValueError, KeyError or TypeError on anything else."""
        stations = {int(key): tuple(str(c) for c in columns) for key, columns in entry["stations"].items()}
        network, cuts = None, {}
        if entry["network"] is not None:
            network = BayesianNetwork.from_dict(entry["network"])
            nodes = entry["network"]["nodes"]
            plain = {n: [state for state in states if state != MISSING_STATE] for n, states in network.states.items()}
            all_cuts = {n: cut_points(plain[n], node.get("cuts")) for n, node in nodes.items()}
            cuts = {n: points for n, points in all_cuts.items() if points is not None}
        weight = float(entry["weight"])
        if not stations or not weight >= 0.0 or not np.isfinite(weight):
            raise ValueError("a member needs stations and a weight of at least 0")
        classes = tuple(str(c) for c in entry["classes"])
        name, rows, secret_id = str(entry["name"]), int(entry["rows"]), str(entry.get("secret_id", ""))
        return cls(name, stations, network, cuts, classes, weight, rows, secret_id, entry)

    def posterior(self, label: str, classes: Sequence[str], columns: Mapping[str, Any], rows: int) -> Floats:
        """Return P(class | record) of records given by column, shape (rows, classes of the ensemble)."""
        if self.network is None:
            raise ArgumentError("a member stayed at its station; it cannot vote here")
        own = self.network
        columns = {name: columns[name] for name in self.columns if name in columns}
        if not set(columns) >= set(own.nodes) - {label}:
            own = restricted(own, [label, *columns])
        return self.placed(posteriors(own, codes_of(own, self.cuts, columns, rows), label), label, classes)

    def placed(self, posterior: Floats, label: str, classes: Sequence[str]) -> Floats:
        """Return probabilities of the network's classes, (rows, its classes), at the places of the ensemble's."""
        placed = np.zeros((len(posterior), len(classes)))
        states = self.network.states[label] if self.network is not None else ()
        for position, name in enumerate(states):
            if name in classes:
                placed[:, list(classes).index(name)] = posterior[:, position]
        return placed

    def classifier(self, label: str) -> Classifier | None:
        """Return the network as a sum over factors; None where nothing in it tells of the label."""
        try:
            return None if self.network is None else Classifier.of(self.network, label, MISSING_STATE)
        except ValueError:
            return None

    def has_value(self, label: str, columns: Mapping[str, Any], rows: int) -> Booleans:
        """Return of which records there is a value that the network knows; of a group one that tells of the label, (rows,)."""
        if self.network is None:
            raise ArgumentError("a member stayed at its station; it cannot vote here")
        told = set(self.columns)
        if len(self.stations) > 1:
            classifier = self.classifier(label)
            told = set() if classifier is None else {name for group in classifier.groups for name in group}
        codes = codes_of(self.network, self.cuts, {name: columns[name] for name in told if name in columns}, rows)
        return np.asarray((codes >= 0).any(axis=1))

    def known(self, classes: Sequence[str]) -> Booleans:
        """Return which of the ensemble's classes the member has seen."""
        return np.array([name in self.classes for name in classes], dtype=np.bool_)


@dataclass(frozen=True)
class Ensemble:
    """Members, and how they vote.

    Attributes
    ----------
    label : str
        What is predicted.
    classes : tuple of str
        All classes that any member has seen.
    members : tuple of Member
        At least one.
    vote, weights, split : str
        See `fit`.
    bound : float
        See `votes.ballot`.
    given : mapping or None
        What it was read from, as the manifest has its digest.
    """

    label: str
    classes: tuple[str, ...]
    members: tuple[Member, ...]
    vote: str
    weights: str
    split: str
    bound: float = 0.0
    given: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)

    @property
    def dynamic(self) -> bool:
        """Whether votes are weighed record by record."""
        return self.weights == "dynamic"

    @property
    def secret(self) -> bool:
        """Whether a member stayed at its station."""
        return any(member.network is None for member in self.members)

    def to_json(self) -> dict[str, Any]:
        """Return the ensemble as JSON."""
        return {
            "label": self.label,
            "classes": list(self.classes),
            "vote": self.vote,
            "weights": self.weights,
            "split": self.split,
            "bound": self.bound,
            "members": [member.to_json() for member in self.members],
        }

    @classmethod
    def read(cls, model: Any) -> Ensemble:
        """Return the ensemble of a result, or of its `model` entry.

        Raises
        ------
        ArgumentError
            It is none, or has no member.
        """
        content = model.get("model", model) if isinstance(model, Mapping) else model
        if not isinstance(content, Mapping) or not isinstance(content.get("members"), list | tuple):
            raise ArgumentError("model must be the model that fit returned")
        if len(content["members"]) > MOST_MEMBERS:
            raise ArgumentError("model has too many members to be one that fit returned")
        if "target" in content:
            raise ArgumentError("model: what it calls 'target' is now called 'label'; fit again")
        if not content["members"]:
            raise ArgumentError("model has no members: a vote needs at least one")
        try:
            members = tuple(Member.from_json(entry) for entry in content["members"])
            ensemble = cls(
                str(content["label"]),
                tuple(str(c) for c in content["classes"]),
                members,
                str(content["vote"]),
                str(content["weights"]),
                str(content["split"]),
                float(content.get("bound", 0.0)),
                model,
            )
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as problem:
            raise ArgumentError(f"model must be the model that fit returned: {type(problem).__name__}") from None
        known = (
            ensemble.vote in votes.VOTES,
            ensemble.weights in votes.WEIGHTS,
            ensemble.split in SPLITS,
            0 <= ensemble.bound < 1,
        )
        if not all(known) or len(ensemble.classes) < 2:
            raise ArgumentError("model must be the model that fit returned, with two classes or more")
        if not any(member.weight > 0 for member in members):
            raise ArgumentError("model: every member has weight 0; a vote needs at least one member")
        return ensemble

    def restricted(self, at: int) -> Ensemble:
        """Return the ensemble for one organization: networks of members that it is no part of are left out (0: all)."""
        members = [
            member if at in member.stations else replace(member, network=None, cuts={}) for member in self.members
        ]
        return replace(self, members=tuple(members))

    def shown_to(self, at: int) -> dict[str, Any]:
        """Return what an organization is sent: members that it is a part of as they were given, of the others no network."""
        others = self.restricted(at).to_json()["members"]
        shown = [
            dict(member.given) if at in member.stations and member.given is not None else other
            for member, other in zip(self.members, others, strict=True)
        ]
        return {**self.to_json(), "members": shown}

    def ballot(self, member: Member, posterior: Floats) -> tuple[Floats, Floats]:
        """Return a member's vote, see `votes.ballot`; `posterior`: (rows, classes)."""
        return votes.ballot(posterior, member.known(self.classes), self.vote, member.weight, self.dynamic, self.bound)

    def predict_log_proba(self, columns: Mapping[str, Any], rows: int) -> Floats:
        """Return log P(class | record) of records given by column, shape (rows, classes), when all members are here.

        This is what the secure sum computes, in one place.
        """
        present = [self.present(member, columns, rows) for member in self.members]
        return self.elect([self.posterior(member, columns, rows) for member in self.members], present)

    def present(self, member: Member, columns: Mapping[str, Any], rows: int) -> Booleans:
        """Return the records on which a member votes, (rows,): a group on those of which it has a value, and so does a hybrid party, which lacks others."""
        if self.split != "hybrid" and len(member.stations) == 1:
            return np.ones(rows, dtype=np.bool_)
        return member.has_value(self.label, columns, rows)

    def posterior(self, member: Member, columns: Mapping[str, Any], rows: int) -> Floats:
        """Return a member's P(class | record) of records given by column, shape (rows, classes)."""
        return member.posterior(self.label, self.classes, columns, rows)

    def elect(self, posteriors: Sequence[Floats], present: Sequence[Booleans] | None = None) -> Floats:
        """Return log P(class | record), (rows, classes), from each member's; `present`: the records that each has (default: all)."""
        added, behind = np.zeros(posteriors[0].shape), np.zeros(posteriors[0].shape)
        for number, (member, posterior) in enumerate(zip(self.members, posteriors, strict=True)):
            ballot, weight = self.ballot(member, posterior)
            here = np.ones(len(posterior), dtype=np.bool_) if present is None else present[number]
            added, behind = added + ballot * here[:, None], behind + weight * here[:, None]
        return votes.combine(added, behind, self.vote)


def prediction_name(member: str) -> str:
    """Return the name of the column of a member's predictions; no column of a table can have it."""
    return factor_name("states", [f"~predicted:{member}"])
