"""Which products to open so that every table is a product of two open factors, in the fewest rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Columns = tuple[str, ...]
Step = tuple[Columns, Columns, Columns]
"""(columns to open, left part, right part); no parts: one station opens its own joint states."""


@dataclass(frozen=True)
class Plan:
    """Levels of products to open, one round each, and the factors that every question is the product of."""

    levels: list[list[Step]]
    questions: list[tuple[Columns, ...]]


class Planner:
    """Knows what is open.

    Parameters
    ----------
    owners : mapping of str to tuple of int
        Where every column lives.
    """

    def __init__(self, owners: Mapping[str, tuple[int, ...]]) -> None:
        self._owners = owners
        self._open: dict[frozenset[str], tuple[Columns, str]] = {}

    def add(self, columns: Columns, name: str) -> None:
        """Note that the joint states of `columns` are open as the factor `name`."""
        self._open.setdefault(frozenset(columns), (columns, name))

    def narrow(self, column: str, name: str) -> None:
        """Note that the factor `name` stands for a column from now on."""
        self._open[frozenset((column,))] = ((column,), name)

    def name(self, columns: Columns) -> str:
        """Return the open factor of `columns`."""
        return self._open[frozenset(columns)][1]

    def plan(self, questions: Sequence[Columns]) -> Plan:
        """Return what to open for the questions, and how each is then answered."""
        depths: dict[frozenset[str], int] = {}
        steps: dict[frozenset[str], Step] = {}
        answered: list[tuple[Columns, ...]] = []
        for question in questions:
            parts = self._parts(question, depths)
            for part in parts:
                self._require(part, depths, steps)
            answered.append(parts)
        targets = {key: step[0] for key, step in steps.items()}
        ordered = [tuple(self._order(part, targets) for part in parts) for parts in answered]
        return Plan(_levels(depths, steps), ordered)

    def joint(self, groups: Sequence[Columns]) -> list[list[Step]]:
        """Return what to open so that the joint states of every group are one open factor."""
        depths: dict[frozenset[str], int] = {}
        steps: dict[frozenset[str], Step] = {}
        for group in groups:
            self._require(group, depths, steps)
        return _levels(depths, steps)

    def axes(self, columns: Columns) -> Columns:
        """Return the columns of an open factor in the order of its states."""
        return self._open[frozenset(columns)][0]

    def _order(self, columns: Columns, targets: Mapping[frozenset[str], Columns]) -> Columns:
        """Return the columns in the order of the factor's states."""
        key = frozenset(columns)
        return self._open[key][0] if key in self._open else targets[key]

    def _parts(self, question: Columns, depths: dict[frozenset[str], int]) -> tuple[Columns, ...]:
        if frozenset(question) in self._open:
            return (question,)
        return self._split(question, depths)

    def _depth(self, columns: Columns, depths: dict[frozenset[str], int]) -> int:
        key = frozenset(columns)
        if key in self._open:
            return 0
        if key not in depths:
            if self._single_owner(columns):
                depths[key] = 1
            else:
                left, right = self._split(columns, depths)
                depths[key] = 1 + max(self._depth(left, depths), self._depth(right, depths))
        return depths[key]

    def _single_owner(self, columns: Columns) -> bool:
        owners = {self._owners[column] for column in columns}
        return len(owners) == 1 and len(next(iter(owners))) == 1

    def _split(self, columns: Columns, depths: dict[frozenset[str], int]) -> tuple[Columns, Columns]:
        """Return two parts of least depth; ties go to (all but the last, the last), whose first part serves many questions."""
        if len(columns) == 2 or (frozenset(columns[:-1]) in self._open and frozenset(columns[-1:]) in self._open):
            return columns[:-1], columns[-1:]
        half = len(columns) // 2
        first = self._owners[columns[0]]
        same = tuple(column for column in columns if self._owners[column] == first)
        rest = tuple(column for column in columns if self._owners[column] != first)
        options = [(columns[:-1], columns[-1:]), (columns[:half], columns[half:])]
        if rest:
            options.append((same, rest))
        return min(options, key=lambda parts: max(self._depth(part, depths) for part in parts))

    def _require(self, columns: Columns, depths: dict[frozenset[str], int], steps: dict[frozenset[str], Step]) -> None:
        """Add what opens the joint states of columns, the last one's slowest: tables without it are known more often, see `known_tables`."""
        key = frozenset(columns)
        if key in self._open or key in steps:
            return
        self._depth(columns, depths)
        if self._single_owner(columns):
            steps[key] = ((*columns[-1:], *columns[:-1]), (), ())
            return
        left, right = self._split(columns, depths)
        if len(right) < len(left):
            left, right = right, left
        self._require(left, depths, steps)
        self._require(right, depths, steps)
        targets = {entry: step[0] for entry, step in steps.items()}
        ordered = self._order(left, targets) + self._order(right, targets)
        steps[key] = (ordered, left, right)


def _levels(depths: Mapping[frozenset[str], int], steps: Mapping[frozenset[str], Step]) -> list[list[Step]]:
    """Return the steps by depth, the shallowest first."""
    levels: list[list[Step]] = [[] for _ in range(max((depths[key] for key in steps), default=0))]
    for key, step in steps.items():
        levels[depths[key] - 1].append(step)
    return [level for level in levels if level]
