"""What is about few records: counts below a node's limit, and columns that few carry."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]


def few(counts: Any, minimum_count: int) -> bool:
    """Say whether a count is above 0 and below the node's limit."""
    return bool(np.any((counts > 0) & (counts < minimum_count)))


def is_narrow(values: Vector, minimum_count: int) -> bool:
    """Say whether a column is carried by few records: (sum of sizes)^2 / sum of squares is how many that is when all weigh alike."""
    largest = np.max(np.abs(values), axis=0, initial=0.0)
    sizes = np.abs(values) / np.where(largest > 0.0, largest, 1.0)
    return carried_by_few(np.sum(sizes, axis=0), np.sum(sizes**2, axis=0), minimum_count)


def carried_by_few(sums: Any, squares: Any, minimum_count: int) -> bool:
    """Say the same of columns by the sums of their sizes and of these squared, (columns,) each."""
    return bool(np.any((squares > 0.0) & (sums**2 < minimum_count * squares)))
