"""Shared matrices: what all parties know of one, its masks and openings, and products in the ring."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt

from fedbayes.mpc import ring
from fedbayes.mpc.prg import expand
from fedbayes.mpc.ring import RingArray

Matrices = Mapping[str, RingArray]
GROUP_COLUMNS = 256
"""So many columns on the left are multiplied at once: enough for BLAS, and little more than what is asked."""
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
    sides : tuple of two int, optional
        Of a row-wise product of two complete factors, their states: what travels is the product without the last state of either,
        the rest follows from the two (`complete_product`).
    """

    name: str
    holders: tuple[int, ...]
    width: int
    complete: bool = False
    sides: tuple[int, int] | None = None

    @property
    def states(self) -> int:
        """Number of columns in use."""
        if self.sides is not None:
            return self.sides[0] * self.sides[1]
        return self.width + int(self.complete)


def product_factor(name: str, left: Factor, right: Factor) -> Factor:
    """Return the factor of the row-wise product: its states are the pairs of states, the right one fastest."""
    holders = tuple(sorted({*left.holders, *right.holders}))
    if left.complete and right.complete:
        sides = (left.states, right.states)
        return Factor(name, holders, (sides[0] - 1) * (sides[1] - 1), True, sides)
    return Factor(name, holders, left.states * right.states)


def travelling(left: RingArray, right: RingArray, factor: Factor) -> RingArray:
    """Return the part of a row-wise product that travels, (rows, width): without the last states where they follow."""
    if factor.sides is None:
        return row_products([left, right])
    return row_products([left[:, :-1], right[:, :-1]])


def complete_product(core: RingArray, left: RingArray, right: RingArray) -> RingArray:
    """Return a whole row-wise product of two complete factors from the part that travels and the two factors.

    Linear, so it serves openings, masks and shares alike.

    Parameters
    ----------
    core : ndarray (rows, (p - 1) * (q - 1))
        What travels.
    left, right : ndarray (rows, p), (rows, q)
        The two factors.

    Returns
    -------
    ndarray (rows, p * q)
    """
    rows, p, q = len(core), left.shape[1], right.shape[1]
    whole = np.empty((rows, p, q), dtype=core.dtype)
    inner = core.reshape(rows, p - 1, q - 1)
    whole[:, :-1, :-1] = inner
    whole[:, :-1, -1] = left[:, :-1] - inner.sum(axis=2, dtype=core.dtype)
    whole[:, -1, :-1] = right[:, :-1] - inner.sum(axis=1, dtype=core.dtype)
    whole[:, -1, -1] = left[:, -1] - whole[:, -1, :-1].sum(axis=1, dtype=core.dtype)
    return whole.reshape(rows, p * q)


def complete_opening(opening: RingArray, factor: Factor) -> RingArray:
    """Return the opening (rows, states): the last column is one minus the others where it did not travel; products see `complete_product`."""
    if not factor.complete or factor.sides is not None:
        return opening
    last = np.ones(len(opening), dtype=opening.dtype) - opening.sum(axis=1, dtype=opening.dtype)
    return np.column_stack([opening, last])


def mask_part(key: bytes, factor: Factor, rows: int, dtype: npt.DTypeLike = np.uint32) -> RingArray:
    """Return one holder's part of a mask, (rows, states) of the ring; of a product with `sides`, of what travels.

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
    if not factor.complete or factor.sides is not None:
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


def pair_products(
    pairs: Sequence[tuple[str, str]], terms: Sequence[tuple[Matrices, Matrices]]
) -> dict[tuple[str, str], RingArray]:
    """Return for every pair (left, right) the sum over the terms (L, R) of L[left]' @ R[right]; what a term lacks is zero.

    The right sides of many lefts are multiplied together, so that thousands of small tables cost a few large products.

    Parameters
    ----------
    pairs : sequence of (left, right)
        Names of matrices.
    terms : sequence of pairs of mappings
        Matrices (rows, states) in one ring, those of one name alike wide.

    Returns
    -------
    dict
        Only pairs that some term has; arrays (states of left, states of right).
    """
    tables: dict[tuple[str, str], RingArray] = {}
    wanted: dict[str, list[str]] = {}
    for left, right in dict.fromkeys(pairs):
        wanted.setdefault(left, []).append(right)
    for lefts, rights in terms:
        for group in _grouped(
            sorted((name for name in wanted if name in lefts), key=lambda name: len(wanted[name])), lefts
        ):
            _add_products(tables, group, wanted, lefts, rights)
    return tables


def _grouped(names: Sequence[str], matrices: Matrices) -> list[list[str]]:
    """Return the names in runs of about `GROUP_COLUMNS` columns."""
    groups: list[list[str]] = []
    width = GROUP_COLUMNS
    for name in names:
        if width >= GROUP_COLUMNS:
            groups.append([])
            width = 0
        groups[-1].append(name)
        width += matrices[name].shape[1]
    return groups


def _add_products(
    tables: dict[tuple[str, str], RingArray],
    group: Sequence[str],
    wanted: Mapping[str, Sequence[str]],
    lefts: Matrices,
    rights: Matrices,
) -> None:
    asked = [name for name in dict.fromkeys(r for left in group for r in wanted[left]) if name in rights]
    if not asked:
        return
    whole = inner_product(
        np.concatenate([lefts[name] for name in group], axis=1),
        np.concatenate([rights[name] for name in asked], axis=1),
    )
    slices = dict(zip(asked, _slices([rights[name] for name in asked]), strict=True))
    for left, own in zip(group, _slices([lefts[name] for name in group]), strict=True):
        for right in wanted[left]:
            if right in slices:
                part = whole[own, slices[right]]
                tables[left, right] = tables[left, right] + part if (left, right) in tables else part


def _slices(matrices: Sequence[RingArray]) -> list[slice]:
    stops = np.cumsum([matrix.shape[1] for matrix in matrices])
    return [slice(int(stop) - matrix.shape[1], int(stop)) for stop, matrix in zip(stops, matrices, strict=True)]


def inner_product(left: RingArray, right: RingArray) -> RingArray:
    """Return left' @ right in the ring, for matrices (rows, p) and (rows, q)."""
    if left.shape[1] * right.shape[1] > FEW_CELLS:
        return ring.matmul(left.T, right)
    sums = [
        [(left[:, i] * right[:, j]).sum(dtype=left.dtype) for j in range(right.shape[1])] for i in range(left.shape[1])
    ]
    return np.array(sums, dtype=left.dtype)
