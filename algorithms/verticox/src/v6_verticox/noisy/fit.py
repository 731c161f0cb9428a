"""A private fit of columns of the same records as a task: the rounds of a fit of whole records, its sums made on shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fedbayes.federation import Broadcast, Federation, Parties
from fedbayes.federation.errors import ArgumentError, PlacementError, adding_up
from fedbayes.federation.horizontal import whole_sums
from fedbayes.federation.vertical import check_equal_rows
from fedbayes.typing import Floats

from ..arguments import Fit
from ..cox.entering import numbers
from ..horizontal.messages import Question
from ..horizontal.private import result
from ..horizontal.private.fit import answer, ridge_of
from ..horizontal.private.fitting import PrivateFit
from ..horizontal.private.layout import BITS, Layout, Whole
from ..horizontal.private.matrix import whitened
from ..horizontal.private.messages import STEPS, Asked, SlopeRequest
from ..messages.setup import Plan
from ..messages.setup import Question as Matched
from ..rounds.joining import aligned, check_outcome, check_somewhere, joined
from ..rounds.setup import DESCRIPTIONS
from ..shares.agreed import CHECK, check_bound, taker, total_of
from .blurred import units
from .cuts import Limits, blocks_of
from .messages import (
    ArrangeReply,
    ArrangeRequest,
    Factors,
    FactorsReply,
    Joint,
    Products,
    ProductsReply,
    Sizes,
    SurveyRequest,
)
from .program import MOST_HOLDERS, Step

CALLED = ("partial_arrange", "partial_survey", "partial_factors", "partial_products")
REMEMBERED = 0.1
"""Part of what earlier matrices tell that a step keeps: records that are cut at one point count less there, and in the matrix of that point too."""

SUMS = "noisy sums of a step"
"""The step, as errors name it."""
MOST_GROUPS = 6
"""Groups of cells whose missed events are asked for: each costs two columns on shares, and a hazard's shape hardly moves between steps."""


def private_by_columns(federation: Federation, options: Fit, question: Question) -> dict[str, Any]:
    """Fit to columns of the same records with noise inside the shares.

    **Reveals** to central noisy sums over all records, which station has which column, and the number of common records; to stations which of their records
    are common. **Assumes** that the helper colludes with nobody, and that the honest fraction of the stations adds its share of the noise.
    """
    joint = arranged(federation, options, Asked(question, options.added, options.whom))
    fit = ColumnsFit(federation, joint, ridge_of(joint.asked, options.penalty))
    return answer(federation, fit, question, options.penalty, "vertical", privacy(joint.asked))


def arranged(federation: Federation, options: Fit, asked: Asked) -> Joint:
    """Open the channel, match the records, and learn which station has which column."""
    parties, helper = joined(
        federation,
        options.organizations,
        options.helper,
        [asked.question.time, asked.question.event, *asked.question.domain],
        options.id_column,
        CALLED,
        noise=asked.noise,
    )
    roles = {"time": [asked.question.time], "event": [asked.question.event]}
    check_somewhere(federation, parties, {**roles, "features": list(asked.question.domain)})
    check_outcome(federation, parties, asked.question.time, asked.question.event, {})
    homes = _homes(federation, parties, asked.question)
    matched = Matched(
        asked.question.time,
        asked.question.event,
        list(asked.question.domain),
        None,
        list(parties.stations),
        helper,
        options.identifier or None,
        private=True,
    )
    rows, orders = aligned(federation, matched)
    requests = {member: ArrangeRequest(matched, rows, own, asked) for member, own in orders.items()}
    replies = federation.round("partial_arrange", requests, parties.stations, ArrangeReply)
    with adding_up(DESCRIPTIONS):
        return _joint(asked, helper, homes, replies)


def _homes(federation: Federation, parties: Parties, question: Question) -> dict[str, int]:
    """Return which station has each feature; refuse two of them, and too few or too many stations, before anything is spent."""
    homes: dict[str, int] = {}
    for feature in question.domain:
        at = parties.holders[feature]
        if len(at) > 1:
            raise ArgumentError(f"features: two stations have the column '{feature}'; check its name")
        homes[feature] = at[0]
    having = {*homes.values(), *parties.holders[question.time]}
    if len(having) < 2:
        raise PlacementError("all features are where the outcome is; use an ordinary Cox model at that station")
    if len(having) > MOST_HOLDERS + 1:
        raise PlacementError(f"more than {MOST_HOLDERS} stations have features beside the outcome; leave some out")
    federation.nodes.check_summable(having, "columns of the fit")
    return homes


