"""Run a task in the embedded federation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..exits import UsageProblem


@dataclass(frozen=True)
class Job:
    """What to run: the algorithm, its function and its arguments."""

    algorithm: str
    function: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class LocalPlace:
    """Where to run it on this machine; as the arguments of `EmbeddedFederation`."""

    parties: Mapping[str, Mapping[str, Any]]
    helpers: Sequence[str] = ()
    policies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    aggregator: str | None = None
    database: str = "default"
    latency: float = 0.0
    timeout: float = 3600.0


def run(job: Job, place: LocalPlace, on_progress: Callable[[dict[str, Any]], None] | None = None) -> Any:
    """Run a job in an embedded federation and return its result.

    Raises
    ------
    AlgorithmError
        What the function raised, by its class.
    UsageProblem
        If the value of a limit cannot be read.
    KeyboardInterrupt
        After everything was killed.
    """
    from ...federation.embedded import EmbeddedFederation

    _check_limits(place.policies)
    with EmbeddedFederation(
        place.parties,
        helpers=place.helpers,
        policies=place.policies,
        aggregator=place.aggregator,
        database=place.database,
        latency=place.latency,
    ) as federation:
        return federation.run(
            job.algorithm, job.function, job.arguments, on_progress=on_progress, timeout=place.timeout
        )


def _check_limits(policies: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise `UsageProblem` naming a limit whose value a node could not read; names are checked by the federation."""
    from ...federation.errors import PolicyError
    from ...federation.node.policy import KINDS, PREFIX, Policy

    for limits in policies.values():
        for limit in limits.keys() & set(Policy.__slots__):
            value = limits[limit]
            text = ",".join(str(entry) for entry in value) if isinstance(value, list) else str(value)
            try:
                Policy.from_environment({f"{PREFIX}LEDGER": "ledger", f"{PREFIX}{limit.upper()}": text})
            except PolicyError:
                raise UsageProblem(
                    f"--policy: the value of '{limit}' cannot be read; write {KINDS[limit].written}"
                ) from None
