"""Real numbers in the ring: a fixed point encoding that knows its scale and its headroom.

A plain float becomes an `Encoded` (ring values, fraction bits and a public bound), an `Encoded` becomes
`Shares` (one per party on axis 0); there is no implicit way back. Laws: decoding what was encoded is within
2^-(frac_bits + 1); sums keep the fraction bits, products add them; and an operation whose result might not
fit in the ring raises before it wraps, judged by the public bounds alone and never by the values.

The encoding and the operations on shares reveal nothing by themselves; `share` assumes the operating system's
entropy.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbayes.mpc import ring
from fedbayes.mpc.secure_sum import reconstruct as ring_sum
from fedbayes.randomness import secret_bytes


class HeadroomError(ValueError):
    """A result might not fit in the ring: use fewer fraction bits, a larger ring or a tighter bound."""


def _check_headroom(bound: float, dtype: npt.DTypeLike) -> None:
    """Raise when values of at most `bound` (in units of the last bit) may leave the centred range."""
    if not bound < 2.0 ** (ring.bits(dtype) - 1):
        raise HeadroomError(
            f"the result may need more than {ring.bits(dtype)} bits; use fewer fraction bits, a larger ring "
            "or a tighter bound"
        )


@dataclass(frozen=True, slots=True)
class Encoded:
    """Fixed point numbers in a ring.

    Attributes
    ----------
    values : ndarray of a ring's dtype
        round(x * 2^frac_bits) modulo the ring.
    frac_bits : int
        Number of fraction bits.
    bound : float
        Public bound of abs(x): part of the protocol, never computed from private data.

    Raises
    ------
    HeadroomError
        When a number of that bound would not fit.
    """

    values: ring.RingArray
    frac_bits: int
    bound: float

    def __post_init__(self) -> None:
        ring.check_ring(self.values.dtype)
        if self.frac_bits < 0 or not self.bound >= 0:
            raise ValueError("frac_bits and bound must not be negative")
        _check_headroom(self.bound * 2.0**self.frac_bits, self.values.dtype)

    def _aligned(self, other: "Encoded") -> None:
        if other.frac_bits != self.frac_bits or other.values.dtype != self.values.dtype:
            raise ValueError("both terms of a sum must have the same fraction bits and the same ring")

    def __add__(self, other: "Encoded") -> "Encoded":
        """Return the elementwise sum; the bounds add up."""
        self._aligned(other)
        return Encoded(self.values + other.values, self.frac_bits, self.bound + other.bound)

    def __sub__(self, other: "Encoded") -> "Encoded":
        """Return the elementwise difference; the bounds add up."""
        self._aligned(other)
        return Encoded(self.values - other.values, self.frac_bits, self.bound + other.bound)

    def __mul__(self, other: "Encoded") -> "Encoded":
        """Return the elementwise product; fraction bits add up and bounds multiply."""
        if other.values.dtype != self.values.dtype:
            raise ValueError("both factors must be of the same ring")
        product = self.frac_bits + other.frac_bits
        _check_headroom(self.bound * other.bound * 2.0**product, self.values.dtype)
        return Encoded(self.values * other.values, product, self.bound * other.bound)

    def __matmul__(self, other: "Encoded") -> "Encoded":
        """Return the matrix product; the bound is that of the whole sum over the inner axis."""
        product = self.frac_bits + other.frac_bits
        bound = self.bound * other.bound * max(self.values.shape[-1], 1)
        _check_headroom(bound * 2.0**product, self.values.dtype)
        return Encoded(ring.matmul(self.values, other.values), product, bound)

    def sum(self, axis: int = 0) -> "Encoded":
        """Return the sum along an axis; the bound grows by its length."""
        bound = self.bound * max(self.values.shape[axis], 1)
        total: ring.RingArray = self.values.sum(axis=axis, dtype=self.values.dtype)
        return Encoded(total, self.frac_bits, bound)


def encode(values: npt.ArrayLike, frac_bits: int, bound: float, dtype: npt.DTypeLike = np.uint64) -> Encoded:
    """Encode real numbers.

    Parameters
    ----------
    values : array_like of float
        Finite numbers of absolute value at most `bound`.
    frac_bits : int
        Fraction bits; the error is at most 2^-(frac_bits + 1).
    bound : float
        Public bound.
    dtype : dtype
        The ring.

    Returns
    -------
    Encoded

    Raises
    ------
    HeadroomError
        When numbers of that bound do not fit in the ring.
    ValueError
        When a value is not finite or exceeds the bound.
    """
    _check_headroom(bound * 2.0**frac_bits, dtype)
    array = np.asarray(values, dtype=np.float64)
    if array.size and not bool(np.all(np.abs(array) <= bound)):
        raise ValueError("a value is not finite or exceeds the public bound; clip it or raise the bound")
    scaled = np.rint(np.ldexp(array, frac_bits)).astype(np.int64)
    return Encoded(ring.lower(scaled, dtype), frac_bits, bound)


def decode(encoded: Encoded) -> npt.NDArray[np.float64]:
    """Return the real numbers that an encoding stands for, as float64 of the same shape."""
    decoded: npt.NDArray[np.float64] = np.ldexp(ring.lift(encoded.values).astype(np.float64), -encoded.frac_bits)
    return decoded


@dataclass(frozen=True, slots=True)
class Shares:
    """Additive shares of fixed point numbers.

    Attributes
    ----------
    values : ndarray (parties, ...) of a ring
        Axis 0 is the party.
    frac_bits : int
        As in `Encoded`.
    bound : float
        As in `Encoded`, of the shared numbers; shares themselves are uniform over the ring.
    """

    values: ring.RingArray
    frac_bits: int
    bound: float

    def __post_init__(self) -> None:
        ring.check_ring(self.values.dtype)
        if self.values.ndim == 0 or self.values.shape[0] < 2:
            raise ValueError("shares need at least two parties on axis 0")
        _check_headroom(self.bound * 2.0**self.frac_bits, self.values.dtype)

    def __add__(self, other: "Shares") -> "Shares":
        """Return shares of the sum: every party adds its own."""
        if other.frac_bits != self.frac_bits or other.values.dtype != self.values.dtype:
            raise ValueError("both terms of a sum must have the same fraction bits and the same ring")
        return Shares(self.values + other.values, self.frac_bits, self.bound + other.bound)

    def scaled(self, factor: Encoded) -> "Shares":
        """Return shares of the product with a public factor: every party multiplies its own."""
        bound = self.bound * factor.bound
        return Shares(self.values * factor.values, self.frac_bits + factor.frac_bits, bound)


def share(encoded: Encoded, parties: int) -> Shares:
    """Split an encoding into additive shares.

    Parameters
    ----------
    encoded : Encoded
        What to share.
    parties : int
        Number of shares, at least 2.

    Returns
    -------
    Shares

    Raises
    ------
    ValueError
        When there are fewer than two parties.

    Notes
    -----
    **Reveals** nothing to any strict subset of the parties: their shares are uniform over the ring.
    **Assumes** private channels from the sharer to each party.
    """
    if parties < 2:
        raise ValueError("sharing needs at least two parties")
    dtype = encoded.values.dtype
    shape = (parties - 1, *encoded.values.shape)
    drawn: npt.NDArray[Any] = np.frombuffer(secret_bytes(int(np.prod(shape)) * dtype.itemsize), dtype=dtype)
    random = drawn.reshape(shape)
    last = encoded.values - random.sum(axis=0, dtype=dtype)
    return Shares(np.concatenate([random, last[None]]), encoded.frac_bits, encoded.bound)


def reconstruct(shares: Shares) -> Encoded:
    """Add the shares of all parties.

    Notes
    -----
    **Reveals** the shared numbers to whoever calls it with every share.
    **Assumes** nothing further.
    """
    return Encoded(ring_sum(list(shares.values)), shares.frac_bits, shares.bound)
