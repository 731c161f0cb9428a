"""Accounting: pure epsilon and zero-concentrated differential privacy (zCDP), conversions both ways, and splits of a budget.

Sequential composition adds: the epsilons of pure mechanisms, the rhos of zCDP ones. Releases over disjoint rows (classes, parties) cost the largest
only (`parallel`), under add_remove; under replace_one a row can leave one part for another, so there they cost twice the largest.

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
from .sensitivity import check_neighbors

__all__ = [
    "SMALLEST_SHARE",
    "PrivacyLoss",
    "compose",
    "distributed_gaussian_rho",
    "distributed_gaussian_sigma",
    "epsilon_to_rho",
    "gaussian_scale",
    "parallel",
    "pure_to_rho",
    "rho_to_epsilon",
    "split",
]

SMALLEST_SHARE = 0.5
"""Least standard deviation of one party's share of discrete Gaussian noise: the bound of Kairouz et al. is for shares of at least that."""

_STEPS = 200


@dataclass(frozen=True, slots=True)
class PrivacyLoss:
    """One release's loss: pure (epsilon), or zCDP (rho); exactly one of them is not None."""

    epsilon: float | None = None
    rho: float | None = None

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.rho is None):
            raise ValueError("epsilon, rho: give exactly one of them")
        positive("epsilon" if self.rho is None else "rho", self.epsilon if self.rho is None else self.rho)  # type: ignore[arg-type]

    @property
    def concentrated(self) -> float:
        """The loss as a zCDP parameter rho."""
        return self.rho if self.rho is not None else pure_to_rho(self.epsilon or 0.0)


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
        With only pure losses the better of their sum (then delta is 0) and the conversion through zCDP.

    Raises
    ------
    ValueError
        If delta is 0 although a loss is not pure.
    """
    events = list(losses)
    probability("delta", delta, zero=True)
    pure = all(event.epsilon is not None for event in events)
    total = math.fsum(event.epsilon or 0.0 for event in events)
    if pure and delta == 0.0:
        return total, 0.0
    if delta == 0.0:
        raise ValueError("delta: a Gaussian release needs a delta above 0")
    converted = rho_to_epsilon(math.fsum(event.concentrated for event in events), delta) if events else 0.0
    return (total, 0.0) if pure and total <= converted else (converted, delta)


def parallel(epsilons: Sequence[float], neighbors: str) -> float:
    """Return the epsilon of releases from disjoint sets of rows: the largest, or the sum of the two largest under replace_one."""
    ordered = sorted(epsilons, reverse=True)
    return math.fsum(ordered[:1] if check_neighbors(neighbors) == "add_remove" else ordered[:2])


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


def epsilon_to_rho(epsilon: float, delta: float) -> float:
    """Return the largest rho that `rho_to_epsilon` converts to at most epsilon at this delta (bisection, rounded down)."""
    epsilon, delta = positive("epsilon", epsilon), probability("delta", delta)
    low, high = 0.0, epsilon + 1.0
    while rho_to_epsilon(high, delta) < epsilon:
        high *= 2.0
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        if middle in (low, high):
            break
        low, high = (middle, high) if rho_to_epsilon(middle, delta) <= epsilon else (low, middle)
    return low


def gaussian_scale(sensitivity: float, rho: float) -> float:
    """Return the standard deviation that makes a release of that L2 sensitivity rho-zCDP: sensitivity / sqrt(2 rho)."""
    return positive("sensitivity", sensitivity) / math.sqrt(2.0 * positive("rho", rho))


def distributed_gaussian_rho(sigma: float, honest: int, sensitivity: float, cells: int) -> float:
    """Return the rho of a sum that carries `honest` discrete Gaussian shares of total standard deviation `sigma`.

    Parameters
    ----------
    sigma : float
        Standard deviation of the honest parties' noise together; each adds sigma / sqrt(honest).
    honest : int
        Number of honest parties, at least 1.
    sensitivity : float
        L2 sensitivity of the integer vector.
    cells : int
        Length of the vector.

    Returns
    -------
    float
        Infinite where several parties share the noise and the share of one is below `SMALLEST_SHARE`: there the bound does not hold.

    References
    ----------
    Kairouz, Liu, Steinke, The Distributed Discrete Gaussian Mechanism, 2021, theorem 1: epsilon^2 / 2 with epsilon the smaller of
    sqrt(sensitivity^2/sigma^2 + cells tau / 2) and sensitivity/sigma + sqrt(cells) tau, tau = 10 sum_k exp(-2 pi^2 sigma_i^2 k/(k+1)).
    """
    own_variance = positive("sigma", sigma) ** 2 / honest
    if honest > 1 and own_variance < SMALLEST_SHARE**2 * (1.0 - 1e-12):
        return math.inf
    excess = 10.0 * math.fsum(math.exp(-2.0 * math.pi**2 * own_variance * k / (k + 1)) for k in range(1, honest))
    ratio = positive("sensitivity", sensitivity) / sigma
    epsilon = min(math.sqrt(ratio**2 + excess * cells / 2.0), ratio + math.sqrt(cells) * excess)
    return epsilon**2 / 2.0


def distributed_gaussian_sigma(sensitivity: float, rho: float, honest: int, cells: int) -> float:
    """Return the smallest standard deviation (to 1 %) with which the honest parties' shares together are a rho-zCDP release.

    Parameters
    ----------
    sensitivity : float
        L2 sensitivity of the integer vector.
    rho : float
        What the release may cost.
    honest, cells : int
        As for `distributed_gaussian_rho`.

    Returns
    -------
    float
        At least `SMALLEST_SHARE` times the root of `honest`, where that is more than one.
    """
    sigma = gaussian_scale(sensitivity, rho)
    if honest > 1:
        sigma = max(sigma, SMALLEST_SHARE * math.sqrt(honest))
    while distributed_gaussian_rho(sigma, honest, sensitivity, cells) > rho:
        sigma *= 1.01
    return sigma


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
