"""What central makes of the noisy outline: united cells with a hazard, means and deviations of the columns."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fedbayes.typing import Floats

from ..messages import Question
from .layout import Layout, Whole, numeric

CLEAR = 3.0
"""Standard deviations of the noise by which the events of a cell stand out of it, or the cell is united with the next."""
FEWEST = 5.0
"""Events in a cell, where the noise is small."""
LEAST_AT_RISK = 0.1
"""Records at risk as a part of all events, in a cell of which the noise leaves fewer: the last ones of a grid."""
NARROWEST = 1e-2
"""Deviation of a column in units of half of its bounds' width: a narrower one is taken for as wide, until the steps tell."""


@dataclass(frozen=True)
class Outline:
    """The records over all stations, in outline.

    Parameters
    ----------
    times : ndarray of float, (cells,)
        Ends of the united cells.
    events, at_risk : ndarray of float, (cells,)
        Events in a cell, above 0, and records at risk on the average.
    mean, variance : ndarray of float, (columns,)
        Of the design columns.
    records, records_noise, events_noise : float
        All records; standard deviations of the noise on these and on all events.
    loud : bool
        Whether the noise on all events is as large as their number.
    """

    times: Floats
    events: Floats
    at_risk: Floats
    mean: Floats
    variance: Floats
    records: float
    records_noise: float
    events_noise: float
    loud: bool

    @property
    def total(self) -> float:
        """All events."""
        return float(self.events.sum())


def read_outline(question: Question, layout: Layout, vector: Whole, noise: list[float]) -> Outline:
    """Return the outline that a noisy sum tells; `noise`: of its blocks."""
    counts, sums, squares = layout.read(vector)
    events, before, after = np.split(counts, 3)
    ends, spread = np.asarray(question.times), noise[0]
    width = np.diff(ends, prepend=0.0)
    leaving = before + after
    later = np.append(np.cumsum(leaving[::-1])[::-1][1:], 0.0)
    first = cells_united(events, spread)
    united = np.maximum(np.add.reduceat(events, first), spread)
    total = float(united.sum())
    at_risk = np.add.reduceat(width * (later + after), first) / np.add.reduceat(width, first)
    records = max(float(leaving.sum()), total)
    mean, variance = moments(question, sums / records, squares / records, noise[1] / records, noise[2] / records)
    last = np.array([*first[1:], len(ends)]) - 1
    root = math.sqrt(len(ends))
    return Outline(
        ends[last],
        united,
        np.maximum(at_risk, LEAST_AT_RISK * total),
        mean,
        variance,
        records,
        spread * math.sqrt(2.0) * root,
        spread * root,
        bool(events.sum() < 2.0 * spread * root),
    )


def cells_united(events: Floats, noise: float) -> list[int]:
    """Return the first places of united cells: each has events that stand out of the noise, or there is one for all."""
    first, start, events_so_far = [0], 0, 0.0
    for cell, count in enumerate(events.tolist()):
        events_so_far += count
        if events_so_far >= max(CLEAR * noise * math.sqrt(cell - start + 1), FEWEST):
            start, events_so_far = cell + 1, 0.0
            first.append(start)
    first.pop()  # what does not stand out at the end belongs to the cell before
    return first or [0]


def moments(
    question: Question, mean: Floats, squares: Floats, mean_noise: float, square_noise: float
) -> tuple[Floats, Floats]:
    """Return means and variances within their bounds, the variances at least as large as their noise."""
    mean = np.clip(mean, -1.0, 1.0)
    shares, places = np.zeros(len(mean)), numeric(question)
    at = 0
    for column in question.schema:
        width = len(question.labels_of(column))
        if column.is_categorical:
            shares[at : at + width] = 1.0 / len(column.keys)
        at += width
    edge = min(mean_noise, 0.5)
    share = np.clip(mean + shares, edge, 1.0 - edge)
    variance = share * (1.0 - share)
    variance[places] = np.maximum(squares + 0.5 - mean[places] ** 2, square_noise)
    return mean, np.clip(variance, NARROWEST**2, 1.0)
