"""Factors that are open, and what opens more of them: in as few rounds as their size allows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import repeat

from ..errors import ArgumentError, StationError
from ..questions.factor_info import Wanted, factor_name
from .as_asked import OTHERWISE
from .engine import MOST_BYTES, ROUND_BYTES, SMALL_RING_ROWS, Engine
from .planning import Columns, Plan, Planner, Step
from .states import ColumnStates


class OpenFactors:
    """The factors of joint states over columns of one job.

    Parameters
    ----------
    engine : Engine
        After the columns were opened.
    columns : mapping of str to ColumnStates
        States and owners of every column.
    bits : int
        Of the ring of answers; 0: the smallest that holds the counts.
    """

    def __init__(self, engine: Engine, columns: Mapping[str, ColumnStates], bits: int) -> None:
        self.bits = bits
        self._engine = engine
        self._columns = columns
        self._full: set[str] = set()
        self._without_last: dict[str, str] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._planner = Planner({name: states.owners for name, states in columns.items()})
        for info in engine.factors.values():
            if info.columns:
                self._note(tuple(info.columns), info.name, self._states_of(tuple(info.columns)))

    def plan(self, questions: Sequence[Columns]) -> Plan:
        """Open what the tables of a batch are products of; return of which each is."""
        plan = self._planner.plan(questions)
        for level in plan.levels:
            self._open(level)
        return plan

    def joint(self, groups: Sequence[Columns]) -> list[tuple[Columns, str]]:
        """Open the joint states of every group of columns as one factor; return its columns in the order of its states, and its name."""
        for level in self._planner.joint(groups):
            self._open(level)
        return [(self._planner.axes(group), self._planner.name(group)) for group in groups]

    def name(self, columns: Columns) -> str:
        """Return the open factor of columns."""
        return self._planner.name(columns)

    def names(self, parts: Sequence[Columns], cuts: Sequence[bool]) -> tuple[str, ...]:
        """Return the open factors of columns; of those in `cuts` the one without the last state of its first column."""
        names = [self._planner.name(part) for part in parts]
        return tuple(
            [self._cut(name) if cut else name for name, cut in zip(names, cuts or repeat(False), strict=False)]
        )

    def can_be_cut(self, columns: Columns) -> bool:
        """Tell whether the last state of the first column of an open factor follows from the others: each record has one, and there are two or more."""
        name = self._planner.name(columns)
        return self._engine.factors[name].complete and self._shapes[name][0] > 1

    def _cut(self, name: str) -> str:
        if name not in self._without_last:
            first, *others = self._shapes[name]
            self._without_last[name] = self._engine.first_states(name, (first - 1) * math.prod(others))
        return self._without_last[name]

    def sizes(self, name: str) -> tuple[int, ...]:
        """Return how many states an open factor has of each of its columns."""
        return self._shapes[name]

    def narrow(self, column: str) -> None:
        """Leave the state "missing" of a column out from now on, which no record has."""
        name = self._planner.name((column,))
        if self._shapes[name][0] < 3:
            return
        self._full.add(column)
        view = self._engine.view(name)
        self._shapes[view] = (self._states(column),)
        self._planner.narrow(column, view)

    def _note(self, columns: Columns, name: str, sizes: tuple[int, ...]) -> None:
        """Note an open factor, and how many states it has of each column; `StationError` where it has others than its owner says of these."""
        if name not in self._engine.factors or self._engine.factors[name].states != math.prod(sizes):
            raise StationError(OTHERWISE)
        self._shapes[name] = sizes
        self._planner.add(columns, name)

    def _states_of(self, columns: Columns) -> tuple[int, ...]:
        return tuple(self._states(column) for column in columns)

    def _states(self, column: str) -> int:
        return self._columns[column].cardinality - int(column in self._full)

    def _open(self, level: Sequence[Step]) -> None:
        """Open joint states and products of one level, in as few rounds as their size allows."""
        chunk: list[Step] = []
        size, total = 0.0, 0.0
        for entry in level:
            cost = self._bytes(entry)
            total += self._memory(entry[0])
            if total > MOST_BYTES:
                raise ArgumentError(
                    "too many states: these tables need too much memory; use fewer columns or coarser bins"
                )
            if chunk and size + cost > ROUND_BYTES:
                self._open_chunk(chunk)
                chunk, size = [], 0.0
            chunk.append(entry)
            size += cost
        if chunk:
            self._open_chunk(chunk)

    def _bytes(self, step: Step) -> float:
        """Return what the openings of a step take on their way: a part of each owner, and the helper's."""
        columns, left, right = step
        width = (self.cells(left) - 1) * (self.cells(right) - 1) if right else self.cells(columns)
        parts = 1 + len({owner for column in columns for owner in self._columns[column].owners})
        return width * self._engine.rows * self._ring() / 8.0 * parts

    def _memory(self, columns: Columns) -> float:
        """Return about what a joint factor takes at a station: its opening, a mask, and their sum."""
        return 3.0 * self.cells(columns) * self._engine.rows * self._ring() / 8.0

    def cells(self, columns: Columns) -> float:
        """Return the number of joint states of columns."""
        return float(math.prod([self._states(column) for column in columns]))

    def _open_chunk(self, chunk: Sequence[Step]) -> None:
        pairs = {
            factor_name("states", target): (self._planner.name(left), self._planner.name(right))
            for target, left, right in chunk
            if right
        }
        own = [list(target) for target, _, right in chunk if not right]
        wanted = [Wanted("states", target, full=[c for c in target if c in self._full]) for target in own]
        if pairs and wanted and not self._engine.setup.helper:
            self._engine.extend({}, wanted, self._ring())
            wanted = []
        self._engine.extend(pairs, wanted, self._ring())
        for target, left, right in chunk:
            parts = [self._shapes[self._planner.name(part)] for part in (left, right) if part]
            # A part may have been opened before "missing" was left out of one of its columns.
            sizes = sum(parts, ()) or self._states_of(target)
            self._note(target, factor_name("states", target), sizes)

    def _ring(self) -> int:
        return self.bits or (16 if self._engine.rows < SMALL_RING_ROWS else 32)
