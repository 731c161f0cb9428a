"""Where numbers that organizations told enter central's arithmetic: finite, of the right shape, with a step that they lead to.

An organization that deviates can tell any. What cannot be ends the job by an error that says in which step, so that nothing behind has to expect it.
"""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np

from fedbayes.federation.errors import ConvergenceError, adding_up, not_fitting
from fedbayes.typing import Floats

NO_STEP = (
    "the information matrix has no inverse, so there is no next step: features nearly make one another up, or an organization deviates; leave one of these "
    "out, set a penalty, or use one version everywhere"
)
LARGEST_SHIFT = 700.0
"""Beyond it exp(shift) is no number."""

T = TypeVar("T")


def present(value: T | None, step: str) -> T:
    """Return what an organization must tell; `StationError` where it did not."""
    if value is None:
        raise not_fitting(step)
    return value


def numbers(values: Any, shape: tuple[int, ...], step: str, finite: bool = True) -> Floats:
    """Return numbers that organizations told.

    Parameters
    ----------
    values : array_like of float
        As they came.
    shape : tuple of int
        Theirs.
    step : str
        Of the method, as an error names it.
    finite : bool
        Whether they all must be finite, as all are but hazards of records far away.

    Raises
    ------
    StationError
        If they are of another shape, or must be finite and are not.
    """
    with adding_up(step):
        given = np.asarray(values, dtype=np.float64)
    if given.shape != shape or (finite and not np.all(np.isfinite(given))):
        raise not_fitting(step)
    return given


def solved(matrix: Floats, right: Floats) -> Floats:
    """Return what a matrix of information maps to `right`; `ConvergenceError` where there is no such step."""
    try:
        step = np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        raise ConvergenceError(NO_STEP) from None
    check_finite(step)
    return step


def check_finite(values: Floats) -> None:
    """Raise `ConvergenceError` where a matrix of information, or what follows from one, is not finite."""
    if not np.all(np.isfinite(values)):
        raise ConvergenceError(NO_STEP)


def factor_of(shift: float) -> float:
    """Return exp(shift) of a difference of predictors at the mean; `ConvergenceError` where it is no number."""
    if not abs(shift) <= LARGEST_SHIFT:
        raise ConvergenceError(
            "the linear predictor at the mean is too far from that of the model for a baseline; give features in larger units, or an organization deviates"
        )
    return math.exp(shift)
