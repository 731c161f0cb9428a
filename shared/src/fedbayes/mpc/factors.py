"""Shared matrices: what all parties know of one, its masks and openings, and products in the ring."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt

from fedbayes.mpc import ring
from fedbayes.mpc.prg import expand
from fedbayes.mpc.ring import RingArray

FEW_CELLS = 4
"""Up to this many cells, elementwise products beat a matrix product by limbs."""


@dataclass(frozen=True, slots=True)
class Factor:
    """One shared matrix.

    Attributes
    ----------
    name : str
        Unique in the job: masks follow from it.
    holders : tuple of int
        Parties whose keys make the mask, ascending.
    width : int
        Columns that travel.
    complete : bool
        Whether one more column follows from the others because every row sums to one (indicator matrices).
    """

    name: str
    holders: tuple[int, ...]
    width: int
    complete: bool = False

    @property
    def states(self) -> int:
        """Number of columns in use."""
        return self.width + int(self.complete)


def product_factor(name: str, left: Factor, right: Factor) -> Factor:
    """Return the factor of the row-wise product: its states are the pairs of states, the right one fastest."""
    complete = left.complete and right.complete
    holders = tuple(sorted({*left.holders, *right.holders}))
    return Factor(name, holders, left.states * right.states - int(complete), complete)


def complete_opening(opening: RingArray, factor: Factor) -> RingArray:
    """Return the opening (rows, states): the last column is one minus the others where it did not travel."""
    if not factor.complete:
        return opening
    last = np.ones(len(opening), dtype=opening.dtype) - opening.sum(axis=1, dtype=opening.dtype)
    return np.column_stack([opening, last])


def mask_part(key: bytes, factor: Factor, rows: int, dtype: npt.DTypeLike = np.uint32) -> RingArray:
    """Return one holder's part of a mask, (rows, states) of the ring.

    Parameters
    ----------
    key : bytes
        The key of this holder and the helper.
    factor : Factor
        Whose mask.
    rows : int
        Rows as they were opened.
    dtype : dtype
        The ring the factor was opened in.
    """
    part = expand(key, f"mask|{factor.name}", (rows, factor.width), dtype)
    if not factor.complete:
        return part
    last = ring.negate(part.sum(axis=1, dtype=part.dtype))
    return np.column_stack([part, last])


def open_values(values: RingArray, key: bytes, factor: Factor) -> RingArray:
    """Return this holder's part of an opening: its values (rows, width) minus its part of the mask.

    **Reveals** nothing without the key: uniform over the ring.
    """
    masked: RingArray = values - expand(key, f"mask|{factor.name}", values.shape, values.dtype)
    return masked


def row_products(matrices: Sequence[RingArray]) -> RingArray:
    """Return the row-wise Kronecker product: (rows, product of the widths), the last factor fastest."""

    def pair(left: RingArray, right: RingArray) -> RingArray:
        joint: RingArray = (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)
        return joint

    return reduce(pair, matrices)


def inner_product(left: RingArray, right: RingArray) -> RingArray:
    """Return left' @ right in the ring, for matrices (rows, p) and (rows, q)."""
    if left.shape[1] * right.shape[1] > FEW_CELLS:
        return ring.matmul(left.T, right)
    sums = [
        [(left[:, i] * right[:, j]).sum(dtype=left.dtype) for j in range(right.shape[1])] for i in range(left.shape[1])
    ]
    return np.array(sums, dtype=left.dtype)
