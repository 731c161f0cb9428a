"""Products of a formula whose columns are at two organizations: what each tells of its part, and who enters what."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fedbayes.federation import Message

CENTRE_UNITS = 16
"""Centres are told in sixteenths of a column's scale."""
MOST_CENTRE = 2 * CENTRE_UNITS
"""A scale is the power of two below the mean or the deviation, whichever is larger: a mean is less than two of it."""
MOST_POWER = 20
"""A part of one in 2^40 of the records has a root of 2^-20; there are fewer records."""
MOST_CELLS = 100
"""Combinations of columns that are held against each other for few records: each is a product of two vectors on shares."""


class Side(Message):
    """A station's part of a product: its columns with every category in full.

    Parameters
    ----------
    term : str
    factors : list of str
        The names of this station's.
    labels : list of list of str
        Of each column, what coefficients call it, factor by factor in the order of the term; "" for the zeros of a column of 0 and 1.
    levels : dict of str to list of str
        Factor -> its categories, the reference first.
    exclusive : bool
        Whether every record is in exactly one column, which holds 0 and 1.
    scales : list of float
        Powers of two near the larger of a column's deviation and mean; of 0 and 1 near the root of the ones' part.
    centres : list of int
        Of numbers the mean in 16ths of the scale, rounded to four deviations; 0 of 0 and 1.
    reach : list of list of float
        How far tails reach (`tails.reach`).
    supports : int
        Columns in which the station tells, on shares, which records its part is not zero for.
    limit : int
        The fewest records that the station's node reveals.
    """

    term: str
    factors: list[str]
    labels: list[list[str]]
    levels: dict[str, list[str]]
    exclusive: bool
    scales: list[float]
    centres: list[int]
    reach: list[list[float]]
    supports: int
    limit: int

    def __post_init__(self) -> None:
        if any(len(labels) != len(self.factors) for labels in self.labels):
            raise ValueError("a part of a product is malformed")
        if len({len(self.labels), len(self.scales), len(self.centres), len(self.reach)}) != 1 or not self.labels:
            raise ValueError("a part of a product is malformed")
        if not all(abs(centre) <= MOST_CENTRE for centre in self.centres) or not all(
            0.0 < length < math.inf for length in (*self.scales, *(end for ends in self.reach for end in ends))
        ):
            raise ValueError("a part of a product is out of range")


class Product(Message):
    """Who enters what of a product.

    Parameters
    ----------
    term : str
    numbers, chooser : int
        Positions of the share holder that enters numbers, and of the one whose part says which of them count for a record.
    columns, levels : list of int
        Which columns of the former's part, and of the latter's, are multiplied: each with each.
    centres : list of int
        Of the former's columns, in 16ths of their scale.
    powers : list of int
        Of the latter's: the root of the ones' part as a negative power of two.
    supports, cells : int
        Columns of either that are held against each other for few records.
    limit : int
        Fewer records than that, but not none, in a combination end the job.
    """

    term: str
    numbers: int
    chooser: int
    columns: list[int]
    levels: list[int]
    centres: list[int]
    powers: list[int]
    supports: int
    cells: int
    limit: int

    @property
    def width(self) -> int:
        """How many columns the product has."""
        return len(self.columns) * len(self.levels)

    def __post_init__(self) -> None:
        if self.numbers == self.chooser or min(self.numbers, self.chooser) < 0 or not self.columns or not self.levels:
            raise ValueError("the plan's product does not fit together")
        if len(self.columns) != len(self.centres) or len(self.levels) != len(self.powers) or self.limit < 1:
            raise ValueError("the plan's product does not fit together")
        if min(*self.columns, *self.levels, *self.powers) < 0 or max(self.powers) > MOST_POWER:
            raise ValueError("the plan's product is out of range")
        if max(self.levels) >= self.cells or not 0 < self.supports * self.cells <= MOST_CELLS:
            raise ValueError("the plan's product is out of range")
        if not all(abs(centre) <= MOST_CENTRE for centre in self.centres):
            raise ValueError("the plan's product is out of range")


def width_of(products: Sequence[Product]) -> int:
    """Return how many columns products have."""
    return sum(one.width for one in products)
