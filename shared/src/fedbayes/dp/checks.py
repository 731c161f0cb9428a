"""Checks of numbers that several modules of this package share."""

from __future__ import annotations

import math


def positive(name: str, value: float) -> float:
    """Return `value` as a float if it is finite and above 0, or raise ValueError naming the argument."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < float(value) < math.inf:
        raise ValueError(f"{name}: give a finite number above 0")
    return float(value)


def probability(name: str, value: float, *, zero: bool = False) -> float:
    """Return `value` as a float if it lies in (0, 1), or in [0, 1) with `zero`; or raise ValueError naming the argument."""
    valid = isinstance(value, int | float) and not isinstance(value, bool) and 0.0 <= value < 1.0
    if not valid or (value == 0 and not zero):
        raise ValueError(f"{name}: give a number in {'[' if zero else '('}0, 1)")
    return float(value)
