"""Evaluation on vertically split records: tallies are counted on shares, and nobody learns the score of a record.

Every station turns the score of its features into a whole number (`lattice`), the label's holder the label too; the sum over the stations
says everything that a tally needs. Each adds a mask that it shares with a dealer and shows the result to two of the stations, the counters. The
dealer sends the counters shares of unit vectors at the masks' places, which they turn by what they were shown (`mpc.point_functions`): shares of
the counts of every sum. They add these up into the tallies, and only the tallies are put together.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbayes.bayes.evaluation import metrics
from fedbayes.bayes.evaluation.coarse import seed_of
from fedbayes.bayes.evaluation.tallies import Tallies, parted_bins, scored_classes, tenths
from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.bayes.schema import SchemaError
from fedbayes.federation import Station, partial
from fedbayes.federation.errors import (
    ArgumentError,
    DataProblem,
    MessageError,
    PlacementError,
    ThresholdError,
    schema_errors,
)
from fedbayes.federation.gate import Exact, Sealed
from fedbayes.federation.guards.arrival import check_claimed
from fedbayes.federation.guards.once import asked_once
from fedbayes.federation.horizontal import SumReply
from fedbayes.federation.messages.arrays import from_bytes
from fedbayes.federation.vertical.identifiers import matched_texts
from fedbayes.federation.vertical.record_shares import scored_once
from fedbayes.mpc.point_functions import PointKeys, deal_points, histogram
from fedbayes.mpc.prg import expand
from fedbayes.randomness import uniform_bits
from fedbayes.typing import Words

from .grading_messages import GradesRequest, Plan, ScoresReply, ScoresRequest
from .lattice import Lattice

LEAST_STATIONS = 3  # two counters and one more: of two each could subtract its own score
SCORE_BINS = 64  # as many as noisy scores have (`federation.horizontal`)
HIGH = np.uint64(32)  # tallies modulo 2^32 travel in the upper half of a word, whose sum wraps as theirs
TOPIC = "masked places"
KEYS = "point keys"
OWN = "own masked places"
SEED = "part of the seed of what is added to the scores"


def _model(data: Any) -> NaiveBayes:
    try:
        return NaiveBayes.from_dict(data)
    except SchemaError:
        raise MessageError("the model of the request is malformed") from None


def _lattice(model: NaiveBayes, plan: Plan) -> Lattice:
    try:
        return Lattice(model, plan.owners, plan.rows)
    except (ArgumentError, KeyError):
        raise MessageError("the model of the request does not fit its plan") from None


def _check_plan(station: Station, plan: Plan) -> None:
    """Refuse a plan that gives two parts to one organization, that this node does not answer, or another one than before."""
    station.require_predictions()
    station.require_private(False)
    if len(plan.owners) < max(LEAST_STATIONS, station.policy.minimum_organizations):
        raise ThresholdError(
            "records are scored over at least three stations, and as many as this node demands; include more of them"
        )
    if plan.dealer in plan.counters or (plan.dealer not in plan.owners and plan.dealer == station.aggregator):
        raise PlacementError("the dealer of an evaluation must neither count nor be a helper that runs central")
    asked_once(station, "plan of the evaluation", plan)


def _mask(key: bytes, round_name: str, plan: Plan, bits: int) -> Words:
    """Return the mask of one station's places, which it shares with the dealer."""
    drawn = expand(key, f"{round_name}|{plan.label}|mask", (plan.rows,), "u4").astype(np.uint64)
    return np.asarray(drawn & np.uint64((1 << bits) - 1))


def count(station: Station, names: list[str]) -> Exact[int]:
    """Return this station's number of rows, 0 where it holds none of the columns.

    Notes
    -----
    **Reveals** to central that number.
    """
    station.require_predictions()
    station.require_private(False)
    rows = len(station.arrays(names[:1])[names[0]]) if names else 0
    return station.exact(rows, "number of rows, for an evaluation", counts=[rows], summed=False)


