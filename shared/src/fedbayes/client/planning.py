"""``fedbayes plan``: what a task would ask and cost, from public facts alone: nobody is asked, nothing runs anywhere."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from .catalogue import declared_of, rounds_of
from .exits import UsageProblem
from .local import Job

if TYPE_CHECKING:
    from ..federation.outset import Outlook

USUAL_BINS = 20  # of a numeric column where a method does not say
STATION_BYTES, PEER_BYTES, FEATURE_BYTES = 3400, 200, 70
"""Of one station in two rounds: keys, names and seals; what of them grows with the other stations; a feature in the question. Measured over 3 and 6."""
CELL_BYTES = 32 / 3  # a masked count: 8 bytes, in base 64
SECONDS_A_ROUND = 3.3  # on stock nodes, docs/status.md


@dataclass(frozen=True)
class Setting:
    """Where a task would run: how many organizations, with how many records in all (0: unknown), under which limits."""

    stations: int = 3
    rows: int = 0
    limits: Mapping[str, Any] | None = None


def plan(job: Job, setting: Setting) -> dict[str, Any]:
    """Return what a task would ask and cost.

    Returns
    -------
    dict
        ``rounds`` (usual; None where it is not known) and ``seconds`` on stock nodes, ``bytes`` (about; None
        where they depend on more than the question), ``columns``, ``debit`` (epsilon, delta, queries at every
        station with data), ``private``, ``single_records``, ``noise`` (of tables by class: deviation of a cell, cells, mean count; None for
        others), ``chosen`` (what the task chooses of itself, and from what), ``refusals`` (the words of each limit), ``warnings``.

    Raises
    ------
    UsageProblem
        If algorithm or function does not exist, or the function cannot be planned.
    ArgumentError
        What the function says of its arguments.
    """
    from ..federation.outset import Outlook

    policy = _policy(setting.limits or {})
    outlook = Outlook(setting.stations, policy)
    told = _ask(job, outlook)
    job = _filled(job)
    rounds = rounds_of(job)
    return {
        "algorithm": job.algorithm.removeprefix("v6_"),
        "function": job.function,
        "stations": len(outlook.names),
        "rounds": rounds or None,
        "seconds": round(rounds * SECONDS_A_ROUND, 1) if rounds else None,
        "bytes": _bytes(job, len(outlook.names)),
        "columns": list(told.columns),
        "debit": {"epsilon": told.epsilon, "delta": told.delta, "queries": told.queries},
        "private": told.private,
        "single_records": told.single_records,
        "noise": _noise(job, setting.rows, len(outlook.names)),
        "chosen": _chosen(job),
        "refusals": _refusals(policy, told, len(outlook.names)),
        "warnings": outlook.warnings,
    }


def _filled(job: Job) -> Job:
    """Return a task with the arguments that its dictionary gives, as its central function sees them."""
    from ..federation.dictionaries import take

    known = {one.name: one.default for one in declared_of(job).declared()}
    return Job(job.algorithm, job.function, take(known, dict(job.arguments))[0])


def _ask(job: Job, outlook: Outlook) -> Any:
    import importlib

    from ..federation.decorators import without_seals
    from ..federation.outset import Foreseen
    from .catalogue import PREFIX, algorithm_named, check_function

    name = algorithm_named(job.algorithm).name
    check_function(name, job.function)
    body = getattr(getattr(importlib.import_module(PREFIX + name), job.function), "fedbayes_body", None)
    if body is None or job.function == "preflight":
        raise UsageProblem(f"{job.function} asks nothing that can be planned; plan a fit or an answer")
    try:
        body(outlook, **without_seals(dict(job.arguments))[0])
    except Foreseen as end:
        if end.preflight is not None:
            return end.preflight
        if end.asked_nobody:
            raise UsageProblem(f"{job.function} asks no station: nothing is spent, and nobody can refuse it") from None
    raise UsageProblem(
        f"{job.function} needs to ask before it knows what it costs; use `fedbayes check`, which spends nothing"
    )


def _chosen(job: Job) -> dict[str, Any]:
    """Return what the task chooses of itself; nothing where the domain comes from a dictionary or the stations."""
    declared = declared_of(job)
    if set(job.arguments) - {one.name for one in declared.declared()}:
        return {}
    return declared.read(job.function, job.arguments).foreseen()


def _policy(limits: Mapping[str, Any]) -> Any:
    from ..federation.errors import PolicyError
    from ..federation.policy import PREFIX, Policy

    known = [one.name for one in fields(Policy)]
    unknown = next((name for name in limits if name not in known), None)
    if unknown is not None:
        raise UsageProblem(f"--policy: '{str(unknown)[:60]}' is no limit; known are: {', '.join(known)}")
    texts = {
        f"{PREFIX}{name.upper()}": ",".join(map(str, value)) if isinstance(value, list) else str(value)
        for name, value in limits.items()
    }
    try:
        return Policy.from_environment({f"{PREFIX}LEDGER": "ledger", **texts})
    except PolicyError as problem:
        limit = str(problem).partition(PREFIX)[2].partition(" ")[0].lower()
        told = (
            f"the value of '{limit}' cannot be read; see docs/node-administrators.md"
            if limit in limits
            else str(problem)
        )
        raise UsageProblem(f"--policy: {told}") from None


def _refusals(policy: Any, told: Any, stations: int) -> list[str]:
    """Return what a node with these limits would say, each limit by itself."""
    from ..federation.errors import PolicyError, too_few

    found = [too_few("this node", policy.minimum_organizations)] if stations < policy.minimum_organizations else []
    checks: list[tuple[Any, tuple[Any, ...]]] = [(policy.check_function, (name,)) for name in told.functions]
    checks += [(policy.check_release, (told.epsilon, told.delta)), (policy.check_columns, (list(told.columns),))]
    for check, given in checks:
        try:
            check(*given)
        except PolicyError as refusal:
            found.append(str(refusal))
    if not told.private and not policy.allow_non_private:
        found.append("allow_non_private=false: the answer is not differentially private; give epsilon")
    if told.single_records and not policy.allow_predictions:
        found.append("allow_predictions=false: single records are predicted; ask the node administrator")
    for limit, cost in (
        ("budget_epsilon", told.epsilon),
        ("budget_delta", told.delta),
        ("maximum_queries", told.queries),
    ):
        most = getattr(policy, limit)
        if most is not None and math.isfinite(most) and cost > most:
            found.append(f"{limit}={most:g}: one task costs {cost:g}")
    return found


def _tables(job: Job) -> tuple[int, list[int]] | None:
    """Return the classes and the values of every feature of the tables that a task releases; None for other tasks."""
    arguments, declared = job.arguments, declared_of(job)
    domain, label = arguments.get("domain"), arguments.get("label")
    if not declared.releases_tables or not isinstance(domain, Mapping) or label not in domain:
        return None
    if arguments.get("statistics") == "gaussian":
        return None
    features = arguments.get("features") or [column for column in domain if column not in (label, "missing")]
    usual = getattr(declared, "bins", None)
    bins = usual if arguments.get("bins") is None else arguments["bins"]
    values = [_values(domain.get(column, {}), _bins_of(bins, column, usual)) for column in features]
    return len(domain[label].get("categories", [])), values


def _noise(job: Job, rows: int, stations: int) -> dict[str, Any] | None:
    """Return the noise in a cell of a table of a feature by class, summed over the stations; None for other tasks."""
    arguments, found = job.arguments, _tables(job)
    if found is None or not arguments.get("epsilon") or arguments.get("noise") == "none":
        return None
    classes, values = found
    law, delta = arguments.get("mechanism"), float(arguments.get("delta") or 0.0)
    deltas = (0.0,) if law == "laplace" else (delta,) if law == "gaussian" else (0.0, delta)
    deviation = min(_deviation(arguments, spent, len(values), stations) for spent in deltas)
    cells = classes * max(values, default=1)
    mean = rows / cells if rows and cells else None
    return {
        "deviation": deviation,
        "cells": cells,
        "mean_count": mean,
        "dominates": None if mean is None else deviation > mean,
    }


def _deviation(arguments: Mapping[str, Any], delta: float, tables: int, stations: int) -> float:
    """Return the standard deviation of the noise in a cell of one of so many tables, as the central function's own arithmetic has it."""
    from ..dp.shares import HONEST_FRACTION
    from ..federation.horizontal.noise import CountNoise

    alone = arguments.get("split") == "vertical"
    unit = arguments.get("unit")
    rows = arguments.get(UNIT_ROWS[unit]) if unit in UNIT_ROWS else 1
    added = CountNoise(
        "local" if alone or arguments.get("noise") == "local" else "distributed",
        float(arguments["epsilon"]),
        delta,
        str(arguments.get("neighbors") or "add_remove"),
        float(arguments.get("honest_fraction") or HONEST_FRACTION),
        int(rows or 1),
    )
    return added.deviation(tables, 1.0, 1.0, 1, 1 if alone else stations, nonnegative=True)


UNIT_ROWS = {"identifier": "max_rows_per_identifier", "party": "maximum_records"}
"""Unit of the promise -> the argument that bounds its rows."""


def _bytes(job: Job, stations: int) -> int | None:
    """Return the bytes of a task that adds up tables in two rounds, about; None for other tasks."""
    found = _tables(job)
    one_sum = job.arguments.get("aggregation") in (None, "sum") and job.arguments.get("split") in (None, "horizontal")
    if found is None or not one_sum:
        return None
    classes, values = found
    cells = classes * sum(values)
    return round(stations * (STATION_BYTES + PEER_BYTES * stations + CELL_BYTES * cells + FEATURE_BYTES * len(values)))


def _bins_of(bins: Any, column: str, usual: Any) -> Any:
    """Return how many bins a column has, where they are given for all or by column: a number, cut points or ``{"log": number}``."""
    one = bins.get(column, usual) if isinstance(bins, Mapping) else bins
    if isinstance(one, Mapping):
        return one.get("log")
    return len(one) + 1 if isinstance(one, list) else one


def _values(entry: Mapping[str, Any], bins: Any) -> int:
    return len(entry["categories"]) if "categories" in entry else bins if isinstance(bins, int) else USUAL_BINS
