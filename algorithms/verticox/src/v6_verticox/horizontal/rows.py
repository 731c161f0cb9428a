"""A station's own records, for a fit over horizontally split ones: cells of the grid and design columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fedbayes.bayes.schema import Column, Schema
from fedbayes.bayes.values.frames import with_columns
from fedbayes.federation import Station
from fedbayes.federation.errors import DataProblem, ThresholdError, schema_errors
from fedbayes.typing import Array, Booleans, Counts, Floats, Indices

from ..cox.agreement import agreeing
from ..cox.narrow import is_narrow
from ..cox.outcome import checked, entries, weights
from .isolated import joined_counts, parts_of
from .messages import Question
from .requests import ScoresRequest
from .slots import Slots


@dataclass(frozen=True)
class Rows:
    """Records of one station.

    Parameters
    ----------
    first, cell : ndarray of int, (records,)
        Places (`slots`) of the first time at which the record is at risk, and of the time that its own is rounded up to.
    event : ndarray of bool, (records,)
        Whether it has the event, at a time of the grid.
    columns : ndarray of float, (records, columns)
        Numbers in units of half of their bounds' width around their middle, indicators 0 or 1: all from -1 to 1.
    weight : ndarray of float, (records,)
        Case weights; ones without.
    cluster : ndarray of int, (records,)
        Each record its own without clusters.
    isolated : ndarray of int
        Counts by which a formula is judged (`isolated.joined_counts`).
    """

    first: Indices
    cell: Indices
    event: Booleans
    columns: Floats
    weight: Floats
    cluster: Indices
    isolated: Counts


def read(station: Station, question: Question) -> Rows:
    """Return the records that count.

    Raises
    ------
    DataProblem
        Naming the column.
    PolicyError, ThresholdError
        If the node does not let these columns be used, or there are too few rows.
    """
    frame = with_expressions(question, station.data(question.columns, domain={**question.domain, **question.strata}))
    schema = Schema.from_domain({**question.domain, **question.strata})
    gap = frame[[question.time, question.event]].isna().any(axis=1).to_numpy(dtype=bool)
    with schema_errors(DataProblem):
        schema.refuse_unknown(frame)
        encoded = schema.encode(frame, "clip")
    absences = {
        name: values < 0 if schema[name].is_categorical else np.isnan(values) for name, values in encoded.items()
    }
    special = [name for name in (question.weights, question.entry, question.cluster) if name]
    absences |= {name: frame[name].isna().to_numpy(dtype=bool) for name in special}
    for name, absent in absences.items():
        if question.missing == "refuse" and np.any(absent):
            kind = "feature" if name in question.domain else "column"
            raise DataProblem(
                f"{kind} '{name}' has missing values, or categories that are not in the domain; fill them in, correct the domain, or set "
                "missing='complete'"
            )
        gap = gap | absent
    kept = ~gap if question.missing == "complete" else np.ones(len(frame), dtype=bool)
    if kept.sum() < max(station.policy.minimum_rows, 1):
        raise ThresholdError(
            "the station has fewer records without a gap than the node demands; leave this station out"
        )
    values = {column.name: encoded[column.name][kept] for column in question.schema}
    columns = design_of(question, values, int(kept.sum()), station.policy.minimum_count)
    isolated = joined_counts(parts_of(question.design, values, int(kept.sum())))
    codes = [encoded[name][kept] for name in question.strata]
    stratum = codes[0].astype(np.intp) if codes else np.zeros(int(kept.sum()), dtype=np.intp)
    return placed(question, frame[kept], stratum, columns, isolated, station.policy.minimum_count)


def placed(
    question: Question, frame: Any, stratum: Indices, columns: Floats, isolated: Counts, minimum_count: int
) -> Rows:
    """Return records without a gap at their places of the grid.

    Raises
    ------
    DataProblem
        Naming the column: of the outcome, of weights, of times of entry.
    """
    times, events = checked(frame, question.time, question.event)
    entry = entries(frame, question.entry, times) if question.entry else np.full(len(times), -np.inf)
    slots, grids = question.slots, question.grids
    first, cell = np.zeros(len(times), dtype=np.intp), np.zeros(len(times), dtype=np.intp)
    for code, grid in enumerate(grids):
        own = stratum == code
        first[own] = slots.starts[code] + np.searchsorted(grid, entry[own], side="right")
        cell[own] = slots.starts[code] + np.searchsorted(grid, times[own], side="left")
    event = (events == 1.0) & (cell != slots.beyond[stratum])
    weight = np.ones(len(times))
    if question.weights:
        weight = weights(frame, question.weights, minimum_count, squared=question.robust)
    groups = frame[question.cluster].astype(str).to_numpy(dtype=str) if question.cluster else np.arange(len(times))
    cluster = np.unique(groups, return_inverse=True)[1].astype(np.intp)
    return Rows(first, cell, event, columns, weight, cluster, isolated)


def with_expressions(question: Question, frame: Any) -> Any:
    """Return the table with a column for each expression of the formula, gaps where it is no number."""
    terms = () if question.design is None else question.design.terms.factors.values()
    made = {}
    for factor in terms:
        if factor.formula is not None:
            with schema_errors(DataProblem):
                values = factor.formula.values({name: frame[name] for name in factor.columns}, len(frame))
            made[factor.name] = np.where(np.isfinite(values), values, np.nan)
    return with_columns(frame, made)


def design_of(question: Question, values: dict[str, Array], records: int, minimum_count: int) -> Floats:
    """Return the design columns, (records, columns), of encoded columns without gaps.

    Raises
    ------
    DataProblem
        Naming an expression that few records carry beside its median: what a caller writes can be aimed at a record.
    """
    design = question.design
    if design is None:
        return np.concatenate([block(question, column, values[column.name]) for column in question.schema], axis=1)
    for factor in design.terms.factors.values():
        if factor.formula is not None and _is_aimed(values[factor.name], minimum_count):
            raise DataProblem(
                f"feature '{factor.name}' is carried by fewer records than this node reveals; write another expression, or leave it out"
            )
    with schema_errors(DataProblem):
        return design.columns(values, records)


def _is_aimed(values: Floats, minimum_count: int) -> bool:
    kinds = np.unique(values, return_counts=True)[1]
    few = len(kinds) == 2 and kinds.min() < minimum_count
    return bool(few or is_narrow((values - np.median(values))[:, None], minimum_count))


def block(question: Question, column: Column, values: Array) -> Floats:
    """Return the design columns of one feature, (records, columns)."""
    if not column.is_categorical:
        low, high = column.bounds or (-1.0, 1.0)
        return np.asarray(np.clip((values - (low + high) / 2.0) / ((high - low) / 2.0), -1.0, 1.0)[:, None])
    codes = [code for code, key in enumerate(column.keys) if key != question.references[column.name]]
    return np.asarray(values[:, None] == np.array(codes, dtype=np.int_)[None, :], dtype=np.float64)


def weighted_squares(rows: Rows, slots: Slots, columns: Floats, risk: Floats, spent: Floats, tied: Floats) -> Floats:
    """Return the sum over records of risk times hazard while at risk times the columns' products, (columns, columns); `risk` with case weights."""
    hazard = exposures(rows, slots, spent[:, None], tied[:, None])[:, 0]
    return np.asarray((columns * (risk * hazard)[:, None]).T @ columns)


