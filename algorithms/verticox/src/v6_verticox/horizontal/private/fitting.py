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
from typing import ClassVar

import numpy as np

from fedbayes.federation.horizontal import SecureSums, whole_sums
from fedbayes.typing import Floats

from ..messages import MOST_TIMES, Question
from .drift import along, drifted, predicted
from .layout import DRIFT, INFORMATION, MISSED, SLOPE, Layout, Whole, outline_layout, slope_layout, step_layout
from .matrix import Information, from_upper, whitened
from .messages import MOST_PERIODS, STEPS, Asked, OutlineRequest, SlopeRequest
from .outline import Outline, read_outline
from .points import Point, corrected, ends_of
from .records import HIGHEST, SMALLEST

SHORTEST_CLIP, LONGEST_CLIP = 1.3, 8.0
"""Of a record's slope, in roots of the number of columns: its root mean square is that times the root of the share of events."""
CLIP_BY_NOISE = 0.7
"""Largest noise on the slope, in units of what sampling makes of it, above which the clip is shortened. These three were found by trial (README)."""
MISSED_BY_NOISE = 10.0
"""Events of a group of cells, in deviations of the noise on what the hazard misses there."""
CAUTION = 0.5
"""How much of the information's noise is added to it where a step is chosen: a step too short is mended by the next one."""
LONGEST_STEP = 2.0
"""Standard deviation of the linear predictor by which a step changes it at most."""
LONGEST_LEAD = 3.0
"""The same, of the coefficients from which the drift of those at risk is predicted."""
CLEAR_MATRIX = 0.05
"""Noise of the first information, of an event, up to which it is asked for."""
FOLLOWING = 0.1
"""Error of a slope, in steps of the length of the one before it: the hazard follows the coefficients to about that."""
CURVED = 0.35
"""Error of a Newton step of length 1, which grows with its square: the likelihood is no parabola. Found by trial, as is the next one."""
DOUBTED = 0.7
"""Relative error of a Newton step, in those of its matrix."""
AVERAGED = 2
"""Last slopes of which the coefficients are made."""
EFFECT = 0.5
"""Standard deviation of a whitened column's coefficient that is expected where noise hides it: a hazard ratio of 1.6 a deviation."""


@dataclass(frozen=True)
class NoisySlope:
    """A noisy slope at coefficients, the covariance of its noise, in design columns, how far the step led that went there, and the scale of its information."""

    coefficients: Floats
    slope: Floats
    noise: Floats
    length: float
    scale: float


@dataclass(frozen=True)
class NewtonEnd:
    """Where a Newton step along one noisy slope ends, in design columns, and its covariances.

    `short` is how far from the maximum that may be, in deviations of the linear predictor.
    """

    coefficients: Floats
    sampling: Floats
    noise: Floats
    short: float


