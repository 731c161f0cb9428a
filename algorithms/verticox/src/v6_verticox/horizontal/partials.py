"""What one station does in a fit over horizontally split records: read, sum, mask."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fedbayes.federation import Station, partial
from fedbayes.federation.errors import MessageError, ThresholdError
from fedbayes.federation.horizontal import SumReply

from .grid import Tally
from .likelihood import suffix, weighted_squares, within
from .messages import Point, Question, RiskRequest, SquaresRequest, TallyRequest
from .rows import Rows, read

Vector = npt.NDArray[np.float64]
BITS = 32
"""Of the fraction of sums over risk sets."""
LARGEST = 2.0**30
"""Of a sum over all stations; a station whose part may lead beyond says so in the last number, and the point is taken nearer."""
HIGHEST = 60.0  # of a linear predictor: what is beyond is far too large for any sum


@partial
def partial_tally(station: Station, request: TallyRequest) -> SumReply:
    """Count events and censored records by time of the grid, and add up the columns and their squares.

    **Reveals** to central, over all stations, the events and the other records by time of the grid, how many values are at a bound, how many records have
    a category, means and deviations of the columns. **Assumes** that at least two stations do not collude with central.
    """
    rows = _read(station, request.question)
    tally = Tally.of(rows.cell, rows.event, rows.columns, len(request.question.times))
    station.keep("tallied", done=np.array([1]))
    return SumReply(station.mask(station.exact(tally.vector(), "a Cox model")))


@partial
def partial_risk(station: Station, request: RiskRequest) -> SumReply:
    """Add up relative risks, and the columns weighted by them, over the records at risk at each time, and the columns of the events.

    **Reveals** to central these sums over all stations, and to how many of them the point is too far. **Assumes** that at least two stations do not
    collude with central.
    """
    point = request.point
    rows, columns, weight = _at(station, point)
    times = len(point.question.times)
    dead, where = rows.event, rows.cell[rows.event]
    weighted = np.concatenate([weight[:, None], weight[:, None] * columns], axis=1)
    parts = [within(columns[dead], where, times), suffix(weighted, rows.cell, times)]
    if point.question.ties == "efron":
        parts.append(within(weighted[dead], where, times))
    return _masked(station, np.concatenate([part.ravel() for part in parts]))


@partial
def partial_squares(station: Station, request: SquaresRequest) -> SumReply:
    """Add up the columns' products over all records, weighted by the hazard that each has spent.

    **Reveals** to central the sum over all stations, one symmetric matrix. **Assumes** that at least two stations do not collude with central.
    """
    rows, columns, weight = _at(station, request.point)
    squares = weighted_squares(columns, weight, rows.cell, rows.event, request.spent, request.tied)
    return _masked(station, squares[np.triu_indices(columns.shape[1])])


def _read(station: Station, question: Question) -> Rows:
    """Return the station's records, if the node lets exact answers about them out."""
    station.require_private(False)
    if station.manifest is not None and len(station.manifest.stations) < 2:
        raise ThresholdError("one organization alone holds data, whose sums nothing would cover; include another")
    return read(station, question)


def _at(station: Station, point: Point) -> tuple[Rows, Vector, Vector]:
    """Return the records, their columns centred and scaled, and their relative risks; refuse a point under a number that was used."""
    station.kept("tallied")
    station.keep(f"point-{point.number}", coefficients=point.coefficients)
    if not np.array_equal(station.kept(f"point-{point.number}")["coefficients"], point.coefficients):
        raise MessageError("this point of the fit has been asked for with other coefficients; start the job again")
    rows = _read(station, point.question)
    columns = (rows.columns - point.centre) / point.scale
    return rows, columns, np.exp(np.minimum(columns @ point.coefficients, HIGHEST))


def _masked(station: Station, values: Vector) -> SumReply:
    """Return sums in fixed point under masks, and whether this station's are too large for it; the tally paid for them."""
    most = LARGEST / len(station.participants)
    far = bool(np.any(np.abs(values) > most))
    fixed = np.rint(np.clip(values, -most, most) * 2.0**BITS).astype(np.int64)
    vector: npt.NDArray[Any] = np.append(fixed, np.int64(far))
    return SumReply(station.mask(station.exact(vector, "a Cox model", queries=0)))
