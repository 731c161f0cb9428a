"""What one station does when a model is judged: read, count, mask."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbayes.federation import Station, partial
from fedbayes.federation.errors import MessageError
from fedbayes.federation.guards.arrival import check_claimed
from fedbayes.federation.horizontal import Query, SumReply, answer, release
from fedbayes.typing import Booleans, Floats, Indices, Integers

from ...cox.agreement import Counted, agreeing, levels_of
from ..grid import Tally
from ..partials import (
    HIGHEST,
    check_follows,
    masked,
    once,
    read_rows,
    refuse_other_grid,
    sums_by_place,
    tallied,
    tally_of_all,
)
from ..private.records import counting
from ..rows import Rows, block
from ..witnessed import WitnessedReply, added, witnessed
from .messages import (
    FINE,
    PLACES,
    REACH,
    Applied,
    HazardRequest,
    Judged,
    MeasuresRequest,
    PredictorsRequest,
    TableRequest,
)
from .settling import Measures, counts_of, length_of, measures_of, settled, vector_of

NOTE = "an evaluation of a Cox model"


@partial
def partial_predictors(station: Station, request: PredictorsRequest) -> WitnessedReply:
    """Count events and censored records by time of the grid, and records by stratum and place of the linear predictor.

    **Reveals** to central, and with its next request to the stations, these counts over all of them, and what the tally of a fit tells of the columns.
    **Assumes** that at least two stations do not collude with central.
    """
    judged = request.judged
    _bind(station, judged)
    rows = read_rows(station, request)
    stratum, _ = _where(judged, rows)
    cell = places(judged.predictors(rows.columns))
    counts = np.bincount(stratum * PLACES + cell, minlength=judged.strata * PLACES).astype(np.int64)
    return witnessed(station, station.exact(vector_of(Tally.of(rows, judged.question), counts), NOTE))


@partial
def partial_measures(station: Station, request: MeasuresRequest) -> SumReply:
    """Count records by bin of the linear predictor, united time and status, and add up predicted survival and squared errors.

    **Reveals** to central these sums over all stations; of pairs of records in one bin, how many of those at one station agree. **Assumes** that at least
    two stations do not collude with central.
    """
    rows = read_rows(station, request)
    once(station, "measured", "these measures", ends=request.ends)
    return masked(station, measured(rows, _together(station, request)))


@partial
def partial_hazard(station: Station, request: HazardRequest) -> SumReply:
    """Add up case weights, and weighted relative risks under the model, over the events, the other records and those that enter, by time of the united grid.

    **Reveals** to central these sums over all stations, and those of their squares, about none or `minimum_count` records or more each. **Assumes** that at
    least two stations do not collude with central.
    """
    question = request.question
    _check_model(station, request)
    rows = read_rows(station, request)
    once(station, "hazard", "this baseline", model=request.model)
    risk = rows.weight * np.exp(np.minimum(request.predictors(rows.columns), HIGHEST))
    sums = [sums_by_place(rows, question.slots, sizes) for sizes in (rows.weight, risk)]
    return masked(station, np.concatenate(sums))


@partial
def partial_table(station: Station, request: TableRequest) -> SumReply:
    """Count records by stratum, bin of the linear predictor, time and status, with this station's share of the noise.

    **Reveals** to central this table over all stations, with noise. **Assumes** that at least two stations do not collude with central, and that the honest
    fraction of the stations adds its share.
    """
    station.require_private(request.noise.promises)
    if not request.noise.promises:
        _check_model(station, request.judged)
    query = Query(counted(station, request), nonnegative=True)
    return answer(station, release(station, [query], request.noise, NOTE), request.noise)


@check_follows.register
def _(request: MeasuresRequest, station: Station) -> None:
    station.kept("judged")
    _bind(station, request.judged)


def _together(station: Station, request: MeasuresRequest) -> Measures:
    """Return which records are judged together, by the counts that this station has added up; `ThresholdError` if these are too few."""
    sums = added(station, "partial_predictors")
    counts = counts_of(request.judged, sums.numbers(length_of(request.judged)))
    return measures_of(request.judged, request.ends, *counts, sums.minimum_count)


@check_follows.register
def _(request: HazardRequest, station: Station) -> None:
    tallied(station, request.question)
    sums = added(station, "partial_tally")
    refuse_other_grid(settled(*tally_of_all(sums, request.question))[0], request.question)


def _check_model(station: Station, asked: Applied) -> None:
    """Refuse a model that the manifest does not name, and records of another outcome or other columns than it says."""
    check_claimed(station, asked.model)
    if not asked.is_asked_as_modelled:
        raise MessageError(
            "a model is judged by another outcome, or other columns or bounds, than its own; the job stops"
        )


def _bind(station: Station, judged: Judged) -> None:
    """Refuse another model than the manifest's, or another question than its own; and another one in the same job: two would be two for the price of one."""
    _check_model(station, judged)
    judged_by = {"coefficients": judged.coefficients, "offset": judged.offset, "features": list(judged.question.domain)}
    once(station, "judged", "this evaluation", question=judged.question, **judged_by)


