"""The ring Z/2^128 as pairs of uint64, for fixed-point numbers that need more headroom than 64 bits.

Products of three fixed-point numbers with about 30 fractional bits each, summed over many rows, do not fit
into 64 bits. Every operation is exact modulo 2^128; numbers are read back as signed (centred) integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

BITS = 128  # of the ring
WORD = 64  # bits of one of the two words
HALF = np.uint64(32)  # bits of half a word
LOW = np.uint64(0xFFFFFFFF)  # the lower half of a word
Words = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class Wide:
    """An array over Z/2^128.

    Parameters
    ----------
    high, low : ndarray of uint64
        The upper and the lower word of every element; both of the array's shape.
    """

    high: Words
    low: Words

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self.low.shape

    @classmethod
    def zeros(cls, shape: tuple[int, ...]) -> Wide:
        """Return zeros of this shape."""
        return cls(np.zeros(shape, dtype=np.uint64), np.zeros(shape, dtype=np.uint64))

    @classmethod
    def from_words(cls, words: Words) -> Wide:
        """Return the array whose words lie along the last axis (low word first)."""
        return cls(words[..., 1], words[..., 0])

    def to_words(self) -> Words:
        """Return the words along a new last axis (low word first), dtype uint64."""
        return np.stack([self.low, self.high], axis=-1)

    @classmethod
    def encode(cls, values: npt.ArrayLike, frac_bits: int) -> Wide:
        """Round real numbers to multiples of 2^-frac_bits.

        Raises
        ------
        OverflowError
            When a number is not finite or does not fit into 126 bits.

        """
        real = np.asarray(values, dtype=np.float64)
        if not np.all(np.isfinite(real)) or np.any(np.abs(real) >= 2.0 ** (BITS - 2 - frac_bits)):
            raise OverflowError("a number is not finite or leaves the headroom of the fixed-point ring")
        scaled = np.rint(np.ldexp(real, frac_bits)) if frac_bits <= 512 else real
        magnitude = np.abs(scaled)
        upper = np.floor(np.ldexp(magnitude, -WORD))
        lower = magnitude - np.ldexp(upper, WORD)
        positive = cls(upper.astype(np.uint64), lower.astype(np.uint64))
        return positive.where(scaled >= 0, -positive)

    def decode(self, frac_bits: int) -> npt.NDArray[np.float64]:
        """Return the signed real numbers, to the precision of float64."""
        negative = self.high >> np.uint64(63) == 1
        magnitude = (-self).where(negative, self)
        real = np.ldexp(magnitude.high.astype(np.float64), WORD) + magnitude.low.astype(np.float64)
        return np.asarray(np.ldexp(np.where(negative, -real, real), -frac_bits))

    def where(self, chosen: npt.NDArray[np.bool_], other: Wide) -> Wide:
        """Return this array's elements where `chosen`, the other's elsewhere."""
        return Wide(np.where(chosen, self.high, other.high), np.where(chosen, self.low, other.low))

    def __add__(self, other: Wide) -> Wide:
        low = self.low + other.low
        return Wide(self.high + other.high + (low < other.low).astype(np.uint64), low)

    def __neg__(self) -> Wide:
        low = ~self.low + np.uint64(1)
        return Wide(~self.high + (low == 0).astype(np.uint64), low)

    def __sub__(self, other: Wide) -> Wide:
        borrow = (self.low < other.low).astype(np.uint64)
        return Wide(self.high - other.high - borrow, self.low - other.low)

    def __mul__(self, other: Wide) -> Wide:
        left_low, left_high = self.low & LOW, self.low >> HALF
        right_low, right_high = other.low & LOW, other.low >> HALF
        # In place, and no sum of a product of halves and a half leaves the word: (2^32 - 1)^2 + 2^32 - 1 < 2^64.
        middle = left_low * right_low
        middle >>= HALF
        middle += left_high * right_low
        high = left_high * right_high
        high += middle >> HALF
        middle &= LOW
        middle += left_low * right_high
        middle >>= HALF
        high += middle
        high += self.high * other.low
        high += self.low * other.high
        return Wide(high, self.low * other.low)

    def times(self, factor: int) -> Wide:
        """Multiply by a public integer, ``|factor| < 2^127``."""
        size = abs(factor)
        words = np.array([[size >> WORD], [size & (2**WORD - 1)]], dtype=np.uint64)
        product = self * Wide(words[0], words[1])
        return -product if factor < 0 else product

    def below(self, other: Wide) -> npt.NDArray[np.bool_]:
        """Say where the unsigned representative is less than the other's."""
        return np.asarray((self.high < other.high) | ((self.high == other.high) & (self.low < other.low)))

    def shift_right(self, bits: int) -> Wide:
        """Divide the unsigned representatives by 2^bits, rounding down; 0 <= bits < 128."""
        if bits == 0:
            return self
        if bits >= WORD:
            return Wide(np.zeros_like(self.high), self.high >> np.uint64(bits - WORD))
        low = (self.low >> np.uint64(bits)) | (self.high << np.uint64(WORD - bits))
        return Wide(self.high >> np.uint64(bits), low)

    def cut(self, bits: npt.NDArray[np.int64]) -> Wide:
        """Return the elements with their `bits` lowest bits zero; 0 <= bits < 64, of a shape that broadcasts."""
        kept = ~((np.uint64(1) << bits.astype(np.uint64)) - np.uint64(1))
        return Wide(self.high, self.low & kept)

    def low_bits(self, bits: int) -> Wide:
        """Return the elements modulo 2^bits; 64 <= bits <= 128."""
        if bits == BITS:
            return self
        return Wide(self.high & np.uint64((1 << (bits - WORD)) - 1), self.low)

    def to_bytes(self, bits: int) -> npt.NDArray[np.uint8]:
        """Return the lowest `bits` (whole bytes) of every element, least significant byte first, along a new last axis."""
        words = np.ascontiguousarray(self.to_words()).astype("<u8")
        return np.ascontiguousarray(words.view(np.uint8).reshape((*self.shape, 16))[..., : bits // 8])

    @classmethod
    def from_bytes(cls, values: npt.NDArray[np.uint8]) -> Wide:
        """Return the elements of `to_bytes`, which are taken as not negative."""
        full = np.zeros((*values.shape[:-1], 16), dtype=np.uint8)
        full[..., : values.shape[-1]] = values
        words = full.reshape(-1).view("<u8").astype(np.uint64).reshape((*values.shape[:-1], 2))
        return cls.from_words(words)

    def __getitem__(self, index: Any) -> Wide:
        return Wide(self.high[index], self.low[index])

    def prefix(self) -> Wide:
        """Return the sums of the elements up to and including each row (axis 0)."""
        low = np.cumsum(self.low, axis=0, dtype=np.uint64)
        carries = np.cumsum(low < self.low, axis=0).astype(np.uint64)
        return Wide(np.cumsum(self.high, axis=0, dtype=np.uint64) + carries, low)

    def suffix(self) -> Wide:
        """Return the sums of the elements from each row (axis 0) to the last."""
        return self[::-1].prefix()[::-1]

    def total(self) -> Wide:
        """Return the sum over the rows (axis 0)."""
        lower = np.sum(self.low & LOW, axis=0, dtype=np.uint64)
        upper = np.sum(self.low >> HALF, axis=0, dtype=np.uint64)
        middle = upper + (lower >> HALF)
        high = np.sum(self.high, axis=0, dtype=np.uint64) + (middle >> HALF)
        return Wide(high, (middle << HALF) | (lower & LOW))

    def transposed_product(self, other: Wide) -> Wide:
        """Return self' other of shape (columns of self, columns of other); both have the same rows."""
        rows = [(self[:, [column]] * other).total() for column in range(self.shape[1])]
        return Wide(np.stack([row.high for row in rows]), np.stack([row.low for row in rows]))

    @classmethod
    def concatenate(cls, arrays: list[Wide], axis: int = 1) -> Wide:
        """Join arrays along an axis."""
        high = np.concatenate([array.high for array in arrays], axis=axis)
        return cls(high, np.concatenate([array.low for array in arrays], axis=axis))
