"""Decomposable structure scores of one family, from its table of counts (child on the last axis).

All are natural logarithms, larger is better, and depend on the counts alone: the same counts give the same
floats. Negative counts (of noisy tables) count as 0.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import log
from typing import Any

import numpy as np
import numpy.typing as npt

Score = Callable[[npt.NDArray[np.int64]], float]
Ceiling = Callable[[npt.NDArray[Any], int], float]
"""(records in every configuration of some of the parents, states of the child) -> what no family with these parents scores above."""
SCORES = ("k2", "bic", "bdeu")


def k2(counts: npt.ArrayLike) -> float:
    """Return the Cooper-Herskovits score of a family: uniform Dirichlet priors, all parameters 1.

    References
    ----------
    Cooper and Herskovits (1992), A Bayesian method for the induction of probabilistic networks, equation 8.
    """
    from scipy.special import gammaln

    table = np.maximum(np.asarray(counts, dtype=np.float64), 0.0)
    states = table.shape[-1]
    rows = table.sum(axis=-1)
    return float((gammaln(states) - gammaln(rows + states)).sum() + gammaln(table + 1.0).sum())


def bdeu(counts: npt.ArrayLike, equivalent_sample_size: float = 10.0) -> float:
    """Return the Bayesian Dirichlet score with equivalent uniform priors of a family.

    References
    ----------
    Heckerman, Geiger and Chickering (1995), Learning Bayesian networks, equation 28.
    """
    from scipy.special import gammaln

    table = np.maximum(np.asarray(counts, dtype=np.float64), 0.0)
    cell = equivalent_sample_size / table.size
    row = cell * table.shape[-1]
    rows = table.sum(axis=-1)
    return float((gammaln(row) - gammaln(rows + row)).sum() + (gammaln(table + cell) - gammaln(cell)).sum())


def bic(counts: npt.ArrayLike) -> float:
    """Return the Bayesian information criterion of a family as a score: log L - log(rows) / 2 * parameters.

    References
    ----------
    Schwarz (1978), Estimating the dimension of a model.
    """
    table = np.maximum(np.asarray(counts, dtype=np.float64), 0.0)
    rows = np.broadcast_to(table.sum(axis=-1, keepdims=True), table.shape)
    seen = table > 0
    likelihood = float((table[seen] * np.log(table[seen] / rows[seen])).sum())
    parameters = table.size - table.size // table.shape[-1]
    return float(likelihood - 0.5 * log(max(float(table.sum()), 1.0)) * parameters)


def by_name(name: str, equivalent_sample_size: float = 10.0) -> Score:
    """Return the score called ``name``, one of ``SCORES``."""
    if name == "bdeu":
        return partial(bdeu, equivalent_sample_size=equivalent_sample_size)
    return {"k2": k2, "bic": bic}[name]


def k2_ceiling(rows: npt.NDArray[Any], states: int) -> float:
    """Return `k2` where the child is in one state in every configuration.

    Nothing spread over more states scores more, nor do finer configurations: the number of tables with n records in so many states, of which the
    configuration's score is one over, is no more than the product of those with parts of n.
    """
    from scipy.special import gammaln

    return float((gammaln(states) - gammaln(rows + float(states)) + gammaln(rows + 1.0)).sum())


def bic_ceiling(rows: npt.NDArray[Any], states: int) -> float:
    """Return `bic` where the child is in one state in every configuration: the likelihood is 1, and finer configurations have more parameters."""
    return float(-0.5 * log(max(float(rows.sum()), 1.0)) * rows.size * (states - 1))


def ceiling_by_name(name: str) -> Ceiling | None:
    """Return the ceiling of the score called ``name``, if it has one."""
    return {"k2": k2_ceiling, "bic": bic_ceiling}.get(name)
