"""Probabilities from tables of counts that may carry noise.

**Noise-aware smoothing.** With cells that carry noise of standard deviation ``s``, a class's row of a table is
projected on the non-negative cells that sum to that class's size less its missing values (`believed_missing`) (the least-squares answer: it removes the bias
that cutting off negative cells would leave). Every cell of a value then gets ``pseudocount + s/2 * s/(s + m)``,
``m`` its largest count in any class: a value must stand out of the noise in some class to be evidence. Without
noise this is Laplace smoothing, as in scikit-learn's ``CategoricalNB``.
"""

from __future__ import annotations

import numpy as np

from ...typing import Floats

NOISE_SHARE = 0.5  # the text above has its place
MISSING_DOUBT = 2.0
"""Deviations that all missing values of a feature together must stand out of the noise."""


def project_on_simplex(values: Floats, total: float) -> Floats:
    """Return the point of {x >= 0, sum x = total} nearest to ``values`` (float64, shape (k,); total > 0)."""
    descending = np.sort(values)[::-1]
    excess = np.cumsum(descending) - total
    positive = np.nonzero(descending * np.arange(1, len(values) + 1) > excess)[0]
    last = int(positive[-1]) if len(positive) else 0  # none where the total is lost in rounding
    return np.asarray(np.maximum(values - excess[last] / (last + 1), 0.0))


def believed_missing(missing: Floats, totals: Floats, noise: float) -> Floats:
    """Return the rows of each class without a value, as far as they stand out of the noise.

    All classes together are drawn to 0 (James and Stein's positive part, of two deviations), and each class to its part of what is left: most columns
    have no missing values, and their noise would be taken from the rows that have one.

    Parameters
    ----------
    missing, totals : ndarray
        As `table_probabilities` takes them: float64, shape (..., classes).
    noise : float
        Standard deviation of the noise in each, > 0.

    References
    ----------
    Efron, Morris, Stein's estimation rule and its competitors, 1973.
    """
    together = np.maximum(missing.sum(axis=-1, keepdims=True), 0.0)
    lost = MISSING_DOUBT * np.sqrt(missing.shape[-1]) * noise / np.maximum(together, noise)
    usual = np.maximum(0.0, 1.0 - lost**2) * together * totals / totals.sum(axis=-1, keepdims=True)
    weight = (usual / np.hypot(usual, noise)) ** 2
    return np.asarray(np.clip(usual + weight * (missing - usual), 0.0, totals))


def table_probabilities(counts: Floats, missing: Floats, totals: Floats, noise: float, pseudocount: float) -> Floats:
    """Return P(value | class) from counts that may be noisy (see the module).

    Parameters
    ----------
    counts : ndarray
        float64, shape (classes, k).
    missing : ndarray
        Rows of each class without a value, float64, shape (classes,).
    totals : ndarray
        Rows of each class, > 0, float64, shape (classes,).
    noise : float
        Standard deviation of the noise in each cell.
    pseudocount : float
        Added to every cell.

    Returns
    -------
    ndarray, float64, shape (classes, k); rows sum to 1.
    """
    cells = np.maximum(counts, 0.0)
    if noise > 0:
        present = np.maximum(totals - believed_missing(missing, totals, noise), 1.0)
        rows = zip(counts, present, strict=True)
        cells = np.stack([project_on_simplex(row, float(total)) for row, total in rows])
    cells = cells + pseudocount
    if noise > 0:
        cells = cells + NOISE_SHARE * noise * noise / (noise + cells.max(axis=0))
    sums = cells.sum(axis=1, keepdims=True)
    uniform = np.full_like(cells, 1.0 / cells.shape[1])
    return np.asarray(np.divide(cells, sums, out=uniform, where=sums > 0))
