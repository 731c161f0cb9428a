"""How far a step may go where features have heavy tails: what the few records far away do to the risk-set sums.

A station tells, of each design column with a heavy tail, how far the tail reaches: the eighth root of the sum of eighth powers of the
standardised values above the mean, and below it, rounded up to a power of the root of two; ordinary columns are told as `ORDINARY`.
Few records can be that far away: at most rows / reach^2 of them, since the variance is one (Chebyshev). Of these two numbers follows how much
the sums can grow in a step, and so the interval that the reciprocals must follow, and the longest step worth trying.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedbayes.federation.errors import ConvergenceError
from fedbayes.typing import Floats

ORDER = 8
"""Of the moment: high enough that the records far away rule it, low enough that no single record's value is told."""
ORDINARY = 8.0  # deviations: the moment of 10^5 normal records is about 7; all columns below are told as this, so nothing is told of them
FARTHEST = 4.0  # rise of the predictor of records far away in a step: e^4 = 55 times the risk
CROWD = 5.0  # times as frequent as in all records such records may be in a risk set, late in the follow-up, before a step has failed
LARGEST_EXPONENT = 60.0  # e^60 = 1e26 is more than any step may grow by
SHORTER = 0.95  # a step is shortened by a twentieth at a time, since the growth is no simple function of its length
SHORTENINGS = 400  # to 1e-9 of a step
ALIKE = 4  # points in a row whose steps are the same: three would happen by chance near the end
SAME_STEP = 0.01  # relative: on a monotone likelihood, a e^-bt, Newton's step is 1/b at every point
NOTED = 0.7
"""Change of a far record's predictor from which the fall of the curvature is its doing: its risk halves (e^-.7)."""
LONGEST_STRETCH = 3.0  # Newton steps: about -log(1 - .95) / .95, where `FASTEST` ends
FASTEST = 0.95  # fall of the curvature in one Newton step, as a logarithm; at one the slope would vanish nowhere


def reach(values: Floats) -> list[list[float]]:
    """Return how far each column's tails reach above and below, in its own unit, (columns, 2); at least `ORDINARY`.

    Parameters
    ----------
    values : ndarray of float, (rows, columns)
        Centred and scaled.
    """
    sides = [np.sum(np.maximum(sign * values, 0.0) ** ORDER, axis=0) ** (1.0 / ORDER) for sign in (1.0, -1.0)]
    steps = np.ceil(2.0 * np.log2(np.maximum(np.stack(sides, axis=1), ORDINARY)) - 1e-9)  # no step more for rounding
    return [[float(up), float(down)] for up, down in 2.0 ** (steps / 2.0)]


SHORT, LED_AWAY = 1e-3, 5e-3
"""Weighed: a Newton step that should leave a hundredth of itself at most, and where errors may lead that one."""
FALLEN = 0.25  # one that leaves more than a quarter did not
WHOLE = 0.1  # part of a step left out at most: half of one (`FIRST_STEP`) leaves the other half


