"""Adam's steps on noisy gradients, for models whose steps by terms would take too much work."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fedbayes.typing import Floats

LEARNING_RATE = 0.3  # of Adam on noisy gradients; chosen on parts of Adult's training rows
MOMENTUM, SQUARES, SMALL = 0.9, 0.99, 1e-12
"""Adam's decays, the second faster than usual for tens of steps, and what keeps a divisor above 0."""
CAUTION = 5.0  # variances of noise that a square must exceed to be half believed; chosen on the same rows


def trust(sums: Floats, variance: float) -> Floats:
    """Return how far numbers stand out of noise of a known variance: 0 (not at all) to 1, entry by entry.

    The squares of the numbers over themselves and `CAUTION` times the variance, as in Wiener's filter.
    """
    squares = np.square(sums)
    return np.asarray(squares / np.maximum(squares + CAUTION * variance, SMALL**2))


def descended(
    ask: Callable[[Floats], Floats], weights: Floats, variance: float, rate: float, rounds: int, pull: float
) -> Floats:
    """Return the mean of the second half of a path of Adam's steps; `ask` gives the noisy gradient at some weights.

    A step is shortened by `trust`, so that weights of which the data say little stay there, and `pull` draws them to 1.

    References
    ----------
    Kingma and Ba, Adam, ICLR 2015; the noise is of the gradients, so everything here is post-processing.
    """
    spread = 0.0
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    kept: list[Floats] = []
    for step in range(1, rounds + 1):
        gradient = ask(weights)
        first = MOMENTUM * first + (1 - MOMENTUM) * gradient
        second = SQUARES * second + (1 - SQUARES) * gradient**2
        spread = MOMENTUM**2 * spread + (1 - MOMENTUM) ** 2 * variance
        move = (first / (1 - MOMENTUM**step)) / np.sqrt(second / (1 - SQUARES**step) + SMALL)
        weights = 1.0 + (weights - rate * move * trust(first, spread) - 1.0) / (1.0 + pull)
        kept.append(weights)
    return np.asarray(np.mean(kept[len(kept) // 2 :], axis=0)) if kept else weights
