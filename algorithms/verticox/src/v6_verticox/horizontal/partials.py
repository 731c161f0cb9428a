"""What one station does in a fit over horizontally split records: read, sum, mask."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from fedbayes.federation import Station, partial
from fedbayes.federation.errors import MessageError
from fedbayes.federation.horizontal import SumReply
from fedbayes.federation.perimeter.manifest import digest_of
from fedbayes.typing import Array, Floats

from .grid import Tally
from .messages import Point, Question, RiskRequest, ScoresRequest, SquaresRequest, TallyRequest, WeighRequest
from .rows import Rows, agreement, read, score_products, weighted_squares
from .slots import Slots

BITS = 32
"""Of the fraction of sums over risk sets."""
LARGEST = 2.0**30
"""Of a sum over all stations; a station whose part may lead beyond says so in the last number, and the point is taken nearer."""
HIGHEST = 60.0  # of a linear predictor: what is beyond is far too large for any sum


@partial
def partial_tally(station: Station, request: TallyRequest) -> SumReply:
    """Count events and censored records by time of the grid, and add up the columns and their squares.

    **Reveals** to central, over all stations, the events, the other records and those that enter by time of the grid, the number of clusters and what
    records in those of several weigh (sums of weights and of their squares), how many values are at a bound, how many records have a category, means and
    deviations of the columns. **Assumes** that at least two stations do not collude with central.
    """
    rows = read_rows(station, request.question)
    tally = Tally.of(rows, request.question)
    once(station, "tallied", "this fit", **_unchanged(request.question))
    return SumReply(station.mask(station.exact(tally.vector(), "a Cox model")))


@partial
def partial_weigh(station: Station, request: WeighRequest) -> SumReply:
    """Add up case weights and their squares over the events, the other records and those that enter, by time of the united grid.

    **Reveals** to central these sums over all stations, about none or `minimum_count` records or more each. **Assumes** that at least two stations do not
    collude with central.
    """
    tallied(station, request.question)
    rows, slots = read_rows(station, request.question), request.question.slots
    once(station, "weighed", "the weights", times=np.array(request.question.times))
    return masked(station, sums_by_place(rows, slots, rows.weight))


@partial
def partial_risk(station: Station, request: RiskRequest) -> SumReply:
    """Add up relative risks, and the columns weighted by them, over the records at risk at each time, and the columns of the events.

    **Reveals** to central these sums over all stations, and to how many of them the point is too far. **Assumes** that at least two stations do not
    collude with central.
    """
    point = request.point
    rows, columns, risk = _at(station, point)
    dead, slots = rows.event, point.question.slots
    weighted = np.concatenate([risk[:, None], risk[:, None] * columns], axis=1)
    died = (columns * rows.weight[:, None])[dead]
    parts = [slots.within(died, rows.cell[dead]), slots.at_risk(weighted, rows.first, rows.cell)]
    if point.question.ties == "efron":
        parts.append(slots.within(weighted[dead], rows.cell[dead]))
    return masked(station, np.concatenate([part.ravel() for part in parts]))


@partial
def partial_squares(station: Station, request: SquaresRequest) -> SumReply:
    """Add up the columns' products over all records, weighted by the hazard that each has spent; count pairs of own records that agree with their risks.

    **Reveals** to central the sums over all stations: one symmetric matrix, and how many pairs of records of one station can be compared and agree.
    **Assumes** that at least two stations do not collude with central.
    """
    rows, columns, risk = _at(station, request.point)
    content = {"spent": request.spent, "tied": request.tied, "records": request.records}
    once(station, f"squares-{request.point.number}", "this matrix of squares", **content)
    slots = request.point.question.slots
    squares = weighted_squares(rows, slots, columns, risk, request.spent, request.tied)
    pairs = (
        np.zeros(2) if request.point.question.entry else agreement(rows, slots, columns @ request.point.coefficients)
    )
    return masked(station, np.append(squares[np.triu_indices(columns.shape[1])], pairs / float(request.records) ** 2))


@partial
def partial_scores(station: Station, request: ScoresRequest) -> SumReply:
    """Add up the products of the clusters' summed score residuals.

    **Reveals** to central the sum over all clusters of all stations, one symmetric matrix; to the stations the means at risk by time of the united grid.
    **Assumes** that at least two stations do not collude with central.
    """
    if not request.point.question.robust:
        raise MessageError("score residuals are no part of this question, by which weights were judged; the job stops")
    rows, columns, risk = _at(station, request.point)
    residuals = np.concatenate([request.mean, request.drift, request.spared], axis=1)
    hazards = {"spent": request.spent, "tied": request.tied, "number": request.point.number}
    once(station, "scored", "the score residuals", told=residuals, **hazards)
    products = score_products(rows, request.point.question.slots, columns, risk, request)
    return masked(station, products[np.triu_indices(columns.shape[1])])


def sums_by_place(rows: Rows, slots: Slots, sizes: Floats) -> Floats:
    """Return the sums of the records' sizes, then of these squared: each over the events, the others and those that enter, by place."""
    parts = []
    for size in (sizes, sizes**2):
        parts.append(np.bincount(rows.cell[rows.event], size[rows.event], minlength=slots.count))
        parts.append(np.bincount(rows.cell[~rows.event], size[~rows.event], minlength=slots.count))
        parts.append(np.bincount(rows.first, size, minlength=slots.count))
    return np.concatenate(parts)


def read_rows(station: Station, question: Question) -> Rows:
    """Return the station's records, if the node lets exact answers about them out."""
    station.require_private(False, question.design is not None and question.design.terms.has_formula)
    return read(station, question)


def _at(station: Station, point: Point) -> tuple[Rows, Floats, Floats]:
    """Return the records, their columns centred and scaled, and their relative risks times case weights; refuse a point under a number that was used."""
    question = point.question
    tallied(station, question)
    grid = {"times": question.times, "sizes": question.sizes}
    once(station, "scaled", "the points of this fit", **grid, centre=point.centre, scale=point.scale)
    once(station, f"point-{point.number}", "this point of the fit", coefficients=point.coefficients)
    rows = read_rows(station, point.question)
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
    """Return sums in fixed point under masks, and whether this station's are too large for it; the tally paid for them."""
    most = LARGEST / len(station.participants)
    far = bool(np.any(np.abs(values) > most))
    fixed = np.rint(np.clip(values, -most, most) * 2.0**BITS).astype(np.int64)
    vector: Array = np.append(fixed, np.int64(far))
    return SumReply(station.mask(station.exact(vector, "", queries=0)))
