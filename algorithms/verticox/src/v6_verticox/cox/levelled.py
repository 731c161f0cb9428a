"""Running sums of exponentials of any size: each sum is a number times exp of its level, and no sum is a difference of larger ones."""

from __future__ import annotations

import numpy as np

from fedbayes.typing import Floats, Indices

STEP = 256.0
"""Levels are its multiples: a term is at most e^256 of its level and a sum at least 1, so that neither leaves double precision."""
NONE = -(2**40)  # the number of a level below that of any finite exponent; times any group it is still an int64


def levels(exponent: Floats, group: Indices) -> Floats:
    """Return the largest exponent so far in the same group, rounded down to a multiple of `STEP`, (rows,).

    Parameters
    ----------
    exponent : ndarray of float, (rows,)
        Minus infinity for a row that does not count.
    group : ndarray of int, (rows,)
        Not decreasing, from 0 on.
    """
    number = np.full(len(exponent), NONE, dtype=np.int64)
    finite = np.isfinite(exponent)
    number[finite] = np.floor(exponent[finite] / STEP)
    apart = group.astype(np.int64) * (-2 * NONE)
    return np.asarray((np.maximum.accumulate(number + apart) - apart) * STEP, dtype=np.float64)


def running(terms: Floats, level: Floats, group: Indices) -> Floats:
    """Return the running sums in each group, at the rows' levels, (rows, columns).

    Parameters
    ----------
    terms : ndarray of float, (rows, columns)
        Each at the level of its row.
    level : ndarray of float, (rows,)
        Of `levels`: not decreasing within a group.
    group : ndarray of int, (rows,)
        As in `levels`.
    """
    sums = np.empty_like(terms)
    begins = np.flatnonzero(np.r_[False, (np.diff(level) != 0.0) | (np.diff(group) != 0)])
    carried = (group[begins] == group[begins - 1]) * np.exp(np.minimum(level[begins - 1] - level[begins], 0.0))
    bounds = [0, *begins.tolist(), len(terms)]
    for begin, end, factor in zip(bounds, bounds[1:], [0.0, *carried.tolist()], strict=False):
        np.add.accumulate(terms[begin:end], axis=0, out=sums[begin:end])
        if factor:
            sums[begin:end] += sums[begin - 1] * factor
    return sums
