"""Values over Z/2^128 that no party sees: additive shares, values opened under a mask, and openings on their way.

What the engines of `shared_fixed` compute with; every value carries its number of fractional bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from operator import add, sub
from typing import Any

from .prg import expand
from .wide import Wide

RING_GUARD = 46
"""Bits beyond the fractional ones: an opening of a value below 2^b wraps with probability 2^-(46 - b)."""


@dataclass(frozen=True, slots=True)
class Share:
    """One party's additive share of a secret; at the dealer, only its shape.

    Parameters
    ----------
    value : Wide or None
        The share; at the dealer the term that the parties leave out of what they open, or None.
    shape : tuple of int
    frac_bits : int
        Fractional bits of the secret.
    """

    value: Wide | None
    shape: tuple[int, ...]
    frac_bits: int

    @property
    def held(self) -> Wide:
        """The share itself, which every party has."""
        assert self.value is not None
        return self.value

    def __add__(self, other: Share) -> Share:
        return self._combined(other, add)

    def __sub__(self, other: Share) -> Share:
        return self._combined(other, sub)

    def times(self, factor: int, added_bits: int = 0) -> Share:
        """Multiply by a public integer; `added_bits` of it count as fractional bits."""
        value = None if self.value is None else self.value.times(factor)
        return Share(value, self.shape, self.frac_bits + added_bits)

    def rows(self, chosen: Any) -> Share:
        """Return the selected rows."""
        if self.value is None:
            return self
        value = self.value[chosen]
        return Share(value, value.shape, self.frac_bits)

    def _combined(self, other: Share, operation: Callable[[Wide, Wide], Wide]) -> Share:
        if self.frac_bits != other.frac_bits or self.shape != other.shape:
            raise ValueError("shares of different shape or precision cannot be combined")
        if self.value is None or other.value is None:
            return self
        return Share(operation(self.value, other.value), self.shape, self.frac_bits)


@dataclass(frozen=True, slots=True)
class Wire:
    """A value known as public part plus shared mask.

    Parameters
    ----------
    public : Wide or None
        The opened part, the same at all parties; None at the dealer.
    mask : Wide
        This party's share of the mask; at the dealer the mask itself.
    frac_bits : int
    """

    public: Wide | None
    mask: Wide
    frac_bits: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the value."""
        return self.mask.shape

    def __add__(self, other: Wire) -> Wire:
        if self.frac_bits != other.frac_bits:
            raise ValueError("wires of different precision cannot be added")
        both_public = self.public is not None and other.public is not None
        public = self.public + other.public if both_public else None  # type: ignore[operator]
        return Wire(public, self.mask + other.mask, self.frac_bits)

    def apply(self, operation: Callable[[Wide], Wide]) -> Wire:
        """Apply a linear map (sums, selections) to both parts."""
        public = None if self.public is None else operation(self.public)
        return Wire(public, operation(self.mask), self.frac_bits)

    def columns(self, chosen: slice | list[int]) -> Wire:
        """Return some columns of a matrix."""
        return self.apply(lambda part: part[:, chosen])


def ring_bits(frac_bits: int, dropped: int) -> int:
    """Return modulo which power of two an opening travels: whole bytes, at most 128 bits, all of them where nothing is cut."""
    return min(128, -(-(frac_bits + dropped + RING_GUARD) // 8) * 8) if dropped else 128


def expand_wide(key: bytes, name: str, shape: tuple[int, ...]) -> Wide:
    """Return uniform elements of Z/2^128 from a key; equal names give equal arrays."""
    low, high = expand(key, f"wide/{name}", (2, *shape))
    return Wide(high, low)


def added(parts: Iterable[Wide]) -> Wide:
    """Return the sum of one or more arrays of one shape."""
    return reduce(add, parts)
