"""Central's side of predicting: align the records, have the members vote, add the votes up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from fedbayes.bayes.evaluation.small_counts import shown
from fedbayes.bayes.network.record_scores import Classifier
from fedbayes.bayes.network.variable import MISSING_STATE
from fedbayes.federation import Federation, Preflight
from fedbayes.federation.errors import ArgumentError, StationError
from fedbayes.federation.gate import Sealed
from fedbayes.federation.jobs.transport import summed
from fedbayes.federation.perimeter.manifest import outline_of
from fedbayes.federation.replies import SealedReply
from fedbayes.federation.vertical import MATCHED, SecureTables, open_parties, setup_of
from fedbayes.federation.vertical.engine import Engine
from fedbayes.typing import Floats

from . import tallies, votes
from .ensemble import Ensemble
from .local import columns_of
from .messages import (
    ColumnsReply,
    ColumnsRequest,
    EvidenceRequest,
    GroupScores,
    LocalRequest,
    PredictionsReply,
    TalliesReply,
    TallyRequest,
    VotesReply,
    VotesRequest,
)


class Election:
    """The records that stations have in common (hybrid: that any has), and the members' votes on them.

    Parameters
    ----------
    federation : Federation
        The job, before its first round.
    model : Ensemble
        What votes.
    id_column : str
        The identifier at every station.
    helper, organizations
        Who takes part.
    judged : bool
        Whether votes are compared with labels.
    """

    def __init__(
        self,
        federation: Federation,
        model: Ensemble,
        id_column: str,
        helper: Any,
        organizations: list[int | str] | None,
        judged: bool,
    ) -> None:
        self.federation = federation
        columns = dict.fromkeys(column for member in model.members for column in member.columns)
        identifier = [id_column] if id_column else []
        of_groups = (
            ["partial_extend", "partial_evidence"] if any(len(one.stations) > 1 for one in model.members) else []
        )
        compared = ["partial_columns", "partial_tally"] if judged else []
        functions = (*MATCHED, *of_groups, "partial_votes", *compared)
        preflight = Preflight((*columns, *identifier), id_column, functions=functions, queries=1, single_records=True)
        parties = open_parties(federation, organizations, helper, preflight)
        present = [m for m in model.members if set(m.stations) <= set(parties.stations)]
        absent = [m.name for m in model.members if m not in present]
        if absent:
            federation.warn(f"members without a vote, as their stations do not take part: {', '.join(absent)}")
        self.model = replace(model, members=tuple(present))
        Ensemble.read(self.model.to_json())
        records = "union" if model.split == "hybrid" else "intersection"
        self._setup = partial(setup_of, federation, parties, id_column, helper, records)
        self.engine = Engine(federation, self._setup())
        self._tables: SecureTables | None = None
        self._outline = outline_of(model.given or {})

    def _groups(self) -> dict[int, Classifier]:
        """Return number -> classifier of the members whose columns lie at several stations."""
        groups = {}
        for number, member in enumerate(self.model.members):
            classifier = member.classifier(self.model.label) if len(member.stations) > 1 else None
            if classifier is not None:
                groups[number] = classifier
        return groups

    def align(self) -> int:
        """Match the records: two rounds (three for a union with groups, whose columns are opened). Return how many there are."""
        groups = self._groups()
        mute = [m.name for n, m in enumerate(self.model.members) if len(m.stations) > 1 and n not in groups]
        if mute:
            self.federation.warn(
                f"without a vote, as nothing in the group's network depends on the label: {', '.join(mute)}"
            )
        columns = sorted({name for classifier in groups.values() for group in classifier.groups for name in group})
        if not columns:
            self.engine.submit([])
            return self.engine.match()
        domain, bins = {}, {}
        for number in groups:
            member = self.model.members[number]
            for name, states in member.network.states.items() if member.network is not None else ():
                domain[name] = {"categories": [state for state in states if state != MISSING_STATE]}
            bins.update({name: list(cuts) for name, cuts in member.cuts.items()})
        domain = {name: entry for name, entry in domain.items() if name not in bins}
        setup = self._setup(domain=domain, bins=bins, missing_state=True, guarded=False)
        self._tables = SecureTables.open(self.federation, setup, columns, noisy=True)
        self.engine = self._tables.engine
        return self.engine.rows

    @property
    def rows(self) -> int:
        """Records that are voted on."""
        return self.engine.rows

    def _ask(self, holders: Sequence[int], identify: int | None) -> dict[int, VotesReply]:
        setup = self.engine.setup
        evidence = self._evidence()
        requests = {}
        for at in setup.everyone:
            own = self.model.shown_to(at)
            sealed = {
                number: letters for number, letters in evidence.items() if self.model.members[number].leader == at
            }
            requests[at] = VotesRequest(
                self.engine.delivery(at, set()), own, self._outline, list(holders), identify, sealed
            )
        return self.federation.round("partial_votes", requests, setup.everyone, VotesReply, last=not holders)

    def _evidence(self) -> dict[int, dict[int, Sealed]]:
        """Have everyone give the leaders of groups its shares of the groups' scores. One round where there are groups."""
        if self._tables is None:
            return {}
        asked, used = [], set()
        for number, classifier in self._groups().items():
            joint = self._tables.joint(classifier.groups)
            names = [name for _, name in joint]
            weights = classifier.weights([axes for axes, _ in joint])
            asked.append(GroupScores(names, list(weights), number, self.model.members[number].leader))
            used |= set(names)
        setup = self.engine.setup
        requests = {
            at: EvidenceRequest(self.engine.delivery(at, used), asked, self._outline, self._shown(asked, at))
            for at in setup.everyone
        }
        replies = self.federation.round("partial_evidence", requests, setup.everyone, SealedReply)
        return {
            group.number: {at: reply.sealed[group.number] for at, reply in replies.items() if at != group.leader}
            for group in asked
        }

    def _shown(self, asked: Sequence[GroupScores], at: int) -> dict[int, dict[str, Any]]:
        """Return the members of the groups that an organization is a part of, as they were given."""
        members = {group.number: self.model.members[group.number] for group in asked}
        return {number: dict(one.given or {}) for number, one in members.items() if at in one.stations}

    def predictions(self, identify: int | None) -> tuple[list[str], Floats]:
        """Return identifiers (empty without `identify`) and class probabilities (rows, classes)."""
        replies = self._ask([], identify)
        logs = combined(self.model, [reply.masked for reply in replies.values()], self.rows)
        named = None if identify is None else replies[identify].identifiers
        return ([] if named is None else named.value), np.exp(logs)

    def tallied(self) -> dict[str, Any]:
        """Return the scores of the votes, as the holders of the label find them: two rounds."""
        setup = self.engine.setup
        holdings = self.federation.round(
            "partial_columns", ColumnsRequest([self.model.label]), setup.stations, ColumnsReply
        )
        holders = [at for at, reply in holdings.items() if reply.columns.value]
        if not holders:
            raise ArgumentError("label: its column is at no station that takes part; nothing to compare with")
        replies = self._ask(holders, None)
        requests = {}
        for at in setup.everyone:
            sealed = {sender: reply.sealed[at] for sender, reply in replies.items() if at in reply.sealed}
            requests[at] = TallyRequest(
                setup, sealed, self.model.label, list(self.model.classes), self.model.vote, self.rows
            )
        counted = self.federation.round("partial_tally", requests, setup.everyone, TalliesReply, last=True)
        return scored(self.federation, list(counted.values()), len(self.model.classes))


