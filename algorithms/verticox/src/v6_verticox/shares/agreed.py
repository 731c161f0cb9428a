"""What central, the share holders and the dealer know alike: what follows from the plan, and the check that all were told the same."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fedbayes.federation.errors import MessageError
from fedbayes.mpc.wide import Wide

from ..messages.names import Input, Name
from ..messages.setup import Plan
from .newton_step import Layout, line_names, presence_name

CHECK = "check"
"""The name of the sum of zeros that is revealed beside the others."""


def layout(plan: Plan) -> Layout:
    """Return the shapes that all roles know."""
    return Layout(
        rows=plan.rows,
        features=sum(plan.widths),
        factors=len(step_inputs(plan, 1)),
        strata=tuple(plan.strata),
        owner=len(plan.holders) - 1,
        ties=tuple((first, size) for first, size in plan.ties),
        band=plan.band,
        single=plan.single,
        lines=sum(1 for width in plan.widths if width),
        complete=plan.complete,
        weighted=plan.weighted,
    )


def taker(plan: Plan, aggregator: int) -> int:
    """Return the share holder, by its organization, that takes the dealer's corrections.

    The station beside central, if it holds shares, since they need not travel from there; else the outcome holder. Whoever takes them sees
    uniform numbers, for want of the other share holders' keys.
    """
    return aggregator if aggregator in plan.holders else plan.holders[-1]


def step_inputs(plan: Plan, step: int) -> list[Input]:
    """Return every private input of a step (0: the features)."""
    with_features = [(index, width) for index, width in enumerate(plan.widths) if width]
    if step == 0:
        everybody = range(len(plan.holders)) if plan.complete else ()
        presence = [Input(presence_name(index), index, 1) for index in everybody]
        return [Input(Name("features", part=index), index, width) for index, width in with_features] + presence
    owner = len(plan.widths) - 1 if plan.weighted else None
    entering = [index for index, width in enumerate(plan.widths) if width or plan.complete or index == owner]
    return [Input(Name("factor", step, part=place), index, 1) for place, index in enumerate(entering)]


def inputs_of(plan: Plan, step: int, beside: Iterable[int]) -> list[Input]:
    """Return every private input of a step and of the points beside it; with these, the linear predictors too."""
    others = list(beside)
    entries = [entry for one in (step, *others) for entry in step_inputs(plan, one)]
    if others:
        holding = [index for index, width in enumerate(plan.widths) if width]
        entries += [Input(name, index, 1) for name, index in zip(line_names(layout(plan), step), holding, strict=True)]
    return entries


def check_bound(total: Wide) -> None:
    """Raise `MessageError` where a revealed sum of zeros is none: the share holders were told different things."""
    if np.any(total.low) or np.any(total.high):
        raise MessageError("the stations were not told the same openings; the job stops")
