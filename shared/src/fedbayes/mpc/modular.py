"""Powers modulo large numbers, by gmpy2 where it is installed."""

from functools import cache
from typing import Any


@cache
def _fast_arithmetic() -> Any:
    """Return gmpy2, or None where it is not installed: the plain integers are about seven times slower."""
    try:
        import gmpy2
    except ImportError:
        return None
    return gmpy2


def power(base: int, exponent: int, modulus: int) -> int:
    """Return base^exponent modulo an odd modulus; a negative exponent takes the inverse.

    Not of constant time: every exponent of `joye_libert` is used in one computation and then dropped.
    """
    fast = _fast_arithmetic()
    if fast is None or exponent == 0:
        return pow(base, exponent, modulus)
    raised = int(fast.powmod(base, abs(exponent), modulus))
    return raised if exponent > 0 else int(fast.invert(raised, modulus))
