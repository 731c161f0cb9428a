"""The arithmetic of one private Newton step: the program that the parties run on shares and the dealer on masks.

Rows are in the secret order of the outcome holder: by stratum, then by time, so that a risk set is a suffix of its
stratum. Notation: w relative risk, S0_j and S1_j suffix sums of w and of w x, c_j the number of events at a time (at the
first row of its ties, else 0), r = 1/S0, t = sqrt(c) r, q = c r, H prefix sums of q, d event indicators.

    gradient      g = sum_j d_j x_j - sum_i H_i w_i x_i
    information   I = sum_i H_i w_i x_i x_i' - sum_j (t_j S1_j)(t_j S1_j)'

Where c is 0 or 1 everywhere (no tied events, or Efron's ties), q is all that is carried: B <- a B - b S0 B B.
With Efron's ties every event is a risk set of its own, c = d, and S0, S1, H are corrected as `ties` says.

The triple (r, t, q) is refined by Newton's reciprocal from its value in the previous step: B <- a B - b S0 r B,
with public a, b (2 and 1, or the minimax choice on an interval for the first steps).

References
----------
Cox, Regression models and life-tables, JRSS B 34, 1972; Breslow, JRSS B 34, 1972, p. 216 (ties).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedbayes.mpc.shared_fixed import Engine
from fedbayes.mpc.wires import Share, Wire
from fedbayes.typing import Floats

from ..cox.coarse import rising
from ..messages.names import Name
from ..messages.private import BESIDE, Stage
from .layout import (
    BANDS,
    COEFFICIENT_BITS,
    EVENT,
    FEATURE_BITS,
    FEATURES,
    LINE_BITS,
    RECIPROCAL_BITS,
    RISK_BITS,
    TREND,
    WEIGHTS,
    WIDE_BITS,
    Get,
    Layout,
    back_name,
    beside_of,
    events_name,
)
from .products import GROWTH_BITS, TALLY
from .reciprocals import is_wide
from .ties import TIE_BITS, corrected, corrected_back


def opening(layout: Layout, name: Name) -> tuple[tuple[int, ...], int, int]:
    """Return shape, fractional bits and bits to cut of an opening, by its name."""
    rows, features = layout.plan.rows, layout.features
    columns = 1 if layout.plan.single else 2 if (name.step or 0) >= BESIDE else 3
    if name.kind in ("present", "event"):
        return (rows, 1), 0, 0
    if name.kind == "group":
        return (rows, 1), RISK_BITS, _group_bits(layout, name.part or 0) - RISK_BITS
    if name.kind == TALLY:
        product = layout.plan.products[name.part or 0]
        return (product.supports, product.cells), 0, 0
    product_bits = (
        _group_bits(layout, 0) if layout.multiplied == 1 else RISK_BITS * len(layout.multiplications()[-1][0])
    )
    table = {
        "x": ((rows, features), FEATURE_BITS, 0),
        "w": ((rows, 1), RISK_BITS, product_bits - RISK_BITS),
        "y": ((rows, features), FEATURE_BITS, RISK_BITS),
        "line": ((rows, 1), LINE_BITS, 0),
        "s": ((rows, 1), LINE_BITS, RISK_BITS),
        "reciprocal": ((rows, columns), RECIPROCAL_BITS, RISK_BITS + RECIPROCAL_BITS + COEFFICIENT_BITS),
        "wide": ((rows, columns), RECIPROCAL_BITS, RISK_BITS + RECIPROCAL_BITS + WIDE_BITS),
        "z": ((rows, features), FEATURE_BITS, RECIPROCAL_BITS),
        "v": ((rows, features), FEATURE_BITS, RECIPROCAL_BITS),
        "c": ((rows, 1), RISK_BITS, TIE_BITS),
        "e": ((rows, features), FEATURE_BITS, TIE_BITS),
        "es": ((rows, 1), LINE_BITS, TIE_BITS),
        "k": ((rows, 1), RECIPROCAL_BITS, TIE_BITS),
        "turn": ((rows, features), RECIPROCAL_BITS, FEATURE_BITS),
        "turnback": ((rows, features), RECIPROCAL_BITS, TIE_BITS),
        "mean": ((rows, features), FEATURE_BITS, RECIPROCAL_BITS),
        "tiedmean": ((rows, features), FEATURE_BITS, TIE_BITS),
        "residual": ((rows, features), FEATURE_BITS, RECIPROCAL_BITS),
        "clusters": ((layout.clusters, features), FEATURE_BITS, 0),
    }
    return table[name.kind]


def _group_bits(layout: Layout, part: int) -> int:
    """Return the fractional bits of a product of factors, of a product's factor, or of a product of such openings."""
    groups = layout.groups()
    if part < layout.multiplied:
        return len(groups[part]) * layout.factor_bits() if part < len(groups) else GROWTH_BITS
    made = [chosen for chosens in layout.multiplications() for chosen in chosens]
    return RISK_BITS * len(made[part - layout.multiplied])


