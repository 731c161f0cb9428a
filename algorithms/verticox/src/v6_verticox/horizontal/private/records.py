"""A station's records in a private fit: which count, and what each adds to a noisy sum. Nothing here is refused because of a value.

The model is that of Cox with a hazard that is constant between the times of the grid: a record with columns x has the hazard h(t) exp((x - a) b), a the centre.
Its likelihood is a product over records, unlike the partial one, so that its slope is a sum over records of r (x - a), r = event - w H: w the relative risk and
H the cumulative hazard up to the record's time (a martingale residual). As the centre is near the events' mean, the slope hardly depends on errors of h.

A record's part of the slope is cut by a factor of what is known at the start, x, b and H at the end of the grid: min(1, clip / (norm of x - a times the larger
of 1 and w H(end))), since r lies between -w H(end) and 1. Whatever the factor is, the expected sum is zero at the true coefficients: to cut so costs
precision and makes no bias, which to cut by r would.

References
----------
Holford, Biometrics 36, 1980 (the likelihood with constant hazards). Lin, Wei, JASA 84, 1989 (sums over records of weighted martingale residuals).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedbayes.bayes.schema import Column, Schema
from fedbayes.bayes.values.column_codes import numbers
from fedbayes.federation import Station
from fedbayes.federation.errors import DataProblem, schema_errors
from fedbayes.federation.horizontal import Unit
from fedbayes.typing import Array, Booleans, Floats

from ...cox.row_products import product
from ..messages import Question
from ..rows import block
from .layout import LONGEST_INFORMATION, LONGEST_MISSED, Layout, Whole, numeric, outline_layout, slope_layout
from .messages import Asked, SlopeRequest

CHUNK = 1 << 20
"""Numbers that are held at a time."""
HIGHEST = 30.0
"""Of a linear predictor, or the logarithm of a cap, either way: a relative risk of 1e13 is beyond any model."""
SMALLEST = 1e-300
"""Of a divisor that may be zero, where the quotient is then of no account."""


@dataclass(frozen=True)
class Records:
    """Records that count.

    Parameters
    ----------
    time : ndarray of float, (records,)
        At most the end of the grid.
    event : ndarray of bool, (records,)
        Whether it has the event, at or before the end of the grid.
    columns : ndarray of float, (records, columns)
        Numbers in units of half of their bounds' width around their middle; indicators less 1 / categories.
    """

    time: Floats
    event: Booleans
    columns: Floats

    def chunks(self, width: int) -> Iterator[Records]:
        """Yield the records in parts, of which so many numbers a record are held at a time."""
        step = max(CHUNK // max(width, 1), 1)
        for start in range(0, len(self.time), step):
            part = slice(start, start + step)
            yield Records(self.time[part], self.event[part], self.columns[part])


def read(station: Station, asked: Asked) -> Records:
    """Return the station's records that count: those with a time of at least 0, an event of 0 or 1, and all features known.

    Raises
    ------
    PolicyError, DataProblem, ThresholdError
        If the node does not let these columns be used, or lacks them; never because of a value.
    """
    return records_of(asked.question, *counting(station, asked.unit, asked.question, asked.question.domain))


def counting(
    station: Station, unit: Unit, question: Question, domain: dict[str, Any]
) -> tuple[Floats, Array, dict[str, Any]]:
    """Return times, events and the encoded columns of a domain of the records that count, as `read` says."""
    table = unit.table(station, question.columns, question.reading)
    with schema_errors(DataProblem):
        schema = Schema.from_domain(domain)
        time, event, known = outcome_of(question, table)
        encoded = schema.encode(table, "absorb")
    known = known & known_values(schema, encoded)
    content = {"time of the outcome": time, "event of the outcome": event.astype(np.float64), **encoded}
    kept = unit.kept(station, table, content)
    chosen = known if isinstance(kept, slice) else known & kept
    return time[chosen], event[chosen], {name: values[chosen] for name, values in encoded.items()}


def outcome_of(question: Question, table: Any) -> tuple[Floats, Array, Booleans]:
    """Return times, events (-1 where it is neither 0 nor 1), and which records have both, a time of at least 0."""
    time = numbers(question.time, table[question.time], (-np.inf, np.inf), "absorb")
    event = Column.from_json(question.event, {"categories": [0, 1]}).encode(table[question.event], "absorb")
    return time, event, np.isfinite(time) & (time >= 0.0) & (event >= 0)


def known_values(columns: Iterable[Column], encoded: Mapping[str, Any]) -> Booleans:
    """Return which records have a value in all of these columns, one or more."""
    values = [
        encoded[column.name] >= 0 if column.is_categorical else np.isfinite(encoded[column.name]) for column in columns
    ]
    return np.asarray(np.all(values, axis=0))


def design_of(question: Question, columns: Iterable[Column], encoded: Mapping[str, Any]) -> Floats:
    """Return design columns, as `Records` has them, (records, columns); `columns` are one or more."""
    blocks = []
    for column in columns:
        values = block(question, column, encoded[column.name])
        blocks.append(values - 1.0 / len(column.keys) if column.is_categorical else values)
    return np.concatenate(blocks, axis=1)


def records_of(question: Question, time: Any, event: Any, encoded: Mapping[str, Any]) -> Records:
    """Return encoded records as they are used."""
    end = question.times[-1]
    columns = design_of(question, question.schema, encoded)
    return Records(np.minimum(time, end), (event == 1) & (time <= end), columns)


def outline(question: Question, records: Records) -> Whole:
    """Return a station's part of the outline (`layout.outline_layout`)."""
    layout = outline_layout(question)
    total = np.zeros(layout.length, dtype=np.int64)
    for part in records.chunks(layout.length):
        total += layout.whole(outline_blocks(question, part))
    return total


