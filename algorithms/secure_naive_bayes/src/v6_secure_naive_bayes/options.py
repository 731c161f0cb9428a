"""What a task says of itself beforehand, and arguments checked against the federation."""

from __future__ import annotations

import math
from typing import Any

from fedbayes.dp import promise
from fedbayes.federation import Federation, Preflight
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.horizontal import ROW, Unit

from . import model
from .membership import Membership
from .messages import OF_TABLES, Noise


def before_fit(noise: Noise, columns: list[str], whom: Unit = ROW) -> Preflight:
    """Return what a horizontal fit says of itself before anything is spent; what it debits is known once all features are named."""
    known = noise.kind != "published" or len(columns) > 1
    epsilon, delta = model.charge(noise, len(columns) - 1 if known else 0)
    return Preflight(
        columns=tuple(whom.columns(columns)),
        everywhere=True,
        summed=True,
        functions=("partial_counts",),
        epsilon=epsilon,
        delta=delta,
        queries=int(noise.kind == "none"),
        private=noise.private and promise.holds(epsilon, delta),
        relation=None if noise.kind == "none" else noise.relation(whom.id_column),
        honest_fraction=0.0 if noise.kind == "none" else noise.honest_fraction,
        most=(0.0, 0.0) if known else (math.inf, 1.0),
    )


def before_vertical_fit(noise: Noise, columns: list[str]) -> Preflight:
    """Return what a vertical fit says of itself; how much of the budget a station spends depends on which features it holds."""
    private = noise.private and promise.holds(noise.epsilon)
    return Preflight(
        columns=tuple(columns),
        functions=("partial_features", "partial_tables"),
        shared_epsilon=noise.epsilon if noise.private else 0.0,
        queries=int(not noise.private),
        private=private,
        relation=OF_TABLES,
    )


def before_classify(epsilon: float, columns: list[str]) -> Preflight:
    """Return what a classification says of itself before anything is spent."""
    functions = ("partial_features", "partial_tables", "partial_factors")
    return Preflight(
        columns=tuple(columns),
        functions=functions,
        shared_epsilon=epsilon,
        private=promise.holds(epsilon),
        single_records=True,
        relation=OF_TABLES,
    )


def check_membership(federation: Federation, data: Any, stations: tuple[int, ...] | None = None) -> Membership:
    """Return the checked `membership`, or the initial one of `stations` when none was given.

    Raises
    ------
    ArgumentError
        When its organizations are not those of this task.
    """
    if data is None and stations is not None:
        return Membership.create(stations)
    state = Membership.from_dict(data)
    if any(member not in federation.names for member in state.uses):
        raise ArgumentError(
            "membership names organizations that are not in this collaboration; `fit` gives one that fits"
        )
    if stations is not None and tuple(sorted(state.uses)) != stations:
        raise ArgumentError(
            "membership names other organizations than those that take part with data; use `join` and `leave`, "
            "or give the same organizations"
        )
    return state


def resolve_member(federation: Federation, state: Membership, organization: Any, joins: bool) -> Membership:
    """Return the membership after a join or a leave of `organization`.

    Raises
    ------
    ArgumentError
        When it takes part already (join), or does not or is the last one (leave).
    """
    member = federation.resolve([organization], "organization")[0]
    try:
        return state.joined(member) if joins else state.left(member)
    except ValueError as problem:
        raise ArgumentError(f"organization: {problem}") from None