def factor_products(engine: Engine, layout: Layout, step: int, factors: Sequence[Wire]) -> list[Share]:
    """Multiply the parties' factors of the relative risk, group by group (in the dealer's order of the rows)."""
    products = []
    for position, group in enumerate(layout.groups()):
        chosen = [factors[index] for index in group]
        products.append(engine.product(f"{step}/factors{position}", chosen, complete=True))
    return products


def combined(engine: Engine, layout: Layout, stage: Stage, get: Get) -> dict[Name, Share]:
    """Multiply openings of the relative risk, one round of `Layout.multiplications`."""
    rounds, step = layout.multiplications(), stage.step
    before = layout.multiplied + sum(len(chosens) for chosens in rounds[: stage.version])
    products = {}
    for place, chosen in enumerate(rounds[stage.version]):
        wires = [get(Name("group", step, part=part)) for part in chosen]
        last = stage.version == len(rounds) - 1
        name = Name("w", step) if last else Name("group", step, part=before + place)
        products[name] = engine.product(f"{step}/combined{before + place}", wires)
    return products


def weighted_features(engine: Engine, step: int, get: Get) -> Share:
    """Return w x, (rows, features)."""
    return engine.product(f"{step}/weighted", [get(Name("w", step)), get(FEATURES)])


def weighted_name(layout: Layout, step: int) -> Name:
    """Return the name of w x: where all risks are one that of x."""
    return FEATURES if not step and layout.alike else Name("y", step)


def sums_at_risk(engine: Engine, layout: Layout, name: str, values: Wire) -> Wire:
    """Return the sums over the risk sets, but for the corrections of small ties; `name` deals the cut that public ties need."""
    sums = values.apply(layout.suffix)
    return _unscaled(engine, name, sums.apply(layout.public_ties().risk)) if layout.plan.ties else sums


def _unscaled(engine: Engine, name: str, wire: Wire) -> Wire:
    """Return a wire that a map of `PublicTies` multiplied by 2^TIE_BITS, without that factor."""
    return engine.cut(name, Wire(wire.public, wire.mask, wire.frac_bits + TIE_BITS), TIE_BITS)


def corrected_sums(engine: Engine, layout: Layout, step: int, name: str, get: Get) -> Wire:
    """Return S1, the sums of w x over the risk sets, with the corrections of small ties; `name` as in `sums_at_risk`."""
    sums = sums_at_risk(engine, layout, name, get(weighted_name(layout, step)))
    return sums + get(Name("e", step)) if layout.plan.band else sums


def hazards(engine: Engine, layout: Layout, name: str, values: Wire) -> Wire:
    """Return the sums over the events whose risk set holds a row: the transpose of `sums_at_risk`."""
    if not layout.plan.ties:
        return values.apply(layout.prefix)
    return _unscaled(engine, name, values.apply(layout.public_ties().back).apply(layout.prefix))


def tie_correction(engine: Engine, values: Wire, get: Get) -> Share:
    """Return K values: what small ties add to the sums over the risk sets."""
    return engine.bilinear(get(BANDS), values, corrected, values.shape)


def tie_corrections(engine: Engine, layout: Layout, step: int, get: Get) -> dict[Name, Share]:
    """Return what small ties add to the sums of w x, and at zero with case weights to those of w, from which the next refinement starts."""
    values = {Name("e", step): weighted_name(layout, step)}
    if layout.plan.weighted and not step:
        values[Name("c", step)] = WEIGHTS
    return {name: tie_correction(engine, get(value), get) for name, value in values.items()}


def tie_correction_back(engine: Engine, values: Wire, get: Get) -> Share:
    """Return K' values: what small ties add to the hazards."""
    return engine.bilinear(get(BANDS), values, corrected_back, values.shape)


def refined(engine: Engine, stage: Stage, at_risk: Wire, previous: Wire) -> Share:
    """Return a B - b S0 r B, with a and b of the stage."""
    step, coefficients = stage.step, stage.coefficients
    if step >= BESIDE and previous.shape[1] == 3:
        previous = previous.columns([0, 2])  # no root is needed there
    name = f"{step}/refined{stage.version}"
    first = previous if previous.shape[1] == 1 else previous.columns([0])
    bend = engine.product(name, [at_risk, first, previous])
    bits = WIDE_BITS if is_wide(coefficients) else COEFFICIENT_BITS
    factor, bent = (value >> (WIDE_BITS - bits) for value in coefficients)
    lifted = engine.lifted(previous).times(factor << (RISK_BITS + RECIPROCAL_BITS), RISK_BITS + RECIPROCAL_BITS + bits)
    return lifted - bend.times(bent, bits)


@dataclass(frozen=True, slots=True)
class Level:
    """Shares of the last level but one: `hazard` = H y, `means` = t S1 (to be opened masked); gradient and residual (to central)."""

    hazard: Share
    means: Share
    gradient: Share
    residual: Share | None