def outline_blocks(question: Question, records: Records) -> list[Floats]:
    """Return every record's part of the outline, (records, size) of each block."""
    ends = np.asarray(question.times)
    starts = np.concatenate([[0.0], ends[:-1]])
    cell = np.minimum(np.searchsorted(ends, records.time), len(ends) - 1)
    width = np.maximum(ends - starts, SMALLEST)
    part = np.clip((records.time - starts[cell]) / width[cell], 0.0, 1.0)
    every, counts = np.arange(len(cell)), np.zeros((len(cell), 3, len(ends)))
    counts[every, 0, cell] = records.event
    counts[every, 1, cell] = 1.0 - part
    counts[every, 2, cell] = part
    squares = records.columns[:, numeric(question)] ** 2 - 0.5
    return [counts.reshape(len(cell), 3 * len(ends)), records.columns, squares]


def slope(request: SlopeRequest, records: Records) -> Whole:
    """Return a station's part of a step (`layout.slope_layout`)."""
    layout = slope_layout(request)
    total = np.zeros(layout.length, dtype=np.int64)
    for part in records.chunks(layout.length):
        total += layout.whole(slope_blocks(request, layout, part))
    return total


def slope_blocks(request: SlopeRequest, layout: Layout, records: Records) -> list[Floats]:
    """Return every record's part of a step, (records, size) of each block."""
    centred = records.columns - request.centre
    white = product(centred, request.whitening.T)
    risk = np.exp(np.clip(product(centred, request.coefficients), -HIGHEST, HIGHEST))
    outcome = spent(request, records.time, records.event)
    most = np.maximum(risk * request.hazard[-1], 1.0)
    factor = _factor(np.linalg.norm(white, axis=1) * most, request.clip)
    residual = outcome.dead[:, 0] - risk * outcome.whole[:, 0]
    rows, columns = np.triu_indices(white.shape[1])
    weight = risk * outcome.whole[:, 0] * factor if request.weighted else np.ones(len(risk))
    drift = white[:, :, None] * (factor * risk)[:, None, None] * outcome.periods[:, None, :]
    squares = white[:, rows] * white[:, columns] * np.where(rows == columns, 1.0, np.sqrt(2.0)) * weight[:, None]
    return [
        white * (factor * residual)[:, None],
        _cut(outcome.events - risk[:, None] * outcome.groups, LONGEST_MISSED),
        _cut(squares, LONGEST_INFORMATION * white.shape[1]),
        drift.reshape(len(white), -1),
    ]


@dataclass(frozen=True)
class Spent:
    """Events and hazard of records at a point.

    Parameters
    ----------
    events : ndarray of float, (records, groups)
        1 in the group of cells of the event.
    groups, periods : ndarray of float, (records, groups) and (records, periods)
        Hazard that the record spends in each.
    """

    events: Floats
    groups: Floats
    periods: Floats

    @property
    def dead(self) -> Floats:
        """Whether the record has the event, (records, 1)."""
        return np.asarray(self.events.sum(axis=1, keepdims=True))

    @property
    def whole(self) -> Floats:
        """The hazard that it spends, (records, 1)."""
        return np.asarray(self.periods.sum(axis=1, keepdims=True))


def spent(point: SlopeRequest, time: Floats, event: Array) -> Spent:
    """Return events and hazard of records; times, (records,), are numbers of at least 0, up to the end of the grid."""
    edges, heights = np.concatenate([[0.0], point.times]), np.concatenate([[0.0], point.hazard])
    whole = np.interp(time, edges, heights)
    seen = np.zeros((len(time), len(point.groups)))
    group = np.minimum(np.searchsorted(point.times[point.groups], time), len(point.groups) - 1)
    seen[np.arange(len(group)), group] = event.astype(np.bool_) & (time <= point.times[-1])
    return Spent(seen, _parts(point.hazard[point.groups], whole), _parts(point.hazard[point.periods], whole))


def _parts(tops: Floats, whole: Floats) -> Floats:
    """Return what of each record's hazard, (records,), lies between one height and the next, (records, heights)."""
    bottoms = np.concatenate([[0.0], tops[:-1]])
    return np.asarray(np.clip(whole[:, None], bottoms, tops) - bottoms)


def _factor(lengths: Floats, longest: float) -> Floats:
    return np.asarray(np.minimum(1.0, longest / np.maximum(lengths, SMALLEST)))


def _cut(blocks: Floats, longest: float) -> Floats:
    """Return rows of which those longer than `longest` are shortened to it."""
    return np.asarray(blocks * _factor(np.linalg.norm(blocks, axis=1), longest)[:, None])
