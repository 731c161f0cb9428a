"""Shared matrices: what all parties know of one, its masks and openings, and products in the ring.

A matrix has a row for every record and few columns. Those made here lie in memory a column behind the other (Fortran's order), so that what is done to all
records of a column runs through memory once; any other order gives the same numbers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate

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
    whole = np.empty((p, q, rows), dtype=core.dtype)
    inner = core.T.reshape(p - 1, q - 1, rows)
    whole[:-1, :-1] = inner
    whole[:-1, -1] = left.T[:-1] - inner.sum(axis=1, dtype=core.dtype)
    whole[-1, :-1] = right.T[:-1] - inner.sum(axis=0, dtype=core.dtype)
    whole[-1, -1] = left.T[-1] - whole[-1, :-1].sum(axis=0, dtype=core.dtype)
    completed: RingArray = whole.reshape(p * q, rows).T
    return completed


def complete_opening(opening: RingArray, factor: Factor) -> RingArray:
    """Return the opening (rows, states): the last column is one minus the others where it did not travel; products see `complete_product`."""
    if not factor.complete or factor.sides is not None:
        return opening
    return with_last(opening, 1)


def with_last(matrix: RingArray, total: int) -> RingArray:
    """Return a matrix (rows, width) with one more column, so that every row sums to `total`."""
    whole: RingArray = np.empty((len(matrix), matrix.shape[1] + 1), dtype=matrix.dtype, order="F")
    whole[:, :-1] = matrix
    whole[:, -1] = np.array(total, dtype=matrix.dtype) - matrix.T.sum(axis=0, dtype=matrix.dtype)
    return whole


def expanded(key: bytes, name: str, shape: tuple[int, int], dtype: npt.DTypeLike) -> RingArray:
    """Return a pseudo-random matrix (rows, width): `prg.expand`, a column behind the other."""
    matrix: RingArray = expand(key, name, shape[::-1], dtype).T
    return matrix


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
    part = expanded(key, f"mask|{factor.name}", (rows, factor.width), dtype)
    return part if not factor.complete or factor.sides is not None else with_last(part, 0)


def open_values(values: RingArray, key: bytes, factor: Factor) -> RingArray:
    """Return this holder's part of an opening: its values (rows, width) minus its part of the mask.

    **Reveals** nothing without the key: uniform over the ring.
    """
    masked: RingArray = values - expanded(key, f"mask|{factor.name}", (len(values), values.shape[1]), values.dtype)
    return masked


def row_products(matrices: Sequence[RingArray]) -> RingArray:
    """Return the row-wise Kronecker product: (rows, product of the widths), the last factor fastest."""

    def pair(left: RingArray, right: RingArray) -> RingArray:
        joint: RingArray = (left.T[:, None, :] * right.T[None, :, :]).reshape(-1, len(left)).T
        return joint

    return reduce(pair, matrices)


def side_by_side(matrices: Sequence[RingArray], dtype: npt.DTypeLike) -> RingArray:
    """Return matrices (rows, width) as one array of a ring, (all widths, rows)."""
    return np.concatenate([matrix.T for matrix in matrices]).astype(dtype, copy=False)


def little_endian(content: RingArray) -> bytes:
    """Return the bytes of an array as they travel."""
    return np.ascontiguousarray(content, dtype=content.dtype.newbyteorder("<")).tobytes()


def in_order(matrix: RingArray, order: npt.NDArray[np.int64]) -> RingArray:
    """Return rows of a matrix (rows, width) in an order, each column as a whole."""
    ordered: RingArray = np.take(matrix.T, order, axis=1).T
    return ordered


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
        Arrays (states of left, states of right).
    """
    wanted: dict[str, list[str]] = {}
    for left, right in dict.fromkeys(pairs):
        wanted.setdefault(left, []).append(right)
    widths = {name: matrix.shape[1] for term in terms for side in term for name, matrix in side.items()}
    tables: dict[tuple[str, str], RingArray] = {}
    for group in _grouped(sorted(wanted, key=lambda name: len(wanted[name])), widths):
        asked = list(dict.fromkeys(right for left in group for right in wanted[left]))
        rows, columns = _slices(group, widths), _slices(asked, widths)
        whole = _summed_products(rows, columns, terms)
        for left in group:
            own = whole[rows[left]]
            tables.update({(left, right): own[:, columns[right]] for right in wanted[left]})
    return tables


def _grouped(names: Sequence[str], widths: Mapping[str, int]) -> list[list[str]]:
    """Return the names in runs of about `GROUP_COLUMNS` columns."""
    groups: list[list[str]] = []
    width = GROUP_COLUMNS
    for name in names:
        if width >= GROUP_COLUMNS:
            groups.append([])
            width = 0
        groups[-1].append(name)
        width += widths[name]
    return groups


def _slices(names: Sequence[str], widths: Mapping[str, int]) -> dict[str, slice]:
    """Return where each of some matrices is if they stand side by side."""
    stops = accumulate(widths[name] for name in names)
    return {name: slice(stop - widths[name], stop) for name, stop in zip(names, stops, strict=True)}


def _summed_products(
    rows: Mapping[str, slice], columns: Mapping[str, slice], terms: Sequence[tuple[Matrices, Matrices]]
) -> RingArray:
    """Return the sum of the terms' products of all lefts with all rights, each at its place."""
    dtype = next(iter(terms[0][0].values())).dtype if terms[0][0] else next(iter(terms[0][1].values())).dtype
    whole = np.zeros([max(one.stop for one in slices.values()) for slices in (rows, columns)], dtype=dtype)
    for lefts, rights in terms:
        own, others = [name for name in rows if name in lefts], [name for name in columns if name in rights]
        if own and others:
            product = inner_product(
                np.concatenate([lefts[name] for name in own], axis=1),
                np.concatenate([rights[name] for name in others], axis=1),
            )
            at = [np.r_[tuple(here[name] for name in names)] for here, names in ((rows, own), (columns, others))]
            whole[np.ix_(*at)] += product
    return whole


def inner_product(left: RingArray, right: RingArray) -> RingArray:
    """Return left' @ right in the ring, for matrices (rows, p) and (rows, q)."""
    if left.shape[1] * right.shape[1] > FEW_CELLS:
        return ring.matmul(left.T, right)
    sums = [
        [(left[:, i] * right[:, j]).sum(dtype=left.dtype) for j in range(right.shape[1])] for i in range(left.shape[1])
    ]
    return np.array(sums, dtype=left.dtype)
