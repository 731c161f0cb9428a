"""What a few points of an integrand tell of a sum of logarithms: its value, and how far it may be off.

The sum of log r over records is the integral over t in [0, 1] of f(t) = sum (r - 1) / (1 + t (r - 1)). Gauss and Legendre's rule is exact to many digits
where all r are near one, and bad where some are near zero: there f is nearly singular at the end. The values of f at the rule's nodes bound the sum, over all
mixtures of ratios that have these values; the bounds are two linear programs (a problem of moments).
"""

from __future__ import annotations

import numpy as np

from fedbayes.typing import Floats

RATIOS = 500  # of which mixtures are made, evenly in their logarithm
MORE, MOST_TRIES = 4.0, 30
"""Factor of the tolerance where no mixture has the values, and how often it is taken."""


def sum_of_logs(
    values: Floats, nodes: Floats, weights: Floats, least: float, largest: float, exact: float
) -> tuple[float, float]:
    """Return the sum of log r over records, and how far it may be off.

    Parameters
    ----------
    values : array, shape (n,)
        f at the nodes.
    nodes, weights : arrays, shape (n,)
        The rule, on [0, 1].
    least, largest : float
        Between which all ratios r are; above 0.
    exact : float
        How far the values may be off, above 0.
    """
    by_rule = float(weights @ values)
    ratios = np.unique(np.append(np.geomspace(least, largest, RATIOS), 1.0))
    integrand = (ratios - 1.0) / (1.0 + nodes[:, None] * (ratios - 1.0))
    low, high = _bounds(np.log(ratios), integrand, values, exact) or (by_rule - abs(by_rule), by_rule + abs(by_rule))
    found = min(max(by_rule, low), high)
    return found, max(high - found, found - low)


def _bounds(logs: Floats, integrand: Floats, values: Floats, exact: float) -> tuple[float, float] | None:
    """Return the least and the largest sum of logs over mixtures of ratios that have these values; None if the programs have no answer."""
    from scipy.optimize import linprog

    rows = np.concatenate([integrand, -integrand])
    for _ in range(MOST_TRIES):
        limits = np.concatenate([values + exact, exact - values])
        found = [linprog(sign * logs, A_ub=rows, b_ub=limits, method="highs") for sign in (1.0, -1.0)]
        if all(program.status == 0 for program in found):
            return float(found[0].fun), float(-found[1].fun)
        exact *= MORE
    return None
