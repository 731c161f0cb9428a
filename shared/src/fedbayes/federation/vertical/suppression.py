"""What of exact counts may be shown: small cells are hidden so that neither margins nor this rule give them back.

Whoever knows a table's margins (they are questions like any other) can solve for hidden cells, and whoever knows the rule can leave out tables that
it would have hidden differently. So the hidden cells are a *block*, some states of each axis: those in which a small cell lies, and more of them, chosen
by their margins alone, until the block's margins leave every small cell several values below the minimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import numpy.typing as npt

from ..errors import ThresholdError

Counts = npt.NDArray[np.int64]
Hidden = npt.NDArray[np.bool_]
MOST_PAIRS = 4_000_000
"""Moves that are looked at before a large block is given up and the table hidden whole."""


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
    places = np.ix_(*kept)
    hidden[places] = suppress(np.ascontiguousarray(counts[places]), minimum)
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
        A block, the product of some states of each axis, or nothing. With all margins (sums along one axis) and visible cells known, each hidden
        cell below the minimum still has several possible values below it, unless the whole table is hidden.

    Notes
    -----
    It protects one table against its margins, not against all other tables that may be asked: use noise for that.
    """
    small = counts < minimum
    if minimum <= 1 or not small.any():
        return np.zeros(counts.shape, dtype=np.bool_)
    shape = [size for size in counts.shape if size > 1] or [1]
    block = _grown(counts.reshape(shape), small.reshape(shape), minimum)
    hidden = np.zeros(shape, dtype=np.bool_)
    hidden[np.ix_(*block)] = True
    return hidden.reshape(counts.shape)


def _grown(counts: Counts, small: Hidden, minimum: int) -> list[list[int]]:
    """Return the states of each axis that make a safe block, or all states."""
    block: list[list[int]] = []
    waiting: list[list[tuple[int, int, int]]] = []
    for axis, size in enumerate(counts.shape):
        others = tuple(other for other in range(counts.ndim) if other != axis)
        margin = counts.sum(axis=others)
        chosen = np.flatnonzero(small.any(axis=others)).tolist()
        rest = sorted(set(range(size)) - set(chosen), key=lambda state: (margin[state], state))
        block.append(chosen)
        waiting.append([(int(margin[state]), axis, state) for state in rest])
    for chosen, candidates in zip(block, waiting, strict=True):
        while candidates and len(chosen) < 2:
            chosen.append(candidates.pop(0)[2])
    while any(waiting) and not _is_safe(counts[np.ix_(*block)], minimum):
        _, axis, state = min(candidates[0] for candidates in waiting if candidates)
        waiting[axis].pop(0)
        block[axis].append(state)
    return [sorted(states) for states in block]


def _is_safe(block: Counts, minimum: int) -> bool:
    """Return whether every small cell of a block has several values below the minimum, given the block's margins."""
    low, high = _line_bounds(block) if block.ndim <= 2 else _move_bounds(block, block < minimum)
    some = (low < minimum) if block.ndim <= 2 else (block < minimum)
    values = np.minimum(high, minimum - 1) - low + 1
    return bool((values[some] >= enough(minimum)).all() and (high[some] >= minimum).all())


def enough(minimum: int) -> int:
    """Return how many values below the minimum a hidden cell must be able to have: about half of them, at least two."""
    return max(2, (minimum + 1) // 2)


def _line_bounds(block: Counts) -> tuple[Counts, Counts]:
    """Return the least and largest value of every cell of a list or matrix with these margins: they follow from the margins alone."""
    total = int(block.sum())
    if block.ndim == 1:
        only = len(block) == 1
        return np.where(only, block, 0), np.full(block.shape, total, dtype=np.int64)
    rows, columns = block.sum(axis=1)[:, None], block.sum(axis=0)[None, :]
    return np.maximum(rows + columns - total, 0), np.minimum(rows, columns)


def _move_bounds(block: Counts, some: Hidden) -> tuple[Counts, Counts]:
    """Return how far cells can move while all margins stay, by moves of 2^d cells; only where `some` holds.

    The true range is at least as wide: it may take several moves.
    """
    low, high = block.copy(), block.copy()
    places = np.argwhere(some)
    if len(places) * block.size > MOST_PAIRS:
        return low, high
    partners = np.argwhere(np.ones(block.shape, dtype=np.bool_))
    corners = list(product((False, True), repeat=block.ndim))
    for place in places:
        others = partners[(partners != place).all(axis=1)]
        least = [np.full(len(others), np.iinfo(np.int64).max) for _ in range(2)]
        for corner in corners:
            moved = np.where(np.array(corner)[None, :], others, place[None, :])
            side = sum(corner) % 2
            least[side] = np.minimum(least[side], block[tuple(moved.T)])
        at = tuple(int(index) for index in place)
        low[at] -= max(least[0].max(initial=0), 0)
        high[at] += max(least[1].max(initial=0), 0)
    return low, high