def _where(judged: Judged, rows: Rows) -> tuple[Indices, Indices]:
    """Return every record's stratum and place in the grid."""
    starts = judged.question.slots.starts
    stratum = np.searchsorted(starts, rows.cell, side="right") - 1
    return stratum.astype(np.intp), (rows.cell - starts[stratum]).astype(np.intp)


def places(predictors: Floats) -> Indices:
    """Return the place of every linear predictor; the first and the last one have what is beyond `REACH`, too."""
    return np.clip(np.floor((predictors + REACH) * FINE), 0, PLACES - 1).astype(np.intp)


def measured(rows: Rows, together: Measures) -> Floats:
    """Return a station's part: the table, survival by bin and moment, squared errors by moment, its pairs in one bin and in one united time.

    Numbers of pairs are in units of the square of all records' number.
    """
    judged, moments = together.judged, len(together.ends)
    stratum, cell_of_row = _where(judged, rows)
    predictor = judged.predictors(rows.columns)
    bins, cells = together.bins[stratum, places(predictor)], together.cells[cell_of_row]
    event = rows.event & (cells < len(together.spread))
    table = np.zeros(together.table)
    np.add.at(table, (bins, cells, event.astype(np.intp)), 1.0)
    hazard = judged.hazards([judged.question.times[end] for end in together.ends])
    survival = np.exp(-hazard[stratum] * np.exp(np.clip(predictor, -REACH, REACH))[:, None])
    sums = np.zeros((len(table), moments))
    np.add.at(sums, bins, survival)
    before = rows.event[:, None] & (cell_of_row[:, None] <= together.ends)
    weights = np.append(together.weights, 0.0)[cell_of_row][:, None]
    beyond = (cell_of_row[:, None] > together.ends) * together.later
    squares = (before * weights * survival**2 + beyond * (1.0 - survival) ** 2).sum(axis=0)
    within = np.zeros((2 * moments + 1, 2))
    for number in np.unique(bins):
        own = bins == number
        within += _pairs_in(together, predictor[own], cells[own], event[own])
    same_time = np.zeros((together.table[1], 2))
    for cell, code in sorted(set(zip(cells.tolist(), stratum.tolist(), strict=True))):
        own = (cells == cell) & (stratum == code)
        first = int(cell_of_row[own].min())
        same_time[cell] += agreeing(predictor[own], cell_of_row[own] - first, rows.event[own], judged.times - first)
    same = [same_time.sum(axis=0), *(same_time[: end + 1].sum(axis=0) for end in together.cells[together.ends])]
    pairs = np.concatenate([within, same]).ravel() / float(together.records) ** 2
    return np.concatenate([table.ravel(), sums.ravel(), squares, pairs])


def _pairs_in(together: Measures, risk: Floats, cells: Any, event: Booleans) -> Floats:
    """Return of the records of one bin the pairs that agree and all, (1 + 2 * moments, 2): of all times, with an event by each moment, and across it."""
    level, levels = levels_of(risk)
    counted_ = Counted.of(level, cells, event, levels, len(together.spread))
    agree, tied, total = counted_.later_pairs()
    by_time = np.stack([agree + tied / 2.0, total], axis=1)
    sums = [by_time.sum(axis=0)]
    ends = together.cells[together.ends]
    sums += [by_time[: end + 1].sum(axis=0) for end in ends]
    for end in ends:
        more, same, every = counted_.pairs_at(int(end), together.spread)
        sums.append(np.array([more + same / 2.0, every]))
    return np.stack(sums)


def counted(station: Station, request: TableRequest) -> Integers:
    """Return the table of the records that count; nothing is refused because of a value.

    Raises
    ------
    PolicyError, DataProblem, ThresholdError
        If the node does not let these columns be used, or lacks them.
    """
    question = request.judged.question
    known_domain = {**question.domain, **question.strata}
    return table_of(request, *counting(station, request.unit, question, known_domain))


def table_of(request: TableRequest, time: Floats, event: Any, encoded: dict[str, Any]) -> Integers:
    """Return the table of encoded records without gaps: each adds one to one cell."""
    judged, question = request.judged, request.judged.question
    columns = (
        np.concatenate([block(question, one, encoded[one.name]) for one in question.schema], axis=1)
        if question.design is None
        else question.design.columns({one.name: encoded[one.name] for one in question.schema}, len(time))
    )
    codes = [encoded[name] for name in question.strata]
    stratum = codes[0].astype(np.intp) if codes else np.zeros(len(time), dtype=np.intp)
    cell = np.searchsorted(question.grids[0], time, side="left")
    status = ((event == 1) & (cell < judged.times)).astype(np.intp)
    bins = np.searchsorted(request.edges, judged.predictors(columns), side="right")
    table = np.zeros(request.table, dtype=np.int64)
    np.add.at(table, (stratum, bins, cell, status), 1)
    return table