@partial
def partial_scores(station: Station, request: ScoresRequest) -> ScoresReply:
    """Mask the places of this station's rows for the counters; at the dealer, deal the counters' keys as well.

    Notes
    -----
    **Reveals** to the counters numbers that are uniform as long as the dealer keeps the masks; to anybody else nothing.
    **Assumes** that no two of the dealer and the counters collude, and where no identifier is named that the rows are the same in the same
    order everywhere.
    """
    plan = request.plan
    check_claimed(station, request.model)
    _check_plan(station, plan)
    scored_once(station, "places")
    masks = np.zeros(plan.rows, dtype=np.uint64)
    openings: dict[int, Sealed] = {}
    if station.organization in plan.owners:
        order, topic = _ordered(station, plan)
        places = _places(station, request)[order]
        logs = _lattice(_model(request.model), plan).log_probabilities()
        station.keep(SEED, seed=np.array([seed_of([places, logs], station.secret_for("exact scores"))]))
        masks = _own_mask(station, plan)
        opened = (places + masks) & np.uint64((1 << plan.bits) - 1)
        if station.organization in plan.counters:
            station.keep(OWN, opened=opened)
        openings = _sealed(station, plan, {member: opened.astype("<u4").tobytes() for member in plan.counters}, topic)
    keys = _deal(station, plan, masks) if station.organization == plan.dealer else {}
    return ScoresReply(openings, keys)


def _ordered(station: Station, plan: Plan) -> tuple[Any, str]:
    """Return the order of this station's rows by their identifiers, and the topic of the letters about them.

    The topic holds a digest of all identifiers, which is bound into the seals and never sent: letters between stations with other records do not open.
    """
    station.history.note_linked(np.arange(plan.rows), plan.rows, plan.id_column)
    if not plan.id_column:
        station.check_aligned()
        return slice(None), TOPIC
    texts = matched_texts(station.identifiers(plan.id_column), plan.id_column, False)
    order = sorted(range(len(texts)), key=texts.__getitem__)
    digest = hashlib.sha256("\n".join(texts[row] for row in order).encode()).hexdigest()
    return np.array(order, dtype=np.intp), f"{TOPIC}|{digest}"


def _opened(station: Station, plan: Plan, sender: int, letter: Sealed, topic: str) -> bytes:
    try:
        return station.unseal(sender, letter, f"{topic}|{plan.label}")
    except MessageError:
        if not plan.id_column:
            raise
    raise DataProblem(
        f"column '{plan.id_column[:100]}': the stations do not hold the same identifiers (or a message was changed on its way); "
        "keep the records in the files that all of them have"
    )


def _own_mask(station: Station, plan: Plan) -> Words:
    if station.organization == plan.dealer:
        return np.asarray(uniform_bits(plan.rows) & np.uint64((1 << plan.bits) - 1))
    return _mask(station.channel.key(plan.dealer, TOPIC), station.round_name, plan, plan.bits)


def _places(station: Station, request: ScoresRequest) -> Words:
    """Return the places of this station's rows, the label's digit included where it is the holder."""
    plan, model = request.plan, _model(request.model)
    lattice = _lattice(model, plan)
    if lattice.bits != plan.bits:
        raise MessageError("the plan of the request does not fit its model; use one version everywhere")
    names = plan.owners[station.organization]
    with schema_errors(DataProblem):
        encoded = model.schema.select(names).encode(station.arrays(names, model.schema.to_domain()))
        places = lattice.places_of(station.organization, encoded)
        if station.organization == plan.holder:
            label = model.schema[model.label]
            truth = label.encode(station.arrays([plan.label], {plan.label: label.to_json()})[plan.label])
            places = places + lattice.label_place(truth)
    if len(places) != plan.rows:
        raise DataProblem("the stations do not hold the same number of rows; align them first")
    return places.astype(np.uint64)


def _sealed(station: Station, plan: Plan, letters: Mapping[int, bytes], topic: str) -> dict[int, Sealed]:
    others = {member: letter for member, letter in letters.items() if member != station.organization}
    return {member: station.seal(member, letter, f"{topic}|{plan.label}") for member, letter in others.items()}


def _deal(station: Station, plan: Plan, own: Words) -> dict[int, Sealed]:
    """Return the counters' keys of the unit vectors at the negated sum of all masks, each sealed for its counter."""
    total = own
    for member in plan.owners:
        if member != station.organization:
            total = total + _mask(station.channel.key(member, TOPIC), station.round_name, plan, plan.bits)
    places = (np.uint64(0) - total) & np.uint64((1 << plan.bits) - 1)
    pair = deal_points(places, plan.bits)
    return _sealed(
        station, plan, {member: keys.to_bytes() for member, keys in zip(plan.counters, pair, strict=True)}, KEYS
    )


