"""The Cox model on pooled data, in plain numpy: the oracle of the federated solvers, and what they share with it.

Risk sets are suffixes in time order, so every sum over them is a suffix sum: one evaluation costs O(N p^2). Efron's
treatment of ties equals Breslow's on weights in which tied events share their mean weight, one risk set an event.

References
----------
Cox, JRSS B 34, 1972; Breslow, JRSS B 34, 1972, p. 216; Efron, JASA 72, 1977, section 6 (ties).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbayes.federation.errors import ArgumentError, ConvergenceError

Vector = npt.NDArray[np.float64]
FLAT = 1e-6
"""Root of the information below which a feature does not vary among the records at risk."""
SINGULAR = 1e-7
"""Eigenvalue of a correlation matrix below which columns are collinear; columns are rounded to 4e-9 on shares."""
ROUNDING = 1e-14  # the same of a penalised matrix, which only has to be solved
FAR = 12.0  # standardised: e^12 is a hazard ratio of 160,000 for one deviation; on pooled data nothing but separation gives it
CONFIDENCE_95 = 1.959963984540054  # quantile .975 of the standard normal
LARGEST_EXPONENT = 700.0
"""Beyond it exp(coefficient) is no number: a feature in units so small that one of them is out of any record's reach."""


@dataclass(frozen=True)
class RiskSets:
    """Records sorted by stratum and time, events before censored records of the same time.

    Parameters
    ----------
    order : ndarray of int, (rows,)
        Positions of the sorted records in the table.
    starts : ndarray of int, (rows,)
        First row (sorted) of the record's stratum.
    ends : ndarray of int, (rows,)
        One past the last row of the stratum.
    first : ndarray of int, (rows,)
        First row of the record's tie.
    event : ndarray of float, (rows,)
    ties : str
        "breslow" or "efron".
    """

    order: npt.NDArray[np.intp]
    starts: npt.NDArray[np.intp]
    ends: npt.NDArray[np.intp]
    first: npt.NDArray[np.intp]
    event: Vector
    ties: str

    @classmethod
    def of(
        cls, time: Vector, event: npt.NDArray[Any], strata: npt.NDArray[Any] | None = None, ties: str = "breslow"
    ) -> RiskSets:
        """Sort records into risk sets."""
        stratum = np.zeros(len(time), dtype=np.intp) if strata is None else np.unique(strata, return_inverse=True)[1]
        order = np.lexsort((-np.asarray(event), time, stratum))
        time, stratum = np.asarray(time)[order], stratum[order]
        new_stratum = np.r_[True, stratum[1:] != stratum[:-1]]
        new_tie = new_stratum | np.r_[True, time[1:] != time[:-1]]
        rows = np.arange(len(time))
        starts = rows[new_stratum][np.cumsum(new_stratum) - 1]
        ends = np.r_[rows[new_stratum][1:], len(time)][np.cumsum(new_stratum) - 1]
        first = rows[new_tie][np.cumsum(new_tie) - 1]
        return cls(order, starts, ends, first, np.asarray(event, dtype=np.float64)[order], ties)

    def sums(self, values: Vector) -> Vector:
        """Return the sums over the risk set of every record (sorted), (rows, columns)."""
        shared = self._shared(values) if self.ties == "efron" else values
        below = np.concatenate([np.cumsum(shared[::-1], axis=0)[::-1], np.zeros((1, shared.shape[1]))])
        suffix: Vector = below[:-1] - below[self.ends]
        return suffix if self.ties == "efron" else suffix[self.first]

    def spread(self, values: Vector) -> Vector:
        """Return, for every record, the sum over the events whose risk set holds it: the adjoint of `sums`."""
        own = values * self.event[:, None]
        if self.ties == "breslow":
            gathered = np.zeros_like(own)
            np.add.at(gathered, self.first, own)
            own = gathered
        above = np.concatenate([np.zeros((1, own.shape[1])), np.cumsum(own, axis=0)])
        prefix = above[1:] - above[self.starts]
        return self._shared(prefix) if self.ties == "efron" else prefix

    def _shared(self, values: Vector) -> Vector:
        """Give tied events the mean of their values."""
        events = self.event[:, None]
        total, count = np.zeros_like(values), np.zeros((len(values), 1))
        np.add.at(total, self.first, values * events)
        np.add.at(count, self.first, events)
        mean = total / np.maximum(count, 1.0)
        return np.asarray(np.where(events > 0, mean[self.first], values))


@dataclass(frozen=True)
class Evaluation:
    """Log partial likelihood, gradient (features,) and information (features, features)."""

    log_likelihood: float
    gradient: Vector
    information: Vector


def evaluate(risk: RiskSets, features: Vector, coefficients: Vector) -> Evaluation:
    """Evaluate the log partial likelihood and its derivatives; `features` in table order."""
    x = features[risk.order]
    predictor = x @ coefficients
    shift = float(predictor.max(initial=0.0))
    weight = np.exp(predictor - shift)[:, None]
    total = risk.sums(weight)
    mean = risk.sums(weight * x) / total
    hazard = risk.spread(1.0 / total)
    event = risk.event[:, None]
    log_likelihood = float(np.sum(risk.event * (predictor - shift - np.log(total[:, 0]))))
    gradient = (event * x - weight * hazard * x).sum(axis=0)
    information = (weight * hazard * x).T @ x - (event * mean).T @ mean
    return Evaluation(log_likelihood, gradient, information)


@dataclass(frozen=True)
class CoxFit:
    """A fitted model: coefficients, information matrix there, log partial likelihood there and at zero, steps."""

    coefficients: Vector
    information: Vector
    log_likelihood: float
    null_log_likelihood: float
    steps: int


