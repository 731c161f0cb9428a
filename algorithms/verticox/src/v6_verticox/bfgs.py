"""Central's part of solver "bfgs": a block quasi-Newton method without line search.

After every step central learns the exact products of the curvature with all steps taken so far; the block BFGS update makes
its curvature matrix right on their span. Once the steps span all columns, it is the information matrix.

References
----------
Nocedal and Wright, Numerical Optimization, 2006, section 6.1; Schnabel, Quasi-Newton methods using multiple secant
equations, 1983 (block update).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fedbayes.federation import Federation
from fedbayes.federation.errors import ConvergenceError, PlacementError
from fedbayes.mpc.shared_fixed import expand_wide
from fedbayes.mpc.wide import Wide

from .messages import PredictReply, PredictRequest, ResidualReply, ResidualRequest
from .model import check_collinear, check_far
from .newton import FAR
from .options import FitOptions
from .seen_predictor import RESIDUAL_BITS
from .setup import Prepared
from .shared_newton import FEATURE_BITS
from .surface import FederatedSurface

Vector = npt.NDArray[np.float64]
LONGEST_STEP = 0.7
DEPENDENT = 1e-7


@dataclass(frozen=True, slots=True)
class Seen:
    """One evaluation: gradient, products of the curvature with the steps (features, steps), likelihood, baseline hazard."""

    gradient: Vector
    products: Vector
    log_likelihood: float
    hazard: Vector


@dataclass(frozen=True, slots=True)
class QuasiFit:
    """The solution, in the scale of the parties' columns."""

    coefficients: Vector
    information: Vector
    log_likelihood: float
    hazard: Vector
    steps: int
    exact_information: bool


class SeenPredictor:
    """Rounds of the solver: two for each evaluation."""

    def __init__(self, federation: Federation, prepared: Prepared, options: FitOptions) -> None:
        self.federation, self.prepared, self.plan, self.ties = federation, prepared, prepared.plan, options.ties
        self._keys: dict[int, bytes] = {}

    def evaluate(self, step: int, coefficients: Vector) -> Seen:
        """Evaluate at `coefficients`, the step-th point after zero."""
        plan, start, own = self.plan, 0, {}
        for member, width in zip(plan.holders, plan.widths, strict=True):
            own[member] = [float(value) for value in coefficients[start : start + width]]
            start += width
        owner = plan.holders[-1]
        asked = [m for m, width in zip(plan.holders[:-1], plan.widths[:-1], strict=True) if width]
        requests = {m: PredictRequest(plan, step, own[m], step == 1) for m in asked}
        requests[plan.helper] = PredictRequest(plan, step, [], False)
        predicted = self.federation.round("partial_predict", requests, list(requests), PredictReply)
        if step == 1:
            self._keys = {member: predicted[member].key for member in asked}
        request = ResidualRequest(
            plan,
            step,
            self.ties,
            {member: predicted[member].predictor for member in asked},
            {member: predicted[member].columns for member in asked if step == 1},
            own[owner],
            list(self.prepared.outcome.edge_rows),
        )
        reply = self.federation.round("partial_residuals", request, [owner], ResidualReply)[owner]
        return self._seen(reply, predicted[plan.helper].dealt)

    def _seen(self, reply: ResidualReply, dealt: npt.NDArray[np.uint64]) -> Seen:
        """Add the three terms of the products with the residual vectors."""
        plan = self.plan
        masked = Wide.from_words(reply.masked)
        masks = [
            expand_wide(self._keys[member], "columns", (plan.records, width))
            for member, width in zip(plan.holders[:-1], plan.widths[:-1], strict=True)
            if width
        ]
        products = (
            Wide.concatenate(masks).transposed_product(masked) + Wide.from_words(reply.shares) + Wide.from_words(dealt)
        )
        total = np.concatenate([products.decode(FEATURE_BITS + RESIDUAL_BITS), reply.own], axis=0)
        return Seen(total[:, 0], total[:, 1:], reply.log_likelihood, np.array(reply.hazard))


def solve_seen(federation: Federation, prepared: Prepared, options: FitOptions) -> QuasiFit:
    """Maximise the penalised log partial likelihood.

    Raises
    ------
    PlacementError
        When central runs where the outcome is.
    ConvergenceError
        When max_rounds are used up, or coefficients run away.
    """
    if federation.organization == prepared.plan.holders[-1]:
        raise PlacementError("solver='bfgs' must be started at another organization than the one with the outcome")
    surface = FederatedSurface(federation, prepared, options.max_rounds)
    rounds = SeenPredictor(federation, prepared, options)
    ridge = options.penalty / np.array(prepared.scales) ** 2
    gradient, curvature = surface.start().gradient, surface.information(0, False)
    if not ridge.any():
        check_collinear(curvature, prepared.names)
    first, beta, moves, step = curvature, np.zeros(len(ridge)), np.zeros((len(ridge), 0)), 0
    move = _shortened(curvature, ridge, gradient, beta, prepared.outcome.events)
    while True:
        step += 1
        if federation.rounds + 3 > options.max_rounds:
            raise ConvergenceError("no convergence within max_rounds; raise max_rounds, the tolerance or the penalty")
        beta, moves = beta + move, np.column_stack([moves, move])
        seen = rounds.evaluate(step, beta)
        curvature = block_update(first, moves, seen.products)
        check_far(beta, prepared.names, FAR)
        move = _shortened(curvature, ridge, seen.gradient, beta, prepared.outcome.events)
        if np.max(np.abs(move)) < 10.0 * options.tolerance:
            gain = float(seen.gradient @ move - move @ curvature @ move / 2.0)
            spanned = _span(moves)[0].shape[1] == len(ridge)
            return QuasiFit(beta + move, curvature, seen.log_likelihood + gain, seen.hazard, step, spanned)


def _shortened(curvature: Vector, ridge: Vector, gradient: Vector, beta: Vector, events: int) -> Vector:
    move = np.linalg.solve(curvature + np.diag(ridge), gradient - ridge * beta)
    spread = math.sqrt(max(float(move @ curvature @ move), 0.0) / events)
    return np.asarray(move * min(1.0, LONGEST_STEP / max(spread, 1e-300)))


def _span(moves: Vector) -> tuple[Vector, Vector]:
    """Return an orthonormal basis of the steps, and the combinations of (normalised) steps that give it."""
    left, values, right = np.linalg.svd(moves / np.linalg.norm(moves, axis=0), full_matrices=False)
    kept = values > DEPENDENT * values[0]
    return left[:, kept], right[kept].T / values[kept]


def block_update(first: Vector, moves: Vector, products: Vector) -> Vector:
    """Return the matrix nearest `first` in the sense of BFGS that maps the moves to the products.

    Parameters
    ----------
    first : ndarray, (features, features)
        Positive definite.
    moves, products : ndarray, (features, steps)
        ``products`` = information matrix times ``moves``.
    """
    basis, combinations = _span(moves)
    mapped = (products / np.linalg.norm(moves, axis=0)) @ combinations
    inner = basis.T @ mapped
    old = first @ basis
    removed = old @ np.linalg.solve(basis.T @ old, old.T)
    updated = first - removed + mapped @ np.linalg.solve((inner + inner.T) / 2.0, mapped.T)
    return np.asarray((updated + updated.T) / 2.0)
