"""Suppression of small cells, with complementary suppression so that margins do not give them back."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def suppress(counts: npt.NDArray[np.int64], minimum: int) -> npt.NDArray[np.bool_]:
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
        Every line of the table, along any axis, has none or at least two hidden cells (all of them, where it has only
        one), and all hidden cells together hold at least `minimum` records or the whole table is hidden; so no margin or total gives one back.

    Notes
    -----
    The smallest visible cells are taken as complements. It protects against subtraction along lines, not against linear
    programming over several tables: use noise for that.
    """
    if minimum <= 1:
        return np.zeros(counts.shape, dtype=np.bool_)
    hidden = np.asarray(counts < minimum)
    changed = bool(hidden.any())
    while changed:
        changed = False
        for axis in range(counts.ndim):
            changed |= _complement(counts, hidden, axis)
    if hidden.any() and int(counts[hidden].sum()) < minimum:
        _hide_more(counts, hidden, minimum)
    return hidden


def _complement(counts: npt.NDArray[np.int64], hidden: npt.NDArray[np.bool_], axis: int) -> bool:
    """Hide the smallest visible cell of every line along `axis` that has exactly one hidden cell; tell whether any was."""
    lines = np.moveaxis(hidden, axis, -1)
    values = np.moveaxis(counts, axis, -1)
    single = np.argwhere(lines.sum(axis=-1) == 1)
    changed = False
    for place in single:
        line = tuple(int(index) for index in place)
        visible = np.flatnonzero(~lines[line])
        if len(visible):
            smallest = visible[np.argmin(values[line][visible])]
            lines[line + (int(smallest),)] = True  # noqa: RUF005 - Python 3.10 has no unpacking here
            changed = True
    return changed


def _hide_more(counts: npt.NDArray[np.int64], hidden: npt.NDArray[np.bool_], minimum: int) -> None:
    """Hide further cells with their complements, the smallest first, until the hidden ones hold enough records."""
    while int(counts[hidden].sum()) < minimum and not hidden.all():
        visible = np.where(hidden, np.iinfo(np.int64).max, counts)
        place = np.unravel_index(int(np.argmin(visible)), counts.shape)
        hidden[place] = True
        for axis in range(counts.ndim):
            _complement(counts, hidden, axis)
