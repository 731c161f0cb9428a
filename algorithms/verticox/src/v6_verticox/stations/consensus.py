"""The rounds of solver "admm": the published iteration, with the predictors inside a masked sum.

**Reveals** to the outcome holder: the total linear predictor of every record in every iteration (published: every party's own), of which with the result the
values of columns of few values follow (so nodes must let single records be predicted);
to the stations: rho (z - mean predictor) - multiplier, a number for every record that follows the outcome (as published).
**Assumes** that nobody uses these against the columns; for reproducing the published method, not for sensitive data.
"""

from __future__ import annotations

import numpy as np

from fedbayes.federation import Station, partial
from fedbayes.federation.errors import MessageError
from fedbayes.federation.guards.once import asked_once
from fedbayes.federation.messages.arrays import from_bytes
from fedbayes.typing import Floats

from ..cox.consensus import Consensus, coefficients_step, target
from ..cox.likelihood import RiskSets, evaluate_predictor
from ..messages.seen import LAST, AdmmReply, AdmmRequest, AuxiliaryReply, AuxiliaryRequest
from ..messages.setup import Plan
from .dealer import dealt
from .holder import ShareHolder
from .inputs import own_numbers
from .outcome import told_likelihood
from .seen import check_seen, masked_predictor, total_predictor
from .sums import masked_for

OTHER_PATH = "rho, the update or the sums over events of this fit were others before; start the job again"
"""Coefficients follow from these in every iteration, and the likelihood is told at each: others would be points of central's choice."""


@partial
def partial_admm(station: Station, request: AdmmRequest) -> AdmmReply:
    """Solve for the own coefficients; send the own predictor inside a masked sum.

    **Reveals** to the outcome holder the sum of all predictors, record by record; to central, at the end, this station's coefficients; the helper's and the
    outcome holder's letters let the share holders compute an information matrix. **Assumes** what the module says.
    """
    plan = request.plan
    check_seen(station, plan)
    if request.report:  # of a station's coefficients at many steps its columns follow
        asked_once(station, "report", request.step)
    zeros = np.zeros(plan.records)
    if station.organization == plan.helper:
        if request.report:
            return AdmmReply(None, None, None, dealt(station, plan, request.stages))
        return AdmmReply(
            masked_for(station, plan.holders[-1], zeros, f"predictor|{request.step}", plan), None, None, None
        )
    holder = ShareHolder(station, plan)
    if request.report:
        return _report(holder, request.step)
    if holder.owns_outcome:
        masked_for(station, plan.holders[-1], zeros, f"predictor|{request.step}", plan)
        return AdmmReply(None, None, None, None)
    multiplier = np.zeros(request.plan.records)
    if request.step > 1:
        owner = request.plan.holders[-1]
        if request.broadcast is None:
            raise MessageError("what the outcome holder sent is missing; start the job again")
        plain = station.unseal(owner, request.broadcast, f"broadcast|{request.step - 1}")
        multiplier = from_bytes(plain, "<f8")
        if multiplier.shape != (request.plan.records,):
            raise MessageError("what the outcome holder sent is not for as many records as there are; the job stops")
    predictor = _own_step(station, request, multiplier)
    return AdmmReply(masked_predictor(holder, request.step, predictor), None, None, None)


def _report(holder: ShareHolder, step: int) -> AdmmReply:
    """Return the coefficients of an iteration; the outcome holder enters risks and reciprocals there, masked."""
    station, coefficients, published = holder.station, np.zeros(0), None
    if holder.plan.widths[holder.index]:
        coefficients = station.kept(f"admm|{step}")["coefficients"]
    if holder.owns_outcome:
        total = station.kept(f"total|{step}")["predictor"]
        entries, _ = holder.sorter().seen_entries(holder.engine(LAST), LAST, total)
        holder.publish(LAST, entries)
        published = holder.seal_all(entries, f"published|{LAST}")
    released = holder.station.further(coefficients.tolist())
    return AdmmReply(None, released, published, None)


def _own_step(station: Station, request: AdmmRequest | AuxiliaryRequest, sent: Floats) -> Floats:
    """Return the own predictor after the coefficients' step; keep both. The path of a job follows from what it says first: central chooses no point of it."""
    asked_once(station, "path", [request.rho, request.update, request.observed], OTHER_PATH)
    columns, step, rho = station.kept("design")["values"], request.step, request.rho
    if not columns.shape[1]:
        return np.zeros(len(columns))
    zero = np.zeros(len(columns))
    before = station.kept(f"admm|{step - 1}") if step > 1 else {"predictor": zero, "memory": zero}
    wanted, memory = target(request.update, rho, sent, before["predictor"], before["memory"])
    beta = coefficients_step(columns, wanted, own_numbers(request.observed, columns.shape[1]), rho)
    station.keep(f"admm|{step}", predictor=columns @ beta, coefficients=beta, memory=memory)
    return np.asarray(columns @ beta)


@partial
def partial_auxiliary(station: Station, request: AuxiliaryRequest) -> AuxiliaryReply:
    """Update the auxiliary variable and the multiplier. The outcome holder only.

    **Reveals** to the other stations with features a number for every record that follows the outcome; to central the norms of the residuals and the log
    likelihood (of few records in steps). **Assumes** what the module says.
    """
    plan, step, rho = request.plan, request.step, request.rho
    holder = ShareHolder(station, plan)
    check_seen(station, plan)
    if not holder.owns_outcome:
        raise MessageError("only the outcome holder updates the auxiliary variable")
    asked_once(station, f"auxiliary|{step}", station.round_name)
    parties = _parties(plan)
    state = Consensus.start(request.update, parties, rho, plan.records)
    if step > 1:
        state = Consensus(request.update, parties, rho, **station.kept(f"auxiliary|{step - 1}"))
    total = total_predictor(holder, step, request.predictors) + _own_step(station, request, state.sent)
    outcome = station.kept("outcome")
    risk = RiskSets.of(outcome["time"], outcome["event"])
    station.keep(f"total|{step}", predictor=total)
    primal, dual = state.advance(risk, total / parties)
    station.keep(f"auxiliary|{step}", z=state.z, gamma=state.gamma, memory=state.memory, sent=state.sent)
    payload = state.sent.astype("<f8").tobytes()
    return AuxiliaryReply(
        {member: station.seal(member, payload, f"broadcast|{step}") for member in plan.senders},
        station.further(float(primal)),
        station.further(float(dual)),
        station.further(told_likelihood(risk, evaluate_predictor(risk, total)[0], station.policy.minimum_count)),
    )


def _parties(plan: Plan) -> int:
    """Return K: the stations that have features."""
    return sum(1 for width in plan.widths if width)
