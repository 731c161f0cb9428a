"""The rounds of a private fit: an outline of the records, then Newton's steps along noisy slopes. All here is made of noisy sums.

At each of `STEPS` points central asks for the slope (`records`), for the events that the hazard misses by group of cells, by which it corrects the hazard, and
for the information matrix. The last two slopes make the coefficients: of each one Newton step, weighted by how little noise it has. The noise is known, so
standard errors hold it; and where it is as large as effects are, coefficients are drawn towards zero, by `EFFECT`.

References
----------
Hung, Yu, Optimal Cox regression under federated differential privacy, arXiv 2508.19640 (noisy slopes of the partial likelihood, to compare). Dong, Roth, Su,
Gaussian differential privacy, 2022 (composition of steps that depend on those before). James, Stein, 1961 (how far a noisy matrix is trusted).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from fedbayes.federation.horizontal import SecureSums, SumReply, signed

from ..declared import MOST_TIMES
from ..messages import Question
from .layout import DRIFT, INFORMATION, MISSED, SLOPE, Layout, Vector, Whole, outline_layout, slope_layout, step_layout
from .matrix import from_upper, trusted, whitened
from .messages import MOST_PERIODS, STEPS, Asked, OutlineRequest, SlopeRequest
from .outline import Outline, read_outline
from .points import Point, along, corrected, drifted, ends_of
from .records import HIGHEST

SHORTEST_CLIP, LONGEST_CLIP = 1.3, 8.0
"""Of a record's slope, in roots of the number of columns: its root mean square is that times the root of the share of events."""
CLIP_BY_NOISE = 0.7
"""Largest noise on the slope, in units of what sampling makes of it, above which the clip is shortened. These three were found by trial (README)."""
MISSED_BY_NOISE = 10.0
"""Events of a group of cells, in deviations of the noise on what the hazard misses there."""
CAUTION = 1.0
"""How much of the information's noise is added to it where a step is chosen: a step too short is mended by the next one."""
LONGEST_STEP = 1.0
"""Standard deviation of the linear predictor by which a step changes it at most."""
BIAS = 0.1
"""Relative error of the first matrix, the columns' covariance over all records, as information of an event."""
SETTLING = 0.03
"""Relative error of an information matrix because it is that of another point."""
CLEAR_MATRIX = 0.05
"""Noise of the first information, of an event, up to which it is asked for."""
FOLLOWING = 0.1
"""Error of a slope, in steps of the length of the one before it: the hazard follows the coefficients to about that."""
AVERAGED = 2
"""Last slopes of which the coefficients are made."""
EFFECT = 0.5
"""Standard deviation of a whitened column's coefficient that is expected where noise hides it: a hazard ratio of 1.6 a deviation."""


@dataclass(frozen=True)
class NoisySlope:
    """A noisy slope at coefficients, the covariance of its noise, in design columns, and how far the step led that went there."""

    coefficients: Vector
    slope: Vector
    noise: Vector
    length: float


@dataclass(frozen=True)
class Solution:
    """Where the fit ended, in design columns.

    Parameters
    ----------
    coefficients, covariance : ndarray of float, (columns,) and (columns, columns)
        The covariance holds sampling and noise.
    noise : ndarray of float, (columns, columns)
        Covariance of the noise alone.
    cumulative_hazard : ndarray of float, (cells,)
        Of a record at the mean.
    clips : list of float
        Of each step.
    """

    coefficients: Vector
    covariance: Vector
    noise: Vector
    cumulative_hazard: Vector
    clips: list[float]

    @property
    def loud(self) -> int:
        """Number of coefficients of which the noise is larger than the sampling error."""
        noise = np.diag(self.noise)
        return int(np.sum(noise > np.diag(self.covariance) - noise))


