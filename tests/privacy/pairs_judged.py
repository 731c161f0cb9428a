"""What several exact answers together tell of an odd group of records, beyond what each tells alone.

The column that somebody wants to know of is given other values, in many worlds, and every task is answered in each, at nodes that hide nothing; of these
answers only what the real nodes told is looked at. Where no change of the other records moves a combination of numbers, but one of the odd records does,
that combination is about these alone.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from one_process import OneProcess
from pairs_changed import changed, replaced
from pairs_drawn import Asker, Task
from pairs_federations import Drawn
from party_kit import remembering

from fedbayes.federation import errors

REFUSED = (
    errors.ArgumentError,
    errors.PlacementError,
    errors.PolicyError,
    errors.ThresholdError,
    errors.BudgetError,
    errors.DataProblem,
    errors.StationError,
    errors.ConvergenceError,
)
"""What a task may end with."""
APART = ("federation", "provenance", "versions", "privacy", "warnings", "membership", "rounds", "iterations")
"""Parts of a result that are no answer, or that hang on digits."""
WORLDS = (4, 8, 14)
"""How many worlds are looked at, one number after the other until they tell; combinations of more numbers than that are not judged."""
SMALL, LARGE = 1e-3, 0.05
"""Of the largest change of a number: what rounding makes, and what a record does."""
OTHER_UNITS = ("age", "dose")
"""Columns whose twins are in other units: of Cox fits alone what is told is the same in any."""
ALL = {"minimum_count": 1, "allow_differences": True, "maximum_refusals": 1000}
REAL = {"maximum_refusals": 1000}
"""Limits of nodes: in worlds, and of those that are attacked, whose refusals do not end a sequence."""


@dataclass(frozen=True)
class Find:
    """Tasks that were all answered, and together tell of the odd records."""

    tasks: tuple[Task, ...]
    how: tuple[str, ...]
    worlds: str


def numbers(value: Any, path: tuple[Any, ...] = ()) -> dict[tuple[Any, ...], float]:
    """Return every number of an answer by its place."""
    if isinstance(value, Mapping):
        parts = [numbers(one, (*path, key)) for key, one in value.items() if key not in APART]
    elif isinstance(value, list | tuple):
        parts = [numbers(one, (*path, place)) for place, one in enumerate(value)]
    elif isinstance(value, int | float) and not isinstance(value, bool):
        return {path: float(value)}
    else:
        return {}
    return {place: number for part in parts for place, number in part.items()}


class Worlds:
    """The answers to tasks in worlds in which records have other values of the secret column."""

    def __init__(self, drawn: Drawn, random: np.random.Generator, swapped: bool) -> None:
        self._drawn, self._random, self._swapped = drawn, random, swapped
        self._real = drawn.values()
        self._worlds: list[dict[str, Any]] = [self._real]
        self._odd: list[dict[str, Any]] = [self._for_odd() for _ in range(1 if len(drawn.odd) == 1 else 3)]
        self._told: dict[tuple[str, int], dict[tuple[Any, ...], float] | None] = {}

    def _others(self) -> dict[str, Any]:
        """Return values of which the odd records keep theirs."""
        names = [name for name in self._real if name not in self._drawn.odd]
        values = [self._real[name] for name in names]
        places = (
            self._random.permutation(len(names))
            if self._swapped
            else self._random.integers(len(names), size=len(names))
        )
        return {**self._real, **{name: values[place] for name, place in zip(names, places, strict=True)}}

    def _for_odd(self) -> dict[str, Any]:
        """Return values in which the odd records have others'; if values are swapped these have theirs."""
        found = dict(self._real)
        odd = [name for name in self._drawn.odd if name in found]
        others = [name for name in found if name not in self._drawn.odd]
        if len(odd) > 4:
            places = self._random.permutation(len(odd))
            return {**found, **{name: self._real[odd[place]] for name, place in zip(odd, places, strict=True)}}
        for name in self._random.permutation(odd)[: int(self._random.integers(1, len(odd) + 1))]:
            unlike = [other for other in others if found[other] != self._real[name]]
            other = unlike[int(self._random.integers(len(unlike)))]
            found[name] = self._real[other]
            if self._swapped:
                found[other] = self._real[name]
        return found

    def answers(self, task: Task, count: int) -> tuple[list[Any], list[Any]]:
        """Return the numbers of a task's answers in so many worlds, the real one first, and in those in which the odd records are others."""
        while len(self._worlds) < count + 1:
            self._worlds.append(self._others())
        return [self._of(task, number, self._worlds) for number in range(count + 1)], [
            self._of(task, -1 - number, self._odd) for number in range(len(self._odd))
        ]

    def _of(self, task: Task, number: int, worlds: Sequence[dict[str, Any]]) -> Any:
        key = str(task), number
        if key not in self._told:
            tables = self._drawn.world(worlds[number if number >= 0 else -1 - number])
            with OneProcess(tables, ["helper"], {name: ALL for name in tables}) as running:
                try:
                    self._told[key] = numbers(running.run(task.method, task.function, task.arguments))
                except REFUSED:
                    self._told[key] = None
        return self._told[key]


