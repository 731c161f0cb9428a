"""How the records at risk change with time: their weighted mean as a normal law of the columns predicts it, and as noisy sums tell it.

Who has a high hazard has the event early, so the mean of those at risk moves away from the centre along the covariance times the coefficients, far where
effects are large. A hazard that misses events makes a slope that is their number times that mean, so a mean that is lost in the noise makes a bias.

References
----------
Prentice, Biometrika 69, 1982 (the hazard induced by a covariate that is integrated over those at risk).
"""

from __future__ import annotations

import math

import numpy as np

from fedbayes.typing import Floats, Indices, Integers

from .messages import SlopeRequest
from .outline import Outline
from .records import HIGHEST

NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(21)
"""Of Gauss and Hermite, for integrals over a standard normal law."""
NARROWEST = 1e-6
"""Deviation of a linear predictor below which nobody leaves earlier than others."""
RELATIVE, ABSOLUTE = 0.6, 0.1
"""Error of the predicted mean, in whitened columns: a part of its length, and what columns that are not normal add. Found by trial (README)."""


def predicted(outline: Outline, truth: Floats, weights: Floats, spread: Floats, centre: Floats) -> Floats:
    """Return the weighted mean of the records at risk less the centre, (columns, cells), of columns with a normal law.

    Parameters
    ----------
    outline : Outline
        Events and records at risk by cell, and the mean of all records.
    truth : ndarray of float, (columns,)
        Coefficients by which records leave.
    weights : ndarray of float, (columns,)
        Coefficients of the relative risks that are the weights.
    spread : ndarray of float, (columns, columns)
        Covariance of the columns.
    centre : ndarray of float, (columns,)
        What the mean is told less.
    """
    along_truth = spread @ truth
    deviation = math.sqrt(max(float(truth @ along_truth), 0.0))
    shift = outline.mean + spread @ weights - centre
    if deviation < NARROWEST:
        return np.repeat(shift[:, None], len(outline.times), axis=1)
    risk = np.exp(np.clip(deviation * NODES, -HIGHEST, HIGHEST))
    tilt = math.exp(min(max(float(weights @ along_truth), -HIGHEST), HIGHEST))
    spent, standing = 0.0, []
    for rate in outline.events / outline.at_risk:
        left = NODE_WEIGHTS * np.exp(-spent * risk)
        hazard = float(rate * left.sum() / (left @ risk))
        tilted = NODE_WEIGHTS * np.exp(-(spent + hazard / 2.0) * tilt * risk)
        standing.append(float(tilted @ NODES / tilted.sum()))
        spent += hazard
    return np.asarray(shift[:, None] + np.outer(along_truth / deviation, standing))


def drifted(
    events: Floats, request: SlopeRequest, sums: Floats, noise: float, expected: Floats
) -> tuple[Floats, Floats, Indices]:
    """Return events and the whitened mean of the records at risk, (columns, periods), by period, and the period of each group of cells.

    The mean is that of noisy `sums`, (columns, periods), drawn towards what is `expected`, (columns, cells), as far as it is noise.
    """
    first = np.append(0, request.periods[:-1] + 1)
    counts = np.add.reduceat(events, first)
    seen, variance = sums / counts, (noise / counts) ** 2
    prior = np.add.reduceat(expected * events, first, axis=1) / counts
    doubt = RELATIVE**2 * (prior**2).mean(axis=0) + ABSOLUTE**2
    mean = prior + doubt / (doubt + variance) * (seen - prior)
    return counts, np.asarray(mean), np.searchsorted(request.periods, request.groups)


def along(drift: Floats, periods: Integers) -> Floats:
    """Return by cell what is told by period, (columns, cells): straight lines between the middles of the periods."""
    middles = (np.append(0, periods[:-1] + 1) + periods) / 2.0
    return np.stack([np.interp(np.arange(periods[-1] + 1), middles, row) for row in drift])
