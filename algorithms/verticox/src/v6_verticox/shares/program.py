"""The stages of the private solver, the same for share holders and the dealer.

A stage computes shares. Some are opened under masks to the other share holders (`Outgoing.opened`), who turn them into
wires before the next stage; a few small ones are revealed to central by their sum (`Outgoing.revealed`).
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from functools import reduce
from operator import add

from fedbayes.federation.errors import MessageError
from fedbayes.mpc.shared_fixed import Dealer, Engine
from fedbayes.mpc.wide import Wide
from fedbayes.mpc.wires import Share, Wire

from ..messages.names import START, Name
from ..messages.private import BESIDE, Stage
from . import clusters, complete, products, sandwich
from . import newton_step as formulas
from .layout import (
    BANDS,
    COLUMNS,
    EVENT,
    EVENTS,
    FEATURE_BITS,
    FEATURES,
    LINE_BITS,
    PRESENT,
    RECIPROCAL_BITS,
    RISK_BITS,
    STARTS,
    TREND,
    Layout,
    back_name,
    entered_names,
    line_names,
)
from .reciprocals import reciprocal_name
from .ties import TIE_BITS
from .travel import Outgoing

CORRECTING = 2  # the refinement beside which the corrections of small ties are opened


class Program:
    """One role's run through the stages.

    Parameters
    ----------
    engine : Party or Dealer
    layout : Layout
    wires : mutable mapping of str to Wire
        What earlier stages left; new wires are added.
    """

    def __init__(self, engine: Engine, layout: Layout, wires: MutableMapping[str, Wire]) -> None:
        self.engine, self.layout, self.wires = engine, layout, wires

    def get(self, name: Name) -> Wire:
        """Return a wire; the dealer knows the masks of what is entered at the start."""
        if name not in self.wires and isinstance(self.engine, Dealer) and name in STARTS:
            shape, bits = self.entry(name)
            return self.engine.entered(name, self.layout.owner, None, shape, bits)
        if name not in self.wires:
            raise MessageError("an earlier stage of the protocol is missing; the job stops")
        return self.wires[name]

    def entry(self, name: Name) -> tuple[tuple[int, ...], int]:
        """Return shape and fractional bits of what the outcome holder enters: events, reciprocals, trend, weights or risks."""
        rows = self.layout.plan.rows
        return {
            "d": ((rows, 1), RECIPROCAL_BITS if self.layout.plan.weighted else 0),
            "reciprocal": ((rows, 1 if self.layout.plan.single else 3), RECIPROCAL_BITS),
            TREND: ((rows, 2), FEATURE_BITS),
            BANDS: ((rows, 2 * self.layout.plan.band - 1), TIE_BITS),
            "w": ((rows, 1), RISK_BITS),
            "c": ((rows, 1), RISK_BITS),
            "k": ((rows, 1), RECIPROCAL_BITS),
        }[name.kind]

    def enter(self, published: Mapping[Name, Wide | None]) -> None:
        """Turn what the outcome holder entered into wires; at the dealer the names are enough."""
        for name, public in published.items():
            shape, bits = self.entry(name)
            self.wires[name] = self.engine.entered(name, self.layout.owner, public, shape, bits)

    def receive(self, name: Name, public: Wide | None, opened: Wide | None = None) -> None:
        """Turn an opening into a wire: at a party by its public part, at the dealer by its mask."""
        shape, frac_bits, dropped = formulas.opening(self.layout, name)
        if public is not None and public.shape != shape:
            raise ValueError("an opening has another shape than it must")
        self.wires[name] = self.engine.wire(name, public, shape, frac_bits, dropped, opened)

    def run(self, stage: Stage, permuted: Mapping[Name, Wide] | None = None) -> Outgoing:
        """Compute one stage.

        Parameters
        ----------
        stage : Stage
            Which one.
        permuted : mapping, optional
            At a share holder, for "features" and "relative_risk": what the outcome holder published, in the dealer's order
            of the rows; the caller brings the shares back by `reorder`. For "clusters" what the grouper published.
        """
        return {
            "features": self._features,
            "relative_risk": self._relative_risk,
            "gather": self._gather,
            "complete": self._complete,
            "combine": self._combine,
            "observed": self._observed,
            "weigh_start": self._weigh_start,
            "tied": self._tied,
            "weigh": self._weigh,
            "refine": self._refine,
            "last": self._last,
            "information": self._information,
            "line": self._line,
            "weigh_slope": self._weigh_slope,
            "slope": self._slope,
            "blend": self._blend,
            "level": self._level,
            "tally": self._tally,
            "few": self._few,
            "turn": self._sandwiched,
            "turn_back": self._sandwiched,
            "residuals": self._sandwiched,
            "squares": self._sandwiched,
            "clusters": self._clusters,
        }[stage.kind](stage, permuted or {})

    def _factors(self, stage: Stage, permuted: Mapping[Name, Wide]) -> list[Wire]:
        shape, bits = (self.layout.plan.rows, 1), self.layout.factor_bits()
        names = [Name("factor", stage.step, part=index) for index in range(len(self.layout.factors))]
        return [Wire(permuted.get(name), self.engine.random(name, shape), bits) for name in names]

    def _features(self, stage: Stage, permuted: Mapping[Name, Wide]) -> Outgoing:
        made: list[Share] = []
        if self.layout.own_columns:
            shape = (self.layout.plan.rows, self.layout.own_columns)
            own = Wire(permuted.get(COLUMNS), self.engine.random(COLUMNS, shape), FEATURE_BITS)
            made.append(self.engine.lifted(own))
        for name, wire in products.receive_columns(self.engine, self.layout, permuted).items():
            self.wires[name] = wire
        made += products.columns(self.engine, self.layout, self.get)
        opened = {FEATURES: products.joined_columns(made)}
        return Outgoing(
            {**opened, **complete.gathered(self.engine, self.layout, permuted)} if self.layout.plan.complete else opened
        )

    def _gather(self, stage: Stage, permuted: Mapping[Name, Wide]) -> Outgoing:
        return Outgoing({PRESENT: complete.combined(self.engine, self.layout, self.get)})

    def _complete(self, stage: Stage, permuted: Mapping[Name, Wide]) -> Outgoing:
        present, events = self.get(PRESENT), self.get(EVENTS)
        self.wires[Name("w", 0)] = complete.scaled(present, lambda values: values.times(1 << RISK_BITS), RISK_BITS)
        counts = complete.counts(self.engine, self.layout, present, events, self.get(FEATURES))
        return Outgoing({EVENT: self.engine.product(EVENT, [present, events], complete=True)}, {}, counts)

    def _relative_risk(self, stage: Stage, permuted: Mapping[Name, Wide]) -> Outgoing:
        groups = formulas.factor_products(self.engine, self.layout, stage.step, self._factors(stage, permuted))
        groups += products.risks(self.engine, self.layout, stage.step, permuted, self.get)
        if len(groups) == 1:
            return Outgoing({Name("w", stage.step): groups[0]})
        return Outgoing({Name("group", stage.step, part=index): share for index, share in enumerate(groups)})

    def _tally(self, stage: Stage, permuted: Mapping[Name, Wide]) -> Outgoing:
        return Outgoing(dict(products.tallied(self.engine, self.layout, self.get)))

    def _few(self, stage: Stage, permuted: Mapping[Name, Wide]) -> Outgoing:
        return Outgoing({}, {}, {products.FEW: products.counted_few(self.engine, self.layout, self.get)})

    def _combine(self, stage: Stage, permuted: Mapping[Name, Wide]) -> Outgoing:
        return Outgoing(formulas.combined(self.engine, self.layout, stage, self.get))

    def _observed(self, stage: Stage, permuted: Mapping[Name, Wide]) -> Outgoing:
        return Outgoing({}, {"observed": self.engine.inner("events only", self.get(EVENTS), self.get(FEATURES))})

    def _weigh_start(self, stage: Stage, permuted: Mapping[Name, Wide]) -> Outgoing:
        if stage.step and isinstance(self.engine, Dealer):  # the outcome holder knows the risks and enters them
            self.enter(dict.fromkeys(entered_names(self.layout, stage.step)))
        return Outgoing({Name("y", stage.step): formulas.weighted_features(self.engine, stage.step, self.get)})

    def _tied(self, stage: Stage, permuted: Mapping[Name, Wide]) -> Outgoing:
        """What small ties add, where the hazards are known to the outcome holder."""
        return Outgoing(formulas.tie_corrections(self.engine, self.layout, stage.step, self.get))

    def _weigh(self, stage: Stage, permuted: Mapping[Name, Wide]) -> Outgoing:
        weighted = formulas.weighted_features(self.engine, stage.step, self.get)
        return Outgoing({Name("y", stage.step): weighted, **self._first_refined(stage)})

    def _first_refined(self, stage: Stage) -> dict[Name, Share]:
        """Refine for the first time; small ties are corrected as at the source of the reciprocals, and the own correction is opened."""
        step, source = stage.step, stage.source.step or 0
        if self.layout.plan.complete and stage.source == START:
            self.wires[START] = complete.first_reciprocals(self.layout, self.get(EVENT))
        risk = self.get(Name("w", step))
        self.wires[Name("risk", step)] = formulas.sums_at_risk(self.engine, self.layout, f"{step}/risk", risk)
        at_risk = self._at_risk(step, source)
        opened = self._refined(stage, at_risk)
        if self.layout.plan.band:
            opened[Name("c", step)] = formulas.tie_correction(self.engine, risk, self.get)
        return opened

    def _at_risk(self, step: int, corrected: int) -> Wire:
        """Return S0, small ties corrected as at another step (0: none, all risks being equal there)."""
        sums = self.get(Name("risk", step))
        known = corrected or Name("c", 0) in self.wires
        return sums + self.get(Name("c", corrected)) if self.layout.plan.band and known else sums

    def _refined(self, stage: Stage, at_risk: Wire) -> dict[Name, Share]:
        share = formulas.refined(self.engine, stage, at_risk, self.get(stage.source))
        return {reciprocal_name(stage.step, stage.version, stage.coefficients): share}

    def _line(self, stage: Stage, permuted: Mapping[Name, Wide]) -> Outgoing:
        shape, names = (self.layout.plan.rows, 1), line_names(self.layout, stage.step)
        own = [Wire(permuted.get(name), self.engine.random(name, shape), LINE_BITS) for name in names]
        parts = [self.engine.lifted(wire) for wire in own]
        parts += products.lines(self.engine, self.layout, stage.step, permuted, self.get, LINE_BITS)
        return Outgoing({Name("line", stage.step): reduce(add, parts)})

    def _weigh_slope(self, stage: Stage, permuted: Mapping[Name, Wide]) -> Outgoing:
        weighted = formulas.weighted_line(self.engine, stage.step, self.get)
        return Outgoing({Name("s", stage.step): weighted, **self._first_refined(stage)})

    def _slope(self, stage: Stage, permuted: Mapping[Name, Wide]) -> Outgoing:
        at_risk = self._at_risk(stage.step, stage.step)
        slope, residual = formulas.slope(self.engine, self.layout, stage, at_risk, self.get)
        return Outgoing({}, {f"slope|{stage.step}": slope, f"residual|{stage.step}": residual})

    def _blend(self, stage: Stage, permuted: Mapping[Name, Wide]) -> Outgoing:
        """Refine the reciprocals between what is expected at risk and what is."""
        at_risk = self._at_risk(0, 0)
        if stage.version == 1:  # small ties are not corrected yet, whoever has the corrections already
            at_risk = self.get(Name("risk", 0))
            self.wires[START] = complete.first_reciprocals(self.layout, self.get(EVENT))
        place, name = stage.step - BESIDE, f"{stage.label}/blend"
        return Outgoing(self._refined(stage, complete.blended(self.engine, self.layout, name, at_risk, place)))

    def _sandwiched(self, stage: Stage, permuted: Mapping[Name, Wide]) -> Outgoing:
        opened, revealed = sandwich.STAGES[stage.kind](self.engine, self.layout, stage, self.get)
        return Outgoing(opened, revealed)

    def _clusters(self, stage: Stage, permuted: Mapping[Name, Wide]) -> Outgoing:
        return Outgoing({stage.named(clusters.KIND): clusters.sums(self.engine, self.layout, stage, permuted)})

    def _level(self, stage: Stage, permuted: Mapping[Name, Wide]) -> Outgoing:
        events = self.get(stage.named("reciprocal"))
        share = complete.level(self.engine, self.layout, stage.label, events, self._at_risk(0, 0))
        revealed = {f"level|{stage.step}": share}
        if stage.step == BESIDE:
            revealed["expected level"] = complete.expected_level(self.engine, self.layout, self.get(EVENT))
        return Outgoing({}, revealed)

    def _refine(self, stage: Stage, permuted: Mapping[Name, Wide]) -> Outgoing:
        step = stage.step
        opened = self._refined(stage, self._at_risk(step, step))
        if self.layout.plan.band and stage.version == CORRECTING:
            kind, weighted = ("es", "s") if step >= BESIDE else ("e", "y")
            values = self.get(Name(weighted, step))
            opened[Name(kind, step)] = formulas.tie_correction(self.engine, values, self.get)
        again = self.layout.flat and stage.version > CORRECTING
        if self.layout.plan.band and step < BESIDE and (stage.version == CORRECTING or again):
            events = self.get(stage.source).columns([-1])
            name = back_name(self.layout, step, stage.version)
            opened[name] = formulas.tie_correction_back(self.engine, events, self.get)
        return Outgoing(opened)

    def _last(self, stage: Stage, permuted: Mapping[Name, Wide]) -> Outgoing:
        reciprocal = self.get(stage.named("reciprocal"))
        refined = (stage.step or self.layout.plan.complete) and stage.version
        at_risk = self._at_risk(stage.step, stage.step) if refined else None
        level = formulas.last_level(self.engine, self.layout, stage, reciprocal, at_risk, self.get)
        revealed = {"gradient": level.gradient}
        if level.residual is not None:
            revealed["residual"] = level.residual
        opened = {stage.named("z"): level.hazard, stage.named("v"): level.means}
        return Outgoing(opened, revealed)

    def _information(self, stage: Stage, permuted: Mapping[Name, Wide]) -> Outgoing:
        revealed = {"information": formulas.information(self.engine, stage, self.get)}
        if stage.rows:
            reciprocal = self.get(stage.named("reciprocal"))
            revealed["baseline"] = formulas.baseline(self.engine, self.layout, stage.label, reciprocal, stage.rows)
            if not self.layout.plan.complete:
                revealed["trend"] = formulas.trend(self.engine, stage, self.get)
        return Outgoing({}, revealed)


def masks(program: Program, stages: list[Stage]) -> dict[str, Wide]:
    """Run stages at the dealer; return the corrections for the last share holder."""
    for stage in stages:
        for name, share in program.run(stage).opened.items():
            program.receive(name, None, program.engine.open_with(name, share))
    assert isinstance(program.engine, Dealer)
    return program.engine.corrections
