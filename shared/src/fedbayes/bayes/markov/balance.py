"""Functions of the states of a column that one record moves as little as possible: what is measured of tables in place of their cells.

A cell of a table over two columns tells three things: how many records there are, how many are in the states of each column alone, and how the columns go
together. Tables of all pairs tell the first two over and over. Differences between states (contrasts) along every axis tell the last alone, and
of a column with k states a record moves them by only 1 - 1/k (in squares) of what it moves the counts: of two columns with two states each by a quarter.

References
----------
Xiao, He, Zhang, Kifer, An optimal and scalable matrix mechanism for noisy marginals under convex loss functions, NeurIPS 2023 (residual queries, section 4;
theirs have correlated noise, ours are rounded to whole numbers so that each has its own).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

WIDEST = 16
"""Most states of a column of which differences are taken: with more they save less than a sixteenth, and rounding would unbalance them."""


def simplex(states: int) -> npt.NDArray[np.float64]:
    """Return the states as corners of a regular simplex around 0, shape (states - 1, states): orthonormal rows that add up to 0."""
    rows = np.zeros((states - 1, states))
    for row in range(1, states):
        rows[row - 1, :row], rows[row - 1, row] = 1.0, -row
        rows[row - 1] /= np.sqrt(row * (row + 1.0))
    return rows


def balanced(states: int, scale: int, left_out: int = 0) -> npt.NDArray[np.int64]:
    """Return whole-numbered functions of a column's states.

    Parameters
    ----------
    states : int
        States that are measured.
    scale : int
        What one record's change of the counts themselves would be; the finer, the better balanced.
    left_out : int
        States behind them, which count as 0.

    Returns
    -------
    ndarray of int64, shape (functions, states + left_out)
        Scaled and rounded `simplex`; the counts themselves, scaled, of a column with one state or more than `WIDEST`.
    """
    rows = np.eye(states) if states == 1 or states > WIDEST else simplex(states)
    return np.rint(np.pad(scale * rows, [(0, 0), (0, left_out)])).astype(np.int64)
