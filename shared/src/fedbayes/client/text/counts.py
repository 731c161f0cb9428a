"""A table of counts in words: its axes and its cells."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from ..sections import Counts
from .formats import number


def axes_of(model: Mapping[str, Any]) -> list[tuple[str, list[Any]]]:
    """Return (column, values) of every axis."""
    counts = Counts.of(model)
    return list(zip(counts.columns, counts.values_along, strict=True))


def cells_of(model: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield a row for every cell, the last axis fastest: its values and its count, a dash where it is hidden.

    Raises
    ------
    ValueError
        If axes and counts do not agree.
    """
    combinations = itertools.product(*(values for _, values in axes_of(model)))
    for combination, count in zip(combinations, _flat(model["counts"]), strict=True):
        yield (*(str(value) for value in combination), number(count))


def _flat(counts: Any) -> Iterator[Any]:
    if isinstance(counts, list):
        for part in counts:
            yield from _flat(part)
    else:
        yield counts
