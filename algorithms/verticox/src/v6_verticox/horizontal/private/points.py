"""Where slopes are asked for, and how the hazard follows the coefficients: all from noisy sums."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbayes.typing import Floats, Integers

LARGEST_CORRECTION = 3.0
"""Of a hazard in one step, either way."""

LARGEST_TURN = 5.0
"""Of a hazard's logarithm in one step, either way: a step of one deviation of the predictor turns it by less, noise alone by anything."""


@dataclass(frozen=True)
class Point:
    """Where a slope is asked for.

    Parameters
    ----------
    coefficients, centre : ndarray of float, (columns,)
    hazard : ndarray of float, (cells,)
        Of a record at the centre.
    whitening : ndarray of float, (columns, columns)
    drift : ndarray of float, (columns, cells)
        Weighted mean of the records at risk less the centre.
    """

    coefficients: Floats
    centre: Floats
    hazard: Floats
    whitening: Floats
    drift: Floats

    def moved(self, coefficients: Floats, spread: Floats, mean: Floats) -> Point:
        """Return the point with other coefficients, at which as many events are expected in each cell.

        Parameters
        ----------
        coefficients : ndarray of float, (columns,)
            The new ones.
        spread : ndarray of float, (columns, columns)
            Covariance of the columns of records at risk.
        mean : ndarray of float, (columns,)
            Of all records: the new centre is near the mean of the events.
        """
        step = coefficients - self.coefficients
        growth = step @ self.drift + 0.5 * step @ spread @ step
        centre = np.clip(mean + spread @ coefficients, -1.0, 1.0)
        turned = float((centre - self.centre) @ coefficients)
        hazard = self.hazard * np.exp(np.clip(turned - growth, -LARGEST_TURN, LARGEST_TURN))
        drift = self.drift + (spread @ step - (centre - self.centre))[:, None]
        return Point(coefficients, centre, hazard, self.whitening, drift)


def ends_of(cells: int, groups: int) -> Integers:
    """Return the last cell of each of so many groups, about as long."""
    return np.array([(group + 1) * cells // groups - 1 for group in range(groups)], dtype=np.int64)


def corrected(hazard: Floats, events: Floats, groups: Integers, missed: Floats, noise: float) -> Floats:
    """Return the hazard of each cell so that it misses no events, by group of cells."""
    first = np.append(0, groups[:-1] + 1)
    expected = np.maximum(np.add.reduceat(events, first), LARGEST_CORRECTION * noise)
    ratio = np.clip(1.0 + missed / expected, 1.0 / LARGEST_CORRECTION, LARGEST_CORRECTION)
    return np.asarray(hazard * np.repeat(ratio, np.diff(np.append(first, len(hazard)))))
