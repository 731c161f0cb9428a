"""What one station does in the rounds that are VertiBayes' own."""

from __future__ import annotations

import numpy as np

from fedbayes.bayes.counts.tables import count
from fedbayes.bayes.evaluation.coarse import seed_of
from fedbayes.bayes.evaluation.tallies import tally
from fedbayes.bayes.network.record_scores import log_posteriors
from fedbayes.federation import Station, partial
from fedbayes.federation.errors import ArgumentError, MessageError
from fedbayes.federation.gate import Exact, Masked, Released
from fedbayes.federation.guards.announced import check_compared, check_shown
from fedbayes.federation.guards.arrival import check_claimed
from fedbayes.federation.guards.installments import pay
from fedbayes.federation.guards.once import ONE_QUESTION, asked_once
from fedbayes.federation.questions.contrasts import Contrasts
from fedbayes.federation.replies import RecordsReply
from fedbayes.federation.vertical.coding import check_bins_hold, resolve
from fedbayes.federation.vertical.messages import Setup
from fedbayes.federation.vertical.record_shares import identifiers_of, score_share, scored_once, summed
from fedbayes.federation.vertical.replication import workspace_of
from fedbayes.federation.vertical.sealed_sums import sealed_part
from fedbayes.federation.vertical.workspace import Workspace
from fedbayes.typing import Integers, Words

from .messages import BY_ROWS, CountsReply, CountsRequest, ScoresRequest, TallyReply, TallyRequest
from .prediction import Model, classifier_of, weighted


@partial
def partial_counts(station: Station, request: CountsRequest) -> CountsReply:
    """Return this station's tables, masked, for records that are split by rows.

    Notes
    -----
    **Reveals** the sums of the tables over all participants to central, with noise where they are paid for, and
    nothing of one station; where scores are asked for, also that of a digest of every station's rows, keyed where the node has a folder database.
    **Assumes** that two participants do not collude with central.
    """
    private, covered = request.noise is not None, request.noise is not None and request.noise.covers
    station.require_private(covered)
    if not covered:
        asked_once(station, "states", (request.domain, request.bins), ONE_QUESTION)
    columns = list(dict.fromkeys(column for table in request.tables for column in table))
    frame = station.data(columns=columns, domain=request.domain)
    codes, shape = {}, {}
    for column in columns:
        entry = request.domain.get(column)
        states, own_codes = resolve(column, frame[column], entry, request.bins, True, True, private)
        if not states.public:
            raise ArgumentError(f"column '{column}' has no public states; give its categories, bounds or cut points")
        if not covered:
            check_bins_hold(states, own_codes, station.policy.minimum_count, station.cut)
            station.check_made_missing(column, own_codes == states.cardinality - 1)
            station.history.note_borders(column, states.cuts or ())
        codes[column], shape[column] = own_codes, states.cardinality
    tables = [count([codes[c] for c in table], [shape[c] for c in table]).ravel() for table in request.tables]
    asked = np.concatenate(tables)
    if request.seeded:
        asked = np.append(asked, seed_of(list(codes.values()), station.secret_for("exact scores")))
    if request.contrasts is not None:
        asked = _functions(request.contrasts, request.tables, shape, asked)
    return CountsReply(station.mask(_leaving(station, asked, request)), station.public(station.policy.minimum_count))


def _functions(contrasts: Contrasts, tables: list[list[str]], states: dict[str, int], cells: Integers) -> Integers:
    try:
        contrasts.check_states(tables, states)
        return contrasts.of(tables, cells).astype(np.int64, copy=False)
    except ValueError as problem:
        raise MessageError(str(problem)) from None


def _leaving(station: Station, values: Integers, request: CountsRequest) -> Exact[Words] | Released[Words]:
    """Return the tables as they may be masked: as they are, or paid for and with this station's share of the noise."""
    if request.noise is None:
        return station.exact(values.view(np.uint64), "tables", queries=len(request.tables))
    parties, honest = len(station.participants), request.honest_fraction
    change = request.change(values.size)
    request.noise.shares(0, change, parties, honest)  # what cannot be sampled is not charged
    receipt = pay(station, request.noise, BY_ROWS, note="tables, add_remove", queries=len(request.tables))
    noisy = values + request.noise.shares(values.shape, change, parties, honest)
    return station.released(noisy.astype(np.int64).view(np.uint64), receipt)


