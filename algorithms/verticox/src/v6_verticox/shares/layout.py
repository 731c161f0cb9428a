"""The shapes that all roles know, the names of what they open, and how many fractional bits each kind of number has in a ring of 128."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fedbayes.mpc.wide import Wide
from fedbayes.mpc.wires import Wire
from fedbayes.typing import Integers

from ..cox.coarse import step_bits
from ..messages.names import START, Name
from ..messages.private import BESIDE
from ..messages.products import Product, width_of
from .ties import PublicTies

# Fractional bits in a ring of 128. The longest product, (a - b S0 r) r, has 26 + 2 x 34 + 12 = 106: values up to 2^20 fit beside it.
FEATURE_BITS = 28  # of standardised columns: 4e-9 of a deviation
RISK_BITS = 26  # of w: the last bit of a risk of one in 10^5 still makes a thousandth of it
RECIPROCAL_BITS = 34  # of 1 / S0: finer than w, since S0 has as many as all rows of them
FACTOR_BITS = {1: 40, 2: 36, 3: 28}  # of one party's factor of w, by how many are multiplied at once: 84 bits at most
MOST_FACTORS = 3  # in one product: with n factors 2^n - n - 1 products of masks are dealt
COEFFICIENT_BITS = 5  # of a and b (`reciprocals.NARROW_UNIT`)
WIDE_BITS = 12  # of a and b where the interval is wide (`reciprocals.UNIT`)
LINE_BITS = 34  # of the linear predictor, whose slopes integrate to the log-likelihood: 6e-11
FIRST_HAZARD = Name("k", 0)
COLUMNS = Name("features")  # in the dealer's order of the rows
FEATURES = Name("x")  # opened, in the order of the times
EVENTS = Name("d")
BANDS = Name("bands")
TREND = Name("trend")
PRESENT, EVENT = Name("present", 0), Name("event", 0)
WEIGHTS = Name("w", 0)
STARTS = (EVENTS, START, TREND, BANDS, FIRST_HAZARD, WEIGHTS)

Get = Callable[[Name], Wire]


@dataclass(frozen=True, slots=True)
class Layout:
    """What all roles know about the shapes.

    Parameters
    ----------
    rows, features : int
    factors : int
        Parties that hold features.
    strata : tuple of int
        Rows of each stratum, in the secret order.
    owner : int
        Position of the outcome holder among the share holders (the last one).
    lines : int
        Parties that hold features (with Efron's ties the outcome holder has a factor without any).
    ties : tuple of (int, int)
        First row and size of the public ties (Efron).
    band : int
        Most events of a small tie (Efron); 0: none.
    single : bool
        Whether c is 0 or 1 in every row, so that r, t and q are the same where there is an event, and q alone is carried along.
    complete : float
        Expected share of complete records where only these count (`complete`); else 0.
    weighted : bool
        Whether records have case weights: a factor of w that the outcome holder knows, so that w is not 1 at zero coefficients. Then d holds the weights
        of the events, and c their sums.
    products : tuple of Product
        Products of two parties' columns, which follow the parties' own (`products`).
    flat : bool
        Whether tied events are rows of their own with Breslow's risk sets: always where only complete records count.
    records, copies, clusters : int
        Records, rows of each, and their clusters, over which score residuals are summed (`clusters`); clusters 0: over none.
    """

    rows: int
    features: int
    factors: int
    strata: tuple[int, ...]
    owner: int
    ties: tuple[tuple[int, int], ...] = ()
    band: int = 0
    lines: int = 0
    single: bool = False
    complete: float = 0.0
    weighted: bool = False
    products: tuple[Product, ...] = ()
    flat: bool = False
    records: int = 0
    copies: int = 1
    clusters: int = 0

    @property
    def own_columns(self) -> int:
        """How many columns the parties enter: all but products."""
        return self.features - width_of(self.products)

    @property
    def multiplied(self) -> int:
        """How many openings the relative risk is the product of."""
        return len(self.groups()) + len(self.products)

    def multiplications(self) -> list[list[list[int]]]:
        """Return the rounds in which the openings of the relative risk are multiplied, at most three at a time: which of them, by place.

        What a round makes of several follows those before it, in their order; the last round makes the relative risk.
        """
        left, made, rounds = list(range(self.multiplied)), self.multiplied, list[list[list[int]]]()
        while len(left) > 1:
            taken = [left[start : start + MOST_FACTORS] for start in range(0, len(left), MOST_FACTORS)]
            rounds.append([chosen for chosen in taken if len(chosen) > 1])
            left = [*range(made, made + len(rounds[-1])), *(chosen[0] for chosen in taken if len(chosen) == 1)]
            made += len(rounds[-1])
        return rounds

    @property
    def alike(self) -> bool:
        """Whether w is 1 for all at zero coefficients."""
        return not (self.complete or self.weighted)

    def groups(self) -> list[list[int]]:
        """Return the factors in groups of at most three, one product each."""
        return [
            list(range(start, min(start + MOST_FACTORS, self.factors)))
            for start in range(0, self.factors, MOST_FACTORS)
        ]

    def factor_bits(self) -> int:
        """Return the fractional bits of exp(linear predictor) of one party."""
        return FACTOR_BITS[min(self.factors, MOST_FACTORS)]

    def stratified(self, values: Wide, operation: Callable[[Wide], Wide]) -> Wide:
        """Apply a cumulative sum inside each stratum."""
        if len(self.strata) == 1:
            return operation(values)
        parts, start = [], 0
        for size in self.strata:
            parts.append(operation(values[start : start + size]))
            start += size
        return Wide.concatenate(parts, axis=0)

    def suffix(self, values: Wide) -> Wide:
        """Return sums over the risk sets."""
        return self.stratified(values, Wide.suffix)

    def prefix(self, values: Wide) -> Wide:
        """Return sums over the rows up to each one."""
        return self.stratified(values, Wide.prefix)

    def hazard_bits(self, rows: Sequence[int]) -> Integers:
        """Return how many bits of a hazard are not told at each of some rows, (rows,) of int."""
        steps = step_bits(self.strata, rows, self.complete or 1.0, self.copies)
        return np.maximum(steps + RECIPROCAL_BITS, 0)

    def public_ties(self) -> PublicTies:
        """Return the map of the public ties."""
        ends = np.cumsum(self.strata)
        return PublicTies(self.ties, self.rows, tuple(int(end) for end in ends), self.flat)


def entered_names(layout: Layout, step: int) -> list[Name]:
    """Return the names under which the outcome holder enters risks and reciprocals that it knows, and what small ties need."""
    return [Name(kind, step) for kind in ("w", "reciprocal", *(("c", "k") if layout.band else ()))]


def presence_name(index: int) -> Name:
    """Return the name under which a share holder enters which of its records have no gap."""
    return Name("presence", part=index)


def events_name(layout: Layout) -> Name:
    """Return the name of the event indicators that count."""
    return EVENT if layout.complete else EVENTS


def back_name(layout: Layout, step: int, version: int) -> Name:
    """Return the name of the corrections of hazards: opened once a step, or with every refinement where the first ones are rough."""
    return Name("k", step, version if layout.flat else 0)


def line_names(layout: Layout, step: int) -> list[Name]:
    """Return the names of the parties' linear predictors, which are added."""
    return [Name("line", step, part=place) for place in range(layout.lines)]


def beside(step: int, place: int) -> int:
    """Return the step number of a point beside a step."""
    return (step + 1) * BESIDE + place


def beside_of(step: int) -> int:
    """Return the step that a point is beside of."""
    return step // BESIDE - 1
