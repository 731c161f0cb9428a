"""How 1/S0 of one step is brought to the next: public coefficients of r <- (a - b S0 r) r, and where a plan of them starts and ends.

Coefficients are multiples of 2^-12. Where those of a pair are multiples of 2^-5 the product needs seven bits less ("narrow"), so that an opening
seven bits shorter does; only wide intervals need the others.
"""

from __future__ import annotations

import math

from ..messages.names import Name

UNIT = 4096  # 2^12: coefficients of wide intervals are small, and rounded coarser they would not contract
NARROW_UNIT = 128  # 2^7: seven bits fewer for the others
NEWTON = (2 * UNIT, UNIT)
CONVERGING = 0.3  # relative error from which squaring, 0.09, is as good as the minimax choice
NARROW_UP_TO = 1.05  # logarithm of the interval's upper end up to which coefficients in multiples of 2^-5 contract
DOWN_AT_MOST = 1.5  # below e^-1.5 a plan converges more slowly and does not fail; risks are rather multiplied by a lot
WIDEST_BENT = 64.0  # an interval's upper end up to which 1 / high^2, the least b, is no less than 2^-12
SHRUNK = 16.0  # where wider intervals are brought to first, by a number: the guess was far too large
BELOW_TWO = 1.95  # a Newton step takes y to y (2 - y), which is 0 at 2
LONGEST = 16  # pairs: no endless loop for what cannot be reached

Pair = tuple[int, int]


def is_wide(pair: Pair) -> bool:
    """Say whether the pair's coefficients need twelve fractional bits."""
    return bool(pair[0] % NARROW_UNIT or pair[1] % NARROW_UNIT)


def reciprocal_name(step: int, version: int, pair: Pair) -> Name:
    """Return the name of the reciprocals that a refinement with this pair opens."""
    return Name("wide" if is_wide(pair) else "reciprocal", step, version)


def reciprocal_plan(spread: float, target: float, down: float = DOWN_AT_MOST) -> list[Pair]:
    """Return coefficients (times 2^12) that bring 1/S0 from the previous step to this one.

    Parameters
    ----------
    spread : float
        The ratio of new to old risk-set sums is expected to be at most exp(spread), and at least exp(-min(spread, down)): risks are at most
        multiplied by a lot, and below the interval the plan converges more slowly but does not fail.
    target : float
        Wanted relative error.
    down : float
        See there.

    Notes
    -----
    r <- (a - b S0 r) r leaves 1 - S0 r = T2(u)/T2(u0) on the interval when a, b come from the Chebyshev polynomial T2; once
    the error is below 0.3 the plain Newton reciprocal (a, b) = (2, 1) squares it. The last pair is narrow.
    """
    plan: list[Pair] = []
    low, high = math.exp(-min(spread, down)), math.exp(spread)
    while (max(high - 1.0, 1.0 - low) > target or not plan or is_wide(plan[-1])) and len(plan) < LONGEST:
        near = max(high - 1.0, 1.0 - low) <= CONVERGING
        unit = NARROW_UNIT if high <= math.exp(NARROW_UP_TO) else 1
        pair = NEWTON if near else _shrinking(high) if high > WIDEST_BENT else _chebyshev(low, high, unit)
        plan.append(pair)
        low, high = _image(low, high, pair)
    return plan


def _shrinking(high: float) -> Pair:
    """Return coefficients that multiply reciprocals by a number, so that an interval ends at `SHRUNK` or below, or as near as 2^-12 gets."""
    return max(math.floor(UNIT * SHRUNK / high), 1), 0


def _chebyshev(low: float, high: float, unit: int) -> Pair:
    """Return the minimax coefficients for an interval, rounded to multiples of `unit` so that the error stays below one."""
    width = max(high - low, 1e-6)  # all are the same where they are so near
    center, slope = (high + low) / width, 2.0 / width
    peak = 2.0 * center**2 - 1.0
    first, second = _rounded(4.0 * center * slope / peak, unit), max(_rounded(2.0 * slope**2 / peak, unit), unit)
    least, most = _image(low, high, (first, second))
    if least > 0.0 and most < BELOW_TWO:
        return first, second
    down, up = math.floor(2.0 / high * UNIT / unit) * unit, math.ceil(UNIT / high**2 / unit) * unit
    return down, up  # Newton's reciprocal, started below


def _rounded(value: float, unit: int) -> int:
    return round(value * UNIT / unit) * unit


def _image(low: float, high: float, pair: Pair) -> tuple[float, float]:
    """Return the range of y (a - b y) for y between `low` and `high`."""
    first, second = pair[0] / UNIT, pair[1] / UNIT
    points = [low, high, *([min(max(first / (2.0 * second), low), high)] if second else [])]
    values = [point * (first - second * point) for point in points]
    return min(values), max(values)
