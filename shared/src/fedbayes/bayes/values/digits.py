"""Numbers in few digits: what is told of a file is near a value of it, and need be none."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

DIGITS = 17  # of a number at most: more do not tell two floating-point numbers apart


def in_few_digits(value: float, end: float, tens: bool = False) -> float:
    """Return the number of the fewest digits from a value on towards another one, which it does not reach; the value itself if it has the fewest.

    Parameters
    ----------
    value, end : float
        Finite, and not the same.
    tens : bool
        Whether it may be a multiple of ten, a hundred and so on; else whole numbers have the fewest digits, and decimals are counted.
    """
    exact, rounding = Decimal(repr(value)), ROUND_CEILING if value < end else ROUND_FLOOR
    first = max(exact.adjusted(), Decimal(repr(end)).adjusted()) + 1 if tens else 0
    for exponent in range(first, min(first, exact.adjusted() - DIGITS), -1):
        number = float(exact.quantize(Decimal((0, (1,), exponent)), rounding))
        if number < end if value < end else number > end:
            return number
    return value
