"""The Cox model on pooled data, in plain numpy: the oracle of the federated solvers, and what they share with it.

Risk sets are suffixes in time order, so every sum over them is a suffix sum (`levelled`: at any predictor): one evaluation costs O(N p^2). Efron's
treatment of ties equals Breslow's on weights in which tied events share their mean weight, one risk set an event.

References
----------
Cox, JRSS B 34, 1972; Breslow, JRSS B 34, 1972, p. 216; Efron, JASA 72, 1977, section 6 (ties).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedbayes.federation.errors import ArgumentError, ConvergenceError
from fedbayes.typing import Array, Floats, Indices

from .entering import check_finite, solved
from .levelled import levels, running

FLAT = 1e-6
"""Root of the information below which a feature does not vary among the records at risk."""
SINGULAR = 1e-7
"""Eigenvalue of a correlation matrix below which columns are collinear; columns are rounded to 4e-9 on shares."""
CONSTANT = 1e-12  # standard deviation of a column whose values differ by rounding
ROUNDING = 1e-14  # the same of a penalised matrix, which only has to be solved
FAR = 12.0  # standardised: e^12 is a hazard ratio of 160,000 for one deviation; on pooled data nothing but separation gives it

MOST_STEPS, MOST_HALVINGS = 50, 30
"""Of Newton's method, which takes about ten where there is a maximum, and one a unit to `FAR` where there is none; a step halved so often moves nothing."""
SETTLED = 1e-10  # standardised: a step after which the next is below rounding, as steps shrink by their square
SLACK = 1e-9  # of a log-likelihood, more than rounding makes it fall at its maximum


@dataclass(frozen=True)
class RiskSets:
    """Records sorted by stratum and time, events before censored records of the same time.

    Parameters
    ----------
    order : ndarray of int, (rows,)
        Positions of the sorted records in the table.
    stratum : ndarray of int, (rows,)
        Number of the record's stratum (sorted).
    first, last : ndarray of int, (rows,)
        First and last row of the record's tie (sorted).
    event : ndarray of float, (rows,)
    ties : str
        "breslow" or "efron".
    """

    order: Indices
    stratum: Indices
    first: Indices
    last: Indices
    event: Floats
    ties: str

    @classmethod
    def of(cls, time: Floats, event: Array, strata: Array | None = None, ties: str = "breslow") -> RiskSets:
        """Sort records into risk sets."""
        stratum = np.zeros(len(time), dtype=np.intp) if strata is None else np.unique(strata, return_inverse=True)[1]
        order = np.lexsort((-np.asarray(event), time, stratum))
        time, stratum = np.asarray(time)[order], stratum[order]
        new_tie = np.r_[True, (stratum[1:] != stratum[:-1]) | (time[1:] != time[:-1])]
        tie = np.cumsum(new_tie) - 1
        begins = np.flatnonzero(new_tie)
        last = np.r_[begins[1:], len(time)][tie] - 1
        return cls(order, stratum, begins[tie], last, np.asarray(event, dtype=np.float64)[order], ties)

    def sums(self, exponent: Floats, values: Floats) -> tuple[Floats, Floats]:
        """Return the sums of exp(exponent) x values over the risk set of every record (sorted), divided by exp(level), and the levels.

        Parameters
        ----------
        exponent : ndarray of float, (rows,)
            Sorted, as `values`.
        values : ndarray of float, (rows, columns)
            What is summed.

        Returns
        -------
        tuple of ndarray of float
            (rows, columns) and (rows,).
        """
        back = self.stratum[-1:] - self.stratum[::-1]
        level = levels(exponent[::-1], back)[::-1][self.first]
        terms = np.exp(exponent - level)[:, None] * values
        terms = self._shared(terms) if self.ties == "efron" else terms
        suffix = running(terms[::-1], level[::-1], back)[::-1]
        return suffix if self.ties == "efron" else suffix[self.first], level

    def spread(self, exponent: Floats, values: Floats) -> tuple[Floats, Floats]:
        """Return, for every record, the sum of exp(exponent) x values over the events whose risk set holds it, divided by exp(level), and the levels.

        The adjoint of `sums`, with its shapes.
        """
        exponent = np.where(self.event > 0.0, exponent, -np.inf)
        level = levels(exponent, self.stratum)[self.last]
        own = np.exp(exponent - level)[:, None] * values
        if self.ties == "breslow":
            gathered = np.zeros_like(own)
            np.add.at(gathered, self.first, own)
            own = gathered
        prefix = running(own, level, self.stratum)
        return self._shared(prefix) if self.ties == "efron" else prefix, level

    def _shared(self, values: Floats) -> Floats:
        """Give tied events the mean of their values."""
        events = self.event[:, None]
        total, count = np.zeros_like(values), np.zeros((len(values), 1))
        np.add.at(total, self.first, values * events)
        np.add.at(count, self.first, events)
        mean = total / np.maximum(count, 1.0)
        return np.asarray(np.where(events > 0, mean[self.first], values))


@dataclass(frozen=True)
class _Means:
    """What the likelihood needs of the risk sets, sorted; ones and zeros where a record is censored.

    Parameters
    ----------
    total, level : ndarray of float, (rows,)
        The sum of relative risks is total x exp(level).
    mean : ndarray of float, (rows, columns)
        Weighted mean of the columns over the risk set.
    """

    total: Floats
    level: Floats
    mean: Floats

    @classmethod
    def of(cls, risk: RiskSets, predictor: Floats, columns: Floats) -> _Means:
        """Sum over the risk sets; all arguments sorted."""
        sums, level = risk.sums(predictor, np.column_stack([np.ones(len(predictor)), columns]))
        event = risk.event > 0.0
        total = np.where(event, sums[:, 0], 1.0)
        return cls(total, np.where(event, level, 0.0), np.where(event[:, None], sums[:, 1:], 0.0) / total[:, None])

    def log_likelihood(self, risk: RiskSets, predictor: Floats) -> float:
        """Return the log partial likelihood."""
        return float(np.sum(risk.event * (predictor - self.level - np.log(self.total))))

    def hazard(self, risk: RiskSets, columns: Floats) -> tuple[Floats, Floats]:
        """Return by record the sums of columns / total x exp(-level) over the events that it was at risk of, as `RiskSets.spread` does."""
        return risk.spread(-self.level, columns / self.total[:, None])


