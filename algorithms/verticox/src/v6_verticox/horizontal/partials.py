"""What one station does in a fit over horizontally split records: read, sum, mask."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import singledispatch
from typing import Any

import numpy as np

from fedbayes.federation import Station, partial
from fedbayes.federation.errors import ArgumentError, MessageError
from fedbayes.federation.gate import Exact
from fedbayes.federation.horizontal import SumReply
from fedbayes.federation.perimeter.manifest import digest_of
from fedbayes.typing import Array, Floats, Integers

from .grid import Masses, Tally
from .likelihood import RiskSums
from .messages import Point, Question
from .requests import OfPoint, RiskReply, RiskRequest, ScoresRequest, SquaresRequest, TallyRequest, WeighRequest
from .rows import Rows, agreement, read, score_products, weighted_squares
from .settling import by_weights, settled
from .slots import Slots
from .witnessed import Added, Following, Opening, WitnessedReply, add_up, added, witnessed

BITS = 32
"""Of the fraction of sums over risk sets."""
LARGEST = 2.0**30
"""Of a sum over all stations; a station whose part may lead beyond says so in the last number, and the point is taken nearer."""
OTHER_GRID = "a sum is asked for on another grid than the one that the counts over all stations give; the job stops"
NO_HAZARD = "no hazards follow from the relative risks over all stations; the job stops"
HIGHEST = 60.0  # of a linear predictor: what is beyond is far too large for any sum


@partial
def partial_tally(station: Station, request: TallyRequest) -> WitnessedReply:
    """Count events and censored records by time of the grid, and add up the columns and their squares.

    **Reveals** to central, and with its next request to the stations, over all of them, the events, the other records and those that enter by time of the
    grid, the number of clusters and what records in those of several weigh (sums of weights and of their squares), how many values are at a bound, how many
    records have a category, means and deviations of the columns. **Assumes** that at least two stations do not collude with central.
    """
    question = request.question
    tally = Tally.of(read_rows(station, request), question)
    once(station, "tallied", "this fit", **_unchanged(question))
    return witnessed(station, station.exact(tally.vector(), "a Cox model"), **_grid(question))


@partial
def partial_weigh(station: Station, request: WeighRequest) -> WitnessedReply:
    """Add up case weights and their squares over the events, the other records and those that enter, by time of the united grid.

    **Reveals** to central, and with its next request to the stations, these sums over all of them, about none or `minimum_count` records or more each.
    **Assumes** that at least two stations do not collude with central.
    """
    question = request.question
    rows = read_rows(station, request)
    return witnessed(station, fixed(station, sums_by_place(rows, question.slots, rows.weight)), **_grid(question))


@partial
def partial_risk(station: Station, request: RiskRequest) -> RiskReply:
    """Add up relative risks, and the columns weighted by them, over the records at risk at each time, and the columns of the events.

    **Reveals** to central these sums over all stations, and to how many of them the point is too far; to the stations, with the next request at the point,
    those of the relative risks, which hazards tell too. **Assumes** that at least two stations do not collude with central.
    """
    point = request.point
    rows, columns, risk = _at(station, request)
    dead, slots = rows.event, point.question.slots
    weighted = np.concatenate([risk[:, None], risk[:, None] * columns], axis=1)
    died = (columns * rows.weight[:, None])[dead]
    parts = [slots.at_risk(weighted, rows.first, rows.cell)]
    if point.question.ties == "efron":
        parts.append(slots.within(weighted[dead], rows.cell[dead]))
    risks = np.concatenate([part[:, 0] for part in parts])
    sums = [slots.within(died, rows.cell[dead]), *(part[:, 1:] for part in parts)]
    return RiskReply(
        station.mask(fixed(station, np.concatenate([part.ravel() for part in sums]))),
        witnessed(station, fixed(station, risks), point.risks),
    )


@partial
def partial_squares(station: Station, request: SquaresRequest) -> SumReply:
    """Add up the columns' products over all records, weighted by the hazard that each has spent; count pairs of own records that agree with their risks.

    **Reveals** to central the sums over all stations: one symmetric matrix, and how many pairs of records of one station can be compared and agree.
    **Assumes** that at least two stations do not collude with central.
    """
    rows, columns, risk = _at(station, request)
    slots, (hazards, records) = request.point.question.slots, _hazards(request.point, station)
    squares = weighted_squares(rows, slots, columns, risk, *hazards)
    pairs = (
        np.zeros(2) if request.point.question.entry else agreement(rows, slots, columns @ request.point.coefficients)
    )
    return masked(station, np.append(squares[np.triu_indices(columns.shape[1])], pairs / records**2))


@partial
def partial_scores(station: Station, request: ScoresRequest) -> SumReply:
    """Add up the products of the clusters' summed score residuals.

    **Reveals** to central the sum over all clusters of all stations, one symmetric matrix; to the stations the means at risk by time of the united grid.
    **Assumes** that at least two stations do not collude with central.
    """
    if not request.point.question.robust:
        raise MessageError("score residuals are no part of this question, by which weights were judged; the job stops")
    rows, columns, risk = _at(station, request)
    residuals = np.concatenate([request.mean, request.drift, request.spared], axis=1)
    once(station, "scored", "the score residuals", told=residuals, number=request.point.number)
    products = score_products(rows, columns, risk, _hazards(request.point, station)[0], request)
    return masked(station, products[np.triu_indices(columns.shape[1])])


def sums_by_place(rows: Rows, slots: Slots, sizes: Floats) -> Floats:
    """Return the sums of the records' sizes, then of these squared: each over the events, the others and those that enter, by place."""
    parts = []
    for size in (sizes, sizes**2):
        parts.append(np.bincount(rows.cell[rows.event], size[rows.event], minlength=slots.count))
        parts.append(np.bincount(rows.cell[~rows.event], size[~rows.event], minlength=slots.count))
        parts.append(np.bincount(rows.first, size, minlength=slots.count))
    return np.concatenate(parts)