def fit(
    risk: RiskSets,
    features: Vector,
    names: Sequence[str],
    penalty: float = 0.0,
    tolerance: float = 1e-10,
    max_steps: int = 50,
) -> CoxFit:
    """Maximise log likelihood - penalty/2 sum coefficient^2 by Newton's method with step halving.

    Raises
    ------
    ArgumentError
        When features are collinear, naming them.
    ConvergenceError
        When coefficients run away, naming them.
    """
    scale = features.std(axis=0)
    constant = [name for name, value in zip(names, scale, strict=True) if value <= 1e-12]
    if constant:
        raise ArgumentError(f"features: {', '.join(constant)} is constant; leave it out")
    x, ridge = (features - features.mean(axis=0)) / scale, penalty / scale**2
    beta = np.zeros(len(names))
    here = evaluate(risk, x, beta)
    null = here.log_likelihood
    check_collinear(here.information, names, ridge)
    step = 0
    for step in range(1, max_steps + 1):  # noqa: B007
        move = np.linalg.solve(here.information + np.diag(ridge), here.gradient - ridge * beta)
        score = here.log_likelihood - 0.5 * float(ridge @ beta**2)
        for _ in range(30):
            there = evaluate(risk, x, beta + move)
            if there.log_likelihood - 0.5 * float(ridge @ (beta + move) ** 2) >= score - 1e-9 * abs(score):
                break
            move = move / 2.0
        beta, here = beta + move, there
        check_far(beta, names, FAR)
        if np.max(np.abs(move)) < tolerance:
            break
    information = here.information * np.outer(scale, scale)
    return CoxFit(beta / scale, information, here.log_likelihood, null, step)


def check_far(coefficients: Vector, names: Sequence[str], limit: float) -> None:
    """Raise `ConvergenceError` naming features whose standardised coefficients no finite maximum explains."""
    far = [name for name, value in zip(names, coefficients, strict=True) if abs(value) > limit]
    if far:
        raise ConvergenceError(
            f"the coefficients of {', '.join(far)} grow without limit (they separate the events); leave them out or set a penalty"
        )


def check_collinear(information: Vector, names: Sequence[str], ridge: Vector | None = None) -> None:
    """Refuse an information matrix (at zero coefficients, or where a fit ended) that is singular, with what a penalty adds to its diagonal.

    Raises
    ------
    ArgumentError
        Naming the features that depend on one another.
    """
    penalised = ridge is not None and bool(ridge.any())
    matrix = information + np.diag(ridge) if ridge is not None and penalised else information
    diagonal = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    flat = [name for name, value in zip(names, diagonal, strict=True) if value <= (0.0 if penalised else FLAT)]
    if flat:
        raise ArgumentError(f"features: {', '.join(flat)} do not vary among the records at risk; leave them out")
    values, vectors = np.linalg.eigh(matrix / np.outer(diagonal, diagonal))
    null = vectors[:, values < (ROUNDING if penalised else SINGULAR)]
    if null.shape[1]:
        weight = np.sqrt(np.sum(null**2, axis=1))
        involved = [name for name, value in zip(names, weight, strict=True) if value > 0.01]
        remedy = "a larger penalty" if penalised else "a penalty"
        raise ArgumentError(
            f"features: {', '.join(involved)} are collinear; leave out {null.shape[1]} of them or set {remedy}"
        )


def score_test(score: Vector, information: Vector) -> tuple[float, int]:
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


def coefficient_table(names: Sequence[str], coefficients: Vector, covariance: Vector) -> list[dict[str, Any]]:
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


def inverse(information: Vector) -> Vector:
    """Return the inverse of a positive definite matrix whose columns may be in very different units."""
    units = np.sqrt(np.diag(information))
    covariance = np.linalg.inv(information / units[:, None] / units[None, :]) / units[:, None] / units[None, :]
    return np.asarray(covariance, dtype=np.float64)


def likelihood_ratio(gain: float, degrees: int) -> dict[str, float]:
    """Return the likelihood-ratio test against no effect."""
    from scipy.special import gammaincc

    statistic = max(2.0 * gain, 0.0)
    return {
        "statistic": statistic,
        "degrees_of_freedom": degrees,
        "p": float(gammaincc(degrees / 2.0, statistic / 2.0)),
    }


def evaluate_predictor(risk: RiskSets, predictor: Vector) -> tuple[float, Vector, Vector]:
    """Return log partial likelihood, martingale residuals (table order) and cumulative baseline hazard (sorted order)."""
    sorted_predictor = predictor[risk.order]
    weight = np.exp(sorted_predictor)[:, None]
    total = risk.sums(weight)
    hazard = risk.spread(1.0 / total)[:, 0]
    log_likelihood = float(np.sum(risk.event * (sorted_predictor - np.log(total[:, 0]))))
    residuals = np.empty_like(hazard)
    residuals[risk.order] = risk.event - weight[:, 0] * hazard
    return log_likelihood, residuals, hazard


def curvature_product(risk: RiskSets, predictor: Vector, direction: Vector) -> Vector:
    """Return M d for a direction d of the linear predictor: features' M features is the information matrix (table order)."""
    weight = np.exp(predictor[risk.order])[:, None]
    moved = weight * direction[risk.order][:, None]
    total = risk.sums(weight)
    product = moved * risk.spread(1.0 / total) - weight * risk.spread(risk.sums(moved) / total**2)
    result = np.empty(len(direction))
    result[risk.order] = product[:, 0]
    return result
