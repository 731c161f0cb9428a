"""Contingency tables on request: the interface between structure search and whoever can count.

A *table oracle* answers a list of column tuples with one array of counts each, axes in the asked order.
Pooled codes, secure tables of a vertical federation and sums over horizontal parties all are one, so that the
same search runs on each of them; everything that one step needs is asked in one call, because a call may cost
a federated round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from ...typing import Counts, Integers

TableOracle = Callable[[Sequence[tuple[str, ...]]], list[Counts]]


def count(codes: Sequence[Integers], shape: Sequence[int]) -> Counts:
    """Return the contingency table of code columns of equal length; rows with a negative code are left out.

    Parameters
    ----------
    codes : sequence of int arrays, shape (rows,)
        One array per axis.
    shape : sequence of int
        Number of states per axis.

    Raises
    ------
    ValueError
        A code lies outside the states of its column.
    """
    flat = np.zeros(len(codes[0]), dtype=np.int64)
    present = np.ones(len(codes[0]), dtype=bool)
    for column, states in zip(codes, shape, strict=True):
        if column.size and column.max() >= states:
            raise ValueError("a code lies outside the states of its column")
        flat = flat * states + column
        present &= column >= 0
    size = int(np.prod(shape, dtype=np.int64))
    return np.bincount(flat[present], minlength=size).astype(np.int64).reshape(tuple(shape))


class PooledTables:
    """A table oracle over codes that lie in one place.

    Parameters
    ----------
    codes : mapping of column to int array, shape (rows,)
        Codes of every column; negative codes are missing and leave their row out of the tables that ask for
        the column.
    cardinalities : mapping of column to int
        Number of states of every column.
    """

    def __init__(self, codes: Mapping[str, Integers], cardinalities: Mapping[str, int]) -> None:
        self._codes = codes
        self._cardinalities = cardinalities

    def __call__(self, tables: Sequence[tuple[str, ...]]) -> list[Counts]:
        """Return one table of counts per tuple of columns."""
        return [
            count([self._codes[c] for c in columns], [self._cardinalities[c] for c in columns]) for columns in tables
        ]


class TableCache:
    """Remembers every table an oracle answered and derives margins, so that nothing is asked twice.

    Parameters
    ----------
    oracle : TableOracle
        Who counts.
    columns : sequence of str
        Declared order of the columns.
    present : mapping of column to int, optional
        How many states of a column a family keeps; the oracle's tables have "missing" after them. Margins are taken
        first, so that each family counts all records in which its own columns are present.

    Attributes
    ----------
    batches, asked : int
        Calls of the oracle and tables asked so far.
    """

    def __init__(self, oracle: TableOracle, columns: Sequence[str], present: Mapping[str, int] | None = None) -> None:
        self._oracle = oracle
        self._present = present
        self._place = {column: position for position, column in enumerate(columns)}
        self._known: dict[frozenset[str], tuple[tuple[str, ...], Counts]] = {}
        self._wider: dict[frozenset[str], set[str]] = {}
        self.batches = 0
        self.asked = 0

    def ask(self, tables: Iterable[Sequence[str]]) -> None:
        """Make sure that all these tables are known, with at most one call of the oracle.

        A table is asked with its columns in the given order (the first order if two tables hold the same columns): an
        oracle may be cheaper where the column that varies comes last. Margins of tables of the batch are not asked.
        """
        unknown: dict[frozenset[str], tuple[str, ...]] = {}
        for columns in tables:
            key = frozenset(columns)
            if key not in unknown and not self._derive(key):
                unknown[key] = tuple(columns)
        margins = {key - {column} for key in unknown for column in key}
        wanted = [columns for key, columns in unknown.items() if key not in margins]
        if wanted:
            for columns, answer in zip(wanted, self._oracle(wanted), strict=True):
                self._remember(columns, answer)
            self.batches += 1
            self.asked += len(wanted)
            self.ask(sorted((unknown[key] for key in margins & unknown.keys()), key=len, reverse=True))

    def known(self, columns: Iterable[str]) -> bool:
        """Tell whether the table can be had without asking."""
        return self._derive(frozenset(columns))

    def family(self, parents: Iterable[str], child: str) -> Counts:
        """Return the counts of a family: parents in declared order, the child on the last axis.

        Raises
        ------
        KeyError
            The table was not asked before.
        """
        axes = (*sorted(parents, key=self._place.__getitem__), child)
        if not self._derive(frozenset(axes)):
            raise KeyError(f"the table of {child} was not asked")
        stored, counts = self._known[frozenset(axes)]
        table = np.transpose(counts, [stored.index(column) for column in axes])
        if self._present is None:
            return table
        return table[tuple(slice(0, self._present[column]) for column in axes)]

    def _remember(self, columns: tuple[str, ...], counts: Counts) -> None:
        key = frozenset(columns)
        self._known[key] = (columns, counts)
        for column in key & self._place.keys():
            self._wider.setdefault(key - {column}, set()).add(column)

    def _derive(self, key: frozenset[str]) -> bool:
        if key in self._known:
            return True
        if key not in self._wider:
            return False
        column = min(self._wider[key], key=self._place.__getitem__)
        axes, counts = self._known[key | {column}]
        self._remember(tuple(name for name in axes if name != column), counts.sum(axis=axes.index(column)))
        return True
