"""Learning the weights at one station, for federated averaging; and what every way of learning returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fedbayes.typing import Array, Floats

from .likelihood import Evidence, loss_and_gradient

PUBLISHED_CORRECTIONS = 5  # of the authors' code


@dataclass(frozen=True, slots=True)
class Fit:
    """Where an optimisation stopped.

    Attributes
    ----------
    weights : ndarray
        The best seen.
    objective : list of float
        Best objective so far after every round, in order.
    converged : bool or None
        Whether it stopped by its tolerance; None of noisy steps, whose number is fixed beforehand.
    """

    weights: Floats
    objective: list[float]
    converged: bool | None


def regularised(value: Any, gradient: Floats, weights: Floats, strength: float) -> tuple[Any, Floats]:
    """Add ``strength/2 |weights - 1|^2``, whose centre is plain naive Bayes; the last axis is that of the parameters."""
    away = weights - 1.0
    return value + 0.5 * strength * np.square(away).sum(axis=-1), gradient + strength * away


def learn_locally(evidence: Evidence, start: Floats, labels: Array, iterations: int, regularization: float) -> Floats:
    """Return a station's weights after so many iterations of L-BFGS-B from `start`, as published (5 corrections, no bounds)."""
    from scipy.optimize import minimize

    rows = max(len(labels), 1)

    def objective(weights: Floats) -> tuple[float, Floats]:
        loss, gradient = loss_and_gradient(evidence, weights, labels)
        return regularised(loss / rows, gradient / rows, weights, regularization)

    options = {"maxiter": iterations, "maxcor": PUBLISHED_CORRECTIONS}
    done = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    return np.asarray(done.x, dtype=np.float64)
