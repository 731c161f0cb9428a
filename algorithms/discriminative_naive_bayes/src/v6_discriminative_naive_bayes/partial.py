"""What one station does: count, differentiate or improve, add its noise, mask."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fedbayes.dp.laws import Change
from fedbayes.federation import Station, partial
from fedbayes.federation.gate import Exact, Released
from fedbayes.federation.guards.once import ONE_QUESTION, asked_once
from fedbayes.federation.horizontal import Columns, CountNoise, EvaluateRequest, SumReply, pay_part, tally_station
from fedbayes.typing import Floats, Integers

from .classifier import loader
from .learning import learn_locally
from .likelihood import Evidence, loss_and_gradient
from .messages import CountsRequest, Shape, StepRequest, relation_of
from .model import LARGEST_WEIGHT, Codes, Layout, Tables, count, tables_from_counts

FRACTION_BITS = 24  # of exact sums: 6e-8 an entry, and 2^39 are left for the number
NOISY_FRACTION_BITS = 16  # of noisy ones, whose noise is far wider than 1.5e-5
LARGEST_NUMBER = 2.0**31  # of one station, so that the sum of 128 stays in 63 bits with the fraction
TABLE_BITS = 4
"""Fractional bits of noisy counts: noise in sixteenths, so that the shares of a thousand stations, which are whole numbers, need no more noise than one."""
PARTS = 2
"""The tables and all steps together have half of the budget each (of the square of mu)."""
HALVED = "halved"
"""Mark of a job in which they have; in one without shared tables the steps have all of it, and no tables are told."""


def encode_rows(shape: Shape, encoded: dict[str, Any]) -> tuple[Codes, Integers]:
    """Return (codes (n, m) of int32, labels (n,)) of the rows with a known label; numeric columns are binned."""
    truth = np.asarray(encoded[shape.columns.label])
    labelled = truth >= 0
    return shape.codes(encoded)[labelled], truth[labelled].astype(np.int64)


@partial
def partial_counts(station: Station, request: CountsRequest) -> SumReply:
    """Count the tables, add this station's share of the noise, and mask.

    **Reveals** to central the (noisy) counts over all stations. **Assumes** that at least two stations do not collude with central.
    """
    codes, labels = encode_rows(request.shape, _read(station, request.shape.columns, request.noise))
    counts = count(request.shape.layout, codes, labels)
    if not request.noise.promises:
        asked_once(station, "shape", request.shape, ONE_QUESTION)
    if request.noise.private:
        return SumReply(station.mask(_noisy_counts(station, request, counts)))
    return SumReply(station.mask(station.exact(counts, "tables of counts")))


def _read(station: Station, columns: Columns, noise: CountNoise) -> dict[str, Any]:
    """Return the station's encoded columns, if the node lets such an answer out."""
    station.require_private(noise.promises and columns.beyond_promise is None)
    return columns.read(station, noise.private)


def families(layout: Layout) -> int:
    """Return the number of tables that a row is in one cell of: classes, attributes, and ordered pairs of attributes."""
    attributes = len(layout.cardinalities)
    return 1 + attributes + (attributes * (attributes - 1) if layout.structure == "a1de" else 0)


def table_change(request: CountsRequest) -> Change:
    """Return what one unit changes in the tables, in units of 2^-`TABLE_BITS` rows."""
    layout = request.shape.layout
    crossed, unit = families(layout), 2**TABLE_BITS
    return request.noise.change(unit * crossed, unit * math.sqrt(crossed), layout.counts, nonnegative=True)


def table_deviation(request: CountsRequest, parties: int) -> float:
    """Return the standard deviation of the honest stations' noise on one cell of the tables, in rows: half of the budget is theirs."""
    noise = request.noise
    return noise.law.deviation(noise.width(PARTS, table_change(request), parties)) / 2.0**TABLE_BITS


def _noisy_counts(station: Station, request: CountsRequest, counts: Integers) -> Released[Integers]:
    """Return the counts, in units of 2^-`TABLE_BITS`, with this station's share of the noise, charged once with all steps of the job."""
    noise, change = request.noise, table_change(request)
    receipt = pay_part(station, noise, PARTS, change, "tables and weights", "tables", divided=HALVED)
    share = noise.shares(len(counts), PARTS, change, len(station.participants))
    return station.released(counts * 2**TABLE_BITS + share, receipt)


@partial
def partial_step(station: Station, request: StepRequest) -> SumReply:
    """Return the masked loss and gradient at the weights (with noise the gradient alone), or this station's masked improvement of them.

    **Reveals** to central the (noisy) sum over all stations only. **Assumes** that at least two stations do not collude with central; with noise, that the
    honest fraction of the stations adds its share.
    """
    codes, labels = encode_rows(request.shape, _read(station, request.shape.columns, request.noise))
    evidence = prepare(request, codes, labels)
    if not request.noise.promises:
        asked_once(station, "shape", request.shape, ONE_QUESTION)
    content: Exact[Integers] | Released[Integers]
    if request.noise.private:
        content = _noisy(station, request, move(request, evidence, labels, request.clip)[0][1])
    else:
        asked_once(station, "question", request.question, ONE_QUESTION)
        asked_once(station, f"weights-{request.step}", request.weights, ONE_QUESTION)
        vector = exact(request, move(request, evidence, labels), len(labels))
        content = station.exact(vector, "a step of the weights")
    return SumReply(station.mask(content))


