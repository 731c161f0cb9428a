"""What one station multiplies with other organizations' numbers, in exact products: neither a product nor the difference of two is about few records.

A product of own columns of which few records hold nearly all of the sum tells the others' values of these few. So does the difference of two products, as of a
column of 0 and 1 and of the same times another one, that is 0 in one record where the first is 1.
"""

from __future__ import annotations

import numpy as np

from ...typing import Floats

DOMINANCE = 0.02
"""The records beside the largest ones (one less than the minimum count) hold at least this part of the sum of absolute values."""
ROUNDING = 1e-9
"""Of a value: what two products differ by less is how numbers are written."""


def held_by_few(product: Floats, minimum: int) -> bool:
    """Return whether all but a few records have one value, or a few have nearly all of the sum, or one more than the next `minimum` together.

    In the last case a product with a column of 0 and 1 that has as many ones tells whether that record has one of them.

    Parameters
    ----------
    product : ndarray of float, shape (rows,)
        Of own columns.
    minimum : int
        Records.
    """
    if minimum <= 1 or not len(product):
        return False
    _, counts = np.unique(product, return_counts=True)
    others = len(product) - int(counts.max())
    largest = np.sort(np.abs(product))[::-1]
    rest = float(largest[minimum - 1 :].sum())
    alone = float(largest[0]) > float(largest[1 : minimum + 1].sum())
    return 0 < others < minimum or rest < DOMINANCE * float(largest.sum()) or alone or not largest[0] > 0.0


def differ_by_few(product: Floats, other: Floats, minimum: int) -> bool:
    """Return whether two products, in the unit in which most of their records agree, differ by what few records hold; not where they are the same.

    Parameters
    ----------
    product, other : ndarray of float, shape (rows,)
        Of own columns each.
    minimum : int
        Records.
    """
    both = (product != 0.0) & (other != 0.0)
    scaled = other * (float(np.median(product[both] / other[both])) if both.any() else 1.0)
    apart = np.abs(product - scaled) > ROUNDING * np.maximum(np.abs(product), np.abs(scaled))
    change = np.where(apart, product - scaled, 0.0)
    return bool(change.any()) and held_by_few(change, minimum)
