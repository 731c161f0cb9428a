"""L-BFGS that asks for several points in one round: in a federation a round is dear, and further points in it are nearly free.

Each round evaluates loss and gradient at some steps along the quasi-Newton direction and at a blend of it with the scaled gradient. The best
point is kept, and **all** differences of points and gradients become curvature pairs, so that a round teaches as much as several iterations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from fedbayes.typing import Floats, Integers

from .learning import Fit
from .model import LARGEST_WEIGHT, Layout, Tables

Objective = Callable[[Floats], tuple[Floats, Floats]]

FIRST_STEPS = (0.25, 1.0, 4.0, 16.0)
"""Before any curvature is known: two powers of four either way of the expected step."""
STEPS = ((1.0, 0.0), (2.0, 0.0), (0.5, 0.5), (0.5, 0.0))
"""Parts of the quasi-Newton and of the scaled gradient's direction: the whole, twice and half of the first, and a blend."""
MOST_PAIRS = 80  # of curvature: those of some twenty rounds of four points
RECENT_PAIRS = 6  # the scale of the curvature is taken of those of about the last two rounds
DAMPING = 0.01  # curvature of values all of whose records are of one class, and the least part of the mean one: steps stay bounded
FLATTEST = 1e-10  # cosine of step and change of the gradient below which a pair tells of rounding


@dataclass(frozen=True, slots=True)
class Point:
    """Weights, and objective and gradient there."""

    weights: Floats
    value: float
    gradient: Floats


@dataclass(slots=True)
class Memory:
    """What is known of the curvature.

    Attributes
    ----------
    diagonal : ndarray (parameters,)
        Expected second derivatives, up to a factor; positive.
    pairs : list of (step, change of the gradient)
        The latest last.
    """

    diagonal: Floats
    pairs: list[tuple[Floats, Floats]] = field(default_factory=list)

    def learn(self, newest: Point, others: list[Point]) -> None:
        """Keep the pairs from each other point to the newest; a pair without curvature is left out."""
        for other in others:
            step, change = newest.weights - other.weights, newest.gradient - other.gradient
            if step @ change > FLATTEST * np.linalg.norm(step) * np.linalg.norm(change):
                self.pairs.append((step, change))
        del self.pairs[:-MOST_PAIRS]

    def steps(self, gradient: Floats) -> Floats:
        """Return the steps to try, float64 (points, parameters)."""
        if not self.pairs:
            scale = max(2.0 * float(np.linalg.norm(gradient / np.sqrt(self.diagonal))), FLATTEST)
            return np.outer(FIRST_STEPS, -gradient / (self.diagonal * scale))
        recent = self.pairs[-RECENT_PAIRS:]
        factor = float(np.median([(change @ (change / self.diagonal)) / (step @ change) for step, change in recent]))
        newton = self._newton(gradient, self.diagonal * factor)
        plain = -gradient / self.diagonal
        plain *= np.linalg.norm(newton) / max(float(np.linalg.norm(plain)), 1e-300)
        return np.asarray(np.array(STEPS) @ np.stack([newton, plain]))

    def _newton(self, gradient: Floats, diagonal: Floats) -> Floats:
        """Return minus the inverse curvature times the gradient (Nocedal and Wright, algorithm 7.4)."""
        left = gradient.copy()
        shares = []
        for step, change in reversed(self.pairs):
            share = (step @ left) / (step @ change)
            shares.append(share)
            left -= share * change
        left /= diagonal
        for (step, change), share in zip(self.pairs, reversed(shares), strict=True):
            left += step * (share - (change @ left) / (step @ change))
        return np.asarray(-left)


def minimise(objective: Objective, start: Floats, rounds: int, tolerance: float, diagonal: Floats | None = None) -> Fit:
    """Minimise a smooth function; return the best weights seen.

    Parameters
    ----------
    objective : callable
        Weights (points, parameters) -> (values (points,), gradients (points, parameters)). In a federation every call is one round.
    start : ndarray (parameters,)
        First weights.
    rounds : int
        Calls at most.
    tolerance : float
        Decrease, relative to the larger of the value and 1, and largest gradient entry, at which it stops.
    diagonal : ndarray (parameters,), optional
        See `Memory`.
    """
    memory = Memory(np.ones_like(start) if diagonal is None else diagonal)
    here = _ask(objective, start[None])[0]
    path, reach = [here.value], 1.0
    for _ in range(rounds - 1):
        if np.abs(here.gradient).max() <= tolerance:
            return Fit(here.weights, path, True)
        tried = here.weights + reach * memory.steps(here.gradient)
        points = _ask(objective, np.clip(tried, -LARGEST_WEIGHT, LARGEST_WEIGHT))
        best = min(points, key=lambda point: point.value)
        better = best.value < here.value
        newest = best if better else here
        others = sorted((point for point in points if point is not newest), key=lambda point: -point.value)
        memory.learn(newest, [*others, here] if better else others)
        decrease = here.value - newest.value
        reach = 1.0 if better else reach / 4.0
        here = newest
        path.append(here.value)
        if better and decrease <= tolerance * max(abs(here.value), 1.0):
            return Fit(here.weights, path, True)
    return Fit(here.weights, path, False)


def _ask(objective: Objective, weights: Floats) -> list[Point]:
    values, gradients = objective(weights)
    return [Point(*point) for point in zip(weights, values.tolist(), gradients, strict=True)]


def expected_curvature(layout: Layout, tables: Tables, counts: Integers) -> Floats:
    """Return what the tables alone say of the objective's second derivatives: a start for `Memory`.

    Parameters
    ----------
    layout : Layout
        Sizes.
    tables : Tables
        Of all stations.
    counts : ndarray (layout.counts,)
        Of all stations.
    """
    classes = layout.classes
    sizes = np.maximum(counts[:classes], 0).astype(np.float64)
    rows = max(float(sizes.sum()), 1.0)
    prior = sizes / rows
    by_class = np.maximum(counts[classes : classes * (1 + layout.values)], 0).reshape(layout.values, classes)
    seen = by_class.sum(axis=1, keepdims=True)
    share = by_class / np.maximum(seen, 1)
    said = np.square(tables.single)
    said[layout.values - layout.gaussians :] = 1.0
    values = said * seen / rows * (share * (1.0 - share) + DAMPING)
    diagonal = layout.gather(np.square(tables.base) * prior * (1.0 - prior), values)
    return np.asarray(diagonal + DAMPING * diagonal.mean() + FLATTEST)
