"""What one station multiplies with other organizations' numbers, in exact products: neither a product, nor what two or three differ by, is about few records.

A product of own columns of which few records hold nearly all of the sum tells the others' values of these few. So does the difference of two products, as of a
column of 0 and 1 and of the same times another one, that is 0 in one record where the first is 1.
"""

from __future__ import annotations

import numpy as np

from ...typing import Floats
from .alike import scattered

DOMINANCE = 0.02
"""The records beside the largest ones (one less than the minimum count) hold at least this part of the sum of absolute values."""
ROUNDING = 1e-9
"""Of a value: what two products differ by less is how numbers are written."""
TRIED = 8
"""Pairs of rows by which it is looked for how a product is made of two others; each is right but by chance."""
LOOKED_AT = 256
"""Rows by which most products are told apart from such sums, before all rows are compared."""


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


def adds_up_but_for_few(product: Floats, one: Floats, other: Floats, minimum: int) -> bool:
    """Return whether a product is a sum of two others, each times a number, in all rows but fewer than `minimum`, and not in all.

    As one by a column of 0 and 1 beside those by two wards, in both of which one record is.

    Parameters
    ----------
    product, one, other : ndarray of float, shape (rows,)
        Of own columns each.
    minimum : int
        Records.
    """
    tolerance = ROUNDING * float(np.abs(product).max(initial=0.0))
    some = np.flatnonzero((one != 0.0) | (other != 0.0))
    some = some[scattered(len(some))[:LOOKED_AT]]
    for tried, first in enumerate(some[np.flatnonzero(one[some])[:TRIED]]):
        crossed = one[first] * other[some] - one[some] * other[first]
        apart = np.abs(crossed) > ROUNDING * (np.abs(one[first] * other[some]) + np.abs(one[some] * other[first]))
        if not apart.any():
            continue
        pair = np.resize(np.flatnonzero(apart), TRIED)[tried]
        second = some[pair]
        ones = (product[first] * other[second] - product[second] * other[first]) / crossed[pair]
        others = (one[first] * product[second] - one[second] * product[first]) / crossed[pair]
        left = product[some] - ones * one[some] - others * other[some]
        if np.count_nonzero(np.abs(left) > tolerance) >= minimum:
            continue
        if 0 < np.count_nonzero(np.abs(product - ones * one - others * other) > tolerance) < minimum:
            return True
    return False
