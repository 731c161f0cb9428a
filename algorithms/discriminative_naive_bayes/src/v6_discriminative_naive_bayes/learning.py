"""Learning the weights: by L-BFGS on any objective, and at one station for federated averaging."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .likelihood import Evidence, loss_and_gradient
from .model import Floats

CORRECTIONS = 10
PUBLISHED_CORRECTIONS = 5


class _OutOfRounds(Exception):
    """The objective has been asked as often as allowed."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Where an optimisation stopped.

    Attributes
    ----------
    weights : ndarray
        The best seen.
    objective : list of float
        Objective of every evaluation, in order.
    converged : bool
        Whether it stopped by its tolerance.
    """

    weights: Floats
    objective: list[float]
    converged: bool


def minimise(
    objective: Callable[[Floats], tuple[float, Floats]], start: Floats, evaluations: int, tolerance: float
) -> Fit:
    """Minimise by scipy's L-BFGS-B with at most so many evaluations; return the best weights seen.

    Parameters
    ----------
    objective : callable
        Weights -> (value, gradient). In a federation every evaluation is one round.
    start : ndarray
        First weights.
    evaluations : int
        Exactly as many are made unless it converges before.
    tolerance : float
        Relative decrease, and largest gradient entry, at which it stops.
    """
    from scipy.optimize import minimize

    seen: list[float] = []
    best: list[Any] = [np.inf, start]

    def watched(weights: Floats) -> tuple[float, Floats]:
        if len(seen) >= evaluations:
            raise _OutOfRounds
        value, gradient = objective(weights)
        seen.append(float(value))
        if value < best[0]:
            best[:] = [value, weights.copy()]
        return value, gradient

    options = {"maxcor": CORRECTIONS, "maxfun": 10 * evaluations, "ftol": tolerance, "gtol": tolerance}
    try:
        done = minimize(watched, start, jac=True, method="L-BFGS-B", options=options)
        converged = bool(done.success)
    except _OutOfRounds:
        converged = False
    return Fit(best[1], seen, converged)


def regularised(value: float, gradient: Floats, weights: Floats, strength: float) -> tuple[float, Floats]:
    """Add ``strength/2 |weights - 1|^2``, whose centre is plain naive Bayes."""
    away = weights - 1.0
    return value + 0.5 * strength * float(away @ away), gradient + strength * away


def learn_locally(
    evidence: Evidence, start: Floats, labels: NDArray[Any], iterations: int, regularization: float
) -> Floats:
    """Return a station's weights after so many iterations of L-BFGS-B from `start`, as published (5 corrections, no bounds)."""
    from scipy.optimize import minimize

    rows = max(len(labels), 1)

    def objective(weights: Floats) -> tuple[float, Floats]:
        loss, gradient = loss_and_gradient(evidence, weights, labels)
        return regularised(loss / rows, gradient / rows, weights, regularization)

    options = {"maxiter": iterations, "maxcor": PUBLISHED_CORRECTIONS}
    done = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    return np.asarray(done.x, dtype=np.float64)