def agreement(rows: Rows, slots: Slots, risk: Floats) -> Floats:
    """Return how many pairs of records of one stratum agree, ties as one half, and how many can be compared, (2,); all from the start, each once."""
    pairs = np.zeros(2)
    for start, size in zip(slots.starts[:-1], slots.sizes, strict=True):
        own = (rows.cell >= start) & (rows.cell <= start + size)
        if own.any():
            pairs += agreeing(risk[own], rows.cell[own] - start, rows.event[own], size)
    return pairs


def exposures(rows: Rows, slots: Slots, spent: Floats, tied: Floats) -> Floats:
    """Return what each record spends of what times have, (records, columns): while it is at risk, an event less `tied` of its own time."""
    spared = np.where(rows.event[:, None], slots.spread(tied)[rows.cell], 0.0)
    return np.asarray(slots.during(spent, rows.first, rows.cell) - spared)


def score_products(
    rows: Rows, columns: Floats, risk: Floats, hazards: tuple[Floats, Floats], request: ScoresRequest
) -> Floats:
    """Return the sum over clusters of the products of their summed score residuals, (columns, columns); `hazards` as `spent` and `tied` of the squares.

    The score residual of a record is the slope of the score in its case weight, times that weight (Lin, Wei 1989; with Efron's ties as R's survival).
    """
    slots, (spent, tied) = request.point.question.slots, hazards
    hazard = exposures(rows, slots, spent[:, None], tied[:, None])
    drift = exposures(rows, slots, request.drift, request.spared)
    at_event = np.where(rows.event[:, None], columns - slots.spread(request.mean)[rows.cell], 0.0)
    residuals = rows.weight[:, None] * at_event - risk[:, None] * (columns * hazard - drift)
    sums = np.zeros((int(rows.cluster.max(initial=-1)) + 1, columns.shape[1]))
    np.add.at(sums, rows.cluster, residuals)
    return np.asarray(sums.T @ sums)
