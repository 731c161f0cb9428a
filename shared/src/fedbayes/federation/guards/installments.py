"""A budget that a task divides over its rounds: each round is told the whole budget and which parts of it are its own.

Parts have weights that are fixed before the first round. Of pure noise a part costs its share of epsilon, of Gaussian noise its share of the square of
mu (:mod:`fedbayes.dp.gaussian`), which composes exactly also where a question is chosen by the answers before. A station debits the whole budget with the
first part that it answers, answers every part once, and refuses a part of any other division in the same job: so its debit is what all parts cost together,
whatever central asks.
"""

from __future__ import annotations

import functools
import math
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from ...dp import promise
from ...dp.laws import Change, Law, Shape, law_of
from ...dp.shares import honest_parties
from ...typing import Integers
from ..errors import MessageError, sampling_errors
from ..gate import Receipt
from ..messages.codec import Message
from ..perimeter.opening import Relation
from .once import is_first

if TYPE_CHECKING:
    from ..station import Station

MOST_PARTS = 1000
"""Of one budget: more rounds than any task has."""


class Installment(Message):
    """What one round spends of a budget.

    Parameters
    ----------
    epsilon, delta : float
        The whole budget; discrete Laplace noise where delta is 0, discrete Gaussian noise else.
    weights : list of float
        One above 0 for every part.
    places : list of int
        The parts that this round has.
    """

    epsilon: float
    delta: float = 0.0
    weights: list[float] = field(default_factory=lambda: [1.0])
    places: list[int] = field(default_factory=lambda: [0])

    def __post_init__(self) -> None:
        """Check that there is a budget, and that the parts are some of it."""
        if not (0.0 < self.epsilon < math.inf and 0.0 <= self.delta < 1.0):
            raise ValueError("epsilon must be positive and finite, delta in [0, 1)")
        if not 0 < len(self.weights) <= MOST_PARTS or not all(0.0 < weight < math.inf for weight in self.weights):
            raise ValueError("the weights of the parts must be positive and finite, and not too many")
        if not self.places or sorted(set(self.places)) != self.places or self.places[0] < 0:
            raise ValueError("the parts of a round must be different ones, in rising order")
        if self.places[-1] >= len(self.weights):
            raise ValueError("the round has a part that the budget does not have")

    @property
    def whole(self) -> bool:
        """Whether this is all of the budget."""
        return len(self.places) == len(self.weights)

    @property
    def covers(self) -> bool:
        """Whether noise of this budget stands in for the guards of exact answers (`dp.promise.covers`)."""
        return promise.covers(self.epsilon, self.delta)

    @property
    def parts(self) -> float:
        """One over the share of the budget that the round has, at least 1."""
        own = math.fsum(self.weights[part] for part in self.places)
        return max(1.0, math.fsum(self.weights) / own)

    @property
    def law(self) -> Law:
        """The law of the noise, with the whole budget."""
        return law_of(self.epsilon, self.delta)

    def deviation(self, change: Change, parties: int, honest_fraction: float) -> float:
        """Return the standard deviation, in one cell, of the noise that all parties add together."""
        honest = honest_parties(parties, honest_fraction)
        return self.law.deviation(self._width(change, honest)) * math.sqrt(parties / honest)

    def shares(self, shape: Shape, change: Change, parties: int, honest_fraction: float) -> Integers:
        """Return one party's part of the noise on the round's numbers, of which a unit of the promise changes so much.

        Raises
        ------
        ArgumentError
            If epsilon is too small to sample for.
        """
        with sampling_errors():
            width = self._width(change, honest_parties(parties, honest_fraction))
            return self.law.shares(shape, width, parties, honest_fraction)

    def _width(self, change: Change, honest: int) -> float:
        return self.law.width(change, self.parts, honest)


def pay(
    station: Station,
    installment: Installment,
    relation: Relation,
    note: str,
    queries: int = 0,
    summed: bool = True,
) -> Receipt:
    """Debit the node's ledger for a round before anything is sampled: for all of the budget, once in the job.

    Parameters
    ----------
    station : Station
        Who answers.
    installment : Installment
        What the round spends.
    relation : Relation
        Whom the noise is for.
    note : str
        What for, in the ledger.
    queries : int
        Questions of the round that count for `maximum_queries`.
    summed : bool
        As of `Station.charge`.

    Raises
    ------
    PolicyError, BudgetError
        If the node does not allow it, or has less left.
    MessageError
        If a part was spent in another round of this job, or the budget was divided in another way.
    """
    epsilon, delta = installment.epsilon, installment.delta
    charge = functools.partial(station.charge, note=note, summed=summed)
    if installment.whole:
        return charge(epsilon, delta, queries=queries, relation=relation)
    if queries:
        charge(0.0, 0.0, queries=queries, relation=None)
    receipt = charge(epsilon, delta, once=one_budget(station), relation=relation)
    division = f"{epsilon!r}|{delta!r}|{installment.weights!r}"
    unspent = is_first(station, "budget|division", division)
    for part in installment.places:
        unspent = is_first(station, f"budget|part-{part}", station.round_name) and unspent
    if not unspent:
        raise MessageError("this part of the budget is spent in this job; start the job again")
    return receipt


def one_budget(station: Station) -> str:
    """Return the name of the debit of everything noisy in the job: random, and kept with the marks of what is spent, so that who has these wiped pays again."""
    from ...randomness import secret_bytes

    station.keep("budget", token=np.frombuffer(secret_bytes(16), dtype=np.uint8))
    return "parts-" + station.kept("budget")["token"].tobytes().hex()


def one_question(station: Station, name: str, **bound: str) -> None:
    """Refuse a second, different question under a name whose part of the budget is spent, and another value of what all parts of the job rest on.

    Parameters
    ----------
    station : Station
        Who answers.
    name : str
        Of the part.
    **bound : str
        What parts must have in common, so that they cost no more than the budget together: number of steps, what is left for them.

    Raises
    ------
    MessageError
        If the round is another one than that in which this part was first asked for.
    """
    unspent = is_first(station, f"budget|{name}", station.round_name)
    for common, value in bound.items():
        unspent = is_first(station, f"budget|{common}", value) and unspent
    if not unspent:
        raise MessageError("the budget of this step is spent in this job; start the job again")
