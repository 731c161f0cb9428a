"""A change of central's requests is judged: what it opens on two neighbouring tables that no debit covers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from changed_cases import Task
from changed_kit import Changing, Run, run
from changed_opened import ROUNDING, opened

FURTHER = 2
"""Runs on the first table that follow where more is found than was paid for: a chance that two runs are alike is none of four."""


@dataclass
class Judged:
    """What came of a change: whether anybody was asked otherwise, whether one of them answered, and what was found, in words."""

    changed: bool
    answered: bool
    finds: list[str] = field(default_factory=list)
    precision: float = 0.0


def precision(run: Run) -> float:
    """Return the most that a member's noise is told to: the sum, over the rounds, of one by the square of the width."""
    told: dict[tuple[int, int], float] = defaultdict(float)
    for one in run.noise:
        place = (one.organization, one.round)
        told[place] = max(told[place], one.draw.width**-2.0)
    return max((sum(part for (at, _), part in told.items() if at == member) for member, _ in told), default=0.0)


def judge(task: Task, change: Changing, neighbour: int = 1) -> Judged:
    """Return what a change of a task's requests tells central of a table and a neighbour."""
    first = run(task, 0, change)

    def again(place: int, noise: int = 0) -> Run:
        return run(task, place, change, first.script, noise)

    found = Judged(first.changed, first.answered, precision=precision(first))
    if not found.changed:
        return found
    table, other = [first], again(neighbour)
    if found.answered:
        table.append(again(0))
        if lost(task, table, other) != (0.0, []):
            noisy = again(0, 1)
            found.finds = _finds(task, table, other, noisy)
            if found.finds:
                table += [again(0) for _ in range(FURTHER)]
                found.finds = _finds(task, table, other, noisy)
    if first.error != other.error and all(again(0).error == first.error for _ in range(FURTHER)):
        found.finds.append(f"refused otherwise: {first.error!r:.200} and {other.error!r:.200}")
    return found


def _finds(task: Task, table: Sequence[Run], other: Run, noisy: Run) -> list[str]:
    """Return what is found, with a loss of more than was debited."""
    part, finds = lost(task, table, other, noisy)
    return finds + [f"{part:.4f} of what was debited is lost"] * (part > 1.0 + ROUNDING)


def lost(task: Task, table: Sequence[Run], other: Run, noisy: Run | None = None) -> tuple[float, list[str]]:
    """Return which part of what was debited is lost, and what else is found."""
    found = opened(table, [other], noisy)
    return found.part(task, debited(task, table[0])), found.finds


def debited(task: Task, one: Run) -> float:
    """Return the epsilon that every station that took part has debited, or all of them together where the budget is divided; no more than is stated."""
    noisy = {noise.organization for noise in one.noise} | {place for place, epsilon in one.debits.items() if epsilon}
    stations = [place for place, part in enumerate(task.spread.values(), 1) if part and place in noisy]
    debits = [one.debits.get(place, 0.0) for place in stations] or [0.0]
    return min(sum(debits) if task.divided else min(debits), task.budget[0])
