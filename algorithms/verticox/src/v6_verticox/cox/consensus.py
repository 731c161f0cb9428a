"""The published solver: consensus ADMM on the linear predictors, for reproduction and comparison: what each role computes in an iteration.

Every party keeps beta_k and reports its predictor x_k beta_k; the aggregator keeps z (mean predictor) and the multiplier:

    beta_k  = (rho X_k' X_k)^-1 (X_k' (rho z_k - gamma) + u_k),   u_k = sum of x_k over the events
    z       = argmin  sum_t d_t log sum_{R_t} exp(K z) + K rho / 2 |z - mean predictor - gamma / rho|^2
    gamma   = gamma + rho (mean predictor - z),   z_k = z + x_k beta_k - mean predictor

That is the standard update of the multiplier, the same for all parties. The published program has another one,

    gamma_k = gamma + rho (mean predictor - z_k),   z_k = z + x_k beta_k + gamma_k / rho - mean(x_k beta_k + gamma_k / rho),

so that the parties' multipliers differ; their mean, and where the iteration ends, are the same. `Consensus` has both, each written as what the
party knows of its own predictors plus one vector that is the same for all parties.

The Hessian of the z-step is diagonal minus W C' Q C W, with C the suffix sums, W and Q diagonal: its system is banded in the
suffix and prefix sums, so a Newton step costs O(records) instead of the cube.

References
----------
Dai et al., VERTICOX, IEEE TKDE 2022, algorithm 1; van Daalen et al., Verticox+, 2025, equation 6.2; Boyd et al., Distributed
optimization by ADMM, 2011, section 7.3 (sharing).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbayes.typing import Floats

from .likelihood import RiskSets

RHO = (1e-6, 1e6)  # least and largest step parameter: 0.25 is usual, and a quotient by a smaller one has no number
NEWTON_STEPS = 50  # of the z-step: a bound; a start from the last z needs a few
SETTLED = 1e-12  # relative: the inner problem is solved to rounding, as the published iteration takes it to be


def auxiliary(risk: RiskSets, target: Floats, start: Floats, parties: int, rho: float) -> Floats:
    """Return the minimiser z of sum_t d_t log sum exp(K z) + K rho / 2 |z - target|^2, (records,), table order.

    Parameters
    ----------
    risk : RiskSets
        One stratum, Breslow ties.
    target, start : ndarray of float, (records,)
        Centre of the quadratic term; first value of z.
    parties : int
        K.
    rho : float
        Step parameter.
    """
    z, centre = start[risk.order].copy(), target[risk.order]
    counts = np.zeros(len(z))
    np.add.at(counts, risk.first, risk.event)
    for _ in range(NEWTON_STEPS):
        shift = float(np.max(parties * z))
        weight = np.exp(parties * z - shift)
        total = np.cumsum(weight[::-1])[::-1]
        hazard = np.cumsum(counts / total)
        slope = weight * hazard + rho * (z - centre)
        move = _solved(weight * hazard * parties + rho, weight, parties * counts / total**2, -slope)
        z = z + move
        if np.max(np.abs(move)) < SETTLED * max(1.0, float(np.max(np.abs(z)))):
            break
    result: Floats = np.empty_like(z)
    result[risk.order] = z
    return result


def _solved(diagonal: Floats, weight: Floats, kernel: Floats, right: Floats) -> Floats:
    """Solve (diagonal - W C' Q C W) x = right in O(n); C: suffix sums.

    With s = C W x and p = C' Q s: p_i - p_(i-1) = q_i s_i, and s_i - s_(i+1) = w_i (right_i + w_i p_i) / diagonal_i.
    The unknowns s_1, p_1, s_2, p_2, ... make a band of width two on either side.
    """
    from scipy.linalg import solve_banded

    rows = len(weight)
    band, known = np.zeros((5, 2 * rows)), np.zeros(2 * rows)
    sums, prefixes = np.arange(0, 2 * rows, 2), np.arange(1, 2 * rows, 2)
    band[2, sums], band[0, sums[1:]] = 1.0, -1.0
    band[1, prefixes] = -(weight**2) / diagonal
    known[sums] = weight * right / diagonal
    band[2, prefixes], band[4, prefixes[:-1]] = 1.0, -1.0
    band[3, sums] = -kernel
    prefix = solve_banded((2, 2), band, known)[prefixes]
    return np.asarray((right + weight * prefix) / diagonal)


@dataclass(slots=True)
class Consensus:
    """State of the aggregator: auxiliary variable, multiplier, and what all parties get.

    Parameters
    ----------
    update : str
        "standard" or "published" update of the multiplier.
    parties : int
    rho : float
    z, gamma, memory, sent : ndarray of float, (records,)
        `memory`: the mean predictors of earlier iterations with alternating signs ("published" only).
    """

    update: str
    parties: int
    rho: float
    z: Floats
    gamma: Floats
    memory: Floats
    sent: Floats

    @classmethod
    def start(cls, update: str, parties: int, rho: float, records: int) -> Consensus:
        """Return the state before the first iteration."""
        return cls(update, parties, rho, *(np.zeros(records) for _ in range(4)))

    def advance(self, risk: RiskSets, mean: Floats) -> tuple[float, float]:
        """Take the mean predictor of this iteration; return the norms of the primal and the dual residual."""
        before, rho = self.z, self.rho
        self.z = auxiliary(risk, mean + self.gamma / rho, self.z, self.parties, rho)
        self.gamma = self.gamma + rho * (mean - self.z)
        if self.update == "published":
            self.sent = rho * (self.z - 2.0 * mean) - self.gamma + 2.0 * self.memory
            self.memory = rho * mean - self.memory
        else:
            self.sent = rho * (self.z - mean) - self.gamma
        return float(np.linalg.norm(mean - self.z)), float(rho * np.linalg.norm(self.z - before))


def target(update: str, rho: float, sent: Floats, predictor: Floats, memory: Floats) -> tuple[Floats, Floats]:
    """Return a party's rho z_k - gamma_k, and its memory for the next iteration.

    Parameters
    ----------
    update : str
        As in `Consensus`.
    rho : float
        Step parameter.
    sent, predictor, memory : ndarray of float, (records,)
        From the aggregator; the party's own last predictor; those before it with alternating signs.
    """
    if update == "published":
        return sent + 2.0 * (rho * predictor + memory), -rho * predictor - memory
    return sent + rho * predictor, memory


def coefficients_step(columns: Floats, target: Floats, observed: Floats, rho: float) -> Floats:
    """Return a party's coefficients: rho X'X beta = X' target + u; `target` = rho z_k - gamma."""
    return np.asarray(np.linalg.solve(rho * columns.T @ columns, columns.T @ target + observed))