@dataclass(frozen=True)
class Evaluation:
    """Log partial likelihood, gradient (features,) and information (features, features)."""

    log_likelihood: float
    gradient: Floats
    information: Floats


def evaluate(risk: RiskSets, features: Floats, coefficients: Floats) -> Evaluation:
    """Evaluate the log partial likelihood and its derivatives; `features` in table order."""
    x = features[risk.order]
    predictor = x @ coefficients
    means = _Means.of(risk, predictor, x)
    hazard, level = means.hazard(risk, np.ones((len(x), 1)))
    spent = np.exp(predictor + level)[:, None] * hazard
    event = risk.event[:, None]
    gradient = (event * (x - means.mean)).sum(axis=0)
    centre = _centre(risk, means.mean)
    apart, own = x - centre, event * (means.mean - centre)
    information = (spent * apart).T @ apart - own.T @ own
    return Evaluation(means.log_likelihood(risk, predictor), gradient, information)


def _centre(risk: RiskSets, mean: Floats) -> Floats:
    """Return the mean over the events of the record's stratum, (rows, columns): about it squares lose the fewest digits."""
    total, events = np.zeros((risk.stratum[-1] + 1, mean.shape[1])), np.bincount(risk.stratum, weights=risk.event)
    np.add.at(total, risk.stratum, risk.event[:, None] * mean)
    return np.asarray((total / np.maximum(events, 1.0)[:, None])[risk.stratum])


@dataclass(frozen=True)
class CoxFit:
    """A fitted model: coefficients, information matrix there, log partial likelihood there and at zero, steps."""

    coefficients: Floats
    information: Floats
    log_likelihood: float
    null_log_likelihood: float
    steps: int


def fit(
    risk: RiskSets,
    features: Floats,
    names: Sequence[str],
    penalty: float = 0.0,
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
    constant = [name for name, value in zip(names, scale, strict=True) if value <= CONSTANT]
    if constant:
        raise ArgumentError(f"features: {', '.join(constant)} is constant; leave it out")
    x, ridge = (features - features.mean(axis=0)) / scale, penalty / scale**2
    beta = np.zeros(len(names))
    here = evaluate(risk, x, beta)
    null = here.log_likelihood
    check_collinear(here.information, names, ridge)
    step = 0
    for step in range(1, MOST_STEPS + 1):  # noqa: B007
        move = solved(here.information + np.diag(ridge), here.gradient - ridge * beta)
        score = here.log_likelihood - 0.5 * float(ridge @ beta**2)
        for _ in range(MOST_HALVINGS):
            there = evaluate(risk, x, beta + move)
            if there.log_likelihood - 0.5 * float(ridge @ (beta + move) ** 2) >= score - SLACK * abs(score):
                break
            move = move / 2.0
        beta, here = beta + move, there
        check_far(beta, names, FAR)
        if np.max(np.abs(move)) < SETTLED:
            break
    information = here.information * np.outer(scale, scale)
    return CoxFit(beta / scale, information, here.log_likelihood, null, step)


def check_far(coefficients: Floats, names: Sequence[str], limit: float) -> None:
    """Raise `ConvergenceError` naming features whose standardised coefficients no finite maximum explains."""
    far = [name for name, value in zip(names, coefficients, strict=True) if abs(value) > limit]
    if far:
        raise ConvergenceError(
            f"the coefficients of {', '.join(far)} grow without limit (they separate the events, or nearly make one another up); leave one out or set a penalty"
        )


def check_collinear(information: Floats, names: Sequence[str], ridge: Floats | None = None) -> None:
    """Refuse an information matrix (at zero coefficients, or where a fit ended) that is singular, with what a penalty adds to its diagonal.

    Raises
    ------
    ArgumentError
        Naming the features that depend on one another.
    """
    check_finite(information)
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


def evaluate_predictor(risk: RiskSets, predictor: Floats) -> tuple[float, Floats, Floats]:
    """Return log partial likelihood, martingale residuals (table order) and cumulative baseline hazard (sorted order)."""
    ordered = predictor[risk.order]
    means = _Means.of(risk, ordered, np.empty((len(ordered), 0)))
    hazard, level = means.hazard(risk, np.ones((len(ordered), 1)))
    residuals = np.empty(len(ordered))
    residuals[risk.order] = risk.event - np.exp(ordered + level) * hazard[:, 0]
    return means.log_likelihood(risk, ordered), residuals, np.exp(level) * hazard[:, 0]


def curvature_product(risk: RiskSets, predictor: Floats, direction: Floats) -> Floats:
    """Return M d for a direction d of the linear predictor: features' M features is the information matrix (table order)."""
    ordered, moved = predictor[risk.order], direction[risk.order][:, None]
    means = _Means.of(risk, ordered, moved)
    sums, level = means.hazard(risk, np.column_stack([np.ones(len(ordered)), means.mean]))
    result = np.empty(len(direction))
    result[risk.order] = np.exp(ordered + level) * (sums[:, 0] * moved[:, 0] - sums[:, 1])
    return result