@partial
def partial_grades(station: Station, request: GradesRequest) -> SumReply:
    """Return this station's masked share of the tallies; only the counters have one that is not zero.

    Notes
    -----
    **Reveals** to central the tallies: confusion, histograms of scores, calibration, summed loss; and the sum of a digest of every station's places, keyed
    where the node has a folder database, from which follows what is added to the scores (`fedbayes.bayes.evaluation.coarse`).
    **Assumes** what `partial_scores` does, and that two stations do not collude with central.
    """
    plan, model = request.plan, _model(request.model)
    check_claimed(station, request.model)
    _check_plan(station, plan)
    scored_once(station, "grades")
    if sorted(station.participants) != sorted(plan.owners):
        raise MessageError("the participants of the round are not the stations of the plan")
    share = np.zeros(tally_size(len(model.classes)), dtype=np.uint64)
    if station.organization in plan.counters:
        share = tallied(_lattice(model, plan), _counted(station, request), loss_bits(plan.rows))
    vector = np.append(share << HIGH, station.kept(SEED)["seed"].view(np.uint64))
    content = station.exact(vector, "evaluation on vertically split records", summed=False)
    return SumReply(station.mask(content, "", [request.model, plan]))


def _counted(station: Station, request: GradesRequest) -> npt.NDArray[np.uint32]:
    """Return this counter's share of the counts of all places."""
    plan, second = request.plan, station.organization == request.plan.counters[1]
    if set(request.openings) != set(plan.owners) - {station.organization}:
        raise MessageError(
            "the masked places of a station are missing, or some came that were not asked; the job stops"
        )
    total = station.kept(OWN)["opened"]
    _, topic = _ordered(station, plan)
    for member, letter in request.openings.items():
        opened = from_bytes(_opened(station, plan, member, letter, topic), "<u4")
        if opened.shape != (plan.rows,):
            raise MessageError("the masked places of a station are not as many as the records; the job stops")
        total = total + opened.astype(np.uint64)
    if request.keys is None:
        raise MessageError("the dealer's keys are missing; the job stops")
    dealt = station.unseal(plan.dealer, request.keys, f"{KEYS}|{plan.label}")
    try:
        keys = PointKeys.from_bytes(dealt, plan.bits, second, plan.rows)
    except ValueError:
        raise MessageError("the dealer's keys do not fit the plan; the job stops") from None
    return histogram(keys, total & np.uint64((1 << plan.bits) - 1))


def loss_bits(rows: int) -> int:
    """Return the fractional bits of the summed loss, which must stay below 2^31."""
    return max(0, 30 - math.ceil(math.log2(metrics.LARGEST_LOSS * max(rows, 1))))


def tally_size(classes: int) -> int:
    """Return how many numbers the tallies and the loss have."""
    return Tallies.size(classes, SCORE_BINS) + 1


def tallied(lattice: Lattice, counts: npt.NDArray[np.uint32], fraction: int) -> Words:
    """Return the tallies of (shares of) counts of places, modulo 2^32; a linear map, so shares of tallies add up to tallies.

    Parameters
    ----------
    lattice : Lattice
        What a place says.
    counts : ndarray (2^bits,) of uint32
        How often each place occurs.
    fraction : int
        Fractional bits of the loss, the last number.
    """
    classes, cells = lattice.classes, lattice.cells
    logs = lattice.log_probabilities()
    weights = counts[: classes * cells].astype(np.float64)  # whole numbers whose sums stay below 2^53
    truth = np.repeat(np.arange(classes), cells)
    predicted, bins = np.tile(logs.argmax(axis=1), classes), parted_bins(logs, SCORE_BINS)
    tenth = tenths(np.exp(logs.max(axis=1)))
    chosen = [1] if scored_classes(classes) == 1 else list(range(classes))
    indices = [((truth == group) * SCORE_BINS + np.tile(bins[:, group], classes), 2 * SCORE_BINS) for group in chosen]
    indices.append((truth * classes + predicted, classes**2))
    indices.append((np.tile(tenth, classes) * 2 + (predicted == truth), 2 * metrics.CALIBRATION_BINS))
    parts = [np.bincount(index, weights, minlength=size).astype(np.uint64) for index, size in indices]
    losses = np.clip(-logs.T.ravel(), 0.0, metrics.LARGEST_LOSS) * 2.0**fraction
    loss = (np.rint(losses).astype(np.uint64) * counts[: classes * cells].astype(np.uint64)).sum(dtype=np.uint64)
    whole = np.concatenate([*parts, np.array([loss], dtype=np.uint64)])
    return np.asarray(whole & np.uint64(0xFFFFFFFF))
