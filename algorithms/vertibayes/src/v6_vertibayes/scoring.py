"""Central's side of scoring records whose columns lie at several stations."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbayes.bayes.evaluation.coarse import coarse_scores
from fedbayes.bayes.evaluation.small_counts import shown
from fedbayes.bayes.evaluation.tallies import Tallies, coarse_auc
from fedbayes.bayes.network.record_scores import log_posteriors
from fedbayes.federation import Federation, Preflight
from fedbayes.federation.errors import ArgumentError, MessageError
from fedbayes.federation.jobs.transport import summed
from fedbayes.federation.replies import RecordsReply
from fedbayes.federation.vertical import PARTIALS, SecureTables, open_parties, setup_of
from fedbayes.typing import Floats

from .messages import ScoresRequest, TallyReply, TallyRequest
from .prediction import Model, classifier_of


class RecordScores:
    """Scores of the common records of all stations, in shares.

    Parameters
    ----------
    federation : Federation
        The job.
    model : Model
        The network.
    label : str
        What is predicted.
    id_column : str
        The identifier at every station.
    helper, organizations
        Who takes part.
    with_label : bool
        Whether the label's column is needed too (to compare).
    """

    def __init__(
        self,
        federation: Federation,
        model: Model,
        label: str,
        id_column: str,
        helper: Any,
        organizations: list[int | str] | None,
        with_label: bool,
    ) -> None:
        self.federation, self.label, self.given = federation, label, dict(model.given)
        self.classifier = classifier_of(model.network, label)
        around = {name for group in self.classifier.groups for name in group}
        columns = [n for n in model.network.nodes if n in around or (with_label and n == label)]
        identifier = [id_column] if id_column else []
        functions = (*PARTIALS, "partial_scores", *(["partial_tally"] if with_label else []))
        preflight = Preflight((*columns, *identifier), id_column, functions=functions, queries=1, single_records=True)
        parties = open_parties(federation, organizations, helper, preflight)
        setup = setup_of(
            federation,
            parties,
            id_column,
            helper,
            domain=model.domain,
            bins=model.bins,
            missing_state=True,
            guarded=False,
        )
        self.tables = SecureTables.open(federation, setup, columns, noisy=True)

    @property
    def rows(self) -> int:
        """Common records."""
        return self.tables.rows

    def _ask(self, holder: int | None, identify: int | None) -> dict[int, RecordsReply]:
        engine = self.tables.engine
        joint = self.tables.joint(self.classifier.groups)
        names = [name for _, name in joint]
        members = engine.setup.everyone
        requests = {
            member: ScoresRequest(self.given, self.label, names, engine.delivery(member, set(names)), holder, identify)
            for member in members
        }
        return self.federation.round("partial_scores", requests, members, RecordsReply, last=holder is None)

    def predictions(self, identify: int) -> tuple[list[str], Floats]:
        """Return the identifiers and class probabilities (rows, classes) of the common records."""
        replies = self._ask(None, identify)
        total = summed([reply.masked for reply in replies.values()])
        logs = log_posteriors(total, self.classifier.prior, self.rows)
        named = replies[identify].identifiers
        return ([] if named is None else named.value), np.exp(logs)

    def tallies(self) -> tuple[dict[str, Any], dict[str, float]]:
        """Return the scores of the predictions, as the label's station finds them, and the errors of how they are told."""
        holder = self.tables.columns[self.label].owners[0]
        replies = self._ask(holder, None)
        sealed = {member: reply.sealed for member, reply in replies.items() if reply.sealed is not None}
        setup = self.tables.engine.setup
        requests = {at: TallyRequest(setup, sealed if at == holder else {}, self.rows) for at in setup.everyone}
        answers = self.federation.round("partial_tally", requests, setup.everyone, TallyReply, last=True)
        reply, seed = answers[holder], int(summed([answer.seed for answer in answers.values()])[0])
        if reply.counts is None or reply.loss is None or reply.unlabelled is None:
            raise MessageError("the label's station told no tallies; use one version everywhere")
        try:
            read = Tallies.from_flat(reply.counts.value, reply.loss.value, len(self.classifier.prior))
        except ValueError as problem:
            raise ArgumentError(f"the tallies of the label's station do not fit the model: {problem}") from None
        if words := coarse_auc(read):
            self.federation.warn(words)
        minimum = self.federation.minimum_count
        scores, errors = coarse_scores(read, minimum, seed)
        confusion = shown(read.confusion, minimum)
        return {**scores, "confusion": confusion, "unlabelled": reply.unlabelled.value}, errors
