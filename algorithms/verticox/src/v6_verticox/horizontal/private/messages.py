"""What travels in a private fit: what is asked, the outline of the records, and one request a step."""

from __future__ import annotations

from dataclasses import field

import numpy as np

from fedbayes.dp.laws import DiscreteGaussian
from fedbayes.federation import Message
from fedbayes.federation.horizontal import ROW, CountNoise, Unit
from fedbayes.federation.messages.arrays import check_array
from fedbayes.typing import Array

from ..messages import Question

STEPS = 3
"""Points at which the slope is asked for: with fewer the end is further from the maximum, with more each has too small a part of the budget."""
MOST_PERIODS = 4
"""Between which the mean of the records at risk is taken to be one: it moves slowly, as those of high risk leave."""
LARGEST = 1e12
"""Of a number in a request: beyond it sums lose digits. Public bounds and scales that are told are far below. A clip is no smaller than 1 / `LARGEST`:
what a record adds is divided by it, and by its square, before it becomes a whole number, which an infinite one cannot."""


class Asked(Message):
    """What is fitted, for whom the promise is, and with which noise.

    Parameters
    ----------
    question : Question
        Its grid is that of the researcher.
    noise : CountNoise
        Of the whole fit.
    unit : Unit
    """

    question: Question
    noise: CountNoise
    unit: Unit = field(default=ROW)

    def __post_init__(self) -> None:
        self.noise.check_unit(self.unit)
        if self.noise.placement != "distributed" or not isinstance(self.noise.law, DiscreteGaussian):
            raise ValueError("the noise of a private fit is distributed and Gaussian: its delta is above 0")
        question = self.question
        if question.strata or question.weights or question.entry or question.cluster or question.formula:
            raise ValueError("strata, weights, entry, cluster and formula are for exact fits")
        if self.unit.id_column in self.question.columns:
            raise ValueError("the column of identifiers must be neither outcome nor feature")


class OutlineRequest(Message):
    """Ask for the events and the time at risk by cell of the grid, and for moments of the features."""

    asked: Asked


class SlopeRequest(Message):
    """Ask for the slope of the likelihood at a point, for the events that the hazard there misses, and for the information matrix.

    Parameters
    ----------
    asked : Asked
    step : int
        1 to `STEPS`.
    times, hazard : ndarray of float, (cells,)
        Ends of the united cells, and the cumulative hazard there of a record at `centre`; between them it is a straight line.
    groups, periods : ndarray of int64, (groups,) and (periods,)
        Last cell of each group of cells, and of each of at most `MOST_PERIODS` periods, increasing, the last of all included.
    centre, coefficients : ndarray of float, (columns,)
        Of design columns from -1 to 1.
    whitening : ndarray of float, (columns, columns)
        What makes centred columns uncorrelated, of about unit variance.
    clip : float
        Longest contribution of a record to the slope, in whitened columns.
    weighted : bool
        Whether the matrix is the information, in which a record counts by its expected events; else all count alike, which is less exact and less noisy.
    """

    asked: Asked
    step: int
    times: Array
    hazard: Array
    groups: Array
    periods: Array
    centre: Array
    coefficients: Array
    whitening: Array
    clip: float
    weighted: bool

    def __post_init__(self) -> None:
        columns, cells = len(self.asked.question.labels), len(self.times)
        shapes = {"times": (cells,), "hazard": (cells,), "centre": (columns,), "coefficients": (columns,)}
        for name, shape in {**shapes, "whitening": (columns, columns)}.items():
            check_array(name, getattr(self, name), shape, np.float64, -LARGEST, LARGEST)
        if not 1 <= self.step <= STEPS or not 1.0 / LARGEST <= self.clip <= LARGEST:
            raise ValueError("step must be one of those of a fit, and clip positive, neither tiny nor huge")
        grid = self.asked.question.times
        if not cells or not set(self.times.tolist()) <= set(grid) or self.times[-1] != grid[-1]:
            raise ValueError("times must be some of the grid's, the last included")
        rises = np.diff(self.times) > 0.0, np.diff(self.hazard, prepend=0.0) >= 0.0
        if not all(np.all(one) for one in rises):
            raise ValueError("times must increase, and the hazard not fall")
        for name, last in (("groups", self.groups), ("periods", self.periods)):
            check_array(name, last, (None,), np.int64)
            if not len(last) or last[-1] != cells - 1 or np.any(np.diff(last, prepend=-1) <= 0):
                raise ValueError(f"{name} must increase, and end with the last cell")
        if len(self.periods) > MOST_PERIODS:
            raise ValueError("there are too many periods")
