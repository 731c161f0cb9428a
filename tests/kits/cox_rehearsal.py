"""The private solver's roles in one process, with every role's view recorded."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from fedbayes.mpc.relayed_sums import relayed
from fedbayes.mpc.shared_fixed import Dealer, Party
from fedbayes.mpc.wide import Wide
from fedbayes.mpc.wires import expand_wide
from v6_verticox.cox.tails import Tails, reach
from v6_verticox.messages.names import START, Name
from v6_verticox.messages.private import Stage
from v6_verticox.messages.setup import Plan
from v6_verticox.rounds.points import Gradient
from v6_verticox.shares.layout import FEATURE_BITS, LINE_BITS, Layout
from v6_verticox.shares.layout import beside as beside_step
from v6_verticox.shares.program import CORRECTING, Program, masks
from v6_verticox.shares.reciprocals import NEWTON, reciprocal_name
from v6_verticox.shares.sorting import OutcomeHolder, delta, masked_input
from v6_verticox.shares.travel import forms, joined, pack, reorder, scattered, unpack


@dataclass
class Rehearsal:
    """A surface for `newton.solve` that plays all roles; `columns` holds each party's standardised columns."""

    columns: list[np.ndarray]
    time: np.ndarray
    event: np.ndarray
    baseline_rows: tuple[int, ...] = ()
    limit: int = 0
    trend: np.ndarray | None = None
    stratum: np.ndarray | None = None
    views: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        rng = np.random.default_rng()
        count = len(self.columns)
        self.keys = [rng.bytes(32) for _ in range(count)]
        self.features = [block.shape[1] for block in self.columns]
        rows = len(self.time)
        self.holder = OutcomeHolder(
            self.keys[-1],
            self.time,
            self.event,
            np.zeros(rows, dtype=int) if self.stratum is None else self.stratum,
            self.limit,
            self.trend,
        )
        used = len(self.holder.order)
        strata = [int(size) for size in self.holder.sizes]
        public = list(self.holder.rows.large)
        band, single = self.holder.rows.band, self.holder.single
        self.layout = Layout(Plan(list(range(count)), self.features, count, used, strata, used, public, band, single))
        self.dealt_wires: dict[str, Any] = {}
        self.rows = rows
        self.events = float(self.event.sum())
        self.tails = Tails.of([ends for block in self.columns for ends in reach(block)])
        self.names = [f"x{index}" for index in range(sum(self.features))]
        self.rounds = 0
        self.corrections: dict[str, Wide] = {}
        self.programs = [
            Program(Party(i, count, self.keys[i], self.corrections if i == count - 1 else None), self.layout, {})
            for i in range(count)
        ]
        self.source, self.accepted, self.beside = START, {0: START}, {}

    def _deal(self, stages: list[Stage]) -> None:
        dealer = Dealer(self.keys)
        self.corrections.update(unpack(pack(masks(Program(dealer, self.layout, self.dealt_wires), stages))))
        self.views["outcome"].append({name: value for name, value in dealer.corrections.items()})

    def _permute(self, names: list[str], blocks: list[tuple[int, np.ndarray, int]]) -> dict[str, Wide]:
        """Masked inputs to the outcome holder, who publishes them in its order."""
        published = {}
        for name, (index, values, bits) in zip(names, blocks, strict=True):
            entered = masked_input(self.keys[index], name, Wide.encode(values, bits))
            mask = expand_wide(self.keys[index], f"input/{name}", values.shape)
            correction = delta(self.keys[-1], mask, Dealer(self.keys).random(name, values.shape))
            self.views["outcome"].append({name: entered, f"{name}/delta": correction})
            published[name] = self.holder.permuted(entered, correction)
        self.views["parties"].append(published)
        self.rounds += 2
        return published

    def _stage(self, stage: Stage | list[Stage], permuted: dict[str, Wide] | None = None) -> dict[str, np.ndarray]:
        outgoing = []
        for program in self.programs:
            spread = {name: scattered(array, self.holder.tau) for name, array in (permuted or {}).items()}
            stages = stage if isinstance(stage, list) else [stage]
            result = joined([program.run(one, spread) for one in stages])
            outgoing.append(reorder(result, self.holder.tau) if permuted else result)
        self.rounds += 1
        for name in outgoing[0].opened:
            form = forms(self.layout, [name])[name]
            openings = [
                form.part(program.engine.open_with(name, out.opened[name]))
                for program, out in zip(self.programs, outgoing, strict=True)
            ]
            self.views["relay"].append({name: openings})
            public = form.public(form.cut(relayed(openings)))
            self.views["parties"].append({name: public})
            for program in self.programs:
                program.receive(name, public)
        revealed = {}
        for name in outgoing[0].revealed:
            shares = [out.revealed[name] for out in outgoing]
            self.views["central"].append({name: [share.value for share in shares]})
            total = shares[0]
            for share in shares[1:]:
                total = total + share
            revealed[name] = total.value.decode(total.frac_bits)
        return revealed

    async def start(self) -> Gradient:
        stages = [Stage("features"), Stage("last"), Stage("information", rows=self.baseline_rows)]
        if self.layout.plan.band:
            stages.insert(1, Stage("tied"))
        self._deal(stages)
        values = np.concatenate(self.columns, axis=1)
        blocks, names = [], []
        for index, block in enumerate(self.columns):
            names.append(f"features/{index}")
            blocks.append((index, self._filled(block), FEATURE_BITS))
        shape = (self.layout.plan.rows, values.shape[1])
        published = self._permute_features(names, blocks, shape)
        for name, entered in self.holder.entries(self.programs[-1].engine).items():
            for program in self.programs:
                shape, bits = program.entry(name)
                program.wires[name] = program.engine.entered(name, self.layout.owner, entered, shape, bits)
        self._stage(stages[0], {"features": published})
        for stage in stages[1:-1]:
            revealed = self._stage(stage)
        self._pending = stages[-1]
        return Gradient(np.zeros(self.layout.features), revealed["gradient"].ravel(), 0.0)

    def _filled(self, values: np.ndarray) -> np.ndarray:
        """Add zeros for the blank rows."""
        return np.concatenate([values, np.zeros((self.holder.blanks, values.shape[1]))])

    def _permute_features(self, names: list[str], blocks: list[Any], shape: tuple[int, int]) -> Wide:
        entered = [
            masked_input(self.keys[i], name, Wide.encode(v, bits))
            for name, (i, v, bits) in zip(names, blocks, strict=True)
        ]
        target = Dealer(self.keys).random("features", shape)
        own = [
            expand_wide(self.keys[i], f"input/{name}", v.shape) for name, (i, v, _) in zip(names, blocks, strict=True)
        ]
        correction = delta(self.keys[-1], Wide.concatenate(own), target)
        self.rounds += 2
        published = self.holder.permuted(Wide.concatenate(entered), correction)
        self.views["outcome"].append({"features": Wide.concatenate(entered), "features/delta": correction})
        self.views["parties"].append({"features": published})
        return published

    async def evaluate(self, step: int, coefficients: np.ndarray, plan: Any, beside: Any = ()) -> Gradient:
        self._step, self._coefficients = step, coefficients
        self.beside = {beside_step(step, place): point for place, point in enumerate(beside)}
        plans = {step: list(plan), **{key: point.plan for key, point in self.beside.items()}}
        self._version = max(CORRECTING if self.layout.plan.band else 1, *(len(own) for own in plans.values()))
        sources = {
            key: self.accepted[self.beside[key].source if key in self.beside else max(self.accepted)] for key in plans
        }
        stages = [[Stage("relative_risk", key) for key in plans] + [Stage("line", step)] * bool(beside)]
        if len(self.layout.groups()) > 1:
            stages.append([Stage("combine", key) for key in plans])
        for version in range(1, self._version + 1):
            stages.append([])
            for key in plans:
                pair = (*plans[key], *[NEWTON] * self._version)[version - 1]
                first = "weigh_slope" if key in self.beside else "weigh"
                stages[-1].append(Stage(first if version == 1 else "refine", key, version, sources[key], pair))
                sources[key] = reciprocal_name(key, version, pair)
        self.source = sources[step]
        stages.append(self._last())
        self._deal([*(one for part in stages for one in part), self._pending])
        blocks, offset = {}, 0
        for index, block in enumerate(self.columns):
            for key in plans:
                point = self.beside[key].coefficients if key in self.beside else coefficients
                predictor = (block @ point[offset : offset + block.shape[1]])[:, None]
                values = self._filled(np.exp(predictor))
                blocks[f"{key}.0/factor{index}"] = (index, values, self.layout.factor_bits())
                if key == step and beside:
                    blocks[f"{step}.0/line{index}"] = (index, self._filled(predictor), LINE_BITS)
            offset += block.shape[1]
        revealed = self._stage(stages[0], self._permute(list(blocks), list(blocks.values())))
        for part in stages[1:]:
            revealed = self._stage(part)
        return self._gradient(revealed)

    def _last(self) -> list[Stage]:
        self._pending = Stage("information", self._step, self._version, rows=self.baseline_rows)
        return [Stage("last", self._step, self._version), *(Stage("slope", key, self._version) for key in self.beside)]

    def _gradient(self, revealed: dict[str, np.ndarray]) -> Gradient:
        residual = self.events - revealed["residual"].item()
        slopes = np.array([revealed[f"slope|{key}"].item() for key in self.beside])
        residuals = np.array([self.events - revealed[f"residual|{key}"].item() for key in self.beside])
        return Gradient(self._coefficients, revealed["gradient"].ravel(), residual, slopes, residuals)

    async def refine(self, step: int) -> Gradient:
        before, self._version = self._version, self._version + 1
        refined = [
            Stage("refine", key, self._version, Name("reciprocal", key, before), NEWTON) for key in (step, *self.beside)
        ]
        self.source, last = Name("reciprocal", step, self._version), self._last()
        self.rounds += 1
        self._deal([*refined, *last, self._pending])
        self._stage(refined)
        return self._gradient(self._stage(last))

    def rounds_left(self) -> int:
        return 1000

    def accept(self) -> None:
        self.accepted[self._step] = self.source

    async def information(self, step: int, final: bool) -> np.ndarray:
        revealed = self._stage(self._pending)
        self.baseline, self.score = revealed.get("baseline"), revealed.get("trend", np.zeros(0)).ravel()
        return revealed["information"]


def standardised(frame: pd.DataFrame, features: list[str]) -> tuple[np.ndarray, np.ndarray]:
    values = frame[features].to_numpy(dtype=float)
    scale = 2.0 ** np.round(np.log2(values.std(axis=0)))
    return (values - values.mean(axis=0)) / scale, scale
