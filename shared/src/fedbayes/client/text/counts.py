"""A table of counts in words: its axes and its cells."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...typing import Floats
from ..formats import number
from ..sections import axes_of


def read_counts(model: Mapping[str, Any]) -> tuple[list[tuple[str, list[Any]]], Floats]:
    """Return (column, values) of every axis, and the cells as people read them: NaN where one is hidden, no line of "missing" that is 0 throughout.

    Raises
    ------
    ValueError
        If axes and counts do not agree.
    """
    axes = axes_of(model["axes"])
    cells = np.asarray(model["counts"], dtype=np.float64)
    if cells.shape != tuple(len(values) for _, values in axes):
        raise ValueError("axes and counts do not agree")
    for axis, (name, values) in enumerate(axes):
        lines = np.moveaxis(cells, axis, 0)
        if len(values) > 1 and values[-1] is None and not lines[-1].any():
            axes[axis] = (name, values[:-1])
            cells = np.moveaxis(lines[:-1], 0, axis)
    return [(name, ["missing" if value is None else value for value in values]) for name, values in axes], cells


def cells_of(model: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield a row for every cell, the last axis fastest: its values and its count, a dash where it is hidden.

    Raises
    ------
    ValueError
        If axes and counts do not agree.
    """
    axes, cells = read_counts(model)
    combinations = itertools.product(*(values for _, values in axes))
    for combination, count in zip(combinations, cells.ravel().tolist(), strict=True):
        yield (*(str(value) for value in combination), number(int(count) if count.is_integer() else count))
