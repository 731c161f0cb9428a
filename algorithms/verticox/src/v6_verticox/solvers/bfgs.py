"""Central's part of solver "bfgs": a block quasi-Newton method on the best combination of all steps taken.

After every step the outcome holder goes to the largest likelihood on the span of all steps, and central learns the exact products of the
curvature there with all of them; the block BFGS update makes its curvature matrix right on that span. Where the next step would gain little
the information matrix itself is computed on shares.

References
----------
Nocedal and Wright, Numerical Optimization, 2006, section 6.1; Schnabel, Quasi-Newton methods using multiple secant
equations, 1983 (block update).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fedbayes.federation import Broadcast, Federation, Sealed
from fedbayes.federation.errors import ConvergenceError, PlacementError, adding_up
from fedbayes.mpc.wide import Wide
from fedbayes.mpc.wires import expand_wide
from fedbayes.typing import Floats

from ..arguments import Fit
from ..cox.entering import numbers, present, solved
from ..cox.likelihood import check_collinear, check_far
from ..messages.private import MOST_SEEN
from ..messages.seen import RESIDUAL_BITS, PredictReply, PredictRequest, ResidualReply, ResidualRequest
from ..rounds.lockstep import Alone, alone
from ..rounds.setup import Prepared
from ..rounds.stages import sealed_parts
from ..rounds.surface import FederatedSurface
from ..shares.layout import FEATURE_BITS, Layout
from .newton import FAR
from .solution import SeenSolution

PRODUCTS = "products with the residual vectors"  # the step, as errors name it
LONGEST_STEP = 0.7  # deviations of the predictor: longer ones often lead where the curvature of the start says nothing
SMALL_SPREAD = 1e-3
"""Deviations left: nearer, one more step (two rounds) ends it, and a matrix of its own (three) is not worth it."""
GOOD_GAIN = 0.05  # of the way left before: a step that leaves more than a twentieth is slow, and the matrix itself worth its rounds
LAST_CHANCE = 50.0  # times the tolerance: taken without a further step where no rounds are left for one
DEPENDENT = 1e-7  # of the largest singular value: steps that repeat others, since products carry errors of about 2^-28


@dataclass(frozen=True, slots=True)
class Seen:
    """One evaluation.

    Parameters
    ----------
    combination : ndarray, (steps,)
        Of the steps so far, at which everything else is.
    gradient : ndarray, (features,)
    products : ndarray, (features, steps)
        Of the information matrix with the steps.
    log_likelihood : float
    hazard : ndarray, (edges,)
        Cumulative baseline hazard.
    published : Broadcast
        What an information matrix there needs, from the outcome holder.
    corrections : bytes
        The same from the dealer.
    """

    combination: Floats
    gradient: Floats
    products: Floats
    log_likelihood: float
    hazard: Floats
    published: Broadcast
    corrections: Sealed | None


class SeenPredictor:
    """Rounds of the solver: two for each evaluation, three for an information matrix there."""

    def __init__(self, federation: Federation, prepared: Prepared, options: Fit) -> None:
        self.federation, self.prepared, self.plan = federation, prepared, prepared.plan
        self.surface = FederatedSurface(Alone(federation), prepared, options.limit)
        self.searches = (
            options.penalty == 0.0
        )  # a penalty depends on coefficients, which the outcome holder must not know
        self._keys: dict[int, bytes] = {}

    def evaluate(self, step: int, coefficients: Floats) -> Seen:
        """Send the stations to `coefficients`, the step-th point after zero, and evaluate."""
        plan, own = self.plan, self.plan.split(coefficients)
        owner = plan.holders[-1]
        requests = {m: PredictRequest(plan, step, own[m], step == 1, []) for m in plan.senders}
        requests[plan.helper] = PredictRequest(plan, step, [], False, self.surface.seen_stages(step))
        requests[owner] = PredictRequest(plan, step, [], False, [])
        predicted = self.federation.round("partial_predict", requests, list(requests), PredictReply)
        if step == 1:
            self._keys = {member: key.value for member, key in ((m, predicted[m].key) for m in plan.senders) if key}
        request = ResidualRequest(
            plan,
            step,
            sealed_parts({member: reply.predictor for member, reply in predicted.items()}),
            sealed_parts({member: predicted[member].columns for member in plan.senders}),
            own[owner],
            list(self.prepared.outcome.edge_rows),
            self.searches,
        )
        reply = self.federation.round("partial_residuals", request, [owner], ResidualReply)[owner]
        return self._seen(step, reply, predicted[plan.helper])

    def _seen(self, step: int, reply: ResidualReply, dealt: PredictReply) -> Seen:
        """Add the three terms of the products with the residual vectors."""
        with adding_up(PRODUCTS):
            return self._added(step, reply, dealt)

    def _added(self, step: int, reply: ResidualReply, dealt: PredictReply) -> Seen:
        plan = self.plan
        masked = Wide.from_words(np.asarray(reply.masked.value))
        masks = [
            expand_wide(self._keys[member], "columns", (plan.records, width)) for member, width in plan.senders.items()
        ]
        shares = [Wide.from_words(np.asarray(part.value)) for part in (reply.shares, present(dealt.dealt, PRODUCTS))]
        products = Wide.concatenate(masks).transposed_product(masked) + shares[0] + shares[1]
        total = np.concatenate(
            [products.decode(FEATURE_BITS + RESIDUAL_BITS), np.asarray(reply.own_products.value)], axis=0
        )
        total = numbers(total, (Layout(plan).features, 1 + step), PRODUCTS)
        return Seen(
            numbers(reply.combination.value, (step,), PRODUCTS),
            total[:, 0],
            total[:, 1:],
            float(numbers(reply.log_likelihood.value, (), PRODUCTS)),
            numbers(reply.hazard.value, (len(self.prepared.outcome.edge_rows),), PRODUCTS, finite=False),
            reply.published,
            dealt.corrections,
        )


def solve_seen(federation: Federation, prepared: Prepared, options: Fit) -> SeenSolution:
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
    search = Search(SeenPredictor(federation, prepared, options), prepared, options)
    search.begin()
    while not search.settled:
        search.advance()
    return search.solution()


class Search:
    """A block quasi-Newton method; exact information matrices where it is slow, and at the end."""

    def __init__(self, rounds: SeenPredictor, prepared: Prepared, options: Fit) -> None:
        self.rounds, self.prepared, self.options = rounds, prepared, options
        self.ridge = options.penalty / np.array(prepared.scales) ** 2
        self.beta: Floats = np.zeros(len(self.ridge))
        self.moves: Floats = np.zeros((len(self.ridge), 0))
        self.step, self.settled, self.exact, self.final = 0, False, False, False

    def begin(self) -> None:
        """Evaluate at zero."""
        self.gradient = alone(self.rounds.surface.start()).gradient
        self.first = self.curvature = alone(self.rounds.surface.information(0, False))
        check_collinear(self.curvature, self.prepared.names, self.ridge)
        self._aim()

    def _aim(self) -> None:
        """Find the Newton step that remains here, and the deviation of the predictor along it."""
        slope = self.gradient - self.ridge * self.beta
        self.move = solved(self.curvature + np.diag(self.ridge), slope)
        self.spread = math.sqrt(max(float(self.move @ self.curvature @ self.move), 0.0) / self.prepared.outcome.events)

    def advance(self) -> None:
        """Go to the next point; ask for the information matrix there if the last step gained little, or is the last."""
        if not self._rounds_left(2) or self.step == MOST_SEEN:
            raise ConvergenceError("no convergence within max_rounds; raise max_rounds, the tolerance or the penalty")
        self.step += 1
        before = self.spread
        move = self.move * min(1.0, LONGEST_STEP / max(self.spread, 1e-300))
        self.seen = seen = self.rounds.evaluate(self.step, self.beta + move)
        self.moves = np.column_stack([self.moves, move])
        self.beta, self.gradient = self.moves @ seen.combination, seen.gradient
        check_far(self.beta, self.prepared.names, FAR)
        self.curvature, self.exact = block_update(self.first, self.moves, seen.products), False
        self.final = False
        self._aim()
        near = self._is_near()
        slow = self.spread > SMALL_SPREAD and self.spread > GOOD_GAIN * before
        if (near and self._rounds_left(3)) or (slow and self._rounds_left(3 + 2)):
            self.first = self.curvature = alone(
                self.rounds.surface.seen_information(self.step, seen.published, seen.corrections, near)
            )
            self.exact, self.final = True, near
            self._aim()
            near = self._is_near()
        enough = (
            10.0 if self._rounds_left(2) else LAST_CHANCE
        )  # a quasi-Newton step leaves less than a tenth of what it removes
        self.settled = near if self.exact else self._below(enough * self.options.tolerance)

    def _is_near(self) -> bool:
        """Say whether the next step is the last: so short that squaring it is enough, and that heavy tails change no standard error in it.

        Where no rounds are left for another step the former is enough.
        """
        limit = math.sqrt(self.options.tolerance) / 10.0
        heavy = self.prepared.tails.reached(self.move) > limit and self._rounds_left(2 + 3)
        return self._below(limit) and not heavy

    def _below(self, limit: float) -> bool:
        return bool(np.max(np.abs(self.move)) < limit)

    def _rounds_left(self, needed: int) -> bool:
        """Say whether that many rounds and the last one are left."""
        return self.rounds.federation.rounds + needed + 1 <= self.options.limit

    def solution(self) -> SeenSolution:
        """Return the solution."""
        gain = float(self.gradient @ self.move - self.move @ self.curvature @ self.move / 2.0)
        surface = self.rounds.surface
        return SeenSolution(
            self.beta + self.move,
            self.curvature,
            self.seen.log_likelihood + gain,
            surface.hazard if self.final and len(surface.hazard) else self.seen.hazard,
            self.step,
            surface.trend if self.final else None,
            self.exact or _span(self.moves)[0].shape[1] == len(self.ridge),
        )


def _span(moves: Floats) -> tuple[Floats, Floats]:
    """Return an orthonormal basis of the steps, and the combinations of (normalised) steps that give it."""
    left, values, right = np.linalg.svd(moves / _lengths(moves), full_matrices=False)
    kept = values > DEPENDENT * values[0]
    return left[:, kept], right[kept].T / values[kept]


def _lengths(moves: Floats) -> Floats:
    """Return the steps' lengths; 1 of a step of none."""
    lengths = np.linalg.norm(moves, axis=0)
    return np.where(lengths > 0.0, lengths, 1.0)


def block_update(first: Floats, moves: Floats, products: Floats) -> Floats:
    """Return the matrix nearest `first` in the sense of BFGS that maps the moves to the products.

    Parameters
    ----------
    first : ndarray, (features, features)
        Positive definite.
    moves, products : ndarray, (features, steps)
        ``products`` = information matrix times ``moves``. Where rounding has lost them, as of steps that a penalty in tiny units
        leaves next to nothing of, `first` is returned.
    """
    basis, combinations = _span(moves)
    mapped = (products / _lengths(moves)) @ combinations
    inner = basis.T @ mapped
    if not inner.size or not np.linalg.eigvalsh((inner + inner.T) / 2.0)[0] > 0.0:
        return first
    old = first @ basis
    removed = old @ solved(basis.T @ old, old.T)
    updated = first - removed + mapped @ solved((inner + inner.T) / 2.0, mapped.T)
    return np.asarray((updated + updated.T) / 2.0)
