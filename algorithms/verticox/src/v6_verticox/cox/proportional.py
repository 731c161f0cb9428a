"""The check of proportional hazards: does the effect of a feature change with time?

The score of an interaction of every feature with a function g of time is a sum over the events of g times Schoenfeld's residual.
The residuals are values of single records; their weighted sum, one number a feature, is all that is needed.

References
----------
Grambsch, Therneau, Proportional hazards tests and diagnostics based on weighted residuals, Biometrika 81, 1994, section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fedbayes.federation.errors import DataProblem
from fedbayes.typing import Array, Floats

from .inference import tested
from .survival import kaplan_meier

TRANSFORMS = ("rank", "km", "identity", "log")
UNSEEN = "this solver opens no sum of residuals weighted by time; fit with solver='private_newton' or 'bfgs', or by strata where in doubt"
UNRANKED = "not tested with missing='complete', as nobody knows which records are complete; fit with missing='refuse', or by strata where in doubt"
WEIGHTED = "weights of events have no place in its variance; fit without weights, or by strata where in doubt"
TOO_FEW = "no stratum has as many events as the outcome holder's node demands; nothing was opened for the check"


def trend(time: Floats, event: Array, transform: str | None) -> Floats:
    """Return the function of time for every record, with mean 0 and variance 1 over the events, (records,).

    Parameters
    ----------
    time : ndarray of float, (records,)
        Of the records.
    event : ndarray of int, (records,)
        1 for an event.
    transform : str or None
        "rank" of the event times (ties: their mean), "km": one less the Kaplan-Meier estimate, "identity", "log"; None: zeros,
        which reveal nothing.

    Raises
    ------
    DataProblem
        For the logarithm of an event at time zero.
    """
    if transform is None:
        return np.zeros(len(time))
    events = np.sort(time[event == 1])
    if transform == "log" and events[0] <= 0.0:
        raise DataProblem("time_transform='log' needs events at positive times; choose another transform")
    if transform == "rank":
        values = (np.searchsorted(events, time, side="left") + np.searchsorted(events, time, side="right")) / 2.0
    elif transform == "km":
        values = 1.0 - kaplan_meier(time, event).at(time)
    else:
        values = np.log(np.maximum(time, events[0])) if transform == "log" else np.asarray(time, dtype=np.float64)
    own = values[event == 1]
    spread = float(own.std())
    return np.asarray(
        (values - own.mean()) / spread if spread > 1e-12 * max(1.0, float(np.abs(own).max())) else 0 * values
    )


def check(names: Sequence[str], score: Floats, covariance: Floats, transform: str | None) -> dict[str, Any] | None:
    """Return the tests of Grambsch and Therneau (equations 10 and 11, equal variances at all events).

    Parameters
    ----------
    names : list of str
        Design columns.
    score : ndarray, (features,)
        Sum over the events of trend times Schoenfeld residual; the trend has mean 0 and variance 1.
    covariance : ndarray, (features, features)
        Of the coefficients.
    transform : str or None
        As in `trend`.

    Returns
    -------
    dict or None
        Per feature and for all: chi-squared statistic, degrees of freedom, p; None without a transform.
    """
    if transform is None:
        return None
    if not len(score):
        return {"time_transform": transform, "features": None, "global": None, "reason": TOO_FEW}
    shift = covariance @ score
    features = [
        {"feature": name, **tested(float(value**2 / variance), 1)}
        for name, value, variance in zip(names, shift, np.diag(covariance), strict=True)
    ]
    return {"time_transform": transform, "features": features, "global": tested(float(score @ shift), len(names))}


def unavailable(transform: str | None, reason: str) -> dict[str, Any] | None:
    """Return what the result says where the solver cannot check."""
    return (
        None if transform is None else {"time_transform": transform, "features": None, "global": None, "reason": reason}
    )
