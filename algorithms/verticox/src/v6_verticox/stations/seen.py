"""The rounds of solver "bfgs": the outcome holder sees the total linear predictor of every record, and of no column more than follows from it.

Central knows the coefficients and must not be the outcome holder. A station k opens its columns X_k once, less a mask A_k, to the
outcome holder; central and the dealer know A_k. The outcome holder has residual vectors U (martingale residuals, and the curvature's products
with earlier steps), and shows central U less a mask B, which the dealer knows. Then

    X_k' U = (X_k - A_k)' U + A_k' (U - B) + A_k' B
             outcome holder   central        dealer

The first and the last term are sent under a mask that cancels, so that central learns their sum alone.

The outcome holder knows the predictor along every step, so it finds the combination of all steps with the largest likelihood by itself;
all the above is taken there. It also enters risks and reciprocals there, masked: where central asks, the stations compute the information
matrix of them on shares, in three rounds, by the last stages of the private solver.

**Reveals** to the outcome holder: the sum of all linear predictors, record by record, at every step; one station's, where only one other station
has features; with the coefficients of the result, if it has these, the values of columns of few values (so nodes must let single records be predicted).
To central: the combination (a number a step); X' U, which is gradient and curvature along the steps taken; the information matrix where it asks; the
baseline hazard at a few times, in steps (`cox.coarse`). To the dealer: nothing.
**Assumes** that central and the outcome holder do not pool what they see: coefficients and predictors of as many steps as
columns together give the columns.
"""

from __future__ import annotations

import numpy as np

from fedbayes.federation import Sealed, Station, partial
from fedbayes.federation.errors import DataProblem, MessageError
from fedbayes.federation.guards.once import asked_once
from fedbayes.mpc.wide import Wide
from fedbayes.mpc.wires import expand_wide
from fedbayes.typing import Floats, Words

from ..cox.coarse import coarse
from ..cox.likelihood import RiskSets, curvature_product, evaluate_predictor
from ..cox.subspace import maximised
from ..messages.seen import RESIDUAL_BITS, PredictReply, PredictRequest, ResidualReply, ResidualRequest
from ..messages.setup import Plan
from ..shares.layout import FEATURE_BITS
from ..shares.travel import pack
from .dealer import dealt
from .holder import PURPOSE, ShareHolder
from .inputs import own_numbers
from .outcome import told_likelihood
from .sums import masked_for, received

LARGEST = 2.0**20
"""With `SUM_BITS` fractional bits a sum of four such still fits 64 bits; no predictor of scaled columns is near it."""


def columns_key(station: Station, peer: int) -> bytes:
    """Return the key of a station's column mask, shared with the helper and told to central."""
    return station.channel.key(peer, f"{PURPOSE}|columns")


@partial
def partial_predict(station: Station, request: PredictRequest) -> PredictReply:
    """Send the own linear predictor inside a masked sum; the helper deals.

    **Reveals** to the outcome holder the sum of the predictors, record by record, and once the columns under a mask; to central the key of that mask.
    **Assumes** what the module says.
    """
    plan, owner, topic = request.plan, request.plan.holders[-1], f"predictor|{request.step}"
    check_seen(station, plan)
    if station.organization == plan.helper:
        corrections = dealt(station, plan, request.stages)
        part = masked_for(station, owner, np.zeros(plan.records), topic, plan)
        return PredictReply(part, None, None, station.share(_dealt(station, plan, request.step)), corrections)
    holder = ShareHolder(station, plan)
    if holder.owns_outcome:
        masked_for(station, owner, np.zeros(plan.records), topic, plan)
        return PredictReply(None, None, None, None, None)
    values = station.kept("design")["values"]
    sealed = masked_predictor(holder, request.step, values @ own_numbers(request.coefficients, values.shape[1]))
    if not request.columns:
        return PredictReply(sealed, None, None, None, None)
    key = columns_key(station, plan.helper)
    opened = Wide.encode(values, FEATURE_BITS) - expand_wide(key, "columns", values.shape)
    columns = station.seal(owner, pack({"columns": opened}), "columns")
    return PredictReply(sealed, columns, station.share(key), None, None)


def check_seen(station: Station, plan: Plan) -> None:
    """Refuse where single records may not be predicted, or central, which knows coefficients, runs where their predictors are seen.

    Who sees the predictors needs no coefficients of the steps: with those of the result the values of columns that have few follow, record by record.

    Raises
    ------
    PolicyError
        If this node does not let single records be predicted.
    MessageError
        If the job did not announce it, or central runs at the outcome holder's.
    """
    station.require_predictions()
    if station.aggregator == plan.holders[-1]:
        raise MessageError("central must not run where the outcome is with this solver")


def masked_predictor(holder: ShareHolder, step: int, predictor: Floats) -> Sealed | None:
    """Return the own predictor plus masks that cancel over the participants, sealed for the outcome holder.

    Raises
    ------
    DataProblem
        When the predictor is out of range.
    """
    if not np.max(np.abs(predictor), initial=0.0) < LARGEST:
        raise DataProblem("the linear predictor of this station's features is out of range; transform outliers")
    return masked_for(holder.station, holder.plan.holders[-1], predictor, f"predictor|{step}", holder.plan)


