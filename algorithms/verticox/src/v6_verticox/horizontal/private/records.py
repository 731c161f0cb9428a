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

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbayes.bayes.column_codes import numbers
from fedbayes.bayes.schema import Column
from fedbayes.federation import Station
from fedbayes.federation.errors import DataProblem
from fedbayes.federation.horizontal import schema_errors

from ..messages import Question
from ..rows import block
from .layout import (
    LONGEST_INFORMATION,
    LONGEST_MISSED,
    Layout,
    Vector,
    Whole,
    numeric,
    outline_layout,
    slope_layout,
)
from .messages import Asked, SlopeRequest

CHUNK = 1 << 20
"""Numbers that are held at a time."""
HIGHEST = 30.0
"""Of a linear predictor, either way: a relative risk of 1e13 is beyond any model."""
SMALLEST = 1e-300


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

    time: Vector
    event: npt.NDArray[np.bool_]
    columns: Vector

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
    question = asked.question
    table = asked.unit.table(station, question.columns, question.domain)
    with schema_errors(DataProblem):
        time = numbers(question.time, table[question.time], (-np.inf, np.inf), "absorb")
        event = Column.from_json(question.event, {"categories": [0, 1]}).encode(table[question.event], "absorb")
        encoded = question.schema.encode(table, "absorb")
    known = np.isfinite(time) & (time >= 0.0) & (event >= 0)
    for name, values in encoded.items():
        known &= values >= 0 if question.schema[name].is_categorical else np.isfinite(values)
    content = {"time of the outcome": time, "event of the outcome": event.astype(np.float64), **encoded}
    kept = asked.unit.kept(station, table, content)
    chosen = known if isinstance(kept, slice) else known & kept
    return records_of(question, time[chosen], event[chosen], {name: values[chosen] for name, values in encoded.items()})


def records_of(question: Question, time: Any, event: Any, encoded: dict[str, Any]) -> Records:
    """Return encoded records as they are used."""
    end = question.times[-1]
    blocks = []
    for column in question.schema:
        values = block(question, column, encoded[column.name])
        blocks.append(values - 1.0 / len(column.keys) if column.is_categorical else values)
    return Records(np.minimum(time, end), (event == 1) & (time <= end), np.concatenate(blocks, axis=1))


def outline(question: Question, records: Records) -> Whole:
    """Return a station's part of the outline (`layout.outline_layout`)."""
    layout = outline_layout(question)
    total = np.zeros(layout.length, dtype=np.int64)
    for part in records.chunks(layout.length):
        total += layout.whole(outline_blocks(question, part))
    return total


def outline_blocks(question: Question, records: Records) -> list[Vector]:
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


def slope_blocks(request: SlopeRequest, layout: Layout, records: Records) -> list[Vector]:
    """Return every record's part of a step, (records, size) of each block."""
    centred = records.columns - request.centre
    white = centred @ request.whitening.T
    risk = np.exp(np.clip(centred @ request.coefficients, -HIGHEST, HIGHEST))
    edges, heights = np.concatenate([[0.0], request.times]), np.concatenate([[0.0], request.hazard])
    spent = np.interp(records.time, edges, heights)
    dead = records.event & (records.time <= request.times[-1])
    most = np.maximum(risk * request.hazard[-1], 1.0)
    factor = _factor(np.linalg.norm(white, axis=1) * most, request.clip)
    residual = dead - risk * spent
    rows, columns = np.triu_indices(white.shape[1])
    weight = risk * spent * factor if request.weighted else np.ones(len(risk))
    drift = white[:, :, None] * (factor * risk)[:, None, None] * _within(request, request.periods, spent)[:, None, :]
    squares = white[:, rows] * white[:, columns] * np.where(rows == columns, 1.0, np.sqrt(2.0)) * weight[:, None]
    return [
        white * (factor * residual)[:, None],
        _cut(_missed(request, records.time, dead, risk, spent), LONGEST_MISSED),
        _cut(squares, LONGEST_INFORMATION * white.shape[1]),
        drift.reshape(len(white), -1),
    ]


def _within(request: SlopeRequest, places: npt.NDArray[np.int64], spent: Vector) -> Vector:
    """Return the part of each record's hazard that it spends in each group of cells, (records, groups)."""
    tops = request.hazard[places]
    bottoms = np.concatenate([[0.0], tops[:-1]])
    return np.asarray(np.clip(spent[:, None], bottoms, tops) - bottoms)


def _missed(request: SlopeRequest, time: Vector, dead: npt.NDArray[np.bool_], risk: Vector, spent: Vector) -> Vector:
    """Return events less their expected number by group of cells, (records, groups)."""
    expected = risk[:, None] * _within(request, request.groups, spent)
    group = np.minimum(np.searchsorted(request.times[request.groups], time), len(request.groups) - 1)
    seen = np.zeros_like(expected)
    seen[np.arange(len(group)), group] = dead
    return np.asarray(seen - expected)


def _factor(lengths: Vector, longest: float) -> Vector:
    return np.asarray(np.minimum(1.0, longest / np.maximum(lengths, SMALLEST)))


def _cut(blocks: Vector, longest: float) -> Vector:
    """Return rows of which those longer than `longest` are shortened to it."""
    return np.asarray(blocks * _factor(np.linalg.norm(blocks, axis=1), longest)[:, None])
