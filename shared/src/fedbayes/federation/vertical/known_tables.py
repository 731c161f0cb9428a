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
        self,
        cells: Sequence[Counts],
        cuts: Sequence[bool],
        parts: Sequence[Sequence[Columns]],
        sizes: Sequence[tuple[int, ...]],
    ) -> Counts:
        """Return whole tables of one form, (tables, a column's states on every further axis), and note the margins that `cuts` counted on.

        Parameters
        ----------
        cells : sequence of int64 arrays
            What was asked of each table, alike large.
        cuts : sequence of bool
            Of which factors the last state of the first column was left out.
        parts : sequence of sequences of tuples of str
            The columns of each factor of each table.
        sizes : sequence of tuples of int
            How many states a factor has of each column.

        Raises
        ------
        StationError
            If the cells do not go with what is known.
        """
        orders, shape = [sum(one, ()) for one in parts], sum(sizes, ())
        axes = [axis for axis, cut in zip((0, len(sizes[0])), cuts, strict=False) if cut]
        inner = [slice(size - 1 if axis in axes else size) for axis, size in enumerate(shape)]
        asked = np.concatenate([one.reshape(-1) for one in cells])
        whole = asked.reshape([len(cells), *(part.stop for part in inner)])
        if axes:
            asked, whole = whole, np.empty((len(cells), *shape), dtype=np.int64)
            whole[tuple([slice(None), *inner])] = asked
            for axis in axes:
                self._fill(whole, inner, axis, orders)
        if len(shape) == 2:
            for order, table in zip(orders, whole, strict=True):
                for axis, column in enumerate(order):
                    if frozenset((column,)) not in self._counts:
                        self._counts[frozenset((column,))] = ((column,), table.sum(axis=1 - axis))
        return whole

    def _fill(self, whole: Counts, inner: list[slice], axis: int, orders: Sequence[Columns]) -> None:
        """Set the last state of an axis, where the other axes have their `inner` states, to what is left of the known margins."""
        margins = []
        for order in orders:
            others = order[:axis] + order[axis + 1 :]
            stored, margin = self._counts[frozenset(others)]
            margins.append(margin if stored == others else margin.transpose([stored.index(name) for name in others]))
        stacked = np.concatenate(margins).reshape(len(orders), *margins[0].shape)
        here = [slice(None), *inner]
        rest = stacked[tuple(here[: axis + 1] + here[axis + 2 :])] - whole[tuple(here)].sum(axis=axis + 1)
        if rest.min() < 0:
            raise StationError(IMPOSSIBLE)
        here[axis + 1] = slice(inner[axis].stop, None)
        whole[tuple(here)] = np.expand_dims(rest, axis + 1)
        inner[axis] = slice(whole.shape[axis + 1])

    def add(self, columns: Columns, counts: Counts) -> None:
        """Note a whole table with all states of its columns."""
        self._counts[frozenset(columns)] = (columns, counts)
