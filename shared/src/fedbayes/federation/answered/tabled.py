"""Cells of exact tables beside exact counts: whether a count is about a sum of cells but for a few rows.

A table of age by illness tells how many of 70 and more are ill. A count of the men among them differs by the women, who may be one; no column by
itself shows that. So a node with a folder database remembers which of its own columns exact tables had, and by which states. A count is compared
with the cells of these columns: one by one, by two and three, since a table tells its margins too, and of all columns of its conditions and all
but one. Of any two and three no more are compared than take seconds.

A cell that has fewer rows than the node's minimum is hidden, and no sum is made of it. Tables of which no column has two sets of states are
remembered as one, so a count can be refused for cells of columns that no table had together. Two tables are not compared with each other here:
`readings` does that column by column.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

MOST_TABLES = 64
"""Sets of columns of which each has a column with other states than all others, as many as readings of one column (`readings.MOST_READINGS`)."""
MOST_TOGETHER = 3
"""Any columns of which the joint states are compared with a count."""
SPARSE = 4
"""Joint states for each row from which on only those that occur are numbered: sorting costs more than counting a few that do not."""
MOST_WORK = 200_000_000
"""Rows times groups of any two and three columns times counts that an answer is compared with: some seconds of a processor."""
FEWEST_ROWS = 4_000
"""A group of columns takes as long as so many rows do, however few there are."""


def united(tables: Sequence[Mapping[str, str]], states: Mapping[str, str]) -> dict[str, str]:
    """Return the states of a new table's columns with those of a remembered one of which no column has other states, if there is one."""
    alike = (table for table in tables if all(states.get(column, words) == words for column, words in table.items()))
    return {**next(alike, {}), **states}


def differs_in_few(
    chosen: NDArray[np.bool_],
    conditions: Sequence[str],
    states: Mapping[str, NDArray[np.int64]],
    minimum: int,
    counts: int,
) -> bool:
    """Return whether a count differs from a sum of cells, of the same columns, in fewer than `minimum` rows, but in some.

    Parameters
    ----------
    chosen : bool array, shape (rows,)
        Which rows are counted.
    conditions : sequence of str
        The columns that its conditions are on.
    states : mapping of str to int64 array (rows,)
        State of every row, of each column of the tables.
    minimum : int
        Rows.
    counts : int
        Counts that are compared for this answer.
    """
    if min(int(chosen.sum()), int((~chosen).sum())) < minimum:
        return False  # no count is answered about so few; these are rows that were left out, of which `selections` takes care
    most = MOST_WORK // (max(len(chosen), FEWEST_ROWS) * counts)
    core = tuple(column for column in states if column in conditions)
    together = (itertools.combinations(states, size) for size in range(2, MOST_TOGETHER + 1))
    groups = itertools.chain(
        ((column,) for column in states),
        [core],
        itertools.combinations(core, max(len(core) - 1, 0)),
        itertools.islice(itertools.chain.from_iterable(together), most),
    )
    return any(
        0 < _apart(chosen, [states[column] for column in columns], minimum) < minimum for columns in groups if columns
    )


def _apart(chosen: NDArray[np.bool_], states: Sequence[NDArray[np.int64]], minimum: int) -> int:
    """Return in how many rows the counted ones differ at least from a sum of cells that are not hidden."""
    cells = states[0] + 1
    for one in states[1:]:
        cells = cells * (int(one.max()) + 2) + one + 1
        if int(cells.max()) > SPARSE * len(cells):
            cells = np.unique(cells, return_inverse=True)[1]
    rows = np.bincount(cells)
    inside = np.bincount(cells[chosen], minlength=len(rows))
    shown = rows >= minimum
    return int(np.minimum(inside, rows - inside)[shown].sum() + inside[~shown].sum())
