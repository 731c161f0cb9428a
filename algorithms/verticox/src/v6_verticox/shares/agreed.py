"""What central, the share holders and the dealer know alike: what follows from the plan, and the check that all were told the same."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from fedbayes.federation.errors import MessageError
from fedbayes.mpc.wide import Wide

from ..messages.names import Input, Name
from ..messages.private import MOST_POINTS
from ..messages.setup import Plan
from .layout import Layout, line_names, presence_name
from .products import SLANT, column_inputs, point_inputs

CHECK = "check"
"""The name of the sum of zeros that is revealed beside the others."""
FEW_POINTS = 10
"""As many a fit may always take, also where records are few for its columns."""
MOST_AGAIN = 12
"""Gradients of a job beside one a point, where reciprocals are refined further."""
FEW_SLOPES, MOST_SLOPES = 18, 60
"""Slopes of a job beside points: six refined twice may always be, and six asked twice and refined four times each where there are so many records."""


def most_points(plan: Plan) -> int:
    """Return at how many points after zero a job may evaluate the likelihood: few enough that what is told of a column does not determine it, but ten always.

    At each point central learns of every column one number of the gradient and as many of the information matrix as there are columns. Who knows the
    risks there (a central at the outcome holder that leaves the others' coefficients zero) has so many equations for the column's values, and one more
    by each gradient of a refinement and each slope. Together they are fewer than records.
    """
    left = plan.records - MOST_AGAIN - most_slopes(plan)
    return min(MOST_POINTS, max(FEW_POINTS, left // (Layout(plan).features + 1) - 1))


def most_slopes(plan: Plan) -> int:
    """Return how many slopes beside points a job may be told: one for ten records, but eighteen always. Each is an equation for a column, too."""
    return min(MOST_SLOPES, max(FEW_SLOPES, plan.records // 10))


def taker(plan: Plan, aggregator: int) -> int:
    """Return the share holder, by its organization, that takes the dealer's corrections.

    The station beside central, if it holds shares, since they need not travel from there; else the outcome holder. Whoever takes them sees
    uniform numbers, for want of the other share holders' keys.
    """
    return aggregator if aggregator in plan.holders else plan.holders[-1]


def verifier(plan: Plan, aggregator: int) -> int:
    """Return the share holder, by its organization, that sees whether central changed an opening: the first that is not beside central."""
    return next(member for member in plan.holders if member != aggregator)


def grouper(plan: Plan) -> int:
    """Return the share holder, by its organization, that knows the clusters; `ValueError` where there are none."""
    if not plan.clusters:
        raise ValueError("the plan has no clusters")
    return plan.clusters[0]


def places_of(plan: Plan, index: int) -> list[int]:
    """Return where the coefficients that a share holder needs are among all: of its columns, then of its products in their order."""
    start = sum(plan.widths[:index])
    places, behind = list(range(start, start + plan.widths[index])), sum(plan.widths)
    for one in plan.products:
        if index in (one.numbers, one.chooser):
            places += range(behind, behind + one.width)
        behind += one.width
    return places


def step_inputs(plan: Plan, step: int) -> list[Input]:
    """Return every private input of a step (0: the features)."""
    with_features = [(index, width) for index, width in enumerate(plan.widths) if width]
    if step == 0:
        everybody = range(len(plan.holders)) if plan.complete else ()
        presence = [Input(presence_name(index), index, 1) for index in everybody]
        return [Input(Name("features", part=index), index, width) for index, width in with_features] + [
            *presence,
            *column_inputs(plan.products),
        ]
    factors = [Input(Name("factor", step, part=place), index, 1) for place, index in enumerate(Layout(plan).factors)]
    return factors + point_inputs(plan.products, step)


def inputs_of(plan: Plan, step: int, beside: Iterable[int]) -> list[Input]:
    """Return every private input of a step and of the points beside it; with these, the linear predictors too."""
    others = list(beside)
    entries = [entry for one in (step, *others) for entry in step_inputs(plan, one)]
    if others:
        shapes = Layout(plan)
        entries += [Input(n, index, 1) for n, index in zip(line_names(shapes, step), shapes.lines, strict=True)]
        entries += point_inputs(plan.products, step, SLANT)
    return entries


def total_of(shares: Iterable[Any]) -> Wide:
    """Return the sum of the share holders' words, as they came in replies."""
    return reduce(add, (Wide.from_words(np.asarray(share.value)) for share in shares))


def check_bound(total: Wide) -> None:
    """Raise `MessageError` where a revealed sum of zeros is none: the share holders were told different things."""
    if np.any(total.low) or np.any(total.high):
        raise MessageError(
            "the stations were not told the same openings, or do not have the same records linked; the job stops"
        )
