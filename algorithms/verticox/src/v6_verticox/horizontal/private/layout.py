"""How a record's numbers are laid out and weighed in a noisy sum: what a station adds up, and what central reads out of it.

Every sum is one vector of several blocks. A record's part of a block has an L2 norm of at most `norm`, by public bounds or because it is cut there; times
`sqrt(weight) / norm`, with weights that add up to 1, the whole has one of at most 1. Then one noise is added to all: a block of larger weight has less of
it. Numbers are rounded to whole multiples of 2^-`BITS` record by record, and whole numbers added up: in whichever order, with no other rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedbayes.dp.laws import Change
from fedbayes.federation.horizontal import CountNoise
from fedbayes.typing import Floats, Integers

from ..messages import Question
from .messages import STEPS, SlopeRequest

Whole = Integers
BITS = 20
"""Of the fraction of a weighed number: the rounding of 100 numbers adds 5e-6 to a norm of 1."""
ROUNDING = 1.0 + 1e-9
"""Above what floating point makes of a norm of 1."""
PORTIONS = (0.20, 0.20, 0.25, 0.35)
"""Parts of the budget (of the square of mu) of the outline and of each step; the last ones make the coefficients. Found by trial (README)."""
OUTLINE = (0.4, 0.3, 0.3)
"""Weights of counts by cell, of the columns, and of the squares of numeric ones."""
SLOPE, MISSED, INFORMATION, DRIFT = range(4)  # blocks of a step's vector
WEIGHTS = ((0.47, 0.10, 0.38, 0.05), (0.60, 0.14, 0.18, 0.08), (0.70, 0.13, 0.09, 0.08))
"""By step, of the slope, the missed events, the information matrix and the columns' drift: known early, a better matrix serves more steps."""
LONGEST_MISSED = 1.5
"""A record's missed events are 1 less its hazard so far, or minus that, by group: an event with a hazard below 1.8 at its time is not cut."""
LONGEST_INFORMATION = 2.0
"""Times the columns: a record's square in whitened columns is one times their number on average."""


@dataclass(frozen=True)
class Layout:
    """Blocks of a vector.

    Parameters
    ----------
    sizes : tuple of int
        Numbers in each block.
    norms : tuple of float
        Largest L2 norm of a record's part of each.
    weights : tuple of float
        Add up to 1; of an empty block anything.
    portion : float
        Part of the budget.
    """

    sizes: tuple[int, ...]
    norms: tuple[float, ...]
    weights: tuple[float, ...]
    portion: float

    @property
    def scales(self) -> list[float]:
        """What a block's numbers are multiplied by before they are rounded."""
        filled = sum(weight for weight, size in zip(self.weights, self.sizes, strict=True) if size)
        return [
            math.sqrt(weight / filled) / norm * 2.0**BITS for weight, norm in zip(self.weights, self.norms, strict=True)
        ]

    @property
    def length(self) -> int:
        """Numbers in all."""
        return sum(self.sizes)

    @property
    def sensitivity(self) -> float:
        """What one record more or less changes in the vector of whole numbers, in the L2 norm: its own part, and half a unit of rounding in each number."""
        return ROUNDING * 2.0**BITS + math.sqrt(self.length) / 2.0

    def change(self, noise: CountNoise) -> Change:
        """Return what one unit of the promise changes."""
        return noise.change(self.sensitivity * math.sqrt(self.length), self.sensitivity, self.length)

    def noise_of(self, noise: CountNoise, stations: int) -> list[float]:
        """Return the standard deviation of the noise of all stations on the sum of one number, by block, in its own units."""
        width = noise.width(1.0 / self.portion, self.change(noise), stations)
        all_of_them = noise.law.deviation(width) * math.sqrt(stations / noise.honest(stations))
        return [all_of_them / scale for scale in self.scales]

    def whole(self, blocks: Sequence[Floats]) -> Whole:
        """Return the sum over records of rounded numbers, (length,); `blocks` (records, size) each."""
        parts = [
            np.rint(block * scale).astype(np.int64).sum(axis=0)
            for block, scale in zip(blocks, self.scales, strict=True)
        ]
        return np.concatenate(parts)

    def read(self, vector: Whole) -> list[Floats]:
        """Return the blocks of a sum, in their own units."""
        ends = np.cumsum(self.sizes)[:-1]
        return [part / scale for part, scale in zip(np.split(vector, ends), self.scales, strict=True)]


def column_norm(question: Question) -> float:
    """Return the largest L2 norm of a record's centred design columns (`records.Records`): 1 for a number; indicators less 1 / categories."""
    square = 0.0
    for column in question.schema:
        categories = len(column.keys) if column.is_categorical else 0
        square += 1.0 - 1.0 / categories - 1.0 / categories**2 if categories else 1.0
    return math.sqrt(square)


def numeric(question: Question) -> list[int]:
    """Return the places of the numeric features among the design columns."""
    columns, column_at = [], 0
    for column in question.schema:
        if not column.is_categorical:
            columns.append(column_at)
        column_at += len(question.labels_of(column))
    return columns


def outline_layout(question: Question) -> Layout:
    """Return the layout of the outline: events, and time at risk in two numbers, by cell; columns; squares of numeric ones less a half.

    An event is a 1 in its cell; the cell in which a record leaves has 1 - f and f, f the part of it that the record was at risk: a norm of at most the
    root of 2 in all.
    """
    cells, squares = len(question.times), len(numeric(question))
    norms = (math.sqrt(2.0), column_norm(question), math.sqrt(max(squares, 1)) / 2.0)
    return Layout((3 * cells, len(question.labels), squares), norms, OUTLINE, PORTIONS[0])


def slope_layout(request: SlopeRequest) -> Layout:
    """Return the layout of a step: slope, missed events by group, information matrix, sums of the columns over what is expected by period."""
    columns = len(request.asked.question.labels)
    return step_layout(columns, len(request.groups), len(request.periods), request.step, request.clip)


def step_layout(columns: int, groups: int, periods: int, step: int, clip: float) -> Layout:
    """Return the layout of a step by its sizes."""
    if not 1 <= step <= STEPS:
        raise ValueError("step must be one of those of a fit")
    norms = (clip, LONGEST_MISSED, LONGEST_INFORMATION * columns, clip)
    sizes = (columns, groups, columns * (columns + 1) // 2, columns * periods)
    return Layout(sizes, norms, WEIGHTS[step - 1], PORTIONS[step])
