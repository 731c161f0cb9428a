"""Checks of the arguments of the tasks."""

from __future__ import annotations

from typing import Any

from fedbayes.dp import promise
from fedbayes.federation import Federation, Preflight, arguments
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.horizontal import HONEST_FRACTION

from . import model
from .keying import KEYS
from .membership import Membership
from .messages import KINDS, UNITS, Noise

LEAST_DELTA = 1e-100
DILUTED = ("diluted_geometric", "as_published")


def check_noise(kind: Any, epsilon: Any, delta: Any, honest_fraction: Any, unit: Any, maximum_records: Any) -> Noise:
    """Return the checked noise arguments of `fit`.

    Raises
    ------
    ArgumentError
        Naming the argument and the remedy.
    """
    chosen = arguments.check_choice("noise", kind, KINDS)
    measure = arguments.check_choice("unit", unit, UNITS)
    fraction = HONEST_FRACTION if honest_fraction is None else honest_fraction
    honest = arguments.check_number("honest_fraction", fraction, above=0, high=1)
    bound = arguments.check_number("maximum_records", maximum_records, low=1, high=2**31, integer=True, optional=True)
    if (measure == "party") != (bound is not None):
        raise ArgumentError('maximum_records is a public bound of one party\'s records; it belongs to unit="party"')
    small = arguments.check_number("delta", delta, low=0, below=1)
    if chosen in DILUTED and small < LEAST_DELTA:
        raise ArgumentError(f'noise="{chosen}" needs a delta of at least {LEAST_DELTA:g}; noise="polya" needs none')
    if chosen == "none":
        if epsilon is not None:
            raise ArgumentError('epsilon has no meaning with noise="none"; leave one of them out')
        return Noise("none", 0.0, 0.0, honest, measure, bound or 0)
    return Noise(chosen, check_budget(epsilon), small if chosen in DILUTED else 0.0, honest, measure, bound or 0)


def without_effect(
    noise: Noise, delta: float, partitioning: str, honest_fraction: Any, keys: str, membership: Any
) -> list[str]:
    """Return a warning for every argument of `fit` that was given and is not used; `noise` is what came of the noise arguments."""
    found = []
    if noise.kind not in DILUTED and delta > 0:
        found.append(f'delta has no effect with noise="{noise.kind}", which needs none')
    given = {
        "honest_fraction": honest_fraction is not None,
        "keys": keys != KEYS[0],
        "membership": membership is not None,
    }
    if partitioning == "vertical":
        why = "on vertically split records: each table has its whole noise, and none is encrypted"
        found += [f"{name} has no effect {why}" for name, is_given in given.items() if is_given]
    return found


def before_fit(noise: Noise, columns: list[str]) -> Preflight:
    """Return what a horizontal fit says of itself before anything is spent; what it debits is known once all features are named."""
    known = noise.kind != "as_published" or len(columns) > 1
    epsilon, delta = model.charge(noise, len(columns) - 1) if known else (noise.epsilon, noise.delta)
    return Preflight(
        columns=tuple(columns),
        everywhere=True,
        functions=("partial_counts",),
        epsilon=epsilon,
        delta=delta,
        queries=int(noise.kind == "none"),
        private=noise.private and promise.holds(epsilon, delta),
    )


def before_vertical_fit(noise: Noise, columns: list[str]) -> Preflight:
    """Return what a vertical fit says of itself; how much of the budget a station spends depends on which features it holds."""
    private = noise.private and promise.holds(noise.epsilon)
    return Preflight(columns=tuple(columns), functions=("partial_features", "partial_tables"), private=private)


def before_classify(epsilon: float, columns: list[str]) -> Preflight:
    """Return what a classification says of itself before anything is spent."""
    functions = ("partial_features", "partial_tables", "partial_factors")
    private = promise.holds(epsilon)
    return Preflight(columns=tuple(columns), functions=functions, private=private, single_records=True)


def check_budget(epsilon: Any) -> float:
    """Return the checked `epsilon`, which must be given."""
    if epsilon is None:
        raise ArgumentError("epsilon is needed: give a number greater than 0")
    budget: float = arguments.check_number("epsilon", epsilon, above=0)
    return budget


def refuse_given(reason: str, **values: Any) -> None:
    """Refuse arguments that would be ignored: those of which the value is neither None nor the default.

    Parameters
    ----------
    reason : str
        Why they have no meaning here.
    **values : pair of object
        Argument -> its value and its default.

    Raises
    ------
    ArgumentError
        Naming the first one.
    """
    for name, (value, default) in values.items():
        if value is not None and (isinstance(value, bool) or value != default):
            raise ArgumentError(f"{name} has no meaning here: {reason}; leave it out")


def check_membership(federation: Federation, data: Any, stations: tuple[int, ...] | None = None) -> Membership:
    """Return the checked `membership`, or the initial one of `stations` when none was given.

    Raises
    ------
    ArgumentError
        When it is malformed, or its organizations are not those of this task.
    """
    if data is None and stations is not None:
        return Membership.create(stations)
    try:
        state = Membership.from_dict(data)
    except ValueError as problem:
        raise ArgumentError(f"membership is not usable: {problem}") from None
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