def _joint(asked: Asked, helper: int, homes: dict[str, int], told: dict[int, ArrangeReply]) -> Joint:
    """Return who plays which part; the outcome holder is the last of the share holders."""
    question = asked.question
    [owner] = [member for member, reply in told.items() if reply.outcome.value]
    others = [member for member in told if member in homes.values() and member != owner]
    holders = [*others, owner]
    check_equal_rows(told[member].records.value for member in holders)
    domain = {name: question.domain[name] for member in holders for name in question.domain if homes[name] == member}
    ordered = replace(question, domain=domain)
    widths = [
        sum(len(ordered.labels_of(column)) for column in ordered.schema if homes[column.name] == member)
        for member in holders
    ]
    records = told[owner].records.value
    return Joint(
        replace(asked, question=ordered), Plan(holders, widths, helper, records, [records], records, [], 0, True)
    )


class ColumnsFit(PrivateFit):
    """One private fit whose sums are made on shares."""

    most_groups, remembered = MOST_GROUPS, REMEMBERED

    def __init__(self, federation: Federation, joint: Joint, penalty: Floats) -> None:
        super().__init__(federation, joint.plan.holders, joint.asked, penalty)
        self.rounds, self.joint, self.plan = federation, joint, joint.plan

    def _outline_vector(self, layout: Layout) -> Whole:
        request = SurveyRequest(self.joint)
        return whole_sums(self.rounds, "partial_survey", request, self.plan.holders, layout.length)

    def _layout(self, request: SlopeRequest) -> Layout:
        return Limits.of(request, self.plan.widths).layout(request)

    def _rewhitened(self, whitening: Floats, shape: Floats) -> Floats:
        """Return the whitening of each station's columns by themselves: it whitens them alone."""
        block_diagonal = np.zeros_like(whitening)
        for block in blocks_of(self.plan.widths):
            if block.stop > block.start:
                block_diagonal[block, block] = whitened(whitening[block, block], shape[block, block])
        return block_diagonal

    def _slope_vector(self, request: SlopeRequest, layout: Layout) -> Whole:
        """Return the noisy sums of a step: one round in which stations enter, and some in which they multiply."""
        plan, sizes = self.plan, Sizes.of(request)
        asked = {member: Factors(plan, sizes, request) for member in plan.holders}
        asked[plan.helper] = Factors(plan, sizes, None)
        entered = self.rounds.round("partial_factors", asked, list(asked), FactorsReply)
        letters = {member: entered[member].entered for member in plan.holders}
        corrections = entered[plan.helper].dealt
        takes, shape = taker(plan, self.rounds.organization), Step.shape(plan, sizes)
        replies: dict[int, ProductsReply] = {}
        for stage in range(shape.stages):
            multiply = {
                member: Products(
                    plan,
                    sizes,
                    request,
                    stage,
                    _for(member, letters),
                    corrections if not stage and member == takes else None,
                )
                for member in plan.holders
            }
            last = request.step == STEPS and stage == shape.stages - 1
            replies = self.rounds.round("partial_products", multiply, plan.holders, ProductsReply, last=last)
            letters = {member: reply.opened for member, reply in replies.items()}
        with adding_up(SUMS):
            sums = _read(list(replies.values()), shape)
        numbers(sums, (layout.length,), SUMS)
        return sums


def _for(member: int, letters: Mapping[int, Broadcast | None]) -> dict[int, Broadcast]:
    """Return the letters of the others to a share holder."""
    return {sender: letter.to_one(member) for sender, letter in letters.items() if letter and sender != member}


def _read(replies: Sequence[ProductsReply], shape: Step) -> Whole:
    """Return the sums of what was revealed in whole units of noise, block after block."""
    parts = []
    for name, bits in shape.reveals().items():
        total = total_of(reply.revealed[name] for reply in replies)
        parts.append(units(total, bits - BITS))
    check_bound(total_of(reply.revealed[CHECK] for reply in replies))
    return np.concatenate(parts)


def privacy(asked: Asked) -> dict[str, Any]:
    """Return the privacy statement."""
    return asked.noise.statement(
        asked.unit,
        composition=result.COMPOSITION,
        sensitivity="what a record adds to a sum is cut at 1 (L2) by public bounds, and by cuts that each station makes alone and that are told with the "
        "question; the number of common records is taken as public",
        reveals={
            "central": "with noise: events and time at risk by time of the grid that was asked for, means and squares of the features; at "
            f"{STEPS} points the slope of the likelihood, how many events the hazard misses, one matrix of squares. Exactly: which station has which "
            "column, and the number of common records",
            "stations": "which of their records are common to all; coefficients, means and deviations of the features, and the hazard at each point, all "
            "made of noisy sums; of values uniform numbers only",
            "helper": "numbers of rows, columns and groups of times; with an identifier column, sizes of the overlaps",
            "researcher": "the model: coefficients with standard errors that hold the noise, baseline hazard, numbers of records and events, all with noise",
            "assumption": "the helper colludes with nobody, and the honest fraction of the stations adds its noise",
        },
    )
