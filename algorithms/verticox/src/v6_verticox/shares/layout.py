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
from ..messages.products import width_of
from ..messages.setup import Plan
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


@dataclass(frozen=True)
class Layout:
    """What all roles know about the shapes: the plan, and what follows from it."""

    plan: Plan

    @property
    def features(self) -> int:
        """How many columns there are: the parties' own, and products of two parties' columns, which follow them (`products`)."""
        return self.own_columns + width_of(self.plan.products)

    @property
    def owner(self) -> int:
        """Position of the outcome holder among the share holders: the last one."""
        return len(self.plan.holders) - 1

    @property
    def lines(self) -> list[int]:
        """The share holders that have a part of the linear predictor to themselves: by columns, or as choosers of a product."""
        choosers = {one.chooser for one in self.plan.products}
        return [index for index, width in enumerate(self.plan.widths) if width or index in choosers]

    @property
    def factors(self) -> list[int]:
        """The share holders with a factor of the relative risk: of their columns, of which records have no gap, of the weights."""
        whole, owner = bool(self.plan.complete), self.owner if self.plan.weighted else None
        return [index for index in range(len(self.plan.widths)) if index in self.lines or whole or index == owner]

    @property
    def flat(self) -> bool:
        """Whether tied events are rows of their own with Breslow's risk sets: always where only complete records count."""
        return self.plan.flat or self.plan.complete > 0.0

    @property
    def records(self) -> int:
        """How many records there are, each of `Plan.copies` rows."""
        return self.plan.records // self.plan.copies

    @property
    def clusters(self) -> int:
        """Over how many clusters of records score residuals are summed (`clusters`); 0: over none."""
        return self.plan.clusters[1] if self.plan.clusters else 0

    @property
    def own_columns(self) -> int:
        """How many columns the parties enter: all but products."""
        return sum(self.plan.widths)

    @property
    def multiplied(self) -> int:
        """How many openings the relative risk is the product of."""
        return len(self.groups()) + len(self.plan.products)

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
        return not (self.plan.complete or self.plan.weighted)

    def groups(self) -> list[list[int]]:
        """Return the factors in groups of at most three, one product each."""
        places = range(len(self.factors))
        return [list(places[start : start + MOST_FACTORS]) for start in places[::MOST_FACTORS]]

    def factor_bits(self) -> int:
        """Return the fractional bits of exp(linear predictor) of one party."""
        return FACTOR_BITS[min(len(self.factors), MOST_FACTORS)]

    def stratified(self, values: Wide, operation: Callable[[Wide], Wide]) -> Wide:
        """Apply a cumulative sum inside each stratum."""
        if len(self.plan.strata) == 1:
            return operation(values)
        parts, start = [], 0
        for size in self.plan.strata:
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
        steps = step_bits(self.plan.strata, rows, self.plan.complete or 1.0, self.plan.copies)
        return np.maximum(steps + RECIPROCAL_BITS, 0)

    def public_ties(self) -> PublicTies:
        """Return the map of the public ties."""
        ends = np.cumsum(self.plan.strata)
        return PublicTies(self.plan.ties, self.plan.rows, tuple(int(end) for end in ends), self.flat)


def entered_names(layout: Layout, step: int) -> list[Name]:
    """Return the names under which the outcome holder enters risks and reciprocals that it knows, and what small ties need."""
    return [Name(kind, step) for kind in ("w", "reciprocal", *(("c", "k") if layout.plan.band else ()))]


def presence_name(index: int) -> Name:
    """Return the name under which a share holder enters which of its records have no gap."""
    return Name("presence", part=index)


def events_name(layout: Layout) -> Name:
    """Return the name of the event indicators that count."""
    return EVENT if layout.plan.complete else EVENTS


def back_name(layout: Layout, step: int, version: int) -> Name:
    """Return the name of the corrections of hazards: opened once a step, or with every refinement where the first ones are rough."""
    return Name("k", step, version if layout.flat else 0)


def line_names(layout: Layout, step: int) -> list[Name]:
    """Return the names of the parties' linear predictors, which are added."""
    return [Name("line", step, part=place) for place in range(len(layout.lines))]


def beside(step: int, place: int) -> int:
    """Return the step number of a point beside a step."""
    return (step + 1) * BESIDE + place


def beside_of(step: int) -> int:
    """Return the step that a point is beside of."""
    return step // BESIDE - 1
