"""What the researcher calls: fit (Algorithms 1 and 2), update (Algorithm 3), evaluate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.federation import Federation, central
from fedbayes.federation.horizontal import asked_columns, evaluate_model, load_model, resolve_columns

from .aggregate import AGGREGATIONS, collect_sum
from .arguments import (
    Evaluate,
    Fit,
    Update,
    before_fit,
    outside_promise,
    planned,
    unspent_delta,
    unused_arguments,
    updating_plan,
)
from .binning import choices
from .model import Plan, add, settled
from .result import fitted, updated


@central
def fit(federation: Federation, asked: Fit) -> dict[str, Any]:
    """Fit a naive Bayes classifier over all stations' rows under one privacy budget.

    Returns
    -------
    dict
        ``model``, ``privacy``, ``federation``, ``diagnostics``, ``warnings``, ``versions``.
    """
    label, features, domain, whom = asked.label, asked.features, asked.domain, asked.whom

    def resolved(stations: Sequence[int]) -> Plan:
        return planned(asked, resolve_columns(federation, stations, label, features, domain, asked.outside, whom))

    known = None if domain is None else resolved(())
    named, added = asked_columns(label, features, domain, whom), asked.added if known is None else known.noise
    before = before_fit(named, added, whom, asked.sensitivity, asked.outside, asked.aggregation)
    parties = federation.open_channel(asked.organizations, before)
    plan = known or resolved(parties.stations)
    for text in (*unused_arguments(plan, asked.bins), *unspent_delta(plan, asked.delta), *outside_promise(plan)):
        federation.warn(text)
    model = AGGREGATIONS[asked.aggregation](federation, parties.stations, plan, asked.aggregation)
    left = choices(plan) if asked.bins is None else {}
    return fitted(federation, model, plan, parties.stations, asked.aggregation, left)


@central
def update(federation: Federation, asked: Update) -> dict[str, Any]:
    """Add further stations' rows to a model (Algorithm 3); the order of updates does not matter.

    Returns
    -------
    dict
        As :func:`fit`.
    """
    before = load_model(NaiveBayes.from_dict, asked.model)
    plan = settled(updating_plan(before, asked.added, asked.outside, asked.whom), asked.mechanism)
    for text in (*unspent_delta(plan, asked.delta), *outside_promise(plan)):
        federation.warn(text)
    local = asked.noise == "local"
    joining = set(federation.resolve(asked.organizations))
    named = [*plan.columns.features, plan.columns.label]
    first = before_fit(named, plan.noise, asked.whom, "bounds", asked.outside, "sum")
    asking = None if local else asked.organizations
    parties = federation.open_channel(asking, replace(first, concerned=tuple(sorted(joining))))
    stations = tuple(member for member in parties.stations if member in joining)
    joined = collect_sum(federation, stations, plan, "sum")
    return updated(federation, before, add(before, joined), plan, stations)


@central
def evaluate(federation: Federation, asked: Evaluate) -> dict[str, Any]:
    """Score a model on the stations' tables: ``accuracy``, ``auc``, ``log_loss``, ``calibration``, ``n``."""
    return evaluate_model(federation, asked, NaiveBayes.from_dict)
