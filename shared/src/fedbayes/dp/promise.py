"""What may be called private at all: the one place for the largest epsilon and delta of a release.

An epsilon of 20 lets a neighbour change the odds of an answer by a factor of half a billion, and with a delta of 1/1000 one table in a thousand may be
told as it is. Beyond that the numbers promise nobody anything, whatever noise was added. So a release above either is treated as one without noise:
no result calls it private, and a node that demands privacy refuses it.
"""

from __future__ import annotations

import math

MOST_EPSILON = 20.0  # see the text above
LEAST_EPSILON = 1e-9
"""What is asked for less is nothing but noise, of a width that floating point does not hold."""
MOST_DELTA = 1e-3  # see the text above
WEAK_EPSILON = 5.0
"""Above it whoever holds a record's presence, or its other content, for as likely as not may become more than 99 % sure: `certainty`."""
IMPLIED_DELTA = 1e-4
"""The delta budget of a ledger that has an epsilon budget and none of delta: a hundred releases of delta 1e-6."""


def excess(epsilon: float | None, delta: float | None = 0.0) -> str | None:
    """Return why a release of this loss may not be called private, or None if it may.

    Parameters
    ----------
    epsilon, delta : float or None
        Loss of one release; None is 0.

    Returns
    -------
    str or None
        A reason that names the argument, the limit and the remedy.
    """
    for name, value, most in (("epsilon", epsilon, MOST_EPSILON), ("delta", delta, MOST_DELTA)):
        number = 0.0 if value is None else float(value)
        if math.isnan(number) or number < 0.0:
            return f"{name} is no number of at least 0; give one"
        if number > most:
            return (
                f"{name} is above {most:g}, the most that may be called private: noise so small hides nobody; give less"
            )
    return None


def holds(epsilon: float | None, delta: float | None = 0.0) -> bool:
    """Return whether a release of this loss may be called private (see `excess`)."""
    return excess(epsilon, delta) is None


def certainty(epsilon: float) -> float:
    """Return how sure an answer can make somebody of one unit who knows all others and held both possibilities for equally likely, but for delta.

    The odds change by a factor of at most e^epsilon: from 1/2 to 1 / (1 + e^-epsilon), .73 at epsilon 1 and .99995 at 10.
    """
    return 1.0 / (1.0 + math.exp(-epsilon))


def covers(epsilon: float | None, delta: float | None = 0.0) -> bool:
    """Return whether noise of this budget stands in for the guards of exact answers: there is some, and it may be called private."""
    return epsilon is not None and holds(epsilon, delta)


def budget_delta(epsilon: float | None, delta: float | None) -> float | None:
    """Return the delta budget that holds: the one given, or `IMPLIED_DELTA` where there is an epsilon budget and none of delta.

    Without it a budget of epsilon would limit nothing: a release with a tiny epsilon and a large delta costs hardly any of it.
    """
    return IMPLIED_DELTA if delta is None and epsilon is not None else delta
