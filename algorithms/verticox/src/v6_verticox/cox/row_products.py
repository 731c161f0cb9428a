"""Products of rows with weights in which no digit of a row depends on the others.

In which order a matrix product adds depends on its size and on the place of a row in it, so one row more can change the last digits of others. Where numbers
are compared with borders afterwards, and a promise says what one row changes, that would be more than one row's change.
"""

from __future__ import annotations

import numpy as np

from fedbayes.typing import Array, Floats


def product(columns: Array, weights: Array) -> Floats:
    """Return ``columns @ weights``, added column by column.

    Parameters
    ----------
    columns : ndarray (n, columns)
        One row a record.
    weights : ndarray (columns,) or (columns, results)
        Of the columns.

    Returns
    -------
    ndarray of float64, shape (n,) or (n, results)
    """
    total = np.zeros((len(columns), *np.shape(weights)[1:]))
    for column, weight in zip(columns.T, weights, strict=True):
        total += np.multiply.outer(column, weight)
    return total
