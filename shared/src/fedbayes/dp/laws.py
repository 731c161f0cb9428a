"""Laws of noise on whole numbers: how wide for a budget, how wide in fact, how it is drawn in shares.

A law is made for the budget of a whole release; nothing outside this module asks which one it is::

    law = law_of(epsilon, delta)                        # the discrete Laplace law, or with a delta the discrete Gaussian one
    width = law.width(Change(l1, l2, cells), parts, honest)   # for a query that has 1/parts of the budget: a scale, or a sigma
    law.shares(size, width, parties, honest_fraction)   # one party's part of the noise, int64
    law.deviation(width)                                # standard deviation of what the honest parties add together
    law.share_variance(width, parties, honest_fraction) # variance of one party's part
    law.name, law.currency                              # for statements: "discrete Laplace", and what is divided evenly

`parts` need not be whole: queries that weigh differently have different ones, and their budgets add up if the sum of 1/parts is at most 1
(in epsilon, or in the square of mu: see `currency`). A new law is a subclass of `Law` in this file.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from ..typing import Integers
from .checks import positive, probability
from .gaussian import mu_of, share_sigma, unit_sigma

SLACK = 1e-4
"""Part of epsilon (of 1, if it is larger) that Gaussian noise in shares may differ by from the law that it is accounted as."""

Shape = int | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """What one unit of the promise changes in the numbers of a query.

    Parameters
    ----------
    l1, l2 : float
        At most so much in all, in the L1 and the L2 norm.
    cells : int
        Length of the query.
    """

    l1: float = 1.0
    l2: float = 1.0
    cells: int = 1


@dataclass(frozen=True)
class Law(ABC):
    """A law with the budget of a whole release.

    Parameters
    ----------
    epsilon : float
        Above 0.
    """

    name: ClassVar[str]
    currency: ClassVar[str] = "epsilon"
    by_cells: ClassVar[bool] = False
    """Whether the width depends on the number of cells of a query."""

    epsilon: float

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon)

    @abstractmethod
    def width(self, change: Change, parts: float, honest: int) -> float:
        """Return the scale, or the standard deviation, of the noise that `honest` parties add together to such a query."""

    @abstractmethod
    def deviation(self, width: float) -> float:
        """Return the standard deviation, in one cell, of the noise that the honest parties add together."""

    @abstractmethod
    def shares(self, size: Shape, width: float, parties: int, honest_fraction: float) -> Integers:
        """Return one party's part of the noise; all of it where there is one party.

        Raises
        ------
        ValueError
            If no such noise can be drawn: the width is too large.
        """

    def share_variance(self, width: float, parties: int, honest_fraction: float) -> float:
        """Return the variance of one party's part, in one cell."""
        from .shares import honest_parties

        return self.deviation(width) ** 2 / honest_parties(parties, honest_fraction)


@dataclass(frozen=True)
class DiscreteLaplace(Law):
    """P(k) proportional to exp(-abs(k) / scale); Polya shares, which add up to it exactly. Pure epsilon."""

    name = "discrete Laplace"

    def width(self, change: Change, parts: float, honest: int) -> float:
        """Return the scale: parts * L1 change / epsilon."""
        return parts * change.l1 / self.epsilon

    def deviation(self, width: float) -> float:
        """Return sqrt(2 p) / (1 - p) with p = exp(-1 / scale)."""
        return math.sqrt(2.0 * math.exp(-1.0 / width)) / -math.expm1(-1.0 / width)

    def shares(self, size: Shape, width: float, parties: int, honest_fraction: float) -> Integers:
        """Return one party's Polya shares."""
        from . import shares

        return shares.polya(size, width, parties, honest_fraction)


@dataclass(frozen=True)
class DilutedLaplace(DiscreteLaplace):
    """A whole discrete Laplace term of each party with a probability so large that with 1 - delta one honest party adds one, in each cell.

    Parameters
    ----------
    delta : float
        Of one cell, in (0, 1).
    """

    name = "diluted discrete Laplace"

    delta: float

    def __post_init__(self) -> None:
        Law.__post_init__(self)
        probability("delta", self.delta)

    def shares(self, size: Shape, width: float, parties: int, honest_fraction: float) -> Integers:
        """Return one party's diluted geometric shares."""
        from . import shares

        return shares.diluted_geometric(size, width, parties, honest_fraction, self.delta)

    def share_variance(self, width: float, parties: int, honest_fraction: float) -> float:
        """Return the variance of a whole term times the probability that there is one."""
        from .shares import dilution

        return self.deviation(width) ** 2 * dilution(parties, honest_fraction, self.delta)


@dataclass(frozen=True)
class DiscreteGaussian(Law):
    """P(k) proportional to exp(-k^2 / (2 sigma^2)) in shares; exact accounting of Gaussian noise (:mod:`fedbayes.dp.gaussian`).

    A part `SLACK` of epsilon is set aside for the difference between a sum of shares and the discrete Gaussian law, which it bounds.

    Parameters
    ----------
    delta : float
        In (0, 1).
    """

    name = "discrete Gaussian"
    currency = "Gaussian, the square of mu"
    by_cells = True

    delta: float

    def __post_init__(self) -> None:
        Law.__post_init__(self)
        probability("delta", self.delta)

    def width(self, change: Change, parts: float, honest: int) -> float:
        """Return the smallest sigma (to 0.1 %) with which the honest parties' shares keep mu / sqrt(parts)."""
        return _sigma(self.epsilon, self.delta, change, parts, honest)

    def deviation(self, width: float) -> float:
        """Return sigma."""
        return width

    def shares(self, size: Shape, width: float, parties: int, honest_fraction: float) -> Integers:
        """Return one party's discrete Gaussian shares."""
        from . import shares

        return shares.discrete_gaussian(size, width, parties, honest_fraction)


@lru_cache(maxsize=1024)
def _mu(epsilon: float, delta: float) -> float:
    aside = SLACK * min(epsilon, 1.0)
    return mu_of(epsilon - 2.0 * aside, delta * math.exp(-aside))


@lru_cache(maxsize=1024)
def _sigma(epsilon: float, delta: float, change: Change, parts: float, honest: int) -> float:
    sigma = unit_sigma(_mu(epsilon, delta) / (math.sqrt(parts) * change.l2))
    own = share_sigma(honest, SLACK * min(epsilon, 1.0) / (parts * change.cells))
    return max(sigma, own * math.sqrt(honest))


def law_of(epsilon: float, delta: float = 0.0) -> Law:
    """Return the law for a budget: the discrete Laplace one, or the discrete Gaussian one where delta is above 0.

    Raises
    ------
    ValueError
        If epsilon is not positive and finite, or delta not in [0, 1).
    """
    if probability("delta", delta, zero=True) > 0.0:
        return DiscreteGaussian(epsilon, delta)
    return DiscreteLaplace(epsilon)


def usual_deviation(epsilon: float, delta: float, queries: int) -> float:
    """Return the standard deviation in a cell of one of so many tables of counts, where one party adds the whole noise."""
    law = law_of(epsilon, delta)
    return law.deviation(law.width(Change(), queries, 1))