@dataclass(frozen=True, slots=True)
class Tails:
    """How far the tails reach.

    Parameters
    ----------
    up, down : ndarray of float, (columns,)
        As `reach` returns them.
    """

    up: Floats
    down: Floats

    @classmethod
    def of(cls, pairs: Sequence[Sequence[float]]) -> Tails:
        """Return what the stations told."""
        both = np.array(pairs, dtype=np.float64).reshape(-1, 2)
        return cls(both[:, 0], both[:, 1])

    def weighed(self, move: Floats) -> float:
        """Return the largest change of a coefficient; up to twice that where the tail reaches further than an ordinary one."""
        return float(np.max(np.abs(move) * np.minimum(np.maximum(self.up, self.down) / ORDINARY, 2.0)))

    def at_floor(self, before: Floats, taken: Floats, after: Floats) -> bool:
        """Return whether a short Newton step led hardly nearer: what is left are the arithmetic's own errors, as Newton's method squares others.

        Parameters
        ----------
        before, taken, after : ndarray of float, (columns,)
            The Newton step from a point, what was taken of it, and the Newton step from there.

        Notes
        -----
        On a monotone likelihood steps are as long as one over the farthest value, no shorter than `SHORT`.
        """
        lengths = self.weighed(before), self.weighed(after)
        whole = self.weighed(taken - before) < WHOLE * lengths[0]
        return whole and lengths[0] < SHORT and FALLEN * lengths[0] < lengths[1] < LED_AWAY

    def reached(self, move: Floats) -> float:
        """Return the largest change of a coefficient, times the square of how far its tail reaches beyond an ordinary one: so fast may errors change."""
        return float(np.max(np.abs(move) * (np.maximum(self.up, self.down) / ORDINARY) ** 2))

    def largest(self, coefficients: Floats) -> float:
        """Return about the largest linear predictor of a record in a heavy tail, rather too large than too small."""
        parts = coefficients * np.where(coefficients > 0.0, self.up, -self.down)
        heavy = np.where(coefficients > 0.0, self.up, self.down) > ORDINARY
        return float(np.max(np.where(heavy, parts, 0.0), initial=0.0))

    def growth(self, here: Floats, move: Floats, ordinary: float, crowd: float) -> float:
        """Return the logarithm of what a risk-set sum may be multiplied by.

        Parameters
        ----------
        here, move : ndarray of float, (columns,)
            Coefficients now, and their change.
        ordinary : float
            The same of features without heavy tails.
        crowd : float
            How many times as frequent the records far away may be in a risk set as in all records.
        """
        before, after = self._risk(here, crowd), self._risk(here + move, crowd)
        grown = max(after - before, 0.0) / (1.0 + before)
        return float(np.log(np.exp(min(ordinary, LARGEST_EXPONENT)) + grown))

    def share(self, here: Floats, move: Floats, ordinary: float, crowd: float, widest: float) -> float:
        """Return the part of a step, at most 1, that keeps `growth` below `widest`.

        Nor shall it raise the linear predictor of records far away by more than `FARTHEST`, unless their risk stays below that of
        a record at the mean.
        """
        ends = np.where(move > 0.0, self.up, self.down)
        allowed = np.maximum(FARTHEST, -np.sign(move) * here * ends)
        rise = np.where(ends > ORDINARY, np.abs(move) * ends, 0.0)
        share = float(np.min(allowed / np.maximum(rise, 1e-300), initial=1.0))
        for _ in range(SHORTENINGS):
            if self.growth(here, share * move, share * ordinary, crowd) <= widest:
                break
            share *= SHORTER
        return share

    def stretched(self, move: Floats, taken: Floats, before: Floats, after: Floats) -> Floats:
        """Return a Newton step, longer in columns where the curvature falls because the risk of the records far away vanishes.

        Parameters
        ----------
        move, taken : ndarray of float, (columns,)
            The Newton step from here, and the step that led here.
        before, after : ndarray of float, (columns,)
            Diagonals of the information matrix before and after `taken`.

        Notes
        -----
        A curvature I exp(-k t) along t Newton steps (of length one) makes the slope vanish at t = -log(1 - k) / k.
        """
        ends = np.where(move < 0.0, self.up, self.down)
        falling = np.log(np.maximum(before, 1e-300) / np.maximum(after, 1e-300))
        chosen = (ends > ORDINARY) & (move * taken > 0.0) & (np.abs(move) * ends > NOTED) & (falling > 0.0)
        rate = np.clip(falling * np.abs(move) / np.maximum(np.abs(taken), 1e-300), 1e-6, FASTEST)
        return np.asarray(np.where(chosen, np.minimum(-np.log1p(-rate) / rate, LONGEST_STRETCH), 1.0) * move)

    def _risk(self, coefficients: Floats, crowd: float) -> float:
        """Return the total risk of the records far away, beside that of the others."""
        total = 0.0
        for sign, ends in ((1.0, self.up), (-1.0, self.down)):
            risks = np.exp(np.minimum(sign * coefficients * ends, LARGEST_EXPONENT))
            total += float(np.sum(np.where(ends > ORDINARY, np.minimum(crowd / ends**2, 1.0) * risks, 0.0)))
        return total


def check_runaway(gradients: Sequence[Floats], informations: Sequence[Floats], names: Sequence[str]) -> None:
    """Refuse features whose likelihood is monotone: slope and curvature fall together, as for an indicator without events.

    Parameters
    ----------
    gradients : sequence of ndarray, (features,)
        At the points so far, of the likelihood without penalty.
    informations : sequence of ndarray, (features, features)
        There.
    names : sequence of str
        Of the features.

    Raises
    ------
    ConvergenceError
        Naming them.
    """
    if len(gradients) <= ALIKE:
        return
    bends = np.array([np.maximum(np.diag(information), 1e-300) for information in informations[-ALIKE:]])
    steps = np.array(gradients[-ALIKE:]) / bends
    constant = np.ptp(steps, axis=0) <= SAME_STEP * np.min(np.abs(steps), axis=0)
    endless = constant & np.all(bends[1:] < bends[:-1] / 2.0, axis=0)
    if np.any(endless):
        named = ", ".join(name for name, flag in zip(names, endless, strict=True) if flag)
        raise ConvergenceError(
            f"the coefficients of {named} grow without limit (no event on one side of the feature); leave them out, merge categories "
            "or set a penalty"
        )