def read_rows(station: Station, request: Opening | Following) -> Rows:
    """Return the station's records, if the node lets exact answers about them out: the one way from a request to them.

    A request that is not the first of its job has to follow from what all stations sent before (`check_follows`), so that none can forget it.
    """
    question = request.asked
    station.require_private(False, question.design is not None and question.design.terms.has_formula)
    if isinstance(request, Following):
        if request.shown is not None:
            add_up(station, request.shown)
        check_follows(request, station)
    return read(station, question)


@singledispatch
def check_follows(request: Following, station: Station) -> None:
    """Refuse a request that does not follow from the sums that this station has added up; of each kind of request something else does.

    Raises
    ------
    MessageError
        If it does not.
    ThresholdError, ArgumentError
        If nothing may follow from these sums.
    """
    raise MessageError("nothing says from which sums this request has to follow; the job stops")


@check_follows.register
def _(request: WeighRequest, station: Station) -> None:
    tallied(station, request.question)
    united, _ = settled(*tally_of_all(added(station, "partial_tally"), request.question))
    refuse_other_grid(united, request.question)


@check_follows.register
def _(request: OfPoint, station: Station) -> None:
    _follow_tally(request.point, station)


def _follow_tally(point: Point, station: Station) -> tuple[Masses, Floats]:
    """Return counts by place of the united grid, and the mean case weight of the events of each time; refuse another grid, and columns at another scale."""
    question = point.question
    tallied(station, question)
    asked, counted, least = tally_of_all(added(station, "partial_tally"), question)
    united, counts = settled(asked, counted, least)
    weight = np.ones(len(united.times))
    if question.weights:
        sums = added(station, "partial_weigh")
        weighed = weights_of(sums.numbers(6 * united.slots.count + 1), united)
        united, counts, weight = by_weights(united, weighed, counts, sums.minimum_count)
    refuse_other_grid(united, question)
    moments = zip((point.centre, point.scale), counted.moments(), strict=True)
    if not all(np.array_equal(one, other) for one, other in moments):
        raise MessageError(
            "columns are to be centred or scaled otherwise than their sums over all stations give; the job stops"
        )
    return counts, weight


