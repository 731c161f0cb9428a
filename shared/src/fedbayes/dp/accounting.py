"""Accounting: pure epsilon and Gaussian noise, how they compose, and splits of a budget.

Sequential composition adds the epsilons of pure mechanisms and the squares of the mu of Gaussian ones (:mod:`fedbayes.dp.gaussian`).
Releases over disjoint rows (classes, parties) cost the largest only (`parallel`), under add_remove; under replace_one a row can leave one part for
another, so there they cost twice the largest.

References
----------
Bun, Steinke, Concentrated differential privacy: simplifications, extensions, and lower bounds, 2016.
Canonne, Kamath, Steinke, The Discrete Gaussian for Differential Privacy, 2020, proposition 12.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .checks import positive, probability
from .gaussian import epsilon_of

_STEPS = 200  # golden-section steps; the bracket is at rounding error after about 75


@dataclass(frozen=True, slots=True)
class PrivacyLoss:
    """One release's loss: pure (epsilon), or Gaussian (mu); exactly one of them is not None.

    `excess` is how far, as a logarithm, the law of Gaussian noise that is drawn in shares may be from the one that mu is for (`gaussian.sum_excess`).
    """

    epsilon: float | None = None
    mu: float | None = None
    excess: float = 0.0

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.mu is None):
            raise ValueError("epsilon, mu: give exactly one of them")
        positive("epsilon" if self.mu is None else "mu", self.epsilon if self.mu is None else self.mu)  # type: ignore[arg-type]


def compose(losses: Iterable[PrivacyLoss], delta: float = 0.0) -> tuple[float, float]:
    """Return (epsilon, delta) of releases from the same rows, one after another.

    Parameters
    ----------
    losses : iterable of PrivacyLoss
        In any order.
    delta : float
        Probability allowed for the conversion; 0 permits pure losses only.

    Returns
    -------
    (float, float)
        Gaussian losses compose exactly, and the sum of the pure ones is added; or, of pure ones alone, what the conversion through
        zero-concentrated differential privacy (zCDP) gives if that is better. With only pure losses and no delta, delta is 0.

    Raises
    ------
    ValueError
        If delta is 0 although a loss is not pure.
    """
    events = list(losses)
    probability("delta", delta, zero=True)
    total = math.fsum(event.epsilon or 0.0 for event in events)
    square = math.fsum((event.mu or 0.0) ** 2 for event in events)
    if square:
        if delta == 0.0:
            raise ValueError("delta: a Gaussian release needs a delta above 0")
        excess = math.fsum(event.excess for event in events)
        return total + 2.0 * excess + epsilon_of(math.sqrt(square), delta * math.exp(-excess)), delta
    if not events or delta == 0.0:
        return total, 0.0
    converted = rho_to_epsilon(math.fsum(pure_to_rho(event.epsilon or 0.0) for event in events), delta)
    return (total, 0.0) if total <= converted else (converted, delta)


def pure_to_rho(epsilon: float) -> float:
    """Return the rho of an epsilon-differentially private release: epsilon^2 / 2 (Bun and Steinke, proposition 1.4)."""
    return epsilon * epsilon / 2.0


def rho_to_epsilon(rho: float, delta: float) -> float:
    """Return the smallest known epsilon such that rho-zCDP implies (epsilon, delta)-differential privacy.

    Notes
    -----
    The minimum over alpha > 1 of alpha rho + ln(1/(alpha delta))/(alpha - 1) + ln(1 - 1/alpha), found by golden section over ln(alpha - 1);
    every alpha is valid, so an inexact minimum errs on the safe side. At most rho + 2 sqrt(rho ln(1/delta)).
    """
    rho, delta = positive("rho", rho), probability("delta", delta)

    def bound(log_order: float) -> float:
        excess = math.exp(log_order)  # alpha - 1
        alpha = 1.0 + excess
        return alpha * rho - (math.log(delta) + math.log(alpha)) / excess + math.log(excess) - math.log(alpha)

    low, high = -12.0, 40.0
    golden = (math.sqrt(5.0) - 1.0) / 2.0
    for _ in range(_STEPS):
        left, right = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, right) if bound(left) < bound(right) else (left, high)
    classic = rho + 2.0 * math.sqrt(rho * math.log(1.0 / delta))
    return max(0.0, min(bound((low + high) / 2.0), classic))


def split(total: float, weights: Sequence[float]) -> tuple[float, ...]:
    """Return parts of a budget in proportion to the weights; their sum is never above the total.

    Parameters
    ----------
    total : float
        Epsilon (or rho) to divide.
    weights : sequence of float
        Positive; equal weights give the papers' equal split.

    Raises
    ------
    ValueError
        If there is no weight, or the total or a weight is not positive.
    """
    total = positive("total", total)
    if not weights:
        raise ValueError("weights: give at least one")
    whole = math.fsum(positive("weights", weight) for weight in weights)
    parts = [total * weight / whole for weight in weights]
    while math.fsum(parts) > total:
        parts = [math.nextafter(part, 0.0) for part in parts]
    return tuple(parts)
