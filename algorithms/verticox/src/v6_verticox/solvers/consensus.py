"""Central's part of solver "admm": iterate until both residuals are small; then exact standard errors on shares."""

from __future__ import annotations

from fedbayes.federation import Federation, Sealed
from fedbayes.federation.errors import ConvergenceError, PlacementError

from ..arguments import Fit
from ..cox.entering import numbers, present
from ..cox.likelihood import check_collinear
from ..messages.seen import LAST, MOST_ITERATIONS, AdmmReply, AdmmRequest, AuxiliaryReply, AuxiliaryRequest
from ..rounds.lockstep import Alone, alone
from ..rounds.setup import Prepared
from ..rounds.stages import sealed_parts
from ..rounds.surface import FederatedSurface
from .solution import SeenSolution

LAST_ROUNDS = 7
"""Two of a further iteration, one for the coefficients, three for the information matrix, one for the mean."""


COEFFICIENTS = "coefficients of the last iteration"
"""The step, as errors name it."""


def solve_consensus(federation: Federation, prepared: Prepared, options: Fit) -> SeenSolution:
    """Run the published iteration: two rounds each.

    Raises
    ------
    PlacementError
        When central runs where the outcome is.
    ConvergenceError
        When max_rounds are used up.
    ArgumentError
        When features of several stations are collinear.
    """
    plan, rho = prepared.plan, options.rho
    if federation.organization == plan.holders[-1]:
        raise PlacementError("solver='admm' must be started at another organization than the one with the outcome")
    surface = FederatedSurface(Alone(federation), prepared, options.limit)
    sums = plan.split(alone(surface.observed()))
    owner, asked, step = plan.holders[-1], list(plan.senders), 0
    broadcast: dict[int, Sealed] = {}
    while True:
        step += 1
        if step > MOST_ITERATIONS or federation.rounds + LAST_ROUNDS > options.limit:
            more = "max_rounds or " if step <= MOST_ITERATIONS else ""
            raise ConvergenceError(
                f"no convergence within max_rounds, or {MOST_ITERATIONS} iterations; raise {more}the tolerance"
            )
        requests = {
            m: AdmmRequest(plan, step, rho, sums[m], broadcast.get(m), False, options.gamma_update, []) for m in asked
        }
        nothing = AdmmRequest(plan, step, rho, [], None, False, options.gamma_update, [])
        requests.update({owner: nothing, plan.helper: nothing})
        replies = federation.round("partial_admm", requests, [*asked, owner, plan.helper], AdmmReply)
        sealed = sealed_parts({member: reply.predictor for member, reply in replies.items()})
        request = AuxiliaryRequest(plan, step, rho, sums[owner], sealed, options.gamma_update)
        state = federation.round("partial_auxiliary", request, [owner], AuxiliaryReply)[owner]
        broadcast = state.broadcast
        if max(state.primal.value, state.dual.value) <= options.tolerance:
            break
    stages = surface.seen_stages(LAST)
    report = AdmmRequest(plan, step, rho, [], None, True, options.gamma_update, stages)
    last_replies = federation.round("partial_admm", report, [*asked, owner, plan.helper], AdmmReply)
    coefficients = [last_replies[member].coefficients for member in plan.holders if member in last_replies]
    values = [value for part in coefficients if part is not None for value in part.value]
    beta = numbers(values, (len(prepared.names),), COEFFICIENTS)
    published = present(last_replies[owner].published, COEFFICIENTS)
    corrections = last_replies[plan.helper].corrections
    information = alone(surface.seen_information(LAST, published, corrections, True))
    check_collinear(information, prepared.names)
    likelihood = float(numbers(state.log_likelihood.value, (), COEFFICIENTS))
    return SeenSolution(beta, information, likelihood, surface.hazard, step)
