"""Rounds at the share holders: a stage or more each, what it opened handed on to the next, what it reveals added up; and the last round of a fit."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fedbayes.federation import Broadcast, Federation, Sealed
from fedbayes.federation.errors import adding_up
from fedbayes.mpc.relayed_sums import relayed
from fedbayes.typing import Floats

from ..messages.private import (
    OFFSET_BITS,
    FinishReply,
    FinishRequest,
    GroupReply,
    GroupRequest,
    Opened,
    Stage,
    StageReply,
    StageRequest,
)
from ..messages.setup import Plan
from ..shares.agreed import CHECK, check_bound, grouper, most_slopes, places_of, taker, total_of, verifier
from ..shares.layout import Layout
from ..shares.travel import forms
from .lockstep import Rounds
from .points import Beside
from .revealed import Revealed
from .setup import Prepared

OPENINGS, SHARES = "openings of the share holders", "shares of what central may know"
"""Steps, as errors name them."""


class Stages:
    """The stages of one computation, round by round.

    Parameters
    ----------
    federation : Rounds
        Alone, or shared with other computations.
    plan : Plan

    Attributes
    ----------
    counts : list of int or None
        Complete records and events, where only these count and their numbers may be told.
    """

    def __init__(self, federation: Rounds, plan: Plan) -> None:
        self.federation, self.plan = federation, plan
        self.counts: list[int] | None = None
        self._layout = Layout(plan)
        self._slopes = 0
        self._for_stations: dict[int, dict[int, Sealed]] = {}
        self.forget()

    def allowed(self, beside: dict[int, Beside]) -> dict[int, Beside]:
        """Return points of which slopes are asked for, none where stations would tell no more slopes: the likelihood is known less well then."""
        self._slopes += len(beside)
        return beside if self._slopes <= most_slopes(self.plan) else {}

    def forget(self) -> None:
        """Hand on nothing of what was opened before."""
        self._opened = self._whole = Opened()

    async def run(
        self,
        stages: list[Stage],
        permuted: Broadcast | None = None,
        corrections: Sealed | None = None,
        sorter: int | None = None,
    ) -> Revealed:
        """One round at the share holders; return what its shares reveal together. `sorter`: who published `permuted`, if not the outcome holder."""
        replies = await self.federation.round(
            "partial_stage", self._requests(stages, permuted, corrections, sorter), self.plan.holders, StageReply
        )
        with adding_up(OPENINGS):
            self._whole = _added_up([replies[member] for member in self.plan.holders])
            self._opened = Opened(
                {name: form.cut(self._whole.sums[name]) for name, form in forms(self._layout, self._whole.sums).items()}
            )
        self._for_stations = {member: reply.for_stations for member, reply in replies.items() if reply.for_stations}
        if (counts := replies[self.plan.holders[-1]].counts) is not None:
            self.counts = counts.value
        return _added(list(replies.values()))

    async def grouped(self, stage: Stage, dealt: Sealed | None) -> Broadcast | None:
        """Have the residuals that were opened sorted by cluster: one round, two where the clusters are not at the outcome holder."""
        owner, member = self.plan.holders[-1], grouper(self.plan)
        opened = self._whole if owner == verifier(self.plan, self.federation.organization) else self._opened
        own = dealt if owner == member else None
        request = GroupRequest(self.plan, stage, opened, None, own)
        reply = (await self.federation.round("partial_group", request, [owner], GroupReply))[owner]
        if owner != member:
            request = GroupRequest(self.plan, stage, Opened(), reply.residuals, dealt)
            reply = (await self.federation.round("partial_group", request, [member], GroupReply))[member]
        return reply.published

    def _requests(
        self, stages: list[Stage], permuted: Broadcast | None, corrections: Sealed | None, sorter: int | None
    ) -> dict[int, StageRequest]:
        plan, own = self.plan, self.federation.organization
        sorter = plan.holders[-1] if sorter is None else sorter
        takes, verifies = taker(plan, own), verifier(plan, own)
        letters = self._for_stations
        requests = {
            member: StageRequest(
                plan,
                stages,
                self._whole if member == verifies else self._opened,
                permuted.to_one(member) if permuted is not None and member != sorter else None,
                corrections if member == takes else None,
                {sender: parts[member] for sender, parts in letters.items() if member in parts},
            )
            for member in plan.holders
        }
        if permuted is not None or corrections is not None or letters:
            return requests
        # the same for all: enciphered once, but for the station beside central
        others = [member for member in plan.holders if member not in (own, verifies)]
        return {member: requests[others[0] if member in others else member] for member in plan.holders}


def _added_up(replies: list[StageReply]) -> Opened:
    """Return the sums of what share holders opened, in the order of the plan: uniform, as every part of them is."""
    sums = {
        name: relayed([np.asarray(reply.openings[name].value) for reply in replies]) for name in replies[0].openings
    }
    return Opened(sums, [reply.checksum.value for reply in replies if reply.checksum is not None])


def _added(replies: list[StageReply]) -> Revealed:
    """Return the sums of the shares, as real numbers."""
    revealed: dict[str, Floats] = {}
    for name, bits in replies[0].frac_bits.value.items():
        with adding_up(SHARES):
            total = total_of(reply.revealed[name] for reply in replies)
            number = total.decode(bits)
        if name == CHECK:
            check_bound(total)
        else:
            revealed[name] = number
    return Revealed(revealed)


def sealed_parts(replies: Mapping[int, Sealed | None]) -> dict[int, Sealed]:
    """Return what central passes on and cannot read: of those who sealed something."""
    return {member: sealed for member, sealed in replies.items() if sealed is not None}


def mean_predictor(federation: Federation, prepared: Prepared, coefficients: np.ndarray) -> tuple[float, float]:
    """Return the linear predictor at the mean, and the part of it by which complete records differ; by a secure sum, the job's last round."""
    plan, requests = prepared.plan, {}
    for index, member in enumerate(plan.holders):
        requests[member] = FinishRequest(plan, coefficients[places_of(plan, index)].tolist())
    requests[plan.helper] = FinishRequest(plan, [])
    members = [*plan.holders, plan.helper]
    total = federation.secure_sum("partial_finish", requests, members, FinishReply, last=True)
    own, shift = total.astype(np.int64) / 2.0**OFFSET_BITS
    return float(own + shift), float(shift)