@dataclass(frozen=True)
class Solution:
    """Where the fit ended, in design columns.

    Parameters
    ----------
    coefficients, covariance : ndarray of float, (columns,) and (columns, columns)
        The covariance holds sampling and noise.
    noise : ndarray of float, (columns, columns)
        Covariance of what the noise makes: its own, and that the last step may end short of the maximum.
    cumulative_hazard : ndarray of float, (cells,)
        Of a record at the mean.
    clips : list of float
        Of each step.
    """

    coefficients: Floats
    covariance: Floats
    noise: Floats
    cumulative_hazard: Floats
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
    remembered : float
        What a step keeps of the precision of the matrices before.
    """

    most_groups: ClassVar[int] = MOST_TIMES
    remembered: ClassVar[float] = 1.0

    def __init__(self, federation: SecureSums, stations: Sequence[int], asked: Asked, penalty: Floats) -> None:
        self.federation, self.stations, self.asked = federation, stations, asked
        self.penalty = np.diag(penalty)
        self.columns = len(asked.question.labels)
        self.information = Information(self.columns, self.remembered)
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
        slopes = []
        for step in range(1, STEPS + 1):
            slope, point = self._step(outline, point, step)
            slopes.append(slope)
        return outline, self._solution(outline, point, slopes[-AVERAGED:])

    def _outline_vector(self, layout: Layout) -> Whole:
        return whole_sums(self.federation, "partial_outline", OutlineRequest(self.asked), self.stations, layout.length)

    def _slope_vector(self, request: SlopeRequest, layout: Layout) -> Whole:
        last = request.step == STEPS
        return whole_sums(self.federation, "partial_slope", request, self.stations, layout.length, last)

    def _layout(self, request: SlopeRequest) -> Layout:
        return slope_layout(request)

    def _rewhitened(self, whitening: Floats, shape: Floats) -> Floats:
        return whitened(whitening, shape)

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
        expected = point.whitening @ self._expected_drift(outline, point, slope)
        sums = sums.reshape(self.columns, -1)
        counts, drift, within = drifted(outline.events, request, sums, noise[DRIFT], expected)
        slope = slope - drift[:, within] @ missed
        matrix = from_upper(upper, self.columns)
        if request.weighted:
            matrix = matrix - drift @ np.diag(counts) @ drift.T
        over = outline.total if request.weighted else outline.records
        shape = self.information.learn(point.whitening, matrix / over, noise[INFORMATION] / over, request.weighted)
        move = self._move(outline, point, shape, slope)
        back = np.linalg.inv(point.whitening)
        covariance = noise[SLOPE] ** 2 * back @ back.T
        noisy_slope = NoisySlope(point.coefficients, back @ slope, covariance, self.length, self.information.scale)
        self.length = float(np.linalg.norm(back.T @ move))
        hazard = corrected(point.hazard, outline.events, request.groups, missed, noise[MISSED])
        spread = np.asarray(back @ shape @ back.T, dtype=np.float64)
        seen = replace(point, hazard=hazard, drift=back @ along(drift, request.periods))
        after = seen.moved(point.coefficients + move, spread, outline.mean)
        return noisy_slope, replace(after, whitening=self._rewhitened(point.whitening, shape))

    def _expected_drift(self, outline: Outline, point: Point, slope: Floats) -> Floats:
        """Return how those at risk drift if the columns are normal and the coefficients where the slope leads, (columns, cells)."""
        back = np.linalg.inv(point.whitening)
        spread = back @ back.T
        lead = point.coefficients + point.whitening.T @ slope / outline.total
        length = math.sqrt(max(float(lead @ spread @ lead), SMALLEST))
        lead = lead * min(1.0, LONGEST_LEAD / length)
        return predicted(outline, lead, point.coefficients, spread, point.centre)

    def _move(self, outline: Outline, point: Point, shape: Floats, slope: Floats) -> Floats:
        """Return Newton's step, no longer than `LONGEST_STEP` and cautious where the matrix is noise."""
        white = point.whitening
        doubt = CAUTION * self.information.doubt
        events = outline.total * self.information.scale
        matrix = events * (shape + doubt * np.eye(self.columns)) + white @ self.penalty @ white.T
        move = np.linalg.solve(matrix, slope - white @ self.penalty @ point.coefficients)
        return np.asarray(white.T @ (move * min(1.0, LONGEST_STEP / max(float(np.linalg.norm(move)), SMALLEST))))

    def _solution(self, outline: Outline, point: Point, told: list[NoisySlope]) -> Solution:
        """Return what the last slopes say together."""
        back: Floats = np.asarray(np.linalg.inv(point.whitening), dtype=np.float64)
        spread = back @ back.T
        ends = [self._newton(outline, spread, one) for one in told]
        errors = [
            np.trace(spread @ end.noise) / self.columns + (FOLLOWING * one.length) ** 2 + end.short**2
            for one, end in zip(told, ends, strict=True)
        ]
        weights = 1.0 / np.array(errors)
        weights = weights / weights.sum()
        coefficients = np.sum([weight * end.coefficients for weight, end in zip(weights, ends, strict=True)], axis=0)
        sampling = np.sum([weight * end.sampling for weight, end in zip(weights, ends, strict=True)], axis=0)
        noise = np.sum([weight**2 * end.noise for weight, end in zip(weights, ends, strict=True)], axis=0)
        short = float(weights @ [end.short for end in ends])
        noise = noise + short**2 / self.columns * np.linalg.inv(spread)
        drawn = drawn_to_zero(point.whitening, back, noise)
        coefficients, noise = drawn @ coefficients, drawn @ noise
        noise = (noise + noise.T) / 2.0
        end = point.moved(coefficients, spread, outline.mean)
        at_mean = math.exp(min(max(float((outline.mean - end.centre) @ coefficients), -HIGHEST), HIGHEST))
        return Solution(coefficients, sampling + noise, noise, np.cumsum(end.hazard * at_mean), self.clips)

    def _newton(self, outline: Outline, spread: Floats, told: NoisySlope) -> NewtonEnd:
        """Return where one slope leads."""
        inverse: Floats = np.asarray(
            np.linalg.inv(outline.total * told.scale * spread + self.penalty), dtype=np.float64
        )
        move = inverse @ (told.slope - self.penalty @ told.coefficients)
        length = math.sqrt(max(float(move @ spread @ move), SMALLEST))
        short = math.hypot(CURVED * length**2, DOUBTED * self.information.doubt * length)
        to = told.coefficients + move * min(1.0, LONGEST_STEP / length)
        return NewtonEnd(to, inverse, inverse @ told.noise @ inverse, short)


def drawn_to_zero(whitening: Floats, back: Floats, noise: Floats) -> Floats:
    """Return the matrix by which coefficients are drawn towards zero: the mean of a normal law of deviation `EFFECT`, seen through the noise."""
    out = back.T @ noise @ back
    kept = np.linalg.inv(np.eye(len(out)) + out / EFFECT**2)
    return np.asarray(whitening.T @ kept @ back.T)
