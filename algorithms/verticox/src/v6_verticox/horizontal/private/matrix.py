"""Noisy matrices of information: how far they are trusted."""

from __future__ import annotations

import math

import numpy as np

from fedbayes.typing import Floats

SMALLEST_ROOT, LARGEST_ROOT = 0.03, 10.0
"""Of a matrix in whitened columns, which is about the identity; those of the information rise with the noise up to a half."""
HALF = 0.5  # the largest of the smallest roots that noise can raise
BIAS = 0.1
"""Relative error of the first matrix, the columns' covariance over all records, as information of an event."""
SETTLING = 0.03
"""Relative error of an information matrix because it is that of another point."""
SCALES = 0.3
"""Deviation of the scale of a step's matrix from that of the one before: cuts take more where effects are large."""
TINY = 1e-300  # of a sum of squares that is 0 only where no column varies and no noise was drawn
LEAST_SCALE = 0.05  # of information that cuts leave: less would be noise alone


class Information:
    """Information of an event, of the noisy matrices of all steps: a shape that they share, times a scale of each step.

    Parameters
    ----------
    columns : int
    remembered : float
        What a step keeps of the precision of those before.

    Attributes
    ----------
    scale : float
        Of the last step: cuts leave so much of the information.
    """

    def __init__(self, columns: int, remembered: float) -> None:
        self.columns, self.remembered = columns, remembered
        self.scale = 1.0
        self._sum, self._precision = np.zeros((columns, columns)), 0.0

    @property
    def doubt(self) -> float:
        """Deviation of the noise in the shape: about the largest eigenvalue of it."""
        return math.sqrt(self.columns / self._precision)

    def learn(self, whitening: Floats, matrix: Floats, noise: float, weighted: bool) -> Floats:
        """Return the shape after one more matrix, in whitened columns.

        Parameters
        ----------
        whitening, matrix : ndarray of float, (columns, columns)
            The matrix is of an event, in whitened columns.
        noise : float
            Standard deviation of the noise of a diagonal entry.
        weighted : bool
            Whether it is information; else it is the covariance of the columns over all records.
        """
        back = np.linalg.inv(whitening)
        self._sum, self._precision = self.remembered * self._sum, self.remembered * self._precision
        if weighted and self._precision:
            shape = whitening @ (self._sum / self._precision) @ whitening.T
            size = max(float((shape**2).sum()), TINY)
            trust = SCALES**2 / (SCALES**2 + noise**2 / size)
            self.scale = max(self.scale + trust * (float((matrix * shape).sum()) / size - self.scale), LEAST_SCALE)
        weight = 1.0 / ((noise / self.scale) ** 2 + (SETTLING if weighted else BIAS) ** 2)
        self._sum = self._sum + weight / self.scale * back @ matrix @ back.T
        self._precision += weight
        return trusted(whitening @ (self._sum / self._precision) @ whitening.T, 1.0 / math.sqrt(self._precision))


def trusted(matrix: Floats, noise: float) -> Floats:
    """Return a noisy symmetric matrix drawn towards the identity, as far as noise alone would take it from there, and positive.

    Parameters
    ----------
    matrix : ndarray of float, (columns, columns)
        In whitened columns.
    noise : float
        Standard deviation of the noise of a diagonal entry; other entries have it over the root of two.

    Notes
    -----
    The part kept is that of James and Stein: 1 less the expected square of the noise over the square found. Eigenvalues below half of the largest that
    noise alone has (about noise times the root of the columns) are raised to it.
    """
    columns = len(matrix)
    unit = np.eye(columns)
    distance = float(((matrix - unit) ** 2).sum())
    expected = noise**2 * columns * (columns + 1) / 2.0
    kept = unit + max(0.0, 1.0 - expected / max(distance, TINY)) * (matrix - unit)
    values, vectors = np.linalg.eigh(kept)
    least = max(SMALLEST_ROOT, min(HALF, HALF * noise * math.sqrt(columns)))
    return np.asarray((vectors * np.clip(values, least, LARGEST_ROOT)) @ vectors.T)


def whitened(whitening: Floats, matrix: Floats) -> Floats:
    """Return the whitening after this one: columns of which `matrix` is that of the whitened ones become uncorrelated, of unit variance."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors / np.sqrt(values)) @ vectors.T @ whitening)


def from_upper(upper: Floats, columns: int) -> Floats:
    """Return the symmetric matrix of which `upper` holds the upper triangle, what is off the diagonal times the root of two."""
    rows, places = np.triu_indices(columns)
    matrix = np.zeros((columns, columns))
    matrix[rows, places] = upper / np.where(rows == places, 1.0, math.sqrt(2.0))
    return np.asarray(matrix + np.triu(matrix, 1).T)
