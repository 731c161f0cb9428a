"""Whether two columns have to do with one another: odds ratio, chi-squared, and the information gain that chance alone gives.

References
----------
.. [1] K. Pearson, "On the criterion that a given system of deviations ...", Philosophical Magazine 50, 1900 (chi-squared).
.. [2] B. Woolf, "On estimating the relation between blood group and disease", Annals of Human Genetics 19, 1955 (interval of the odds ratio).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fedbayes.dp.mechanisms import discrete_laplace
from fedbayes.federation.vertical import ColumnStates
from fedbayes.randomness import standard_normal
from fedbayes.typing import Counts

LEVEL = 0.95  # of intervals and of the null level: the usual one in 20
Z = 1.959963984540054  # the standard normal quantile of (1 + LEVEL) / 2
DRAWS = 400  # of the null level: its 95th percentile is then known to about one percentile


def occupied(counts: Counts) -> Counts:
    """Return a table of two axes without the rows and columns in which nobody is."""
    kept: Counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    return kept


def association(counts: Counts, columns: Sequence[ColumnStates]) -> dict[str, Any] | None:
    """Return chi-squared and, for two states by two, the odds ratio of an exact table over two columns; missing values are left out.

    Parameters
    ----------
    counts : ndarray (p, q)
        All of its cells may be shown.
    columns : sequence of ColumnStates
        The two axes.

    Returns
    -------
    dict or None
        `chi_squared` (without continuity correction), `degrees_of_freedom`, `p_value`, `smallest_expected`, `odds_ratio` and `odds_ratio_interval` (95 %, by
        Woolf's logarithm; None unless two by two without an empty cell). None where one of the axes has at most one state with records.
    """
    known = occupied(counts[tuple(slice(0, -1) if states.has_missing else slice(None) for states in columns)])
    if min(known.shape) < 2:
        return None
    freedom = (known.shape[0] - 1) * (known.shape[1] - 1)
    from scipy.special import chdtrc

    expected = np.outer(known.sum(axis=1), known.sum(axis=0)) / known.sum()
    statistic = float(((known - expected) ** 2 / expected).sum())
    ratio, interval = _odds(known)
    return {
        "chi_squared": statistic,
        "degrees_of_freedom": freedom,
        "p_value": float(chdtrc(freedom, statistic)),
        "smallest_expected": float(expected.min()),
        "odds_ratio": ratio,
        "odds_ratio_interval": interval,
    }


def _odds(known: Counts) -> tuple[float | None, list[float] | None]:
    """Return (a d) / (b c) and its interval of 95 %."""
    if known.shape != (2, 2) or not known.all():
        return None, None
    (a, b), (c, d) = known.astype(np.float64).tolist()
    logarithm = math.log(a * d / (b * c))
    reach = Z * math.sqrt(1 / a + 1 / b + 1 / c + 1 / d)
    return math.exp(logarithm), [math.exp(logarithm - reach), math.exp(logarithm + reach)]


def null_level(table: Counts, gain: Any, scale: float = 0.0) -> float:
    """Return the information gain in bits that a column without any relation to the target exceeds once in twenty times.

    Parameters
    ----------
    table : ndarray (target states, column states)
        Its margins are those of the draws.
    gain : callable
        Table -> information gain in bits.
    scale : float
        Of the discrete Laplace noise in every cell; 0 for none: then the level is that of chi-squared.
    """
    counts = np.maximum(table, 0)
    filled = occupied(counts)
    total = int(counts.sum())
    freedom = (filled.shape[0] - 1) * (filled.shape[1] - 1)
    if total == 0 or (freedom < 1 and not scale):
        return 0.0
    if not scale:
        from scipy.special import chdtri

        return float(chdtri(freedom, 1.0 - LEVEL)) / (2.0 * total * math.log(2.0))
    return float(np.quantile([gain(drawn) for drawn in _noisy_draws(counts, scale)], LEVEL))


def _noisy_draws(counts: Counts, scale: float) -> list[Counts]:
    """Return tables of independent columns with these margins on average (normal cells), with noise of the scale."""
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    drawn = expected + np.sqrt(expected) * standard_normal((DRAWS, *counts.shape))
    return list(discrete_laplace(np.maximum(np.rint(drawn), 0.0).astype(np.int64), scale))
