"""Squares of score residuals on shares, of which robust standard errors are made: sum_i u_i u_i', (features, features).

Every event is a risk set of its own, m_j = S1_j / S0_j its mean, c_j its case weight and q_j = c_j / S0_j. A record is in it with the part a_ij of its risk w_i
(which holds the weight): 1, or 0; with Efron's ties 1 - l/d of the l-th of d tied events, if it is one of them. Then

    u_i = c_i (x_i - n_i) - sum_j a_ij q_j w_i (x_i - m_j) = c_i (x_i - n_i) - z_i + w_i G_i,

where n_i is the mean of its event: m_i, with Efron's ties the average of those of the d risk sets. z_i = H_i w_i x_i and v_i = root(c_i) m_i are opened
(masked) for the information matrix already, and G_i, the sum of a_ij q_j m_j, is the map of the hazards applied to q m. So there are two products more
(one more with case weights, whose m is r S1, and one with small ties of Efron's), and one matrix is revealed. With times of entry a record's residual is
the sum of those of its two rows (`stations.truncation`). With these and with clusters u is summed first (`clusters`): then it is opened in the dealer's
order of the rows, so that the products of all masks are dealt too.

References
----------
Lin, Wei, The robust inference for the Cox proportional hazards model, JASA 84, 1989, equation 2.4; Therneau, Grambsch, Modeling survival data, 2000,
section 7.1 (case weights) and appendix (Efron's ties).
"""

from __future__ import annotations

from collections.abc import Callable
from operator import neg

from fedbayes.mpc.shared_fixed import Engine
from fedbayes.mpc.wires import Share, Wire

from ..messages.names import Name
from ..messages.private import Stage
from . import clusters
from . import newton_step as formulas
from .layout import FEATURE_BITS, FEATURES, RECIPROCAL_BITS, Get, Layout, events_name
from .ties import MEAN_BITS, less_next

Made = tuple[dict[Name, Share], dict[str, Share]]
SQUARES = "squares"
RESIDUAL_BITS = FEATURE_BITS + RECIPROCAL_BITS
"""Fractional bits of a score residual before it is cut."""


def turn(engine: Engine, layout: Layout, stage: Stage, get: Get) -> Made:
    """Open q m, (rows, features), which is t v; with case weights, of which t is no root of one, also m = r S1; else with small ties K m."""
    means, reciprocal = get(stage.named("v")), get(stage.named("reciprocal"))
    roots = reciprocal.columns([-1 if layout.plan.single else 1])
    opened = {stage.named("turn"): engine.product(f"{stage.label}/turn", [roots, means])}
    if not layout.plan.single:
        sums = formulas.corrected_sums(engine, layout, stage.step, f"{stage.label}/own sums", get)
        opened[stage.named("mean")] = engine.product(f"{stage.label}/mean", [reciprocal.columns([0]), sums])
    elif _averages_small(layout):
        opened[stage.named("tiedmean")] = formulas.tie_correction(engine, means, get)
    return opened, {}


def turn_back(engine: Engine, layout: Layout, stage: Stage, get: Get) -> Made:
    """Open what small ties add to G, (rows, features); with case weights also K m."""
    opened = {stage.named("turnback"): formulas.tie_correction_back(engine, get(stage.named("turn")), get)}
    if _averages_small(layout) and not layout.plan.single:
        opened[stage.named("tiedmean")] = formulas.tie_correction(engine, get(stage.named("mean")), get)
    return opened, {}


def _averages_small(layout: Layout) -> bool:
    """Whether the events of small ties have the mean of their risk sets' m: with Efron's ties."""
    return layout.plan.band > 0 and not layout.flat


def residuals(engine: Engine, layout: Layout, stage: Stage, get: Get) -> Made:
    """Open the score residuals, (rows, features)."""
    total = formulas.hazards(engine, layout, f"{stage.label}/turned", get(stage.named("turn")))
    if layout.plan.band:
        total = total + get(stage.named("turnback"))
    moved = layout.clusters > 0
    weighed = engine.product(f"{stage.label}/turned risks", [get(Name("w", stage.step)), total], complete=moved)
    centred = get(FEATURES) + _means(engine, layout, stage, get).apply(neg)
    own = engine.product(f"{stage.label}/own", [get(events_name(layout)), centred], complete=moved)
    spent = _cut_alike(engine.lifted(get(stage.named("z"))))
    return {stage.named("residual"): _cut_alike(weighed) + _cut_alike(own) - spent}, {}


def _means(engine: Engine, layout: Layout, stage: Stage, get: Get) -> Wire:
    """Return n in the rows of events, (rows, features)."""
    means = get(stage.named("v" if layout.plan.single else "mean"))
    if layout.plan.ties and not layout.flat:
        averaged = means.apply(layout.public_ties().averaged)
        longer = Wire(averaged.public, averaged.mask, averaged.frac_bits + MEAN_BITS)
        means = engine.cut(f"{stage.label}/tied means", longer, MEAN_BITS)
    if _averages_small(layout):
        means = means + get(stage.named("tiedmean")).apply(less_next)
    return means


def _cut_alike(share: Share) -> Share:
    """Return a share with as many fractional bits as residuals have before they are cut."""
    missing = RESIDUAL_BITS - share.frac_bits
    return share.times(1 << missing, missing)


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
    wanted = [kind for kind in STAGES if kind != "turn_back" or layout.plan.band]
    return [*wanted[:-1], clusters.KIND, wanted[-1]] if layout.clusters else wanted
