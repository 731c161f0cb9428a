"""Cells of a table that follow from tables that central has: they are neither computed nor sent.

A table over a and b, of which the counts of b alone are known, follows from all states of a but the last: what is left of each count of b is in that one. So of
two factors each is asked without the last state of its first column, where the table of all other columns of both is known, or will be when the tables
before it in the batch are answered.

**Reveals** what the whole tables do: the cells that are asked are some of theirs, and give the others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...typing import Counts
from ..errors import StationError
from .planning import Columns

IMPOSSIBLE = (
    "counts that were answered do not add up with earlier ones: an organization deals or shares wrongly; the job stops"
)


class KnownTables:
    """The exact tables that a job has asked for so far."""

    def __init__(self) -> None:
        self._counts: dict[frozenset[str], tuple[Columns, Counts]] = {}
        self._awaited: set[str] = set()

    def cuts(self, parts: Sequence[Columns]) -> tuple[bool, ...]:
        """Return of which factors of a table the last state of the first column follows; of those of one column each the margins are known next."""
        if len(parts) != 2:
            return (False,) * len(parts)
        columns = frozenset(parts[0] + parts[1])
        if len(columns) > 2:
            return tuple([columns - {part[0]} in self._counts for part in parts])
        first, second = parts[0][0], parts[1][0]
        follow = (self._has(second), self._has(first))
        self._awaited |= columns
        return follow

    def _has(self, column: str) -> bool:
        return column in self._awaited or frozenset((column,)) in self._counts

    def completed(
        self, cells: Counts, cuts: Sequence[bool], parts: Sequence[Columns], sizes: Sequence[tuple[int, ...]]
    ) -> Counts:
        """Return a whole table, one axis a column, from the cells that were asked; and note the margins that `cuts` counted on.

        Parameters
        ----------
        cells : int64 array
            What was asked, in any shape.
        cuts : sequence of bool
            Of which factors the last state of the first column was left out.
        parts : sequence of tuples of str
            The columns of each factor.
        sizes : sequence of tuples of int
            How many states a factor has of each column.

        Raises
        ------
        StationError
            If the cells do not go with what is known.
        """
        order, shape = sum(parts, ()), sum(sizes, ())
        axes = [axis for axis, cut in zip((0, len(parts[0])), cuts, strict=False) if cut]
        if axes:
            whole = np.empty(shape, dtype=np.int64)
            inner = [slice(size - 1 if axis in axes else size) for axis, size in enumerate(shape)]
            whole[tuple(inner)] = cells.reshape([part.stop for part in inner])
            for axis in axes:
                self._fill(whole, inner, axis, order)
        else:
            whole = cells.reshape(shape)
        if len(order) == 2:
            for axis, column in enumerate(order):
                self._counts.setdefault(frozenset((column,)), ((column,), whole.sum(axis=1 - axis)))
        return whole

    def _fill(self, whole: Counts, inner: list[slice], axis: int, order: Columns) -> None:
        """Set the last state of an axis, where the other axes have their `inner` states, to what is left of the known margin."""
        others = order[:axis] + order[axis + 1 :]
        stored, margin = self._counts[frozenset(others)]
        margin = margin if stored == others else margin.transpose([stored.index(column) for column in others])
        rest = margin[tuple(inner[:axis] + inner[axis + 1 :])] - whole[tuple(inner)].sum(axis=axis)
        if rest.min() < 0:
            raise StationError(IMPOSSIBLE)
        last = whole.shape[axis] - 1
        inner[axis] = slice(last, None)
        whole[tuple(inner)] = rest.reshape(whole[tuple(inner)].shape)
        inner[axis] = slice(last + 1)

    def add(self, columns: Columns, counts: Counts) -> None:
        """Note a whole table with all states of its columns."""
        self._counts[frozenset(columns)] = (columns, counts)
