"""Neighbouring states of a feature that are counted together: fewer cells, each with the noise of one, instead of many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def grouped(table: NDArray[np.int64], groups: int) -> NDArray[np.int64]:
    """Return a table by class whose states are added up in so many groups of neighbours of about equal size.

    Parameters
    ----------
    table : ndarray
        int64, shape (classes, states + 1), missing values last.
    groups : int
        At least 1 and at most the number of states.

    Returns
    -------
    ndarray, int64, shape (classes, groups + 1), missing values last
    """
    return np.hstack([np.add.reduceat(table[:, :-1], _starts(table.shape[1] - 1, groups), axis=1), table[:, -1:]])


def ungrouped(table: NDArray[np.float64], states: int) -> NDArray[np.float64]:
    """Return a table in which every state of a group has an equal part of it, float64, shape (classes, states + 1)."""
    sizes = np.diff([*_starts(states, table.shape[1] - 1), states])
    return np.hstack([np.repeat(table[:, :-1] / sizes, sizes, axis=1), table[:, -1:]])


def _starts(states: int, groups: int) -> NDArray[np.int64]:
    return np.asarray(np.arange(groups) * states // groups, dtype=np.int64)