def prepare(request: StepRequest, codes: Codes, labels: Integers) -> Evidence:
    """Return a station's rows under the tables of all stations, under its own where it was given none, or under no tables."""
    layout, alone = request.shape.layout, request.noise.private
    if request.additive:
        ones = Tables(np.ones(layout.classes), np.ones((layout.values, layout.classes)))
        return Evidence.of(layout, ones, codes, alone)
    counts = count(layout, codes, labels) if request.counts is None else request.counts
    return Evidence.of(layout, tables_from_counts(layout, counts, request.shape.prior), codes, alone)


def move(
    request: StepRequest, evidence: Evidence, labels: Integers, clip: float | None = None
) -> list[tuple[float, Floats]]:
    """Return, for every point, a station's loss, and its gradient or its own improvement of the weights."""
    points = np.asarray(request.weights, dtype=np.float64)
    if not request.iterations:
        return [loss_and_gradient(evidence, weights, labels, clip) for weights in points]
    weights = points[0]
    loss, _ = loss_and_gradient(evidence, weights, labels)
    learned = learn_locally(evidence, weights, labels, request.iterations, request.regularization)
    return [(loss, np.clip(learned, -LARGEST_WEIGHT, LARGEST_WEIGHT) - weights)]


def exact(request: StepRequest, moves: list[tuple[float, Floats]], rows: int) -> Integers:
    """Return [share, and loss and direction of every point] in fixed point; the share divides the sum of directions."""
    weighs = bool(request.iterations and request.by_rows)
    share = 1.0 if request.iterations and not weighs else float(rows)
    directions = [np.concatenate([[loss], direction * rows if weighs else direction]) for loss, direction in moves]
    numbers = np.clip(np.concatenate([[share], *directions]), -LARGEST_NUMBER, LARGEST_NUMBER)
    return np.asarray(np.rint(numbers * 2.0**FRACTION_BITS).astype(np.int64))


def _noisy(station: Station, request: StepRequest, direction: Floats) -> Released[Integers]:
    """Return the direction in fixed point with this station's share of the noise, charged once for all that is noisy in the job."""
    noise, change, queries = request.noise, step_change(request), noisy_queries(request)
    note, divided = ("weights", "whole") if request.shape.tables == "local" else ("tables and weights", HALVED)
    part = f"step-{request.step}-of-{request.steps}"
    whom, steps = relation_of(noise, request.shape.tables), str(request.steps)
    receipt = pay_part(station, noise, queries, change, note, part, relation=whom, steps=steps, divided=divided)
    direction = np.nan_to_num(direction, nan=0.0)
    if request.iterations:
        length = float(np.sqrt(direction @ direction))
        direction = direction * min(1.0, request.clip / max(length, 1e-300))
    share = noise.shares(len(direction), queries, change, len(station.participants))
    return station.released(np.rint(direction * 2.0**NOISY_FRACTION_BITS).astype(np.int64) + share, receipt)


def honest_deviation(request: StepRequest, parties: int) -> float:
    """Return the standard deviation of the honest stations' noise on one entry of a step's sum, in units of 2^-16."""
    noise = request.noise
    return noise.law.deviation(noise.width(noisy_queries(request), step_change(request), parties))


def noisy_queries(request: StepRequest) -> int:
    """Return among how many queries like this step the budget is divided."""
    return request.steps * (1 if request.shape.tables == "local" else PARTS)


def step_change(request: StepRequest) -> Change:
    """Return what one unit changes in a step, in units of 2^-16."""
    entries, length = request.shape.layout.parameters, sensitivity(request)
    return request.noise.change(length * math.sqrt(entries), length, entries)


def sensitivity(request: StepRequest) -> float:
    """Return the L2 sensitivity of one step in units of 2^-16: what a neighbour may change, and the rounding of every entry.

    A gradient is a sum over rows that are cut at `clip`. An improvement as a whole is cut at `clip`: a station more or less changes the sum by
    that, but one row can turn the improvement round, which is twice as much.
    """
    turned = bool(request.iterations) and request.shape.tables != "local" and request.noise.neighbors == "add_remove"
    return (2.0 if turned else 1.0) * request.clip * 2.0**NOISY_FRACTION_BITS + math.sqrt(
        request.shape.layout.parameters
    )


@partial
def partial_evaluate(station: Station, request: EvaluateRequest) -> SumReply:
    """Score the station's rows by a model and return masked tallies.

    **Reveals** to central the sums over all stations. **Assumes** that at least two stations do not collude with central.
    """
    return tally_station(station, request, loader(request.noise.private), in_fit=True, beside="personal_iterations")