class PrivateFit:
    """One private fit, round by round.

    Attributes
    ----------
    most_groups : int
        Groups of cells whose missed events are asked for, at most.
    """

    most_groups: ClassVar[int] = MOST_TIMES

    def __init__(self, federation: SecureSums, stations: Sequence[int], asked: Asked, penalty: Vector) -> None:
        self.federation, self.stations, self.asked = federation, stations, asked
        self.penalty = np.diag(penalty)
        self.columns = len(asked.question.labels)
        self.matrices, self.precision = np.zeros((self.columns, self.columns)), 0.0
        self.clips: list[float] = []
        self.length = 0.0

    @property
    def question(self) -> Question:
        """What is fitted."""
        return self.asked.question

    def run(self) -> tuple[Outline, Solution]:
        """Return the outline and where the fit ended; 1 + `STEPS` rounds."""
        layout = outline_layout(self.question)
        vector = self._outline_vector(layout)
        outline = read_outline(self.question, layout, vector, self._noise(layout))
        point = Point(
            np.zeros(self.columns),
            outline.mean,
            outline.events / outline.at_risk,
            np.diag(1.0 / np.sqrt(outline.variance)),
            np.zeros((self.columns, len(outline.times))),
        )
        told = []
        for step in range(1, STEPS + 1):
            found, point = self._step(outline, point, step)
            told.append(found)
        return outline, self._solution(outline, point, told[-AVERAGED:])

    def _outline_vector(self, layout: Layout) -> Whole:
        return self._summed("partial_outline", OutlineRequest(self.asked), layout, False)

    def _slope_vector(self, request: SlopeRequest, layout: Layout) -> Whole:
        return self._summed("partial_slope", request, layout, request.step == STEPS)

    def _layout(self, request: SlopeRequest) -> Layout:
        return slope_layout(request)

    def _rewhitened(self, whitening: Vector, shape: Vector) -> Vector:
        return whitened(whitening, shape)

    def _summed(self, function: str, request: Any, layout: Layout, last: bool) -> Whole:
        summed = self.federation.secure_sum(function, request, self.stations, SumReply, field="vector", last=last)
        return signed(summed, layout.length)

    def _noise(self, layout: Layout) -> list[float]:
        return layout.noise_of(self.asked.noise, len(self.stations))

    def _request(self, outline: Outline, point: Point, step: int) -> SlopeRequest:
        """Return the request of a step: its clip and groups follow from the noise."""
        root = math.sqrt(self.columns)
        noise = self._noise(step_layout(self.columns, len(outline.times), MOST_PERIODS, step, 1.0))
        afforded = CLIP_BY_NOISE * math.sqrt(outline.total) / noise[SLOPE]
        clip = min(max(afforded, SHORTEST_CLIP * root), LONGEST_CLIP * root)
        cells = len(outline.times)
        groups = min(max(int(outline.total / (MISSED_BY_NOISE * noise[MISSED])), 1), cells, self.most_groups)
        return SlopeRequest(
            self.asked,
            step,
            outline.times,
            np.cumsum(point.hazard),
            ends_of(cells, groups),
            ends_of(cells, min(groups, MOST_PERIODS)),
            point.centre,
            point.coefficients,
            point.whitening,
            clip,
            step > 1 or noise[INFORMATION] < CLEAR_MATRIX * outline.total,
        )

    def _step(self, outline: Outline, point: Point, step: int) -> tuple[NoisySlope, Point]:
        request = self._request(outline, point, step)
        layout = self._layout(request)
        noise = self._noise(layout)
        self.clips.append(request.clip)
        vector = self._slope_vector(request, layout)
        slope, missed, upper, sums = layout.read(vector)
        counts, drift, within = drifted(outline.events, request, sums.reshape(self.columns, -1), noise[DRIFT])
        slope = slope - drift[:, within] @ missed
        matrix = from_upper(upper, self.columns)
        if request.weighted:
            matrix = matrix - drift @ np.diag(counts) @ drift.T
        shape = self._learn(outline, point, matrix, noise[INFORMATION], request.weighted)
        move = self._move(outline, point, shape, slope)
        back = np.linalg.inv(point.whitening)
        told = NoisySlope(point.coefficients, back @ slope, noise[SLOPE] ** 2 * back @ back.T, self.length)
        self.length = float(np.linalg.norm(back.T @ move))
        hazard = corrected(point.hazard, outline.events, request.groups, missed, noise[MISSED])
        spread = np.asarray(back @ shape @ back.T, dtype=np.float64)
        seen = replace(point, hazard=hazard, drift=back @ along(drift, request.periods))
        after = seen.moved(point.coefficients + move, spread, outline.mean)
        return told, replace(after, whitening=self._rewhitened(point.whitening, shape))

    def _learn(self, outline: Outline, point: Point, matrix: Vector, noise: float, weighted: bool) -> Vector:
        """Return the information of an event in whitened columns, of all matrices so far; one over records alike is their covariance."""
        over = outline.total if weighted else outline.records
        weight = 1.0 / ((noise / over) ** 2 + (SETTLING if weighted else BIAS) ** 2)
        back = np.linalg.inv(point.whitening)
        self.matrices = self.matrices + weight * back @ (matrix / over) @ back.T
        self.precision += weight
        mean = point.whitening @ (self.matrices / self.precision) @ point.whitening.T
        return trusted(mean, 1.0 / math.sqrt(self.precision))

    def _move(self, outline: Outline, point: Point, shape: Vector, slope: Vector) -> Vector:
        """Return Newton's step, no longer than `LONGEST_STEP` and cautious where the matrix is noise."""
        white = point.whitening
        doubt = CAUTION * math.sqrt(self.columns / self.precision)
        matrix = outline.total * (shape + doubt * np.eye(self.columns)) + white @ self.penalty @ white.T
        move = np.linalg.solve(matrix, slope - white @ self.penalty @ point.coefficients)
        return np.asarray(white.T @ (move * min(1.0, LONGEST_STEP / max(float(np.linalg.norm(move)), 1e-300))))

    def _solution(self, outline: Outline, point: Point, told: list[NoisySlope]) -> Solution:
        """Return what the last slopes say together."""
        back: Vector = np.asarray(np.linalg.inv(point.whitening), dtype=np.float64)
        spread = back @ back.T
        inverse = np.linalg.inv(outline.total * spread + self.penalty)
        errors = [
            np.trace(np.linalg.solve(spread, one.noise)) / self.columns / outline.total**2
            + (FOLLOWING * one.length) ** 2
            for one in told
        ]
        weights = 1.0 / np.array(errors)
        weights = weights / weights.sum()
        found, noise = np.zeros(self.columns), np.zeros_like(spread)
        for weight, one in zip(weights, told, strict=True):
            move = inverse @ (one.slope - self.penalty @ one.coefficients)
            length = math.sqrt(max(float(move @ spread @ move), 1e-300))
            found += weight * (one.coefficients + move * min(1.0, LONGEST_STEP / length))
            noise += weight**2 * one.noise
        own = inverse @ noise @ inverse
        drawn = drawn_to_zero(point.whitening, back, own)
        coefficients, own = drawn @ found, drawn @ own
        own = (own + own.T) / 2.0
        end = point.moved(coefficients, spread, outline.mean)
        at_mean = math.exp(min(max(float((outline.mean - end.centre) @ coefficients), -HIGHEST), HIGHEST))
        return Solution(coefficients, inverse + own, own, np.cumsum(end.hazard * at_mean), self.clips)


def drawn_to_zero(whitening: Vector, back: Vector, noise: Vector) -> Vector:
    """Return the matrix by which coefficients are drawn towards zero: the mean of a normal law of deviation `EFFECT`, seen through the noise."""
    out = back.T @ noise @ back
    kept = np.linalg.inv(np.eye(len(out)) + out / EFFECT**2)
    return np.asarray(whitening.T @ kept @ back.T)
