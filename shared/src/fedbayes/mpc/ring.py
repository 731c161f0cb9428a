"""The rings Z/2^16, Z/2^32 and Z/2^64 as unsigned numpy arrays.

Sums and elementwise products of unsigned arrays already wrap as the ring asks. What numpy lacks is here: a
checked way in and out of the ring for signed numbers, and an exact matrix product at the speed of floating
point BLAS.
"""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

RingArray: TypeAlias = npt.NDArray[np.unsignedinteger[Any]]
DTypes: TypeAlias = npt.DTypeLike

RINGS = (np.dtype(np.uint16), np.dtype(np.uint32), np.dtype(np.uint64))
LIMB_BITS = 16  # products of two limbs, summed over 2^21 rows, are exact in the 53 bits of a float64
BLOCK_ROWS = 1 << 13
"""Rows of one block of a matrix product: far below 2^21, and small enough to bound the memory."""


def check_ring(dtype: DTypes) -> np.dtype[Any]:
    """Return the dtype of a ring.

    Raises
    ------
    ValueError
        When it is not uint16, uint32 or uint64.
    """
    checked = np.dtype(dtype)
    if checked not in RINGS:
        raise ValueError(f"a ring is uint16, uint32 or uint64, not {checked}")
    return checked


def bits(dtype: DTypes) -> int:
    """Return the number of bits of one element of the ring: 16, 32 or 64."""
    return check_ring(dtype).itemsize * 8


def lower(values: npt.ArrayLike, dtype: DTypes = np.uint64) -> RingArray:
    """Bring signed integers into the ring, negative numbers as their residue.

    Parameters
    ----------
    values : array_like of integers
        Each within [-2^(bits-1), 2^(bits-1)).
    dtype : dtype
        The ring.

    Returns
    -------
    ndarray of the ring's dtype, the shape of `values`

    Raises
    ------
    ValueError
        When the values are not integers or one of them has no centred residue.
    """
    ring = check_ring(dtype)
    array = np.asarray(values)
    if array.dtype.kind not in "iub":
        raise ValueError(f"only integers enter a ring; encode numbers of type {array.dtype} in fixed point first")
    half = 1 << (bits(ring) - 1)
    if array.size and (int(array.min()) < -half or int(array.max()) >= half):
        raise ValueError(f"a value does not fit in {bits(ring)} signed bits; use a larger ring")
    wrapped: RingArray = array.astype(np.int64).astype(ring)
    return wrapped


def lift(values: RingArray) -> npt.NDArray[np.int64]:
    """Return the centred lift: the representative in [-2^(bits-1), 2^(bits-1)) as int64."""
    ring = check_ring(values.dtype)
    signed = np.ascontiguousarray(values).view(np.dtype(f"i{ring.itemsize}"))
    return signed.reshape(values.shape).astype(np.int64)


def negate(values: RingArray) -> RingArray:
    """Return the additive inverse, elementwise."""
    inverse: RingArray = np.zeros_like(values) - values
    return inverse


def _limbs(values: RingArray, count: int) -> list[npt.NDArray[np.float64] | None]:
    """Split into `count` 16-bit limbs, low first, as float64; None stands for a limb of zeros."""
    limbs: list[npt.NDArray[np.float64] | None] = []
    for index in range(count):
        limb = values
        if count > 1:
            limb = (values >> np.array(LIMB_BITS * index, dtype=values.dtype)) & np.array(0xFFFF, dtype=values.dtype)
        limbs.append(limb.astype(np.float64) if limb.any() else None)
    return limbs


def _block_product(left: RingArray, right: RingArray, count: int) -> npt.NDArray[np.uint64]:
    """Return left @ right modulo 2^64 for at most 2^21 inner rows, keeping the limbs below `count`."""
    total = np.zeros((left.shape[0], right.shape[1]), dtype=np.uint64)
    right_limbs = _limbs(right, count)
    for i, left_limb in enumerate(_limbs(left, count)):
        if left_limb is None:
            continue
        for j, right_limb in enumerate(right_limbs[: count - i]):
            if right_limb is not None:
                product = (left_limb @ right_limb).astype(np.uint64)
                total += product << np.uint64(LIMB_BITS * (i + j))
    return total


def matmul(left: RingArray, right: RingArray) -> RingArray:
    """Multiply two matrices exactly in the ring, at the speed of float64 BLAS.

    Each factor is split into 16-bit limbs; a product of limbs is below 2^32, so a block of at most 2^21 inner
    rows sums exactly in a float64. A limb that is zero everywhere (0/1 data) costs nothing.

    Parameters
    ----------
    left : ndarray (m, k)
        Elements of a ring.
    right : ndarray (k, n)
        Elements of the same ring.

    Returns
    -------
    ndarray (m, n) of the ring

    Raises
    ------
    ValueError
        When the factors are not matrices of one ring with matching inner sizes.
    """
    ring = check_ring(left.dtype)
    if right.dtype != ring:
        raise ValueError(f"both factors must be of one ring, not {left.dtype} and {right.dtype}")
    if left.ndim != 2 or right.ndim != 2 or left.shape[1] != right.shape[0]:
        raise ValueError(f"cannot multiply matrices of shapes {left.shape} and {right.shape}")
    count = bits(ring) // LIMB_BITS
    total = np.zeros((left.shape[0], right.shape[1]), dtype=np.uint64)
    for start in range(0, left.shape[1], BLOCK_ROWS):
        stop = start + BLOCK_ROWS
        total += _block_product(left[:, start:stop], right[start:stop], count)
    wrapped: RingArray = total.astype(ring)
    return wrapped
