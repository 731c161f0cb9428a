"""One station's columns of the common records in a private fit. Nothing here is refused because of a value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbayes.federation import Station
from fedbayes.federation.errors import DataProblem, schema_errors
from fedbayes.typing import Booleans, Floats

from ..horizontal.private.layout import BITS, Layout, Whole, numeric
from ..horizontal.private.messages import SlopeRequest
from ..horizontal.private.records import Records, design_of, known_values, outcome_of, outline_blocks, spent
from ..messages.names import Name
from .cuts import Limits, blocks_of, weighed
from .messages import Joint
from .program import COLUMN_BITS, DIAGONAL, OUTCOME_BITS, Step

SLOPE, MISSED, MATRIX, DRIFT = range(4)
"""Blocks of a step's layout."""
CHUNK = 1 << 14
"""Records that are looked at together."""


@dataclass(frozen=True)
class Own:
    """A station's columns of the common records, in the common order.

    Parameters
    ----------
    columns : ndarray of float, (records, own design columns)
        As `horizontal.private.records.Records`; 0 where a record is not known.
    known : ndarray of bool, (records,)
        Whether the station has all values of the record that it should have.
    time, event : ndarray of float, (records,), or None
        At the outcome holder; 0 where not known.
    """

    columns: Floats
    known: Booleans
    time: Floats | None
    event: Floats | None


def read(station: Station, joint: Joint, holder: int) -> Own:
    """Return a share holder's columns.

    Raises
    ------
    PolicyError, DataProblem, ThresholdError
        If the node does not let these columns be used, or lacks them; never because of a value.
    """
    question, owner = joint.asked.question, holder == len(joint.plan.holders) - 1
    own_columns = blocks_of(joint.plan.widths)[holder]
    mine = [column for column in question.schema if _within(question.labels, question.labels_of(column), own_columns)]
    names = [column.name for column in mine]
    outcome = [question.time, question.event] if owner else []
    frame = station.data([*outcome, *names], domain={name: question.reading[name] for name in (*outcome, *names)})
    table = frame.iloc[station.kept("places")["places"]]
    known = np.ones(len(table), dtype=np.bool_)
    time = event = None
    with schema_errors(DataProblem):
        if owner:
            time, event, known = outcome_of(question, table)
        encoded = question.schema.select(names).encode(table, "absorb") if names else {}
    columns = np.zeros((len(table), 0))
    if mine:
        known = known & known_values(mine, encoded)
        columns = np.where(known[:, None], design_of(question, mine, encoded), 0.0)
    if time is None or event is None:
        return Own(columns, known, None, None)
    end = question.times[-1]
    kept = np.where(known, np.minimum(np.where(known, time, 0.0), end), 0.0)
    return Own(columns, known, kept, (known & (event == 1) & (np.where(known, time, 0.0) <= end)).astype(np.float64))


def _within(labels: list[str], own: list[str], span: slice) -> bool:
    return bool(span.start <= labels.index(own[0]) < span.stop)


def outline(joint: Joint, layout: Layout, holder: int, own: Own) -> Whole:
    """Return a station's part of the outline (`horizontal.private.layout.outline_layout`): its columns, and the outcome holder's counts; else zeros."""
    question, width = joint.asked.question, len(joint.asked.question.labels)
    span = blocks_of(joint.plan.widths)[holder]
    total = np.zeros(layout.length, dtype=np.int64)
    ours = np.zeros(width, dtype=np.bool_)
    ours[span] = True
    for start in range(0, len(own.known), CHUNK):
        part = slice(start, start + CHUNK)
        known = own.known[part]
        columns = np.zeros((int(known.sum()), width))
        columns[:, span] = own.columns[part][known]
        time = np.zeros(len(columns)) if own.time is None else own.time[part][known]
        event = np.zeros(len(columns)) if own.event is None else own.event[part][known]
        counts, sums, squares = outline_blocks(question, Records(time, event.astype(np.bool_), columns))
        total += layout.whole([counts * (own.time is not None), sums, squares * ours[numeric(question)]])
    return total


def entered(step: Step, joint: Joint, point: SlopeRequest, holder: int, own: Own) -> dict[Name, Floats]:
    """Return what a share holder enters in a step: multiples of a power of two, cut towards zero, by name."""
    limits = Limits.of(point, joint.plan.widths)
    span = blocks_of(joint.plan.widths)[holder]
    seen = weighed(point, limits, holder, span, own.columns, own.known, COLUMN_BITS)
    content = {step.named("columns", part=holder): seen.columns} if joint.plan.widths[holder] else {}
    if own.time is None or own.event is None:
        part = step.others.index(holder)
        factors = {step.named("kept", part=part): seen.kept, step.named("risk", part=part): seen.risk}
        return content | {name: _cut(values, step.factor_bits) for name, values in factors.items()}
    scales = [scale / 2.0**BITS for scale in limits.layout(point).scales]
    outcome = spent(point, own.time, own.event)
    counted = seen.risk * outcome.whole if point.weighted else seen.kept
    entries = {
        "event": scales[SLOPE] * seen.kept * outcome.dead,
        "hazard": scales[SLOPE] * seen.risk * outcome.whole,
        "missed": scales[MISSED] * seen.kept * outcome.events,
        "expected": scales[MISSED] * seen.risk * outcome.groups,
        "matrix": scales[MATRIX] / DIAGONAL * counted,
        "drift": scales[DRIFT] * seen.risk * outcome.periods,
    }
    return content | {step.named(kind): _cut(values, OUTCOME_BITS) for kind, values in entries.items()}


def _cut(values: Floats, bits: int) -> Floats:
    """Return numbers cut towards zero to multiples of 2^-bits."""
    return np.asarray(np.ldexp(np.trunc(np.ldexp(values, bits)), -bits))
