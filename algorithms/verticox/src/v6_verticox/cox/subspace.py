"""The largest likelihood on the span of a few known linear predictors: what the outcome holder of solver "bfgs" finds by itself."""

from __future__ import annotations

import numpy as np

from fedbayes.typing import Floats

from .likelihood import RiskSets, curvature_product, evaluate_predictor

STEPS = 40  # of Newton's method: a bound, as `HALVINGS` is
HALVINGS = 30  # to 1e-9 of a step, where only rounding is left to gain
LONGEST = 1.0  # deviations of the predictor in one step, since the curvature holds no further
WIDEST = 60.0  # range of the predictor: e^60 = 1e26 times the risk, beyond which sums forget the other records
SETTLED = 1e-11  # deviations of the predictor: a hundred times below what the least tolerance (1e-9) notices
DEPENDENT = 1e-9  # of the largest singular value: directions below it repeat others up to the square root of rounding


def maximised(risk: RiskSets, directions: Floats, start: Floats) -> Floats:
    """Return the combination of directions with the largest log partial likelihood, by Newton's method with step halving.

    Parameters
    ----------
    risk : RiskSets
        Of the records.
    directions : ndarray of float, (records, directions)
        In table order.
    start : ndarray of float, (directions,)
        First combination.

    Returns
    -------
    ndarray of float, (directions,)
    """
    scale = np.maximum(directions.std(axis=0), 1e-300)
    unit, point = directions / scale, start * scale
    point = point * min(1.0, WIDEST / max(float(np.ptp(unit @ point)), 1e-300))
    value = _likelihood(risk, unit @ point)
    for _ in range(STEPS):
        move = _newton_move(risk, unit, point)
        for _ in range(HALVINGS):
            there = _likelihood(risk, unit @ (point + move))
            if there >= value - 1e-13 * abs(value):  # rounding
                break
            move = move / 2.0
        else:
            break
        point, value = point + move, there
        if np.max(np.abs(move)) < SETTLED:
            break
    return np.asarray(point / scale)


def _likelihood(risk: RiskSets, predictor: Floats) -> float:
    """Return the log partial likelihood; minus infinity where exp would leave its range."""
    return evaluate_predictor(risk, predictor)[0] if np.ptp(predictor) <= WIDEST + LONGEST else -np.inf


def _newton_move(risk: RiskSets, unit: Floats, point: Floats) -> Floats:
    """Return the Newton move, no longer than one deviation of the predictor."""
    predictor = unit @ point
    slope = unit.T @ evaluate_predictor(risk, predictor)[1]
    curvature = unit.T @ np.column_stack([curvature_product(risk, predictor, column) for column in unit.T])
    move = np.linalg.lstsq(curvature, slope, rcond=DEPENDENT)[0]
    return np.asarray(move * min(1.0, LONGEST / max(float(np.std(unit @ move)), 1e-300)))
