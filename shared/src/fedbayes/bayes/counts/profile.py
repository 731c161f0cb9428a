"""What one column holds, as counts of public cells: its values or bins, what is outside its domain, what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...typing import Array, Floats, Integers
from ..schema import Column
from ..values.column_codes import absent, numbers
from ..values.encoding import bin_codes

BESIDE = 2
"""Cells of every column after those of its values: outside the domain, and missing."""
EVERY_NUMBER = (-np.inf, np.inf)


def width(column: Column, bins: int | Sequence[float]) -> int:
    """Return the number of a column's cells."""
    values = column.cardinality if column.is_categorical else len(column.edges(bins)) - 1
    return values + BESIDE


def cell_codes(column: Column, values: Any, bins: int | Sequence[float]) -> Integers:
    """Return the cell of each row.

    Parameters
    ----------
    column : Column
        Its public domain.
    values : array or pandas.Series
        Shape (n,), any dtype; no value is refused.
    bins : int or list of float
        Of a numeric column, as `Column.edges` takes them.

    Returns
    -------
    ndarray of int64, shape (n,)
        Codes of categories or bins, then one for what is outside the domain (another category, a number out of bounds, no number),
        then one for what is missing.
    """
    settled = column.settled(values)
    last = width(column, bins) - 1
    if column.bounds is None:
        codes = column.encode(values, "absorb").astype(np.int64)
    else:
        low, high = column.bounds
        plain = numbers(column.name, settled, EVERY_NUMBER, "absorb")
        inside = np.where((plain >= low) & (plain <= high), plain, np.nan)
        codes = bin_codes(inside, column.edges(bins)).astype(np.int64)
    return np.where(codes >= 0, codes, np.where(absent(settled), last, last - 1))


def cell_counts(column: Column, codes: Integers, bins: int | Sequence[float]) -> Integers:
    """Return the rows in each cell, int64, of the shape that :func:`width` tells."""
    return np.bincount(codes, minlength=width(column, bins)).astype(np.int64)


def merged(counts: Integers, edges: Floats, minimum: int) -> tuple[Integers, Floats]:
    """Unite neighbouring bins until each holds `minimum` rows, at borders that no single row chooses.

    The bins are halved, and their halves again; a border stays where both halves hold `minimum` rows. A half with fewer, or none, goes
    to its neighbour whole, and only the other one is halved on: one far value does not blur all others. So every border is a place of
    the public halving with `minimum` rows at either side of it, whatever else its bins took in. No count from 1 to `minimum` - 1 of any
    range follows from what is shown; that a range is empty does where a united bin holds exactly `minimum` rows, else not (tests try all
    small tables). Bins that were filled one after the other would end at every `minimum`-th row's own value.

    Parameters
    ----------
    counts : ndarray of int64, shape (bins,)
        Rows in each bin.
    edges : ndarray of float64, shape (bins + 1,)
        Increasing.
    minimum : int
        Fewest rows of a bin.

    Returns
    -------
    tuple of ndarray
        Counts and edges; one bin where all hold fewer rows together.
    """
    below = np.concatenate([[0], np.cumsum(counts)])
    borders = [0, *_halved(below, 0, len(counts), max(minimum, 1))]
    return np.diff(below[borders]).astype(np.int64), edges[borders]


def _halved(below: Integers, low: int, high: int, least: int) -> list[int]:
    """Return where the parts of bins `low` to `high` end; ``below[k]``: rows in bins before k."""
    middle = (low + high) // 2
    few_left, few_right = below[middle] - below[low] < least, below[high] - below[middle] < least
    if high - low < 2 or (few_left and few_right):
        return [high]
    if few_left:
        return _halved(below, middle, high, least)
    first = _halved(below, low, middle, least)
    return [*first[:-1], high] if few_right else [*first, *_halved(below, middle, high, least)]


def quantiles(counts: Array, edges: Floats, levels: Sequence[float]) -> list[float] | None:
    """Return the quantiles of binned numbers, linear inside a bin; None of none.

    Parameters
    ----------
    counts : ndarray, shape (bins,)
        Negative ones, which noise makes, count as 0.
    edges : ndarray of float64, shape (bins + 1,)
        Increasing.
    levels : sequence of float
        In [0, 1].
    """
    steps = np.concatenate([[0.0], np.cumsum(np.maximum(counts, 0))])
    if steps[-1] <= 0:
        return None
    targets = np.array(levels) * steps[-1]
    upper = np.clip(np.searchsorted(steps, targets, side="left"), 1, len(steps) - 1)
    within = (targets - steps[upper - 1]) / np.maximum(steps[upper] - steps[upper - 1], 1e-300)
    at_levels = edges[upper - 1] + np.clip(within, 0.0, 1.0) * (edges[upper] - edges[upper - 1])
    return [float(value) for value in at_levels]
