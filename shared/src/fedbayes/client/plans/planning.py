"""``fedbayes plan``: what a task would ask and cost, from public facts alone: nobody is asked, nothing runs anywhere."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from ..exits import UsageProblem
from ..running.catalogue import declared_of, rounds_of
from ..running.local import Job
from .class_tables import bytes_of, chosen_of, expected_of, noise_of
from .rehearsal import known_domain, rehearse
from .setting import Setting

if TYPE_CHECKING:
    from ...federation.jobs.outset import Outlook

SECONDS_A_ROUND = 3.3  # on stock nodes, docs/status.md


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
    from ...federation.jobs.outset import Outlook

    policy = _policy(setting.limits or {})
    outlook = Outlook(setting.stations, policy)
    preflight = _ask(job, outlook)
    domain, misspelt = known_domain(job.arguments), _misspelt(job, preflight.columns)
    job = _filled(job)
    rehearsed = _rehearsed(job, domain, list(preflight.columns), setting) if setting.rehearsals else None
    rounds = rehearsed["rounds"] if rehearsed else rounds_of(job)
    return {
        "algorithm": job.algorithm.removeprefix("v6_"),
        "function": job.function,
        "stations": len(outlook.names),
        "rounds": rounds or None,
        "seconds": round(rounds * SECONDS_A_ROUND, 1) if rounds else None,
        "bytes": rehearsed["bytes"] if rehearsed else bytes_of(job, len(outlook.names), setting.rows),
        "columns": list(preflight.columns),
        "debit": {"epsilon": preflight.epsilon, "delta": preflight.delta, "queries": preflight.queries},
        "shared_epsilon": preflight.shared_epsilon,
        "private": preflight.private,
        "single_records": preflight.single_records,
        "noise": noise_of(job, setting),
        "expected": expected_of(job, setting),
        "chosen": chosen_of(job),
        "rehearsal": rehearsed,
        "refusals": _refusals(policy, preflight, len(outlook.names)),
        "warnings": [*outlook.warnings, *misspelt],
    }


def _misspelt(job: Job, columns: Sequence[str]) -> list[str]:
    """Return what to look at: columns that the dictionary does not list, though one that is written nearly so."""
    from ...bayes.values.names import nearest

    study = job.arguments.get("dictionary")
    listed = list(study.get("columns", {})) if isinstance(study, Mapping) else []
    near = {name: nearest(name, listed) for name in columns if name not in listed}
    return [f"column '{name}' is not in the dictionary{meant}" for name, meant in near.items() if meant]


def _rehearsed(job: Job, domain: Mapping[str, Any], columns: list[str], setting: Setting) -> dict[str, Any]:
    if not setting.rows:
        raise UsageProblem("--rehearse needs --rows, the number of records to make up")
    return rehearse(job, domain, columns, (setting.stations, setting.rows), setting.rehearsals, setting.signal)


def _filled(job: Job) -> Job:
    """Return a task with the arguments that its dictionary gives, as its central function sees them."""
    from ...federation.guards.dictionaries import take

    defaults = {one.name: one.default for one in declared_of(job).declared()}
    return Job(job.algorithm, job.function, take(defaults, dict(job.arguments))[0])


def _ask(job: Job, outlook: Outlook) -> Any:
    import importlib

    from ...federation.decorators import without_seals
    from ...federation.installed import PREFIX
    from ...federation.jobs.outset import Foreseen
    from ..running.catalogue import algorithm_named, check_function

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
            raise UsageProblem(
                f"{job.function} asks no station: nothing is spent, and nobody can refuse it; run it"
            ) from None
    raise UsageProblem(
        f"{job.function} needs to ask before it knows what it costs; use `fedbayes check`, which spends nothing"
    )


def _policy(limits: Mapping[str, Any]) -> Any:
    from ...federation.errors import PolicyError
    from ...federation.node.policy import PREFIX, Policy

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
    from ...federation.errors import PolicyError, too_few

    refusals = [too_few("this node", policy.minimum_organizations)] if stations < policy.minimum_organizations else []
    checks: list[tuple[Any, tuple[Any, ...]]] = [(policy.check_function, (name,)) for name in preflight.functions]
    checks += [
        (policy.check_release, (preflight.epsilon, preflight.delta)),
        (policy.check_honest_fraction, (preflight.honest_fraction,)),
        (policy.check_columns, (list(preflight.columns),)),
    ]
    if preflight.linked_by and policy.id_columns is not None:  # of a schema file a plan knows nothing
        checks.append((policy.check_identifier, (preflight.linked_by,)))
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
