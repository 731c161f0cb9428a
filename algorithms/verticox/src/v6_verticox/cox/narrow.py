"""What is about few records: counts below a node's limit, and columns that few carry."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbayes.typing import Floats

VANISHING = 0.1
"""Of predicted survival: where all of it is below, that of the record with the least risk can be far above the others' together."""
FAR_APART = 2.0  # of the predictor: e^2 = 7 times the risk; smaller gaps lie between neighbours in ordinary data too


def few(counts: Any, minimum_count: int) -> bool:
    """Say whether a count is above 0 and below the node's limit."""
    return bool(np.any((counts > 0) & (counts < minimum_count)))


def is_narrow(values: Floats, minimum_count: int) -> bool:
    """Say whether a column is carried by few records: (sum of sizes)^2 / sum of squares is how many that is when all weigh alike."""
    largest = np.max(np.abs(values), axis=0, initial=0.0)
    sizes = np.abs(values) / np.where(largest > 0.0, largest, 1.0)
    return carried_by_few(np.sum(sizes, axis=0), np.sum(sizes**2, axis=0), minimum_count)


def carried_by_few(sums: Any, squares: Any, minimum_count: int) -> bool:
    """Say the same of columns by the sums of their sizes and of these squared, (columns,) each."""
    return bool(np.any((squares > 0.0) & (sums**2 < minimum_count * squares)))


def vanishes(survival: Floats, minimum_count: int, records: Any = 1) -> bool:
    """Say whether at some time predicted survival is next to nothing for all records but few: a score would be that of these.

    Parameters
    ----------
    survival : ndarray of float, (records, times)
        Predicted.
    minimum_count : int
        The node's limit.
    records : ndarray of int, (records, 1), optional
        How many each row is of.
    """
    sums, squares = np.sum(records * survival, axis=0), np.sum(records * survival**2, axis=0)
    small = np.max(np.where(records, survival, 0.0), axis=0, initial=0.0) < VANISHING
    return carried_by_few(np.where(small, sums, 0.0), np.where(small, squares, 0.0), minimum_count)