def _hazards(point: Point, station: Station) -> tuple[tuple[Floats, Floats], float]:
    """Return the hazard of each time, and what an event is spared of it, as they follow from the relative risks over all stations; and all records' number.

    Raises
    ------
    MessageError
        If none follow.
    """
    counts, weight = _follow_tally(point, station)
    deaths, efron = counts.events[0, point.question.slots.timed], point.question.ties == "efron"
    times = len(deaths)
    risks = added(station, point.risks).numbers((1 + efron) * times + 1)[:-1] / 2.0**BITS
    risk, tied = risks[:times, None], risks[times:, None] if efron else np.zeros((times, 1))
    sums = RiskSums(deaths, np.zeros((times, 0)), risk, tied, weight)
    if not sums.usable:
        raise MessageError(NO_HAZARD)
    return sums.hazard_increments(), float(deaths.sum() + counts.censored[0].sum())


def tally_of_all(sums: Added, question: Question) -> tuple[Question, Tally, int]:
    """Return the question as it was tallied, the tally that a station has added up, and what is enough."""
    asked = replace(question, times=sums.kept["times"].tolist(), sizes=sums.kept["sizes"].tolist())
    return asked, Tally.read(sums.numbers(sum(Tally.widths(asked))), asked), sums.minimum_count


def _grid(question: Question) -> dict[str, Any]:
    return {"times": np.array(question.times, dtype=np.float64), "sizes": np.array(question.sizes, dtype=np.int64)}


def refuse_other_grid(united: Question, asked: Question) -> None:
    """Raise `MessageError` unless two questions have one grid."""
    if (united.times, united.sizes) != (asked.times, asked.sizes):
        raise MessageError(OTHER_GRID)


def weights_of(sums: Integers, question: Question) -> Masses:
    """Return the masses that `partial_weigh` adds up, from all of its sum; `ArgumentError` if the weights are too large."""
    if sums[-1]:
        raise ArgumentError("weights: their sums are too large; divide them by their mean")
    return Masses.read(sums[:-1] / 2.0**BITS, question.slots.count)


def _at(station: Station, request: OfPoint) -> tuple[Rows, Floats, Floats]:
    """Return the records, their columns centred and scaled, and their relative risks times case weights; refuse a point under a number that was used."""
    point = request.point
    rows = read_rows(station, request)
    once(station, f"point-{point.number}", "this point of the fit", coefficients=point.coefficients)
    columns = (rows.columns - point.centre) / point.scale
    return rows, columns, rows.weight * np.exp(np.minimum(columns @ point.coefficients, HIGHEST))


def tallied(station: Station, question: Question) -> None:
    """Refuse a question that was not tallied in this job: central judged its domain, formula and cases by the tally."""
    station.kept("tallied")
    once(station, "tallied", "this fit", **_unchanged(question))


def _unchanged(question: Question) -> dict[str, Any]:
    """Return what holds from the tally on: all but the grid, which is united; with the order of the features, which is that of the columns."""
    own = {one.name: getattr(question, one.name) for one in fields(question) if one.name not in ("times", "sizes")}
    return {**own, "features": list(question.domain)}


def once(station: Station, name: str, subject: str, **asked: Any) -> None:
    """Refuse what has been asked for in this job otherwise: two answers would be two sums over nearly the same records."""
    digests = {key: np.array(digest_of(value)) for key, value in asked.items()}
    station.keep(name, **digests)
    before = station.kept(name)
    if any(before[key] != digest for key, digest in digests.items()):
        raise MessageError(f"{subject} has been asked for with other {' and '.join(asked)}; start the job again")


def masked(station: Station, values: Floats) -> SumReply:
    """Return sums in fixed point under masks, from which no later round follows."""
    return SumReply(station.mask(fixed(station, values)))


def fixed(station: Station, values: Floats) -> Exact[Array]:
    """Return sums in fixed point, and whether this station's are too large for it; the tally paid for them."""
    most = LARGEST / len(station.participants)
    far = bool(np.any(np.abs(values) > most))
    whole = np.rint(np.clip(values, -most, most) * 2.0**BITS).astype(np.int64)
    return station.exact(np.append(whole, np.int64(far)), "", queries=0)
