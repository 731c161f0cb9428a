"""What of exact counts may be shown: small cells are hidden so that neither margins nor this rule give them back.

Whoever knows a table's margins (they are questions like any other) can solve for hidden cells, and whoever knows the rule can leave out tables that
it would have hidden differently. So nothing is decided by a cell that stays hidden, but for one fact a step: states are taken off the table, those with most
records first, each shown if it, and what is left without it, has no small cell. The first state of an axis for which that fails ends its axis. What is left
is hidden whole. Of it a reader learns its margins, and that each axis's last step failed: `suppress` tells why no small cell follows.

Margins alone decide, and neither the order of states and columns nor states that nobody has, which are the task's to choose: the same table asked
twice hides the same cells, or one answer shows what the other one hides.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...typing import Booleans, Counts, Floats, Indices
from ..errors import ThresholdError

Hidden = Booleans
FITTING_STEPS = 50
"""Rounds of proportional fitting; it is within a per cent of its limit after a few, and is compared with 1."""


def check_count(count: int, records: int, minimum: int) -> None:
    """Raise `ThresholdError` where an exact count or its complement may not be revealed; the text does not say which of the two."""
    if count < minimum or records - count < minimum:
        raise ThresholdError(
            "the answer or its complement is below the smallest count that a node reveals; ask a broader question, or give an epsilon"
        )


def hidden_cells(counts: Counts, minimum: int, missing: Sequence[bool]) -> Hidden:
    """Return which cells of a table to hide; an empty last state "missing" is shown as empty and hides nothing else.

    Parameters
    ----------
    counts : int64 array
        One axis a column.
    minimum : int
        Smallest count that may be shown.
    missing : sequence of bool
        Whether an axis's last state means that the value is missing.
    """
    kept = []
    for axis, has_missing in enumerate(missing):
        others = tuple(other for other in range(counts.ndim) if other != axis)
        empty = has_missing and counts.shape[axis] > 1 and not counts.sum(axis=others)[-1]
        kept.append(np.arange(counts.shape[axis] - int(empty)))
    hidden = np.zeros(counts.shape, dtype=np.bool_)
    block = np.ix_(*kept)
    hidden[block] = suppress(np.ascontiguousarray(counts[block]), minimum)
    return hidden


def suppress(counts: Counts, minimum: int) -> Hidden:
    """Return which cells of a table to hide.

    Parameters
    ----------
    counts : int64 array
        One axis a column.
    minimum : int
        Cells below it are hidden; 0 or 1 hides nothing.

    Returns
    -------
    bool array of the same shape
        A block, the product of some states of each axis, and the states with few records; or nothing.

    Notes
    -----
    With all margins (sums along one axis), the visible cells and this rule known, every hidden cell below the minimum has several possible values:

    - *Two columns.* Let r_i, c_j be the hidden block's margins, all at least the minimum m >= 2, and let the steps have failed at row k and column l: some
      cell of row k, or some sum over the other rows, is below m, and so for l. Let cell (i, j) hold v < m. If i is not k and j is not l, a step of
      +1, -1, +1, -1 on a rectangle of (i, j) and other rows and columns leaves both facts as they are; where none has room, the records of row i lie in
      column l, or those of column j in row k, which is a small sum that a step along l or k keeps below m, downwards where v = m - 1; and
      where that has no room, a cell is 0, becomes 1 and stays small. If i = k or j = l the cell itself is the fact. So there always is
      another table that is shown alike.
    - *States with few records* are taken together with the next ones until they have m; their own cells move among one another. Of a state
      without any record the margin itself tells its cells.
    - *States with as many records as another one* are taken off by no step: an axis without a fact leaves more room.
    - *One column.* Small cells, where their sum leaves those of them with records half of the values below m, or else they and the smallest others: the
      rule knows no order, so whatever hidden cells hold, they may hold in another order; whoever knows which states are empty knows of these alone.
    - *More columns.* The same steps; margins over pairs leave less room, so the table is hidden whole if the evenest table with the block's
      margins has a cell below 1. Where the margins alone determine a cell nothing can hide it. No proof; enumerated in tests.

    It protects one table against its margins, not against all other tables that may be asked: use noise for that.
    """
    if minimum <= 1 or not (counts < minimum).any():
        return np.zeros(counts.shape, dtype=np.bool_)
    table = counts.reshape([size for size in counts.shape if size > 1] or [1])
    hidden = _hidden_of_list(table, minimum) if table.ndim == 1 else _hidden_of_table(table, minimum)
    return hidden.reshape(counts.shape)


def enough(minimum: int) -> int:
    """Return how many values below the minimum a hidden cell of a list must be able to have: about half of them, at least two."""
    return max(2, (minimum + 1) // 2)


def _hidden_of_list(counts: Counts, minimum: int) -> Hidden:
    """Return the small cells, and the smallest others if all small ones together say too much of one; ties are hidden together.

    Empty cells leave no room: a task may list states that nobody can have.
    """
    small = counts < minimum
    together, others = int(counts[small].sum()), int((small & (counts > 0)).sum()) - 1
    largest = others * (minimum - 1) + minimum - enough(minimum)
    if small.all() or (others > 0 and minimum <= together <= largest):
        return small
    return np.asarray(counts <= counts[~small].min())


def _hidden_of_table(counts: Counts, minimum: int) -> Hidden:
    """Return the block that is left when no state can be taken off any more, and the states with few records; those that nobody has decide no block."""
    margins = [counts.sum(axis=_others(counts, axis)) for axis in range(counts.ndim)]
    groups = [_groups(margin, minimum) for margin in margins]
    if min(len(states) for states in groups) < 2:
        return np.ones(counts.shape, dtype=np.bool_)
    hidden = np.zeros(counts.shape, dtype=np.bool_)
    some = np.ix_(*(np.flatnonzero(margin) for margin in margins))
    hidden[some] = _hidden_block(counts[some], minimum)
    for axis, states in enumerate(groups):
        for together in states:
            if len(together) > 1:
                np.moveaxis(hidden, axis, 0)[together] = True
    return hidden


def _hidden_block(counts: Counts, minimum: int) -> Hidden:
    """Return the cells that are left of a table in which each state has records."""
    groups = [_groups(counts.sum(axis=_others(counts, axis)), minimum) for axis in range(counts.ndim)]
    table = counts
    for axis, states in enumerate(groups):
        table = np.stack([table.take(state, axis).sum(axis=axis) for state in states], axis)
    hidden = np.zeros(counts.shape, dtype=np.bool_)
    left = _left(table, minimum)
    if all(left):
        block = [
            np.concatenate([states[group] for group in numbers]) for states, numbers in zip(groups, left, strict=True)
        ]
        hidden[np.ix_(*block)] = True
    return hidden


def _groups(margin: Counts, minimum: int) -> list[Indices]:
    """Return the states of an axis, those with few records and the next ones as one, from the fewest records to the most; ties go together."""
    order = np.argsort(margin, kind="stable")
    number = 0
    if margin[order[0]] < minimum:
        last = min(max(int(np.searchsorted(np.cumsum(margin[order]), minimum)), 1), len(order) - 1)
        number = int(np.searchsorted(margin[order], margin[order[last]], side="right"))
    return [order[:number]] * (number > 0) + [order[position : position + 1] for position in range(number, len(order))]


def _left(table: Counts, minimum: int) -> list[list[int]]:
    """Return the places of each axis that are left when states have been taken off; none where all can be."""
    left = [list(range(size)) for size in table.shape]
    open_axes = set(range(table.ndim))
    while (largest := _next_state(table[np.ix_(*left)], open_axes)) is not None:
        block, (axis, state_number) = table[np.ix_(*left)], largest
        state = block.take(state_number, axis)
        if min(state.min(), (block.sum(axis=axis) - state).min()) < minimum:
            open_axes.remove(axis)
            continue
        left[axis].pop(state_number)
        if len(left[axis]) == 1:
            return [[] for _ in left]
    block = table[np.ix_(*left)]
    if block.ndim > 2 and block.size < table.size and _evenest(block).min() < 1:
        return [list(range(size)) for size in table.shape]
    return left


def _next_state(block: Counts, open_axes: set[int]) -> tuple[int, int] | None:
    """Return the axis and place of the state with most records a cell; of none that margins do not tell from another, as any order may be asked for."""
    by_margins = dict[tuple[float, ...], list[tuple[int, int]]]()
    for axis in open_axes:
        margin = block.sum(axis=_others(block, axis))
        ordered = np.sort(margin)[::-1]
        if ordered[0] > ordered[1]:
            mean = ordered[0] * len(margin) / block.size
            by_margins.setdefault((float(mean), *ordered.tolist()), []).append((axis, int(margin.argmax())))
    alone = {key: places[0] for key, places in by_margins.items() if len(places) == 1}
    return alone[max(alone)] if alone else None


def _evenest(block: Counts) -> Floats:
    """Return the table with the margins of `block` that is as even as can be, by proportional fitting; it depends on the margins alone."""
    even = np.full(block.shape, block.sum() / block.size)
    for _ in range(FITTING_STEPS):
        for axis in range(block.ndim):
            now, wanted = even.sum(axis=axis, keepdims=True), block.sum(axis=axis, keepdims=True)
            even = even * np.divide(wanted, now, out=np.zeros_like(now), where=now > 0)
    return even


def _others(table: Counts, axis: int) -> tuple[int, ...]:
    return tuple(other for other in range(table.ndim) if other != axis)
