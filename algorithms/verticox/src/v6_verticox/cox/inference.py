"""Tests and tables of a fitted Cox model, from its coefficients and information matrix."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fedbayes.federation.errors import ConvergenceError
from fedbayes.typing import Floats

from .entering import NO_STEP
from .likelihood import FLAT, SINGULAR

CONFIDENCE_95 = 1.959963984540054  # quantile .975 of the standard normal
CLUSTERS_PER_COLUMN = 2  # so that of p (p + 1) / 2 numbers no four times as many that they are made of can be found, and the matrix is regular
LARGEST_EXPONENT = 700.0
"""Beyond it exp(coefficient) is no number: a feature in units so small that one of them is out of any record's reach."""


def score_test(score: Floats, information: Floats) -> tuple[float, int]:
    """Return the score statistic and its degrees of freedom: the rank, where columns depend on one another or do not vary.

    Parameters
    ----------
    score : float64 array, shape (features,)
        Gradient of the log partial likelihood.
    information : float64 array, shape (features, features)
        At the same coefficients.
    """
    units = np.sqrt(np.maximum(np.diag(information), 0.0))
    varies = units > FLAT
    units, slope = units[varies], score[varies]
    values, vectors = np.linalg.eigh(information[np.ix_(varies, varies)] / np.outer(units, units))
    kept = values >= SINGULAR
    parts = (slope / units) @ vectors[:, kept]
    return float(np.sum(parts**2 / values[kept])), int(kept.sum())


def coefficient_table(names: Sequence[str], coefficients: Floats, covariance: Floats) -> list[dict[str, Any]]:
    """Return one record a feature: coefficient, hazard ratio (None: no number), standard error, z, p (None: the error is 0) and the 95 % interval."""
    from scipy.special import erfc

    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    z = np.divide(coefficients, errors, out=np.full_like(errors, np.nan), where=errors > 0.0)
    ratios = [math.exp(value) if abs(value) <= LARGEST_EXPONENT else None for value in coefficients.tolist()]
    columns = {
        "feature": list(names),
        "coefficient": coefficients,
        "hazard_ratio": ratios,
        "standard_error": errors,
        "z": z,
        "p": erfc(np.abs(z) / np.sqrt(2.0)),
        "lower_95": coefficients - CONFIDENCE_95 * errors,
        "upper_95": coefficients + CONFIDENCE_95 * errors,
    }
    return [{key: values[row] for key, values in columns.items()} for row in range(len(names))]


def in_order(model: Mapping[str, Any], labels: Sequence[str], features: Sequence[str]) -> dict[str, Any]:
    """Return a fitted model with all that it tells by design column in the order of `labels`, and by feature in that of `features`."""
    fitted = [str(entry["feature"]) for entry in model["coefficients"]]
    order = [fitted.index(label) for label in labels]
    ordered = {**model, "features": list(features), "coefficients": [model["coefficients"][row] for row in order]}
    for name in ("covariance", "naive_covariance"):
        if name in model:
            ordered[name] = np.asarray(model[name])[np.ix_(order, order)].tolist()
    for name in ("domain", "references"):
        if name in model:
            ordered[name] = {feature: model[name][feature] for feature in features if feature in model[name]}
    check = model["proportional_hazards"]
    if check and check["features"]:
        ordered["proportional_hazards"] = {**check, "features": [check["features"][row] for row in order]}
    if "noise" in model:
        noise = model["noise"]["coefficients"]
        ordered["noise"] = {**model["noise"], "coefficients": {label: noise[label] for label in labels}}
    return ordered


def inverse(information: Floats) -> Floats:
    """Return the inverse of a positive definite matrix whose columns may be in very different units."""
    units = np.sqrt(np.diag(information))
    try:
        covariance = np.linalg.inv(information / units[:, None] / units[None, :]) / units[:, None] / units[None, :]
    except np.linalg.LinAlgError:
        raise ConvergenceError(NO_STEP) from None
    return np.asarray(covariance, dtype=np.float64)


def likelihood_ratio(gain: float, degrees: int) -> dict[str, float]:
    """Return the likelihood-ratio test against no effect."""
    return tested(max(2.0 * gain, 0.0), degrees)


def tested(statistic: float, degrees: int) -> dict[str, float]:
    """Return a chi-squared statistic as results have it."""
    from scipy.special import gammaincc

    return {
        "statistic": statistic,
        "degrees_of_freedom": degrees,
        "p": float(gammaincc(degrees / 2.0, statistic / 2.0)),
    }