@partial
def partial_scores(station: Station, request: ScoresRequest) -> RecordsReply:
    """Return this station's share of the log-score of every common record and class.

    Notes
    -----
    **Reveals** the sums of all shares, which are the records' class probabilities, to central or to the label's
    station, nothing else: every share is masked. From the probabilities of a record one can infer values of the columns
    in the label's Markov blanket, so every node must allow predictions. Central chooses no weights: they follow from the model, which the manifest
    names, and records are scored once in a job. The identifying station shows identifiers to
    central. **Assumes** that the helper colludes with no one.
    """
    check_claimed(station, request.model)
    scored_once(station, "scores")
    if request.holder is None or request.identify is not None:
        check_shown(station)
    if request.holder is not None:
        check_compared(station, [request.holder], [request.label])
    workspace = workspace_of(station, request.delivery.setup, request.delivery)
    if not workspace.is_helper:
        station.require_predictions()
    scored = weighted(Model.read(request.model), request.label, request.names, request.delivery)
    wide = score_share(workspace, request.delivery, scored)
    queries = 0 if workspace.is_helper else request.delivery.rows
    delivery = request.delivery
    common = [
        delivery.setup,
        delivery.rows,
        request.names,
        request.model,
        request.label,
        request.holder,
        request.identify,
    ]
    masked = station.mask(station.exact(wide, "predictions", queries=queries, summed=False), "", common)
    identifiers = None
    if request.identify == station.organization:
        identifiers = station.further(identifiers_of(workspace, request.delivery.rows))
    if request.holder is None:
        return RecordsReply(masked, None, identifiers)
    if request.holder == station.organization:
        prior = classifier_of(Model.read(request.model).network, request.label).prior
        station.keep("scores", prior=prior, label=np.array(request.label))
    return RecordsReply(None, sealed_part(station, request.holder, masked, "scores"), None)


@partial
def partial_tally(station: Station, request: TallyRequest) -> TallyReply:
    """Add up the sealed scores, where they are for this station, and compare them with its labels; all others give a zero, under masks.

    Notes
    -----
    **Reveals** to this station the class probabilities of the common records; to central sums over records, and a digest of labels and probabilities, keyed
    where the node has a folder database (`fedbayes.bayes.evaluation.coarse`). **Assumes** what `partial_scores` does.
    """
    scored_once(station, "tally")
    if not request.sealed:
        return TallyReply(None, None, None, _part_of_seed(station, request, 0))
    station.require_predictions()
    workspace, kept = workspace_of(station, request.setup), station.kept("scores")
    total = summed(station, request.setup, request.sealed, "scores")
    logs = log_posteriors(total, kept["prior"], request.rows)
    truth, order = _labels(station, workspace, request.setup, str(kept["label"]))
    seed = seed_of([truth[order], logs[order]], station.secret_for("exact scores"))
    labelled = truth < len(kept["prior"])
    counts, loss = tally(truth[labelled], logs[labelled]).flat()
    return TallyReply(
        station.exact(counts, "evaluation", queries=1, summed=False),
        station.further(float(loss)),
        station.further(int((~labelled).sum())),
        _part_of_seed(station, request, seed),
    )


def _part_of_seed(station: Station, request: TallyRequest, number: int) -> Masked:
    content = station.further(np.array([number]).view(np.uint64))
    return station.mask(content, "seed", [request.setup, request.rows])


def _labels(station: Station, workspace: Workspace, setup: Setup, label: str) -> tuple[Integers, Integers]:
    """Return the labels in the common order, and what puts these records into the station's own, the same in every job."""
    values = station.data(columns=[label], domain=setup.domain)[label]
    _, codes = resolve(label, values, setup.domain.get(label), setup.bins, True, True)
    order = workspace.common_order(len(codes))
    return np.asarray(codes[order], dtype=np.int64), np.argsort(order)
