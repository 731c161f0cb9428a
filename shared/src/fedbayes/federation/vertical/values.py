"""Numeric columns as fixed-point numbers of a ring, and the guards of their products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...mpc import ring
from ...typing import Array, Floats, Words
from ..answered.own_products import held_by_few
from ..errors import DataProblem, ThresholdError

FREE_BITS = 62
"""Bits of a signed 64-bit number, less one for rounding."""
MOST_FRACTION_BITS = 40  # more than a column of measurements tells
FEW_VALUES = 10
"""A column of at most this many different values is a code: its products are counts."""
REMEDY = (
    "`recode` what stands for a missing value to a number in the dictionary, not under `missing` ({-9: 0} adds nothing to the product), "
    "or fill in empty cells, or leave these records out, in the file"
)


def product_of(columns: Sequence[Any], names: Sequence[str]) -> Floats:
    """Return the product of one station's columns, (rows,).

    Raises
    ------
    DataProblem
        Naming the columns: text, missing values, or a product that no float holds.
    """
    product = np.ones(len(columns[0]))
    complete = True
    for name, values in zip(names, columns, strict=True):
        try:
            numbers = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise DataProblem(f"column '{name}' holds text; scalar products take numbers: {REMEDY}") from None
        complete &= bool(np.isfinite(numbers).all())
        with np.errstate(over="ignore", invalid="ignore"):
            product = product * numbers
    if not complete:
        raise DataProblem(
            f"columns {', '.join(names)} have missing values; scalar products take records without gaps: {REMEDY}"
        )
    if not np.isfinite(product).all():
        raise DataProblem(f"columns {', '.join(names)}: their product is too large; give them in larger units")
    return product


def check_spread(product: Floats, minimum: int) -> None:
    """Raise `ThresholdError` where all but a few records have one value, a few have nearly all of the sum, or one has more than the next ones together.

    Then a product would tell the other stations' values of these few: with nearly all zeros as it is, with another value after subtraction of
    its multiple.
    """
    if held_by_few(product, minimum):
        raise ThresholdError(
            "the columns of this station have one value in nearly all records, or a few records hold nearly all of their "
            "sum; the product would show the others' values of these few"
        )


def counted(product: Floats) -> Words:
    """Return 1 where a record counts in the product, (rows, 1), for the guard of small counts.

    Of two different values without a zero among them it is the larger one that counts, else every value but zero.
    """
    distinct = np.unique(product)
    if len(distinct) == 2 and not (distinct == 0.0).any():
        return np.asarray(product == distinct[np.argmax(np.abs(distinct))], dtype=np.uint64)[:, None]
    return np.asarray(product != 0.0, dtype=np.uint64)[:, None]


def is_few(product: Floats) -> bool:
    """Whether a product's values are few."""
    return len(np.unique(product)) <= FEW_VALUES


def is_short(product: Floats) -> bool:
    """Whether a product's values are few and have two digits at most, up to a factor, so that sums of them have few digits too: 0 and 1; 5, 7.5 and 10."""
    distinct = np.unique(product)
    largest = float(np.abs(distinct).max(initial=0.0)) or 1.0
    units = distinct / largest * 10.0 * float(f"{largest:.1e}".partition("e")[0])
    return len(distinct) <= FEW_VALUES and bool(np.allclose(units, np.rint(units), rtol=0.0, atol=1e-9))


def is_code(product: Floats) -> bool:
    """Whether a product's values are few and some records do not count in it, so that sums of it are counts of the records that do."""
    return is_few(product) and not bool(counted(product).all())


def fixed_point(product: Floats, factors: int) -> tuple[Array, int, int, bool]:
    """Return values divided by a power of two, in fixed point that leaves room for `factors` of their kind.

    Every station takes 1/factors of the bits that a sum over its own rows leaves free; the common rows are not more.

    Returns
    -------
    tuple
        uint64 (rows, 1), the power of two, the fraction bits, and whether no value was rounded.
    """
    largest = float(np.abs(product).max(initial=0.0))
    scale = int(np.ceil(np.log2(largest))) if largest > 0.0 else 0
    free = FREE_BITS - int(np.ceil(np.log2(max(len(product), 2))))
    fraction = min(free // factors, MOST_FRACTION_BITS)
    encoded = np.rint(np.ldexp(product, fraction - scale)).astype(np.int64)
    whole = bool((np.ldexp(encoded.astype(np.float64), scale - fraction) == product).all())
    return ring.lower(encoded[:, None], np.uint64), scale, fraction, whole
