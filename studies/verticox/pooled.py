"""The published solver with all parties in one process: what its aggregator sees, and how far it comes in how many iterations.

References
----------
Dai et al., VERTICOX, IEEE TKDE 2022, algorithm 1; van Daalen et al., Verticox+, 2025, equation 6.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from fedbayes.typing import Floats
from v6_verticox.cox.consensus import Consensus, coefficients_step, target
from v6_verticox.cox.likelihood import RiskSets


@dataclass
class Views:
    """What the published aggregator receives (`predictors`), and the coefficients that it may come to know."""

    predictors: list[list[Floats]] = field(default_factory=list)
    coefficients: list[list[Floats]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class AdmmFit:
    """Coefficients of every party, and the norms of the primal and dual residuals at the end."""

    coefficients: list[Floats]
    primal: float
    dual: float
    iterations: int


def fit(
    blocks: Sequence[Floats],
    risk: RiskSets,
    rho: float = 0.25,
    iterations: int = 500,
    tolerance: float = 0.0,
    views: Views | None = None,
    update: str = "standard",
) -> AdmmFit:
    """Run the published protocol with all parties in one process.

    Parameters
    ----------
    blocks : sequence of ndarray, (records, columns of the party)
        Centred columns.
    risk : RiskSets
        One stratum, Breslow ties.
    rho : float
        Step parameter.
    iterations : int
        Most iterations.
    tolerance : float
        Stop when both residual norms are at most this.
    views : Views, optional
        Filled with what the aggregator sees.
    update : str
        "standard" or "published" update of the multiplier.
    """
    parties, records = len(blocks), len(risk.order)
    event = np.empty(records)
    event[risk.order] = risk.event
    observed = [block.T @ event for block in blocks]
    beta = [np.zeros(block.shape[1]) for block in blocks]
    predictors, memories = [np.zeros(records) for _ in blocks], [np.zeros(records) for _ in blocks]
    state = Consensus.start(update, parties, rho, records)
    primal = dual = np.inf
    done = 0
    for done in range(1, iterations + 1):  # noqa: B007
        both = [target(update, rho, state.sent, own, m) for own, m in zip(predictors, memories, strict=True)]
        memories = [memory for _, memory in both]
        beta = [coefficients_step(b, t, u, rho) for b, (t, _), u in zip(blocks, both, observed, strict=True)]
        predictors = [block @ own for block, own in zip(blocks, beta, strict=True)]
        if views is not None:
            views.predictors.append(predictors)
            views.coefficients.append(beta)
        primal, dual = state.advance(risk, np.mean(predictors, axis=0))
        if max(primal, dual) <= tolerance:
            break
    return AdmmFit(beta, primal, dual, done)
