"""Noisy matrices of information: how far they are trusted."""

from __future__ import annotations

import math

import numpy as np

from .layout import Vector

SMALLEST_ROOT, LARGEST_ROOT = 0.03, 10.0
"""Of a matrix in whitened columns, which is about the identity; those of the information rise with the noise up to a half."""
HALF = 0.5


def trusted(matrix: Vector, noise: float) -> Vector:
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
    found = float(((matrix - unit) ** 2).sum())
    expected = noise**2 * columns * (columns + 1) / 2.0
    kept = unit + max(0.0, 1.0 - expected / max(found, 1e-300)) * (matrix - unit)
    values, vectors = np.linalg.eigh(kept)
    least = max(SMALLEST_ROOT, min(HALF, HALF * noise * math.sqrt(columns)))
    return np.asarray((vectors * np.clip(values, least, LARGEST_ROOT)) @ vectors.T)


def whitened(whitening: Vector, matrix: Vector) -> Vector:
    """Return the whitening after this one: columns of which `matrix` is that of the whitened ones become uncorrelated, of unit variance."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors / np.sqrt(values)) @ vectors.T @ whitening)


def from_upper(upper: Vector, columns: int) -> Vector:
    """Return the symmetric matrix of which `upper` holds the upper triangle, what is off the diagonal times the root of two."""
    rows, places = np.triu_indices(columns)
    matrix = np.zeros((columns, columns))
    matrix[rows, places] = upper / np.where(rows == places, 1.0, math.sqrt(2.0))
    return np.asarray(matrix + np.triu(matrix, 1).T)
