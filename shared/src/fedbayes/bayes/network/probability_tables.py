"""Tables of probabilities: counts made into them, their likelihood, and the cut points of binned columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ...typing import Floats


def cut_points(states: Sequence[str], cuts: Any) -> tuple[float, ...] | None:
    """Return the cut points of a binned column, None where there are none.

    Parameters
    ----------
    states : sequence of str
        The column's states without "missing": one a bin.
    cuts : list of float or None
        As a model has them.

    Raises
    ------
    ValueError
        They are not rising finite numbers, one fewer than the bins.
    """
    if cuts is None:
        return None
    if not isinstance(cuts, list | tuple) or any(isinstance(c, bool) or not isinstance(c, int | float) for c in cuts):
        raise ValueError("the cut points of a column are a list of numbers")
    points = tuple(float(cut) for cut in cuts)
    rising = all(low < high for low, high in pairwise(points))
    if len(points) + 1 != len(states) or not np.isfinite(points).all() or not rising:
        raise ValueError("the cut points of a column are rising finite numbers, one fewer than its bins")
    return points


def log_likelihood_of(tables: Mapping[str, Floats], counts: Mapping[str, npt.ArrayLike]) -> float:
    """Return sum(counts * log table) over tables and counts of the same shapes; 0 log 0 is 0."""
    total = 0.0
    with np.errstate(divide="ignore"):
        for node, table in tables.items():
            cells = np.asarray(counts[node], dtype=np.float64)
            total += float((cells[cells > 0] * np.log(table[cells > 0])).sum())
    return total


def normalise(counts: Floats) -> Floats:
    """Return counts divided by their sum over the last axis; uniform where that sum is not positive."""
    totals = counts.sum(axis=-1, keepdims=True)
    uniform = np.full_like(counts, 1.0 / counts.shape[-1])
    np.divide(counts, totals, out=uniform, where=np.broadcast_to(totals > 0, counts.shape))
    return uniform
