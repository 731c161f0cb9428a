"""Weights by held-out score: members are tested on records that they have not learned from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from fedbayes.bayes.network import BayesianNetwork
from fedbayes.bayes.values.encoding import canonical_text
from fedbayes.federation import Federation
from fedbayes.federation.gate import Sealed
from fedbayes.federation.messages.codec import Message
from fedbayes.federation.vertical import SecureTables
from fedbayes.federation.vertical.engine import SMALL_RING_ROWS
from fedbayes.federation.vertical.opening import fold_domain
from fedbayes.mpc.ring import lift
from fedbayes.typing import Floats, Integers

from .arguments import Fit
from .ensemble import Ensemble, Member, prediction_name
from .messages import PredictedRequest, TalliesReply, TestedRequest
from .model import Part
from .votes import above_chance, by_score


def by_other_rows(
    federation: Federation, model: Ensemble, seals: Mapping[int, list[Sealed]], stations: Sequence[int]
) -> Ensemble:
    """Return the ensemble with members weighed by their balanced accuracy on the other stations' rows. One round.

    Notes
    -----
    **Reveals** sums over stations to central. **Assumes** that most labelled rows lie at stations that count honestly.
    """
    request = TestedRequest(model.to_json(), dict(seals))
    summed = federation.secure_sum("partial_tested", request, stations, TalliesReply, field="vector", last=True)
    right, seen = lift(summed).reshape(len(model.members), 2, len(model.classes)).swapaxes(0, 1).astype(np.float64)
    return weighed(federation, model, by_score(coarse(right, seen, federation.minimum_count)))


def by_folds(
    federation: Federation, model: Ensemble, tables: SecureTables, parts: Sequence[Part], asked: Fit
) -> Ensemble:
    """Return the ensemble with vertical members weighed by cross-validated balanced accuracy: four to six rounds.

    The structures stay, the tables are learned again without each fold. A member's station opens the predicted classes as
    a column, under masks as any other; the table of that column, the label and the fold tells how often it is right.

    Notes
    -----
    **Reveals** to central the families' tables by fold, and each member's confusion table by fold. Nobody sees a prediction.
    """
    (fold,) = fold_domain(asked.folds)
    families = [(*part.network.parents[node], node) for part in parts for node in part.network.nodes]
    counted = iter(tables.tables([(*family, fold) for family in families]))
    tested: list[Member] = []
    for member, part in zip(model.members, parts, strict=True):
        counts = {node: next(counted) for node in part.network.nodes}
        for held in range(asked.folds):
            network = without(part, counts, held, asked.learning.pseudocount)
            tested.append(replace(member, name=f"{member.name}:{held}", network=network, weight=1.0))
    _open(tables, model, tested)
    ((axes, joint),) = tables.joint([(asked.label, fold)])
    answers = tables.engine.ask([(prediction_name(entry.name), joint) for entry in tested])
    shape = [tables.columns[column].cardinality for column in axes]
    right, seen = np.zeros((2, len(model.members), len(model.classes)))
    for index, answer in enumerate(answers):
        number, held = divmod(index, asked.folds)
        table = answer.reshape(len(model.classes), *shape)
        table = np.take(table, held, axis=1 + axes.index(fold))
        positions = _positions(model, tables, asked.label)
        right[number] += table[np.arange(len(model.classes)), positions]
        seen[number] += table[:, positions].sum(axis=0)
    scores = coarse(right, seen, federation.minimum_count)
    return weighed(federation, model, above_chance(scores, len(model.classes)))


def _positions(model: Ensemble, tables: SecureTables, label: str) -> list[int]:
    """Return where the ensemble's classes stand among the label's states."""
    states = [canonical_text(state) for state in tables.columns[label].labels]
    return [states.index(name) for name in model.classes]


def without(part: Part, counts: dict[str, Integers], held: int, pseudocount: float) -> BayesianNetwork:
    """Return the part's network with tables from all folds but one; the fold is the last axis of the counts."""
    network = part.network
    left = {}
    for node in network.nodes:
        kept = tuple(slice(0, size) for size in network.shape(node))
        by_fold = counts[node][kept]
        left[node] = np.maximum(by_fold.sum(axis=-1) - by_fold[..., held], 0)
    return BayesianNetwork.from_counts(network.states, network.parents, left, pseudocount)


def _open(tables: SecureTables, model: Ensemble, tested: Sequence[Member]) -> None:
    engine = tables.engine
    bits = 16 if tables.rows < SMALL_RING_ROWS else 32

    def requests(stage: int) -> dict[int, Message]:
        asked: dict[int, Message] = {}
        for at in sorted({entry.leader for entry in tested}):
            own = replace(model, members=tuple(entry for entry in tested if entry.leader == at))
            asked[at] = PredictedRequest(engine.delivery(at, set()), stage, bits, own.to_json())
        return asked

    engine.extend_by("partial_predicted", requests)


def balanced(right: Floats, seen: Floats) -> list[float]:
    """Return each member's balanced accuracy from how often it was right, by class: shape (members, classes) each."""
    recall = np.divide(right, seen, out=np.zeros_like(right), where=seen > 0)
    scores: list[float] = (recall.sum(axis=1) / np.maximum((seen > 0).sum(axis=1), 1)).tolist()
    return scores


def coarse(right: Floats, seen: Floats, minimum: float) -> list[float]:
    """Return each member's balanced accuracy in steps of one record where nodes hide small counts: its digits say how often it is wrong, class by class."""
    exact = balanced(right, seen)
    if minimum <= 1:
        return exact
    steps = np.maximum(seen.sum(axis=1), 1.0)
    scores: list[float] = (np.round(np.array(exact) * steps) / steps).tolist()
    return scores


def weighed(federation: Federation, model: Ensemble, weights: Sequence[float]) -> Ensemble:
    """Return the ensemble with these weights; say which members they leave without a vote."""
    cut = [member.name for member, weight in zip(model.members, weights, strict=True) if weight <= 0]
    if cut:
        federation.warn(f"without a vote, as they are far worse than the others on held-out records: {', '.join(cut)}")
    members = [replace(m, weight=w) for m, w in zip(model.members, weights, strict=True)]
    return replace(model, members=tuple(members))
