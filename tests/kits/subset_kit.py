"""Which of known numbers a sum is over."""

from __future__ import annotations

from typing import Any

import numpy as np

Vector = np.ndarray[Any, Any]


def sums(numbers: Vector) -> Vector:
    """Return the sums of all subsets; the bits of a place say of which."""
    found = np.zeros(1)
    for number in numbers:
        found = np.concatenate([found, found + number])
    return found


def subset(numbers: Vector, total: float) -> list[bool]:
    """Return which of these numbers add up to a total: sums of half of them are looked for among those of the others."""
    half = len(numbers) // 2
    first, second = sums(numbers[:half]), sums(numbers[half:])
    order = np.argsort(second)
    place = np.clip(np.searchsorted(second[order], total - first), 1, len(second) - 1)
    near = np.where(
        np.abs(second[order][place] - total + first) < np.abs(second[order][place - 1] - total + first),
        place,
        place - 1,
    )
    best = int(np.argmin(np.abs(second[order][near] - total + first)))
    bits = (best, int(order[near[best]]))
    return [bool(bits[at >= half] >> (at - half * (at >= half)) & 1) for at in range(len(numbers))]
