"""Numbers as parts of names."""

from __future__ import annotations


def shortest(value: float) -> str:
    """Return a number in six digits, or in all it has where six are not enough, so that two numbers never make one name."""
    return f"{value:g}" if float(f"{value:g}") == value else repr(float(value)).removesuffix(".0")
