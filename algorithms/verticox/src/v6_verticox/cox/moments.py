"""Times that are told: numbers between two times of the file, so that none need be a record's own."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal

import numpy as np

from fedbayes.typing import Floats

DIGITS = 17  # of a time at most: more do not tell two floating-point numbers apart


def between(moments: Floats, times: Floats) -> list[float]:
    """Return of each moment, one of all `times`, the number of the fewest decimals from it on and before the next time."""
    following = np.append(times[1:], 2.0 * times[-1] - times[max(len(times) - 2, 0)])
    nexts = following[np.searchsorted(times, moments)]
    return [_shortest(moment, end) for moment, end in zip(moments.tolist(), nexts.tolist(), strict=True)]


def _shortest(low: float, high: float) -> float:
    """Return the least number from `low` on with the fewest decimals that one below `high` has; of few decimals, as of a whole number, it is often itself."""
    exact = Decimal(repr(low))
    for exponent in range(0, min(0, exact.adjusted() - DIGITS), -1):
        number = float(exact.quantize(Decimal((0, (1,), exponent)), ROUND_CEILING))
        if low <= number < high:
            return number
    return low