def _dealt(station: Station, plan: Plan, step: int) -> Words:
    """Return A' B less the mask that the outcome holder adds, (others' columns, vectors, 2)."""
    if station.has_data or station.aggregator == station.organization:
        raise MessageError("the helper must hold no data and must not run the central function")
    owner = station.channel.key(plan.holders[-1], PURPOSE)
    masks = expand_wide(owner, f"residuals|{step}", (plan.records, step + 1))
    parts = [
        expand_wide(columns_key(station, member), "columns", (plan.records, width)).transposed_product(masks)
        for member, width in plan.senders.items()
    ]
    total = Wide.concatenate(parts, axis=0)
    return (total - expand_wide(owner, f"products|{step}", total.shape)).to_words()


@partial
def partial_residuals(station: Station, request: ResidualRequest) -> ResidualReply:
    """Turn the total linear predictor into masked residuals. The outcome holder only.

    **Reveals** to central residuals under a mask that the dealer knows, shares of the others' products with them, products of the own columns, log
    likelihood (of few records in steps), baseline hazard at the times told, in steps, and the combination of the steps; to the share holders risks and
    reciprocals under masks. **Assumes** what the module says.
    """
    plan, step = request.plan, request.step
    holder = ShareHolder(station, plan)
    check_seen(station, plan)
    if not holder.owns_outcome:
        raise MessageError("only the outcome holder computes residuals")
    asked_once(station, f"residuals|{step}", station.round_name)
    own_columns = station.kept("design")["values"]
    reached = total_predictor(holder, step, request.predictors) + own_columns @ own_numbers(
        request.coefficients, own_columns.shape[1]
    )
    outcome = station.kept("outcome")
    risk = RiskSets.of(outcome["time"], outcome["event"], outcome["stratum"], str(outcome["ties"]))
    moves, combination = _moves(station, risk, step, reached, request.searches)
    predictor = moves @ combination
    log_likelihood, residuals, _ = evaluate_predictor(risk, predictor)
    vectors = np.column_stack([residuals, *[curvature_product(risk, predictor, move) for move in moves.T]])
    encoded = Wide.encode(vectors, RESIDUAL_BITS)
    masked = encoded - expand_wide(holder.key, f"residuals|{step}", vectors.shape)
    opened = _opened_columns(holder, request)
    products = opened.transposed_product(encoded)
    shares = products + expand_wide(holder.key, f"products|{step}", products.shape)
    sorter = holder.sorter()
    entries, hazard = sorter.seen_entries(holder.engine(step), step, predictor)
    holder.publish(step, entries)
    if list(request.rows) != station.kept("edges")["rows"].tolist():
        raise MessageError("the baseline hazard was asked for at other rows than this station told")
    told = coarse(hazard[list(request.rows)], sorter.sizes.tolist(), request.rows)
    return ResidualReply(
        station.share(masked.to_words()),
        station.share(shares.to_words()),
        station.further(own_columns.T @ vectors),
        station.further(told_likelihood(risk, log_likelihood, station.policy.minimum_count)),
        station.further(told.tolist()),
        station.further(combination.tolist()),
        holder.seal_all(entries, f"published|{step}"),
    )


def total_predictor(holder: ShareHolder, step: int, predictors: dict[int, Sealed]) -> Floats:
    """Return the sum of the other stations' linear predictors, (records,)."""
    plan = holder.plan
    if sorted(predictors) != sorted([*plan.senders, plan.helper]):
        raise MessageError("the linear predictor of a station is missing; start the job again")
    return received(holder.station, predictors, plan.records, f"predictor|{step}")


def _moves(station: Station, risk: RiskSets, step: int, reached: Floats, searches: bool) -> tuple[Floats, Floats]:
    """Return the changes of the predictor in all steps so far, (records, steps), and the combination of them to stand at."""
    before = station.kept(f"moves|{step - 1}") if step > 1 else {}
    moves, last = before.get("moves", np.zeros((len(reached), 0))), before.get("combination", np.zeros(0))
    moves = np.column_stack([moves, reached - moves @ last])
    start = np.append(last, 1.0)
    combination = maximised(risk, moves, start) if searches else start
    station.keep(f"moves|{step}", moves=moves, combination=combination)
    return moves, combination


def _opened_columns(holder: ShareHolder, request: ResidualRequest) -> Wide:
    """Return the others' columns less their masks, in the order of the plan."""
    parts = []
    for member, width in request.plan.senders.items():
        if member in request.columns:
            columns = holder.unseal(member, request.columns[member], "columns")["columns"]
            if columns.shape != (request.plan.records, width):
                raise MessageError("opened columns have another shape than they must; the job stops")
            holder.once(f"columns|{member}", {"": columns})
        parts.append(Wide.from_words(holder.station.kept(f"columns|{member}")["0"]))
    return Wide.concatenate(parts)
