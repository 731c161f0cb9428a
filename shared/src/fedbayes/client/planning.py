"""``fedbayes plan``: what a task would ask and cost, from public facts alone: nobody is asked, nothing runs anywhere."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from .catalogue import declared_of, rounds_of
from .commands.exits import UsageProblem
from .expected import SIGNAL, Feature, Tables, accuracy
from .local import Job
from .rehearsal import known_domain, rehearse

if TYPE_CHECKING:
    from ..federation.outset import Outlook

USUAL_BINS = 20  # of a numeric column where a method does not say
STATION_BYTES, PEER_BYTES, FEATURE_BYTES = 3400, 200, 70
"""Of one station in two rounds: keys, names and seals; what of them grows with the other stations; a feature in the question. Measured over 3 and 6."""
EPSILON_FACTORS = (1.0 / 3.0, 3.0)  # budgets to compare with: a third and three times
USUAL_DELTA = 1e-6  # below one in a million rows
LEAST_BINS = 3
"""What is changed to show what would help: a third and three times of epsilon, Gaussian noise, half of the bins (not fewer than two), half of the features."""
CELL_BYTES = 32 / 3  # a masked count: 8 bytes, in base 64
SECONDS_A_ROUND = 3.3  # on stock nodes, docs/status.md


@dataclass(frozen=True)
class Setting:
    """Where a task would run: how many organizations, with how many records in all (0: unknown), under which limits; how much a feature tells
    (`expected`), and how often the task is run on made-up records (`rehearsal`; 0: never).
    """

    stations: int = 3
    rows: int = 0
    limits: Mapping[str, Any] | None = None
    signal: float = SIGNAL
    rehearsals: int = 0


def plan(job: Job, setting: Setting) -> dict[str, Any]:
    """Return what a task would ask and cost.

    Returns
    -------
    dict
        ``rounds`` (usual; None where it is not known) and ``seconds`` on stock nodes, ``bytes`` (about; None
        where they depend on more than the question), ``columns``, ``debit`` (epsilon, delta, queries at every
        station with data), ``shared_epsilon`` (of all stations together, where each debits a part of it by the columns it holds; else 0),
        ``private``, ``single_records``, ``noise`` (of tables by class: deviation of a cell, cells, mean count; None for
        others), ``expected`` (accuracy on made-up records; None without rows, or for other tasks), ``chosen`` (what the task
        chooses of itself, and from what), ``rehearsal`` (what `rehearsal.rehearse` returns; None if it was not asked for. Rounds and bytes are
        then measured), ``refusals`` (the words of each limit), ``warnings``.

    Raises
    ------
    UsageProblem
        If algorithm or function does not exist, or the function cannot be planned or rehearsed.
    ArgumentError
        What the function says of its arguments.
    """
    from ..federation.outset import Outlook

    policy = _policy(setting.limits or {})
    outlook = Outlook(setting.stations, policy)
    preflight = _ask(job, outlook)
    domain = known_domain(job.arguments)
    job = _filled(job)
    rehearsed = _rehearsed(job, domain, list(preflight.columns), setting) if setting.rehearsals else None
    rounds = rehearsed["rounds"] if rehearsed else rounds_of(job)
    return {
        "algorithm": job.algorithm.removeprefix("v6_"),
        "function": job.function,
        "stations": len(outlook.names),
        "rounds": rounds or None,
        "seconds": round(rounds * SECONDS_A_ROUND, 1) if rounds else None,
        "bytes": rehearsed["bytes"] if rehearsed else _bytes(job, len(outlook.names), setting.rows),
        "columns": list(preflight.columns),
        "debit": {"epsilon": preflight.epsilon, "delta": preflight.delta, "queries": preflight.queries},
        "shared_epsilon": preflight.shared_epsilon,
        "private": preflight.private,
        "single_records": preflight.single_records,
        "noise": _noise(job, setting),
        "expected": _expected(job, setting),
        "chosen": _chosen(job),
        "rehearsal": rehearsed,
        "refusals": _refusals(policy, preflight, len(outlook.names)),
        "warnings": outlook.warnings,
    }


def _rehearsed(job: Job, domain: Mapping[str, Any], columns: list[str], setting: Setting) -> dict[str, Any]:
    if not setting.rows:
        raise UsageProblem("--rehearse needs --rows, the number of records to make up")
    return rehearse(job, domain, columns, (setting.stations, setting.rows), setting.rehearsals, setting.signal)


def _filled(job: Job) -> Job:
    """Return a task with the arguments that its dictionary gives, as its central function sees them."""
    from ..federation.dictionaries import take

    defaults = {one.name: one.default for one in declared_of(job).declared()}
    return Job(job.algorithm, job.function, take(defaults, dict(job.arguments))[0])


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
    """Return what the task chooses of itself; nothing where the domain comes from the stations."""
    declared = declared_of(job)
    if set(job.arguments) - {one.name for one in declared.declared()}:
        return {}
    return declared.read(job.function, job.arguments).foreseen()


def _policy(limits: Mapping[str, Any]) -> Any:
    from ..federation.errors import PolicyError
    from ..federation.policy import PREFIX, Policy

    limit_names = [one.name for one in fields(Policy)]
    unknown = next((name for name in limits if name not in limit_names), None)
    if unknown is not None:
        raise UsageProblem(f"--policy: '{str(unknown)[:60]}' is no limit; known are: {', '.join(limit_names)}")
    texts = {
        f"{PREFIX}{name.upper()}": ",".join(map(str, value)) if isinstance(value, list) else str(value)
        for name, value in limits.items()
    }
    try:
        return Policy.from_environment({f"{PREFIX}LEDGER": "ledger", **texts})
    except PolicyError as problem:
        limit = str(problem).partition(PREFIX)[2].partition(" ")[0].lower()
        refusal = (
            f"the value of '{limit}' cannot be read; see docs/node-administrators.md"
            if limit in limits
            else str(problem)
        )
        raise UsageProblem(f"--policy: {refusal}") from None


def _refusals(policy: Any, preflight: Any, stations: int) -> list[str]:
    """Return what a node with these limits would say, each limit by itself."""
    from ..federation.errors import PolicyError, too_few

    refusals = [too_few("this node", policy.minimum_organizations)] if stations < policy.minimum_organizations else []
    checks: list[tuple[Any, tuple[Any, ...]]] = [(policy.check_function, (name,)) for name in preflight.functions]
    checks += [
        (policy.check_release, (preflight.epsilon, preflight.delta)),
        (policy.check_columns, (list(preflight.columns),)),
    ]
    for check, given in checks:
        try:
            check(*given)
        except PolicyError as refusal:
            refusals.append(str(refusal))
    if not preflight.private and not policy.allow_non_private:
        refusals.append("allow_non_private=false: the answer is not differentially private; give epsilon")
    if preflight.single_records and not policy.allow_predictions:
        refusals.append("allow_predictions=false: single records are predicted; ask the node administrator")
    for limit, cost in (
        ("budget_epsilon", preflight.epsilon),
        ("budget_delta", preflight.delta),
        ("maximum_queries", preflight.queries),
    ):
        most = getattr(policy, limit)
        if most is not None and math.isfinite(most) and cost > most:
            refusals.append(f"{limit}={most:g}: one task costs {cost:g}")
    return refusals


def _tables(job: Job) -> tuple[int, list[Feature]] | None:
    """Return the classes and the features of the tables that a task releases; None for other tasks."""
    arguments, declared = job.arguments, declared_of(job)
    domain, label = arguments.get("domain"), arguments.get("label")
    if not declared.releases_tables or not isinstance(domain, Mapping) or label not in domain:
        return None
    if arguments.get("statistics") == "gaussian":
        return None
    features = arguments.get("features") or [column for column in domain if column not in (label, "missing")]
    usual = getattr(declared, "bins", None)
    left = _chosen(job)
    bins = left.get("bins", usual) if arguments.get("bins") is None else arguments["bins"]
    values = [_feature(domain.get(column, {}), _bins_of(bins, column, usual)) for column in features]
    groups = left.get("groups of states", {})
    values = [
        Feature(groups[column], numeric=True) if column in groups else feature
        for column, feature in zip(features, values, strict=True)
    ]
    return len(domain[label].get("categories", [])), values


def _noise(job: Job, setting: Setting) -> dict[str, Any] | None:
    """Return the noise in a cell of a table of a feature by class, summed over the stations; None for other tasks."""
    sizes, deviation, rows = _tables(job), _spread(job, setting), setting.rows
    if sizes is None or deviation is None:
        return None
    classes, features = sizes
    cells = classes * max((feature.values for feature in features), default=1)
    mean = rows / cells if rows and cells else None
    return {
        "deviation": deviation,
        "cells": cells,
        "mean_count": mean,
        "dominates": None if mean is None else deviation > mean,
    }


def _spread(job: Job, setting: Setting) -> float | None:
    """Return the deviation of the noise in a cell, by the law that the task will choose; None for tasks that add none."""
    arguments, sizes = job.arguments, _tables(job)
    if sizes is None or not arguments.get("epsilon") or arguments.get("noise") == "none":
        return None
    law, delta = arguments.get("mechanism"), float(arguments.get("delta") or 0.0)
    deltas = (0.0,) if law == "laplace" else (delta,) if law == "gaussian" else (0.0, delta)
    return min(_deviation(arguments, spent, len(sizes[1]), setting.stations) for spent in deltas)


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


def _expected(job: Job, setting: Setting) -> dict[str, Any] | None:
    """Return the accuracy on made-up records as the task is asked, without noise, and with one argument changed; None without rows, or for other tasks."""
    sizes = _tables(job)
    if sizes is None or _spread(job, setting) is None or not setting.rows or not sizes[1] or sizes[0] < 2:
        return None

    def judged(changed: Job) -> float:
        classes, features = _tables(changed) or sizes
        return accuracy(Tables(classes, features, _spread(changed, setting) or 0.0), setting.rows, setting.signal)

    instead = {words: judged(Job(job.algorithm, job.function, changed)) for words, changed in _changes(job, sizes[1])}
    exact = accuracy(Tables(*sizes, 0.0), setting.rows, setting.signal)
    return {"signal": setting.signal, "asked": judged(job), "without_noise": exact, "instead": instead}


def _changes(job: Job, features: list[Feature]) -> list[tuple[str, dict[str, Any]]]:
    """Return arguments with one of them changed, and what it is in words."""
    given = dict(job.arguments)
    epsilon, label = float(given["epsilon"]), given["label"]
    names = given.get("features") or [column for column in given["domain"] if column not in (label, "missing")]
    bins = max((feature.values for feature in features if feature.numeric), default=0)
    changes: list[tuple[str, dict[str, Any]]] = [
        (f"epsilon {factor * epsilon:.3g}", {"epsilon": factor * epsilon}) for factor in EPSILON_FACTORS
    ]
    if not given.get("delta") and given.get("mechanism") != "laplace":
        changes.append((f"delta {USUAL_DELTA:g}", {"delta": USUAL_DELTA}))
    if bins > LEAST_BINS and not isinstance(given.get("bins"), Mapping):
        changes.append((f"bins {bins // 2}", {"bins": bins // 2}))
    if len(names) > 1:
        half = len(names) // 2
        changes.append((f"{half} of {len(names)} features", {"features": list(names)[:half]}))
    return [(words, {**given, **change}) for words, change in changes]


def _bytes(job: Job, stations: int, rows: int) -> int | None:
    """Return the bytes of a task that adds up tables in two rounds, about; of another as its function tells, None where it does not."""
    sizes = _tables(job)
    one_sum = job.arguments.get("aggregation") in (None, "sum") and job.arguments.get("split") in (None, "horizontal")
    if sizes is None or not one_sum:
        return declared_of(job).usual_bytes(job.arguments, stations, rows)
    classes, features = sizes
    cells = classes * sum(feature.values for feature in features)
    return round(
        stations * (STATION_BYTES + PEER_BYTES * stations + CELL_BYTES * cells + FEATURE_BYTES * len(features))
    )


def _bins_of(bins: Any, column: str, usual: Any) -> Any:
    """Return how many bins a column has, where they are given for all or by column: a number, cut points or ``{"log": number}``."""
    one = bins.get(column, usual) if isinstance(bins, Mapping) else bins
    if isinstance(one, Mapping):
        return one.get("log")
    return len(one) + 1 if isinstance(one, list) else one


def _feature(entry: Mapping[str, Any], bins: Any) -> Feature:
    if "categories" in entry:
        return Feature(len(entry["categories"]), numeric=False)
    return Feature(bins if isinstance(bins, int) else USUAL_BINS, numeric=True)
