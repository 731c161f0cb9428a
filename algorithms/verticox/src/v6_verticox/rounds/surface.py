"""The partial likelihood as central evaluates it over rounds, seeing nothing but gradients and information matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fedbayes.federation import Broadcast, Sealed
from fedbayes.federation.errors import ConvergenceError
from fedbayes.typing import Floats

from ..messages.names import START, Name
from ..messages.private import (
    BESIDE,
    EnterReply,
    EnterRequest,
    PermuteReply,
    PermuteRequest,
    Stage,
)
from ..shares.agreed import grouper, places_of
from ..shares.clusters import KIND
from ..shares.complete import NODES, integrated, opened_names
from ..shares.layout import Layout
from ..shares.layout import beside as beside_step
from ..shares.newton_step import read_baseline
from ..shares.program import CORRECTING
from ..shares.reciprocals import NEWTON, Pair, reciprocal_name, reciprocal_plan
from ..shares.sandwich import SQUARES, kinds
from .lockstep import Rounds
from .points import Beside, Gradient
from .revealed import Revealed
from .setup import Prepared
from .stages import Stages, sealed_parts

SPARE_ROUNDS = 3  # for the last information matrix and the mean, and one more
FEWER = 1.2  # margin, as a logarithm, for risk sets with 3.3 times fewer complete records than are expected
EXACT_START = 1e-7  # mean relative error of the reciprocals at zero: the log-likelihood there is made of them
SETTLED_START = 1e-5  # the same where refining further does not help: as `newton.FLOOR`
MOST_REFINEMENTS = 8  # beyond the plan: a bound


class FederatedSurface:
    """The partial likelihood as the private solver evaluates it; every method that is awaited costs rounds.

    Parameters
    ----------
    federation : Rounds
        Alone, or shared with other computations.
    prepared : Prepared
    max_rounds : int
        The job's limit.

    Attributes
    ----------
    null, null_error : float
        The log-likelihood at zero, and how far it may be off.

    Notes
    -----
    **Reveals** to central: per Newton step the gradient, the information matrix and a scalar residual; at the last step the baseline hazard and
    the score of the features' interactions with time; where asked for, slopes at points beside a step, and a residual each.
    """

    def __init__(self, federation: Rounds, prepared: Prepared, max_rounds: int) -> None:
        self.federation, self.plan, self.max_rounds = federation, prepared.plan, max_rounds
        self.events, self.rows = prepared.outcome.mass, prepared.plan.rows
        self.names: Sequence[str] = prepared.names
        self.tails = prepared.tails
        self.edge_rows = list(prepared.outcome.edge_rows)
        self.hazard: Floats = np.zeros(0)
        self.trend: Floats = np.zeros(0)
        self.null, self.null_error = prepared.outcome.log_likelihood, 0.0
        self._layout = Layout(prepared.plan)
        self._stages = Stages(federation, prepared.plan)
        self._source, self._version, self._step = START, 0, 0
        self._accepted, self._beside = {0: START}, dict[int, Beside]()
        self._coefficients: Floats = np.zeros(len(prepared.names))

    @property
    def counts(self) -> list[int] | None:
        """Complete records and events, where only these count and their numbers may be told."""
        return self._stages.counts

    async def start(self) -> Gradient:
        """Evaluate at zero coefficients: five rounds (six with small ties and Efron; more where only complete records count)."""
        if self.plan.complete:
            return await self._start_complete()
        stages = [Stage("features", 0), Stage("last", 0), Stage("information", 0)]
        if self.plan.band:
            stages.insert(1, Stage("tied", 0))
        if self.plan.weighted:
            stages.insert(1, Stage("weigh_start", 0))
        if self.plan.products:
            stages[1:1] = [Stage("tally", 0), Stage("few", 0)]
        revealed = await self._through([[stage] for stage in stages[:-1]], stages)
        return Gradient(self._coefficients, revealed.vector("gradient", self._layout.features), 0.0)

    async def _start_complete(self) -> Gradient:
        """Find the complete records on shares, and the reciprocals at zero coefficients, refined from what is expected."""
        spread = FEWER - math.log(self.plan.complete)
        plan = reciprocal_plan(spread, EXACT_START, spread)
        self._version = max(len(plan), CORRECTING)
        blends = dict.fromkeys(range(BESIDE, BESIDE + len(NODES)), self._source)
        rounds = [[Stage("features", 0)], [Stage("complete", 0)]]
        if len(opened_names(self._layout)) > 1:
            rounds.insert(1, [Stage("gather", 0)])
        for version in range(1, self._version + 1):
            pair = plan[version - 1] if version <= len(plan) else NEWTON
            rounds.append([Stage("weigh" if version == 1 else "refine", 0, version, self._source, pair)])
            rounds[-1] += [Stage("blend", key, version, source, pair) for key, source in blends.items()]
            self._source = reciprocal_name(0, version, pair)
            blends = {key: reciprocal_name(key, version, pair) for key in blends}
        rounds.append([*self._last(), *(Stage("level", key, self._version) for key in blends)])
        self._check_rounds(len(rounds) + 3)
        revealed = await self._through(rounds, [*(info for part in rounds for info in part), self._final()])
        here = self._gradient(revealed)
        levels = np.array([revealed.number(f"level|{key}") for key in blends])
        gained, self.null_error = integrated(self._layout, levels, EXACT_START * self.events)
        self.null = -revealed.number("expected level") - gained
        for _ in range(MOST_REFINEMENTS):
            if abs(here.residual) <= EXACT_START * self.events:
                break
            here = await self.refine(0)
        if not abs(here.residual) <= SETTLED_START * self.events:
            raise ConvergenceError(
                "too many records at risk late have gaps beside those of others; fill them in or leave features with many gaps out"
            )
        self.accept()
        return here

    async def observed(self) -> Floats:
        """Enter the columns and return their sums over the events: four rounds, instead of `start`."""
        stages = [Stage("features", 0), Stage("observed", 0)]
        revealed = await self._through([[stage] for stage in stages], stages)
        return revealed.vector("observed", self._layout.own_columns)

    async def evaluate(
        self, step: int, coefficients: Floats, plan: Sequence[Pair], beside: Sequence[Beside] = ()
    ) -> Gradient:
        """Evaluate at `coefficients`: four rounds and one for each refinement of the reciprocals; slopes beside in the same rounds."""
        self._stages.forget()  # what a step that was given up left open is of no use
        self._coefficients, self._source, self._step = coefficients, self._accepted[max(self._accepted)], step
        self._beside = self._stages.allowed({beside_step(step, place): point for place, point in enumerate(beside)})
        sources = {step: self._source, **{key: self._accepted[point.source] for key, point in self._beside.items()}}
        plans = {step: list(plan), **{key: point.plan for key, point in self._beside.items()}}
        self._version = max([CORRECTING if self.plan.band else 1, *map(len, plans.values())])
        rounds = [self._all("relative_risk")]
        if self._beside:
            rounds[0].append(Stage("line", step))
        rounds += [self._all("combine", turn) for turn in range(len(self._layout.multiplications()))]
        for version in range(1, self._version + 1):
            kind = "weigh" if version == 1 else "refine"
            rounds.append([])
            for key, source in sources.items():
                pair = plans[key][version - 1] if version <= len(plans[key]) else NEWTON
                named = "weigh_slope" if version == 1 and key != step else kind
                rounds[-1].append(Stage(named, key, version, source, pair))
                sources[key] = reciprocal_name(key, version, pair)
        self._source = sources[step]
        rounds.append(self._last())
        self._check_rounds(len(rounds) + 3)
        revealed = await self._through(rounds, [*(info for part in rounds for info in part), self._final()])
        return self._gradient(revealed)

    async def refine(self, step: int) -> Gradient:
        """Refine the reciprocals once more: three rounds, one of the dealer alone."""
        self._check_rounds(4)
        self._version += 1
        before, self._beside = self._version - 1, self._stages.allowed(self._beside)
        refined = [
            Stage("refine", key, self._version, Name("reciprocal", key, before), NEWTON)
            for key in (step, *self._beside)
        ]
        self._source, last = Name("reciprocal", step, self._version), self._last()
        request = EnterRequest(self.plan, step, [], [*refined, *last, self._final()], False, {})
        corrections = await self.federation.round("partial_enter", request, [self.plan.helper], EnterReply)
        await self._stages.run(refined, corrections=corrections[self.plan.helper].dealt)
        return self._gradient(await self._stages.run(last))

    def _all(self, kind: str, version: int = 0) -> list[Stage]:
        """Return one stage of the step and of the points beside it."""
        return [Stage(kind, key, version) for key in (self._step, *self._beside)]

    def _last(self) -> list[Stage]:
        slopes = [Stage("slope", key, self._version) for key in self._beside]
        return [Stage("last", self._step, self._version), *slopes]

    def _final(self) -> Stage:
        return Stage("information", self._step, self._version, rows=self.edge_rows)

    async def squares(self) -> Floats:
        """Return the sum of products of score residuals at the last point, or of their sums by cluster, (features, features): four to eight rounds."""
        stages = [Stage(kind, self._step, self._version) for kind in kinds(self._layout)]
        request = EnterRequest(self.plan, self._step, [], stages, False, {})
        dealt = await self.federation.round("partial_enter", request, [self.plan.helper], EnterReply)
        revealed = await self._stages.run([stages[0]], corrections=dealt[self.plan.helper].dealt)
        for stage in stages[1:]:
            if stage.kind == KIND:
                sorted_by = await self._stages.grouped(stage, dealt[self.plan.helper].sealed)
                await self._stages.run([stage], sorted_by, sorter=grouper(self.plan))
            else:
                revealed = await self._stages.run([stage])
        return revealed.square(SQUARES, self._layout.features)

    def rounds_left(self) -> int:
        """Return how many rounds may still be taken before the last ones."""
        return self.max_rounds - self.federation.rounds - SPARE_ROUNDS

    def accept(self) -> None:
        """Start the next reciprocals from the last ones."""
        self._accepted[self._step] = self._source

    async def information(self, step: int, final: bool) -> Floats:
        """Return the information matrix: one round; the last time with the baseline hazard."""
        rows = self.edge_rows if final else []
        revealed = await self._stages.run([Stage("information", step, self._version, rows=rows)])
        if rows:
            parties, told = len(self.plan.holders), revealed.vector("baseline", len(rows))
            self.hazard = read_baseline(self._layout, told, self.edge_rows, parties)
            self.trend = np.zeros(0) if self.plan.complete else revealed.vector("trend", self._layout.features)
        matrix = revealed.square("information", self._layout.features)
        return np.asarray((matrix + matrix.T) / 2.0)

    def seen_stages(self, step: int) -> list[Stage]:
        """Return the stages of an information matrix at a linear predictor that the outcome holder knows."""
        kinds = ["weigh_start", *(["tied"] if self.plan.band else []), "last", "information"]
        return [Stage(kind, step, rows=self.edge_rows if kind == "information" else []) for kind in kinds]

    async def seen_information(
        self, step: int, published: Broadcast, corrections: Sealed | None, final: bool
    ) -> Floats:
        """Return the information matrix where the outcome holder knows the linear predictor: three rounds.

        Parameters
        ----------
        step : int
            Of the solver.
        published : Broadcast
            Risks and reciprocals that the outcome holder entered.
        corrections : bytes
            The dealer's, sealed.
        final : bool
            Whether the baseline hazard and the score of interactions with time are wanted too.
        """
        weigh, *others, _ = self.seen_stages(step)
        self._version = 0
        await self._stages.run([weigh], published, corrections)
        for stage in others:
            await self._stages.run([stage])
        return await self.information(step, final)

    def _gradient(self, revealed: Revealed) -> Gradient:
        events = 0.0 if self.plan.complete else self.events
        sign = (
            1.0 if self.plan.complete else -1.0
        )  # the difference itself is revealed where nobody knows the number of events
        residual = events + sign * revealed.number("residual")
        slopes = np.array([revealed.number(f"slope|{key}") for key in self._beside])
        residuals = np.array([events + sign * revealed.number(f"residual|{key}") for key in self._beside])
        return Gradient(
            self._coefficients, revealed.vector("gradient", self._layout.features), residual, slopes, residuals
        )

    def _check_rounds(self, needed: int) -> None:
        if self.federation.rounds + needed + SPARE_ROUNDS > self.max_rounds:
            largest = self.names[int(np.argmax(np.abs(self._coefficients)))]
            raise ConvergenceError(
                f"no convergence within max_rounds; the largest effect is that of {largest}: if it separates the events or has outliers, "
                "leave it out, transform it or set a penalty; otherwise raise max_rounds or the tolerance"
            )

    async def _through(self, rounds: list[list[Stage]], dealt: list[Stage]) -> Revealed:
        """Enter what a step takes, and run its rounds, of which (and more) `dealt` are the stages; return what the last one reveals."""
        revealed = await self._stages.run(rounds[0], *await self._enter(dealt))
        for stages in rounds[1:]:
            revealed = await self._stages.run(stages)
        return revealed

    async def _enter(self, stages: list[Stage]) -> tuple[Broadcast, Sealed | None]:
        """Two rounds: masked inputs to the outcome holder, sorted vectors to everyone. Return these, and the dealer's corrections."""
        plan, step = self.plan, self._step
        dealt = EnterRequest(plan, step, [], stages, True, {key: [] for key in self._beside})
        requests: dict[int, EnterRequest] = {plan.helper: dealt}
        for index, member in enumerate(plan.holders):
            own = places_of(plan, index)
            if own or plan.complete or (plan.weighted and step and member == plan.holders[-1]):
                beside = {key: point.coefficients[own].tolist() for key, point in self._beside.items()}
                here = self._coefficients[own].tolist() if step else []
                requests[member] = EnterRequest(plan, step, here, [], True, beside)
        entered = await self.federation.round("partial_enter", requests, list(requests), EnterReply)
        inputs = sealed_parts({member: reply.sealed for member, reply in entered.items() if member != plan.helper})
        request = PermuteRequest(plan, step, inputs, entered[plan.helper].sealed, list(self._beside))
        owner = plan.holders[-1]
        permuted = await self.federation.round("partial_permute", request, [owner], PermuteReply)
        return permuted[owner].published, entered[plan.helper].dealt
