"""Squares of score residuals on shares, of which robust standard errors are made: sum_i u_i u_i', (features, features).

With every event a risk set of its own (Breslow's, `ties` of a flat layout), m_j = S1_j / S0_j its mean and q_j = d_j / S0_j,

    u_i = d_i (x_i - m_i) - sum_{j at risk with i} q_j w_i (x_i - m_j) = d_i x_i - v_i - z_i + w_i G_i,

where v_i = d_i m_i and z_i = H_i w_i x_i are opened (masked) for the information matrix already, and G_i, the sum of q_j m_j over the events whose risk set
holds i, is the map of the hazards applied to q v. So there are two products more, and one matrix is revealed. With clusters u is summed by these first
(`clusters`): then it is opened in the dealer's order of the rows, so that the products of all masks are dealt too.

References
----------
Lin, Wei, The robust inference for the Cox proportional hazards model, JASA 84, 1989, equation 2.4.
"""

from __future__ import annotations

from collections.abc import Callable

from fedbayes.mpc.shared_fixed import Engine
from fedbayes.mpc.wires import Share

from ..messages.names import Name
from ..messages.private import Stage
from . import clusters
from . import newton_step as formulas
from .layout import FEATURE_BITS, FEATURES, RECIPROCAL_BITS, RISK_BITS, Get, Layout, events_name

Made = tuple[dict[Name, Share], dict[str, Share]]
SQUARES = "squares"


def turn(engine: Engine, layout: Layout, stage: Stage, get: Get) -> Made:
    """Open q v, (rows, features)."""
    events = get(stage.named("reciprocal")).columns([-1])
    return {stage.named("turn"): engine.product(f"{stage.label}/turn", [events, get(stage.named("v"))])}, {}


def turn_back(engine: Engine, layout: Layout, stage: Stage, get: Get) -> Made:
    """Open what small ties add to G, (rows, features)."""
    return {stage.named("turnback"): formulas.tie_correction_back(engine, get(stage.named("turn")), get)}, {}


def residuals(engine: Engine, layout: Layout, stage: Stage, get: Get) -> Made:
    """Open the score residuals, (rows, features)."""
    total = formulas.hazards(engine, layout, f"{stage.label}/turned", get(stage.named("turn")))
    if layout.band:
        total = total + get(stage.named("turnback"))
    moved = layout.clusters > 0
    weighed = engine.product(f"{stage.label}/turned risks", [get(Name("w", stage.step)), total], complete=moved)
    own = engine.product(f"{stage.label}/own", [get(events_name(layout)), get(FEATURES)], complete=moved)
    rest = own - engine.lifted(get(stage.named("v"))) - engine.lifted(get(stage.named("z")))
    more = RISK_BITS + RECIPROCAL_BITS - FEATURE_BITS
    return {stage.named("residual"): weighed + rest.times(1 << more, more)}, {}


def squares(engine: Engine, layout: Layout, stage: Stage, get: Get) -> Made:
    """Reveal the sum of the products of the records' residuals, or of their sums by cluster."""
    own = get(stage.named(clusters.KIND if layout.clusters else "residual"))
    return {}, {SQUARES: engine.inner(f"{stage.label}/squares", own, own)}


STAGES: dict[str, Callable[[Engine, Layout, Stage, Get], Made]] = {
    "turn": turn,
    "turn_back": turn_back,
    "residuals": residuals,
    "squares": squares,
}


def kinds(layout: Layout) -> list[str]:
    """Return the stages in their order."""
    wanted = [kind for kind in STAGES if kind != "turn_back" or layout.band]
    return [*wanted[:-1], clusters.KIND, wanted[-1]] if layout.clusters else wanted