def combined(model: Ensemble, masked: Sequence[Any], rows: int) -> Floats:
    """Return log probabilities (rows, classes) from everybody's masked votes."""
    total = summed(masked)
    try:
        added, behind = votes.decode(total, rows, len(model.classes))
    except ValueError as problem:
        raise StationError(f"{problem}; the job stops") from None
    return votes.combine(added, behind, model.vote)


def scored(federation: Federation, replies: Sequence[TalliesReply], classes: int) -> dict[str, Any]:
    """Return the scores from everybody's tallies; small counts of the confusion table are left out."""
    total = summed([reply.vector for reply in replies])
    try:
        scores = tallies.scores(np.asarray(total, dtype=np.uint64).view(np.int64), classes, federation.minimum_count)
        return {**scores, "confusion": shown(scores["confusion"], federation.minimum_count)}
    except ValueError as problem:
        raise StationError(f"{problem}; the job stops") from None


def local_scores(federation: Federation, model: Ensemble, organizations: list[int | str] | None) -> dict[str, Any]:
    """Return the scores of an ensemble on every station's own rows: two rounds, a secure sum."""
    preflight = Preflight(
        tuple(columns_of(model)), functions=("partial_local",), queries=1, single_records=False, summed=True
    )
    parties = federation.open_channel(organizations, preflight)
    request = LocalRequest(dict(model.given or {}))
    replies = federation.round("partial_local", request, parties.stations, TalliesReply, last=True)
    return scored(federation, list(replies.values()), len(model.classes))


def local_predictions(
    federation: Federation, model: Ensemble, id_column: str | None, organizations: list[int | str] | None
) -> tuple[list[str], list[str], Floats]:
    """Return station, identifier and class probabilities of every station's own rows: two rounds."""
    columns = tuple(columns_of(model))
    preflight = Preflight(columns, id_column or "", functions=("partial_predict",), queries=1, single_records=True)
    parties = federation.open_channel(organizations, preflight)
    request = LocalRequest(dict(model.given or {}), id_column)
    replies = federation.round("partial_predict", request, parties.stations, PredictionsReply, last=True)
    answers = {at: (reply.probabilities.value, reply.identifiers.value) for at, reply in replies.items()}
    shape = (len(model.classes),)
    if any(part.shape[1:] != shape or len(texts) not in (0, len(part)) for part, texts in answers.values()):
        raise StationError("the predictions of a station do not have the classes of the model; the job stops")
    places = [federation.name(at) for at, (part, _) in answers.items() for _ in range(len(part))]
    names = [text for _, texts in answers.values() for text in texts]
    return places, names, np.concatenate([part for part, _ in answers.values()])


def outside_predictions(
    federation: Federation, model: Ensemble, records: Mapping[str, Any], organizations: list[int | str] | None
) -> Floats:
    """Return class probabilities of records that the researcher gives; stations vote where members are secret."""
    rows = len(next(iter(records.values())))
    if not model.secret:
        return np.exp(model.predict_log_proba(records, rows))
    preflight = Preflight(functions=("partial_outside",), queries=1, single_records=True)
    parties = federation.open_channel(organizations, preflight)
    request = LocalRequest(dict(model.given or {}), None, dict(records))
    replies = federation.round("partial_outside", request, parties.stations, VotesReply, last=True)
    return np.exp(combined(model, [reply.masked for reply in replies.values()], rows))
