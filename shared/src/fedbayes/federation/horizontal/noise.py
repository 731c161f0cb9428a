"""Counts with noise: where it is added, how much, and what is charged for it.

A release is a list of **queries** on the same rows; the budget is split evenly over them (sequential composition:
epsilon adds up, and of Gaussian noise the square of mu). Cells inside one query are disjoint in the sense of its sensitivities.

Placement:

- ``distributed``: every station adds a share of the noise and masks the result, so central sees one sum with
  about one noise term in all, of the law for its budget (:mod:`fedbayes.dp.laws`);
- ``local``: every station adds the whole noise, so its answer may be seen by anybody;
- ``none``: no noise. Not differentially private.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...dp import promise
from ...dp.laws import Change, Law, law_of
from ...dp.neighbors import NEIGHBORS
from ...dp.shares import HONEST_FRACTION, honest_parties
from ...typing import Integers
from .. import results
from ..errors import ArgumentError, sampling_errors
from ..messages.codec import Message
from ..perimeter.opening import Relation
from .units import ROW, Unit

PLACEMENTS = ("distributed", "local", "none")


@dataclass(frozen=True, slots=True)
class Query:
    """One query of a release.

    Parameters
    ----------
    values : ndarray
        int64, any shape.
    l1, l2 : float
        Sensitivities under ``add_remove``: what one row more or less changes, in the L1 and the L2 norm.
        Under ``replace_one`` a row leaves and another comes: twice as much is allowed for.
    nonnegative : bool
        Whether a row adds to cells and never takes from one, as in tables of counts: then what leaves and what comes differ by at most the
        root of 2 in the L2 norm.
    """

    values: Integers
    l1: float = 1.0
    l2: float = 1.0
    nonnegative: bool = False


class CountNoise(Message):
    """How noise is added to a release; part of requests.

    Parameters
    ----------
    placement : str
        ``distributed``, ``local`` or ``none``.
    epsilon, delta : float
        Budget of the whole release; ignored for ``none``.
    neighbors : str
        ``add_remove`` or ``replace_one``.
    honest_fraction : float
        Part of the stations whose noise alone must suffice, for ``distributed``; never all of several (see `fedbayes.dp.shares`).
    rows : int
        Most rows of one unit of the promise (see :class:`~fedbayes.federation.horizontal.units.Unit`): what a unit changes is that many times a row's.
    id_column : str or None
        The column of identifiers, if they are the unit.
    """

    placement: str = "none"
    epsilon: float = 0.0
    delta: float = 0.0
    neighbors: str = "add_remove"
    honest_fraction: float = HONEST_FRACTION
    rows: int = 1
    id_column: str | None = None

    def __post_init__(self) -> None:
        if self.placement not in PLACEMENTS or self.neighbors not in NEIGHBORS:
            raise ValueError("placement or neighbors is unknown")
        if self.private and not (math.isfinite(self.epsilon) and self.epsilon > 0 and 0 <= self.delta < 1):
            raise ValueError("epsilon must be positive and delta in [0, 1)")
        if not 0 < self.honest_fraction <= 1:
            raise ValueError("honest_fraction must be in (0, 1]")
        if self.rows < 1:
            raise ValueError("rows must be at least 1")

    @property
    def private(self) -> bool:
        """Whether noise is added."""
        return self.placement != "none"

    @property
    def promises(self) -> bool:
        """Whether noise is added and its epsilon and delta are small enough to be called private."""
        return self.private and promise.holds(self.epsilon, self.delta)

    def check_unit(self, unit: Unit) -> None:
        """Raise ValueError unless the noise is for the unit that is used: requests check it, so that the two cannot part."""
        if (self.rows, self.id_column) != (unit.rows, unit.id_column):
            raise ValueError("the noise is for another unit, or another number of rows of one, than are used")

    @property
    def relation(self) -> Relation:
        """Whom the noise is for, as it is announced and charged."""
        return Relation(self.neighbors, "row" if self.id_column is None else "identifier", self.rows, self.id_column)

    def honest(self, stations: int) -> int:
        """Return the number of stations whose noise alone suffices: 1 for local noise."""
        return 1 if self.placement == "local" else honest_parties(stations, self.honest_fraction)

    @property
    def law(self) -> Law:
        """The law of the noise, with the whole budget; only where there is noise."""
        return law_of(self.epsilon, self.delta)

    def change(self, l1: float, l2: float, cells: int, nonnegative: bool = False) -> Change:
        """Return what one unit of the promise changes in a query of which one row more or less changes so much; see `Query`."""
        replaced = self.neighbors == "replace_one"
        turned = (math.sqrt(2.0) if nonnegative else 2.0) if replaced else 1.0
        return Change(l1 * self.rows * (2.0 if replaced else 1.0), l2 * self.rows * turned, cells)

    def width(self, queries: float, change: Change, stations: int) -> float:
        """Return the scale, or the standard deviation, of the honest stations' noise on one query of so many."""
        return self.law.width(change, queries, self.honest(stations))

    def deviation(
        self, queries: float, l1: float, l2: float, cells: int, stations: int, nonnegative: bool = False
    ) -> float:
        """Return the standard deviation of the noise in one cell of the sum over the stations (0 for ``none``)."""
        if not self.private:
            return 0.0
        one = self.law.deviation(self.width(queries, self.change(l1, l2, cells, nonnegative), stations))
        return one * math.sqrt(stations / self.honest(stations))

    def shares(self, size: int, queries: float, change: Change, stations: int) -> Integers:
        """Return one station's noise on `size` cells of one query of so many.

        Raises
        ------
        ArgumentError
            If such noise cannot be sampled.
        """
        local = self.placement == "local"
        parties, fraction = (1, 1.0) if local else (stations, self.honest_fraction)
        with sampling_errors():
            return self.law.shares(size, self.width(queries, change, parties), parties, fraction)

    def narrower(self, deviations: Callable[[CountNoise], Iterable[float]]) -> CountNoise:
        """Return the noise under the law that makes less of it: without its delta where discrete Laplace noise is narrower.

        Parameters
        ----------
        deviations : callable
            Gives those of the queries at one station, which follow from the plan alone; their geometric means are compared.
        """
        pure = replace(self, delta=0.0)
        if not self.private or pure == self:
            return self
        tiny = np.finfo(float).tiny
        own, other = (sum(math.log(max(one, tiny)) for one in deviations(noise)) for noise in (self, pure))
        return pure if other <= own else self

    def statement(self, unit: Unit, composition: str, sensitivity: str, reveals: Mapping[str, str]) -> dict[str, Any]:
        """Return the privacy statement of an answer with this noise; `sensitivity` is that of a row."""
        return results.privacy(
            True,
            unit=unit.name,
            neighbors=self.neighbors,
            epsilon=self.epsilon,
            delta=self.delta,
            mechanism=self.mechanism(),
            composition=composition,
            sensitivity=sensitivity + self.replaced + unit.statement,
            reveals=reveals,
        )

    @property
    def replaced(self) -> str:
        """What a statement adds to the sensitivity of one row more or less, where a row is replaced; see `change`."""
        return "; a replaced row is one that leaves and one that comes" if self.neighbors == "replace_one" else ""

    def mechanism(self) -> str | None:
        """Return the mechanism's name for the privacy statement."""
        if not self.private:
            return None
        return f"{self.law.name}, {'in shares inside the secure sum' if self.placement == 'distributed' else 'at each station'}"


def check_noise(
    noise: str,
    epsilon: float | None,
    delta: float = 0.0,
    neighbors: str = "add_remove",
    honest_fraction: float = HONEST_FRACTION,
    unit: Unit = ROW,
) -> CountNoise:
    """Return the noise of a task, for units of so many rows; `ArgumentError` where noise has no budget."""
    if noise == "none":
        return CountNoise("none", 0.0, 0.0, neighbors, honest_fraction, unit.rows, unit.id_column)
    if epsilon is None:
        raise ArgumentError('epsilon is needed: give a number greater than 0, or noise="none"')
    return CountNoise(noise, epsilon, delta, neighbors, honest_fraction, unit.rows, unit.id_column)
