"""What stations open of their columns, and how the shared matrices ("factors") that come of it are described to everybody.

A request says what is `Wanted`; of each factor that a station opens then, or that a product makes, everybody knows a `FactorInfo`. Its name says all that its
values depend on. The checks below are those of the requests in `messages`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from ..errors import MessageError
from ..messages.codec import Message

KINDS = ("states", "condition", "values")
RINGS = (16, 32, 64)  # bits of a word of 2, 4 and 8 bytes
MOST_PARTIES = 1000  # far above any collaboration
MOST_COLUMNS = 10_000  # of one factor, or conditions of one question
MOST_WIDTH = 1 << 24  # states of one factor
MOST_ROWS = 1 << 31  # counts of as many wrap in a ring of 32 bits
MOST_CELLS = 20_000_000  # of a batch, 160 MB in the widest ring
MOST_FACTOR_BYTES = 2_000_000_000
"""Memory of one shared matrix at an organization; a request that would take more is refused before anything is made."""
MOST_DEALT = 8  # factors of one table, 2^8 - 8 - 2 corrections
MOST_DEALT_TABLES = 2 + MOST_DEALT  # of one match: a product, where it counts, and there without each of the factors
OPERATORS = ("==", "!=", "<", "<=", ">", ">=", "in", "between", "missing")


class Condition(Message):
    """One comparison on one column; a missing value satisfies `missing` only."""

    column: str
    op: str
    value: Any = None

    def __post_init__(self) -> None:
        if self.op not in OPERATORS:
            raise ValueError(f"op must be one of: {', '.join(OPERATORS)}")


class Wanted(Message):
    """Something to open: every station takes the part that concerns its own columns.

    `states`: the joint indicator of the columns; `condition`: 1 where all conditions hold; `values`: the product of the
    columns in fixed point. What is `optional` is left out at a station that lacks one of the columns, or where all that is optional there would be
    large. Of columns that are `full`, no common record misses the value: they come without that state.
    """

    kind: str
    columns: list[str]
    conditions: list[Condition] = field(default_factory=list)
    optional: bool = False
    full: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.kind not in KINDS or max(len(self.columns), len(self.conditions)) > MOST_COLUMNS:
            raise ValueError("what is wanted is malformed")
        if self.full and (self.kind != "states" or not set(self.full) <= set(self.columns)):
            raise ValueError("what is wanted is malformed")


class FactorInfo(Message):
    """A shared matrix: see `mpc.shared_products.Factor`; and the stage in which it was opened, by whom.

    A `view_of` another one is its first states: nothing is opened for it. The product `made_of` two complete ones, of so many states as `sides` says,
    travels without the last state of either.
    """

    name: str
    columns: list[str]
    holders: list[int]
    width: int
    complete: bool
    bits: int
    stage: int
    contributors: list[int]
    derived: bool = False
    view_of: str = ""
    made_of: list[str] = field(default_factory=list)
    sides: list[int] = field(default_factory=list)

    @property
    def states(self) -> int:
        """Number of columns in use."""
        return math.prod(self.sides) if self.sides else self.width + int(self.complete)

    def __post_init__(self) -> None:
        parties = (self.holders, self.contributors)
        if any(len(set(listed)) != len(listed) for listed in parties):
            raise ValueError("a factor is of one organization twice")
        if not 0 <= self.width <= MOST_WIDTH or self.bits not in RINGS or not all(parties) or self.stage < 0:
            raise ValueError("a factor is malformed")
        if any(len(listed) > MOST_PARTIES for listed in parties) or len(self.columns) > MOST_COLUMNS:
            raise ValueError("a factor is malformed")
        if self.sides or self.made_of:
            self._check_sides()

    def _check_sides(self) -> None:
        if len(self.sides) != 2 or len(self.made_of) != 2 or not all(1 <= side <= MOST_WIDTH for side in self.sides):
            raise ValueError("a product is malformed")
        if self.width != (self.sides[0] - 1) * (self.sides[1] - 1) or not self.complete or self.view_of:
            raise ValueError("a product is malformed")


NOT_DESCRIBED = "a factor of the request is not described as it was opened; the job stops"
NUMBERS = '["values",'
"""How the name begins of a factor of numbers of many values or digits, and what is in the name of a product of one."""
STATES = '["states",'
"""How the name begins of a factor that shows in which states columns are; see `factor_name`."""


def factor_name(
    kind: str, columns: Sequence[str], owner: int | None = None, conditions: Sequence[Condition] = ()
) -> str:
    """Return a factor's name: masks follow from it and its stage, so it says all that its values depend on."""
    tests = [[condition.column, condition.op, condition.value] for condition in conditions]
    return json.dumps([kind, list(columns), owner, tests], separators=(",", ":"), default=str)


def part_of(infos: Mapping[str, FactorInfo], name: str) -> FactorInfo:
    """Return a factor that another one is made of; `MessageError` where the request does not describe it."""
    if name not in infos:
        raise MessageError(NOT_DESCRIBED)
    return infos[name]


def names_its_columns(info: FactorInfo) -> bool:
    """Tell whether a factor's name, or that of the one whose first states it is, is that of the states of its columns.

    Owners name what they open, `check_named` knows products.
    """
    return (info.view_of or info.name) == factor_name("states", info.columns)


def check_named(made: FactorInfo, parts: Sequence[FactorInfo]) -> None:
    """Raise `ValueError` for a product under the name of the states of columns that it is not made of."""
    if not made.name.startswith(STATES) or len(parts) < 2:
        return
    columns = [column for info in parts for column in info.columns]
    if made.columns != columns or not all(names_its_columns(info) for info in (made, *parts)):
        raise ValueError("a product does not have the columns of its factors")