def last_level(engine: Engine, layout: Layout, stage: Stage, reciprocal: Wire, at_risk: Wire | None, get: Get) -> Level:
    """Return what follows from the wires of w x, of (r, t, q) and of S0 (for the residual)."""
    step, version, label = stage.step, stage.version, stage.label
    weighted, events = get(weighted_name(layout, step)), reciprocal.columns([-1])
    roots = events if layout.plan.single else reciprocal.columns([1])
    sums = corrected_sums(engine, layout, step, f"{label}/sums", get)
    hazard = hazards(engine, layout, f"{label}/hazards", events)
    if layout.plan.band:
        hazard = hazard + get(back_name(layout, step, version))
    explained = engine.inner(f"{label}/explained", events, sums)
    observed = per_event(layout, engine.inner(f"{label}/observed", get(events_name(layout)), get(FEATURES)))
    return Level(
        engine.product(f"{label}/hazard", [hazard, weighted]),
        engine.product(f"{label}/means", [roots, sums]),
        observed - explained,
        None if at_risk is None else residual(engine, layout, label, events, at_risk, get),
    )


def residual(engine: Engine, layout: Layout, label: str, events: Wire, at_risk: Wire, get: Get) -> Share:
    """Return sum_j q_j S0_j, which is the number of events where q is exact; where only complete records count, that number less it."""
    explained = engine.inner(f"{label}/residual", events, at_risk)
    if not layout.plan.complete:
        return explained
    count = engine.lifted(get(EVENT).apply(lambda part: part.total()[None, :]))
    bits = RECIPROCAL_BITS + RISK_BITS
    return count.times(1 << bits, bits) - explained


def weighted_line(engine: Engine, step: int, get: Get) -> Share:
    """Return w s, (rows, 1): s the linear predictor of the step that this point is beside of."""
    return engine.product(f"{step}/weighted line", [get(Name("w", step)), get(Name("line", beside_of(step)))])


def slope(engine: Engine, layout: Layout, stage: Stage, at_risk: Wire, get: Get) -> tuple[Share, Share]:
    """Return the slope of the likelihood along s, sum_j d_j s_j - sum_i H_i w_i s_i, and the residual of the reciprocals."""
    step, label = stage.step, stage.label
    events = get(stage.named("reciprocal")).columns([-1])
    sums = sums_at_risk(engine, layout, f"{label}/slope sums", get(Name("s", step)))
    if layout.plan.band:
        sums = sums + get(Name("es", step))
    explained = engine.inner(f"{label}/explained slope", events, sums)
    observed = engine.inner(f"{label}/observed slope", get(events_name(layout)), get(Name("line", beside_of(step))))
    left = residual(engine, layout, label, events, at_risk, get)
    return per_event(layout, observed) - explained, left


def per_event(layout: Layout, observed: Share) -> Share:
    """Return a sum over the events with as many fractional bits as one over reciprocals; weights of events have them."""
    return observed if layout.plan.weighted else observed.times(1 << RECIPROCAL_BITS, RECIPROCAL_BITS)


def information(engine: Engine, stage: Stage, get: Get) -> Share:
    """Return the information matrix, (features, features)."""
    means = get(stage.named("v"))
    first = engine.inner(f"{stage.label}/first", get(stage.named("z")), get(FEATURES))
    second = engine.inner(f"{stage.label}/second", means, means)
    return first - second


def trend(engine: Engine, stage: Stage, get: Get) -> Share:
    """Return the score of every feature's interaction with a function g of time: sum_j g_j (d_j x_j - c_j S1_j / S0_j), (1, features).

    The outcome holder entered g d and g sqrt(c).
    """
    moved = get(TREND)
    observed = engine.inner(f"{stage.label}/observed trend", moved.columns([0]), get(FEATURES))
    return observed - engine.inner(f"{stage.label}/explained trend", moved.columns([1]), get(stage.named("v")))


def baseline(engine: Engine, layout: Layout, label: str, reciprocal: Wire, rows: Sequence[int]) -> Share:
    """Return the cumulative baseline hazard at some rows, freshly shared, in the steps in which it is told (`coarse`).

    Every party cuts its share, which is uniform: what is left of the low bits of a sum of n shares is at most n - 1 steps, which hang on these.
    """
    hazard = engine.lifted(reciprocal.columns([-1]).apply(layout.prefix)).rows(list(rows))
    share = engine.hidden(f"{label}/baseline", Share(hazard.value, (len(rows), 1), hazard.frac_bits))
    if share.value is None:
        return share
    return Share(share.value.cut(layout.hazard_bits(rows)[:, None]), share.shape, share.frac_bits)


def read_baseline(layout: Layout, revealed: Floats, rows: Sequence[int], parties: int) -> Floats:
    """Return the hazards, (rows,), of the sum of so many shares that were cut: what was cut off is on average half of a step a party."""
    cut = (np.ldexp(1.0, layout.hazard_bits(rows)) - 1.0) / 2.0
    return rising(revealed + parties * np.ldexp(cut, -RECIPROCAL_BITS), layout.plan.strata, rows)
