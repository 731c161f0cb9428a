"""The edges of a numeric column's bins, of what a domain or a task says of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .encoding import SchemaError, is_number

MAXIMUM_BINS = 10_000  # of a column


def logarithmic_edges(name: str, bounds: tuple[float, float], bins: Any) -> Any:
    """Return the inner edges that a mapping stands for; anything else as it is."""
    if not isinstance(bins, Mapping):
        return bins
    number: Any = bins.get("log")
    unit: Any = bins.get("unit", 1.0)
    plain = isinstance(number, int) and not isinstance(number, bool) and set(bins) <= {"log", "unit"}
    if not plain or not 1 <= number <= MAXIMUM_BINS:
        raise SchemaError(
            f'column {name!r}: give bins as {{"log": number}}, a whole number up to {MAXIMUM_BINS}, with or without "unit"'
        )
    low, high = bounds
    if isinstance(unit, bool) or not isinstance(unit, (int, float)) or not 0 < unit < high - low:
        raise SchemaError(f'column {name!r}: "unit" of bins must be positive and less than the range of the bounds')
    widest = math.log1p((high - low) / unit)
    return [low + unit * math.expm1(widest * index / number) for index in range(1, number)]


def given_edges(name: str, bounds: tuple[float, float], bins: object) -> NDArray[np.float64]:
    """Return the edges from bound to bound that a list of inner ones makes.

    Raises
    ------
    SchemaError
        If they are no numbers, do not increase, or are too many.
    """
    listed = bins.tolist() if isinstance(bins, np.ndarray) else bins
    if not isinstance(listed, (list, tuple)) or not all(map(is_number, listed)):
        raise SchemaError(f"column {name!r}: bins must be a whole number or a list of finite edges")
    asked_edges = np.asarray(listed, dtype=np.float64)
    inner = asked_edges[(asked_edges > bounds[0]) & (asked_edges < bounds[1])]
    edges = np.concatenate([[bounds[0]], inner, [bounds[1]]])
    if len(edges) - 1 > MAXIMUM_BINS or not bool(np.all(np.diff(asked_edges) > 0)):
        raise SchemaError(f"column {name!r}: edges must increase and make at most {MAXIMUM_BINS} bins")
    return edges