def check_true(infos: Sequence[FactorInfo]) -> None:
    """Raise `ValueError` where factors of noisy answers may not be the states of the columns that they are named after: views, and products of others.

    What one record changes follows from the names; a product that is completed by others than its own factors would be changed by more.
    """
    by_name = {info.name: info for info in infos}
    for info in infos:
        if info.view_of or (info.made_of and not names_its_columns(info)):
            raise ValueError("noisy answers are over all states of their columns")
        check_named(info, [by_name[name] for name in info.made_of if name in by_name])


def check_product(made: FactorInfo, left: FactorInfo | None, right: FactorInfo | None, private: bool) -> None:
    """Raise `ValueError` for a product that is not as wide as its two factors make it, or is named, held or completed otherwise; of `None` one knows nothing.

    The helper hides the product of their masks by a pad of each holder: of fewer, one who knows these pads would have the masks' product.
    """
    pair = [info for info in (left, right) if info is not None]
    names = [info.name for info in pair]
    if len(pair) == 2:
        holders = sorted({holder for info in pair for holder in info.holders})
        if made.states != math.prod(info.states for info in pair) or made.holders != holders:
            raise ValueError("a product does not have the states and holders of its factors")
        completed = private and all(info.complete for info in pair)
        if made.made_of not in ([names] if completed else [[], names]):
            raise ValueError("a product is malformed")
    check_named(made, pair)


def check_wanted(wanted: Sequence[Wanted], bits: int, counts: bool, union: bool, stage: int = 0) -> None:
    """Raise `ValueError` for a ring or a stage that there is not, for absurdly many columns, or for numbers where only what `counts` may be opened.

    Of a `union` states are opened alone: what a station has of them is added up with what others have, and of anything else it would be its own.
    """
    refused = {want.kind for want in wanted} & ({"values", "condition"} if union else {"values"} if counts else set())
    if stage < 0 or bits not in RINGS or len(wanted) > MOST_CELLS // 100 or refused:
        raise ValueError("what is wanted is malformed")


def check_ring(bits: int, infos: Sequence[FactorInfo], names: Iterable[str]) -> None:
    """Raise `ValueError` for a ring that there is not, or that is wider than one in which a factor was opened.

    An opening and its mask add up in their own ring alone. In a wider one they are off by what wraps, for nearly every record, so that exact counts would
    stand in the upper bits of an answer, where no noise is.
    """
    described = {info.name: info for info in infos}
    try:
        behind = with_parts(described, set(names) & set(described))
    except KeyError:
        raise ValueError("a factor is not described") from None
    if bits not in RINGS or any(info.bits < bits for info in behind.values()):
        raise ValueError("the ring of a question is malformed")


def check_sizes(rows: int, infos: Sequence[FactorInfo]) -> None:
    """Raise `ValueError` where shared matrices of so many rows would not fit in memory."""
    if not 0 <= rows < MOST_ROWS:
        raise ValueError("the number of records is absurd")
    if any(info.states * rows * (info.bits // 8) > MOST_FACTOR_BYTES for info in infos):
        raise ValueError("a factor is too large")


def check_records(rows: int) -> None:
    """Raise `ValueError` for a number of records, of each of which one number is told, that cannot be."""
    if not 0 <= rows <= MOST_FACTOR_BYTES // 8:
        raise ValueError("the number of records is absurd")


def check_kinds(infos: Sequence[FactorInfo], named: Iterable[Sequence[str]] = ()) -> None:
    """Raise `ValueError` where a factor is described twice, or said to be the first states of one that is not described, is smaller, or is a view itself,
    or the product of factors that have other states; or where a list of factors is empty, or names one twice or one that is not described.
    """
    by_name = {info.name: info for info in infos}
    if len(by_name) != len(infos) or not all(
        names and by_name.keys() >= {*names} and len({*names}) == len(names) for names in named
    ):
        raise ValueError("a factor is not described, or twice")
    for info in infos:
        base = by_name.get(info.view_of)
        if info.view_of and (base is None or base.view_of or not 1 <= info.states <= base.states):
            raise ValueError("a factor is malformed")
        pair = [by_name[name].states for name in info.made_of if name in by_name]
        if len(pair) == 2 and pair != info.sides:
            raise ValueError("a product does not have the states of its factors")


def check_dealt(rows: int, tables: Sequence[Sequence[str]], infos: Sequence[FactorInfo]) -> None:
    """Raise `ValueError` where tables cannot have been dealt for: too many factors or states, or a factor that is not described."""
    states = {info.name: info.states for info in infos}
    for table in tables:
        if not 2 < len(table) <= MOST_DEALT or len(tables) > MOST_DEALT_TABLES or not set(table) <= set(states):
            raise ValueError("a table to deal for is malformed")
        if math.prod(states[name] for name in table) * max(rows, 1) * 8 > MOST_FACTOR_BYTES:
            raise ValueError("a table to deal for is too large")


def with_parts(described: Mapping[str, FactorInfo], names: Iterable[str]) -> dict[str, FactorInfo]:
    """Return the named factors, all that their products are made of, and what they are views of.

    Raises
    ------
    KeyError
        If one of them is not described.
    """
    infos: dict[str, FactorInfo] = {}
    left = list(names)
    while left:
        name = left.pop()
        if name not in infos:
            info = infos[name] = described[name]
            left += [*info.made_of, *([info.view_of] if info.view_of else [])]
    return infos