def is_told(worlds: Worlds, asked: Sequence[tuple[Task, Mapping[Any, float]]]) -> bool | None:
    """Return whether answers, the numbers that were really told, are together about the odd records; None where too few worlds tell."""
    for count in WORLDS:
        moved, odd = [], []
        for task, told in asked:
            found, others = worlds.answers(task, count)
            if any(one is None for one in (*found, *others)):
                return None
            real = found[0]
            places = [
                place
                for place, number in told.items()
                if all(place in one for one in (*found, *others))
                and np.isclose(real[place], number, rtol=1e-6, atol=1e-6)
            ]
            base = np.array([real[place] for place in places])
            moved.append(np.array([[one[place] for place in places] for one in found[1:]]) - base)
            odd.append(np.array([[one[place] for place in places] for one in others]) - base)
        answer = _apart(np.hstack(moved), np.hstack(odd))
        if answer is not None:
            return answer
    return None


def _apart(moved: Any, odd: Any) -> bool | None:
    """Return whether changes of odd records are no combination of those that others make; None where there may be more of these."""
    scale = np.abs(np.vstack([moved, odd])).max(axis=0)
    kept = scale > 1e-6
    if not kept.any():
        return False
    moved, odd = moved[:, kept] / scale[kept], odd[:, kept] / scale[kept]
    _, sizes, directions = np.linalg.svd(moved, full_matrices=False)
    rank = int((sizes > SMALL).sum())
    if rank >= len(moved) - 1:
        return None
    rest = odd - odd @ directions[:rank].T @ directions[:rank]
    return bool(np.abs(rest).max() > LARGE)


def canonical(drawn: Drawn, task: Task) -> str:
    """Return a task in words that are the same for tasks that are one but for the odd records."""
    arguments = dict(task.arguments)
    if arguments.get("strata") == "site":
        del arguments["strata"]
    if '"z"' not in str(task) and arguments.get("organizations") == [
        *sorted(set(drawn.tables) - {drawn.lacking}),
        "helper",
    ]:
        del arguments["organizations"]
    if _about_odd(drawn, arguments.get("dictionary", {}).get("columns", {})):
        del arguments["dictionary"]
    other = () if task.method == "verticox" else OTHER_UNITS
    names = {name: group[0] for group in drawn.same for name in group[1:] if group[0] not in ("ward", *other)}
    return json.dumps(replaced({"task": [task.method, task.function, arguments]}, names), sort_keys=True)


def _about_odd(drawn: Drawn, columns: Mapping[str, Any]) -> bool:
    """Return whether what a dictionary says of columns is about values of odd records alone."""
    for name, means in columns.items():
        values = {*means.get("missing", ()), *means.get("recode", {})}
        cells = [
            (who, str(cell))
            for table in drawn.tables.values()
            if name in table
            for who, cell in zip(table["id"], table[name], strict=True)
        ]
        if any(cell in values and who not in drawn.odd for who, cell in cells):
            return False
    return bool(columns)


def _differ(one: Mapping[Any, float], two: Mapping[Any, float]) -> bool:
    """Return whether answers, of Cox fits their coefficients and errors, differ by more than a solver's last digits."""
    fits = [
        {place: number for place, number in told.items() if place[-1] in ("coefficient", "robust_error")} or told
        for told in (one, two)
    ]
    first, second = (sorted(told.values()) for told in fits)
    return len(first) == len(second) and not np.allclose(first, second, rtol=1e-3, atol=1e-4)


class Asking:
    """Tasks asked one after the other at nodes that remember."""

    def __init__(
        self,
        drawn: Drawn,
        random: np.random.Generator,
        folder: Path,
        only: Sequence[str] = (),
        changes: Sequence[str] = (),
        **limits: Any,
    ) -> None:
        self.drawn, self.random, self.ask, self._changes = drawn, random, Asker(drawn, random, only), changes
        self._running = remembering(drawn.tables, folder, **{**REAL, **limits})
        self.answered: list[tuple[Task, Mapping[Any, float], str]] = []
        self.asked = 0

    def run(self, tasks: int) -> None:
        """Ask so many tasks; keep those that are answered."""
        for _ in range(tasks):
            how, task = "posed", self.ask.posed()
            if self.answered and self.ask.chance(0.8):
                how, task = changed(self.ask, self.ask.one(self.answered)[0], self._changes)
            if any(task == one for one, _, _ in self.answered):
                continue
            self.asked += 1
            try:
                answer = self._running.run(task.method, task.function, task.arguments)
            except REFUSED:
                continue
            self.answered.append((task, numbers(answer), how))

    def by_construction(self, methods: Sequence[str]) -> list[Find]:
        """Return pairs of tasks of some methods with other answers, that are one task but for what is otherwise of the odd records alone."""
        known = [(canonical(self.drawn, one[0]), *one) for one in self.answered if one[0].method in methods]
        return [
            Find((one[1], two[1]), (one[3], two[3]), "one task but for the odd records")
            for one, two in itertools.combinations(known, 2)
            if one[0] == two[0] and _differ(one[2], two[2])
        ]

    def judge(self, swapped: bool, most: int = 3) -> list[Find]:
        """Return the pairs, and sets of up to `most`, that tell of the odd records where no part of them does."""
        worlds = Worlds(self.drawn, self.random, swapped)
        about = [one for one in self.answered if f'"{self.drawn.secret}"' in str(one[0])]
        silent = [one for one in about if is_told(worlds, [one[:2]]) is False]
        found: list[Find] = []
        for size in range(2, most + 1):
            for some in itertools.combinations(silent, size):
                tasks = tuple(task for task, _, _ in some)
                if any(set(map(str, one.tasks)) <= set(map(str, tasks)) for one in found):
                    continue
                if is_told(worlds, [one[:2] for one in some]):
                    found.append(Find(tasks, tuple(how for _, _, how in some), "swapped" if swapped else "resampled"))
        return found
