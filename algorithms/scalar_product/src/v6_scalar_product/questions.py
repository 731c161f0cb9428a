"""From a question to its answer: one factor a station, by subset shares or a tree of products, whichever is cheaper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedbayes.bayes.dictionaries.dictionary import Dictionary
from fedbayes.bayes.values.encoding import canonical_text, meant_texts
from fedbayes.dp import promise
from fedbayes.dp.shares import HONEST_FRACTION
from fedbayes.federation import Federation, Preflight, Relation
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.guards.installments import Installment
from fedbayes.federation.questions.conditions import check_condition
from fedbayes.federation.questions.factor_info import Condition, Wanted
from fedbayes.federation.vertical import PARTIALS, open_parties, setup_of
from fedbayes.federation.vertical.accounting import REPLACE_ONE
from fedbayes.federation.vertical.columns import locate
from fedbayes.federation.vertical.declared import Matched
from fedbayes.federation.vertical.engine import Engine
from fedbayes.federation.vertical.opening import COUNTED
from fedbayes.mpc.subset_shares import MOST_FACTORS, subset_seconds, tree_seconds
from fedbayes.typing import Integers

MOST_CONDITIONS = 100  # a question that a person writes has a few
EXPECTED_ROWS = 100_000  # by which openings are planned before the number of rows is known


def check_conditions(name: str, conditions: Any) -> tuple[Condition, ...]:
    """Return the conditions of a task.

    Raises
    ------
    ArgumentError
        Naming the condition by its position.
    """
    if not isinstance(conditions, list | tuple) or not 1 <= len(conditions) <= MOST_CONDITIONS:
        raise ArgumentError(
            f'{name} must be a list of 1 to {MOST_CONDITIONS} conditions, such as [{{"column": "age", "op": ">=", "value": 65}}]'
        )
    return tuple(check_condition(entry, position) for position, entry in enumerate(conditions))


def check_known(dictionary: Mapping[str, Any] | None, conditions: Sequence[Condition]) -> None:
    """Refuse a value that the study's dictionary does not list among a column's categories: no record has it.

    Raises
    ------
    ArgumentError
        Naming the condition by its position, and the categories.
    """
    if dictionary is None:
        return
    columns = Dictionary.from_json(dictionary).columns
    for position, condition in enumerate(conditions):
        entry = columns.get(condition.column)
        if entry is None or entry.categories is None or condition.op not in ("==", "!=", "in"):
            continue
        categories = [str(canonical_text(category)) for category in entry.categories]
        for value in condition.value if condition.op == "in" else [condition.value]:
            if categories and not meant_texts(value) & set(categories):
                raise ArgumentError(
                    f"conditions[{position}]: '{str(value)[:60]}' is no category of column '{condition.column}' in the dictionary; "
                    f"it has: {', '.join(categories)}"[:400]
                )


def preflight_of(
    columns: Sequence[str],
    id_column: str,
    epsilon: float | None,
    questions: int,
    extra: Sequence[str] = (),
    neighbors: str = REPLACE_ONE,
    honest_fraction: float = HONEST_FRACTION,
) -> Preflight:
    """Return what a question will ask of the stations, which they check before anything is spent.

    Parameters
    ----------
    columns : sequence of str
        Columns that are asked about.
    id_column : str
        What `check_alignment` returned.
    epsilon : float or None
        Budget of the batch.
    questions : int
        Tables that count for `maximum_queries`.
    extra : sequence of str
        Remote functions beyond the library's.
    neighbors : str
        Whom noise is for.
    honest_fraction : float
        Part of the stations whose shares of noise are counted on.
    """
    named = tuple(dict.fromkeys([*([id_column] if id_column else []), *columns]))
    return Preflight(
        columns=named,
        linked_by=id_column,
        functions=(*PARTIALS, *extra),
        epsilon=epsilon or 0.0,
        queries=questions,
        private=promise.covers(epsilon),
        relation=None if epsilon is None else Relation(neighbors, "record"),
        honest_fraction=0.0 if epsilon is None else honest_fraction,
    )


def open_question(
    federation: Federation,
    kind: str,
    columns: Sequence[str],
    asked: Matched,
    conditions: Sequence[Condition] = (),
    epsilon: float | None = None,
    preflight: Preflight | None = None,
    neighbors: str = REPLACE_ONE,
) -> Engine:
    """Open one column of 0/1 or fixed-point numbers a station, and match the records. Three rounds.

    Corrections for subset shares are dealt along with the match where that is cheaper than further rounds. With numbers go columns
    that say which records count in the product: see `chains`.
    """
    names = list(dict.fromkeys(columns))
    parties = open_parties(federation, asked.organizations, asked.helper, preflight)
    setup = setup_of(federation, parties, asked.identifier, asked.helper, epsilon=epsilon, neighbors=neighbors)
    engine = Engine(federation, setup)
    if asked.identifier in names:
        raise ArgumentError("columns must not hold the id_column")
    wanted = Wanted(kind, names, list(conditions))
    replies = engine.submit([wanted], 64 if kind == "values" else 32)
    locate(federation, engine, names)
    tables = chains(engine)
    table = tables[0]
    if len(table) > MOST_FACTORS:
        raise ArgumentError(f"columns of at most {MOST_FACTORS} organizations can be combined; name fewer")
    rows = max(
        (len(reply.parcel.content.value) // 4 for reply in replies.values() if reply.parcel is not None),
        default=EXPECTED_ROWS,
    )
    widths = [max(engine.factors[name].states for name in table) * len(tables)] * len(table)
    by_subsets = (
        engine.setup.helper != 0
        and len(table) > 2
        and subset_seconds(widths, rows, len(table)) <= tree_seconds(widths, rows, len(table))
    )
    dealt = [one for level in _factors(tables, not setup.covered) for one in _tables(level) if len(one) > 2]
    engine.match(dealt if by_subsets else [])
    return engine


def chains(engine: Engine) -> list[tuple[str, ...]]:
    """Return the factors whose product is the answer; for numbers also those whose product is the number of records that count in it."""
    opened = [info for info in engine.factors.values() if not info.derived]
    guards = tuple(info.name for info in opened if info.name.startswith(f'["{COUNTED}"'))
    answers = tuple(info.name for info in opened if info.name not in guards)
    return [answers, guards] if guards else [answers]


@dataclass(frozen=True)
class Product:
    """A product of factors, by name, and those that leave one of its factors out.

    Attributes
    ----------
    whole : str
    without : list of str or None
        One for each factor, None where nothing is left; empty if they are not wanted.
    """

    whole: str
    without: list[str | None]

    def times(self, other: Product, pairs: dict[str, tuple[str, str]]) -> Product:
        """Return the product of the two; what has to be opened for it is added to `pairs`."""

        def named(left: str | None, right: str | None) -> str:
            if left is None or right is None:
                return left or right or ""  # only one of them is nothing
            pairs[f"{left}*{right}"] = (left, right)
            return f"{left}*{right}"

        without = [named(part, other.whole) for part in self.without]
        return Product(named(self.whole, other.whole), [*without, *(named(self.whole, part) for part in other.without)])


def answer(
    engine: Engine, epsilon: float | None, honest_fraction: float, fewer: bool, bits: int = 0, last: bool = True
) -> tuple[list[Integers], dict[str, Any]]:
    """Return the product of the factors of each chain summed over the records, first, and how it was made.

    With `fewer` the products that leave one station's factor out follow, of the last chain.
    """
    named = chains(engine)
    levels = _factors(named, fewer)
    plan = "subset shares" if engine.dealt else "tree" if len(levels[0]) > 2 else "direct"
    ring = bits or (32 if epsilon is not None else 0)
    while len(levels[0]) > 2 and not engine.dealt:
        pairs: dict[str, tuple[str, str]] = {}
        levels = [
            [
                *(left.times(right, pairs) for left, right in zip(level[::2], level[1::2], strict=False)),
                *(level[-1:] if len(level) % 2 else []),
            ]
            for level in levels
        ]
        engine.extend(pairs, bits=ring)
    asked = [_tables(level) for level in levels]
    noise = None if epsilon is None else Installment(epsilon)
    sums = iter(engine.ask([table for tables in asked for table in tables], ring, noise, honest_fraction, last=last))
    counts = [[int(next(sums).reshape(-1)[0]) for _ in tables] for tables in asked]
    return [np.array(numbers, dtype=np.int64) for numbers in counts], {"plan": plan, "parties": len(engine.replies)}


def _factors(named: Sequence[Sequence[str]], fewer: bool) -> list[list[Product]]:
    """Return the factors of each chain; with `fewer` each can be left out of the last one."""
    return [[Product(name, [None] if fewer and chain is named[-1] else []) for name in chain] for chain in named]


def _tables(level: Sequence[Product]) -> list[tuple[str, ...]]:
    """Return the tables of the product of all that are left, and of those without one factor."""
    wholes = tuple(part.whole for part in level)
    tables = [wholes]
    for place, part in enumerate(level):
        for rest in part.without:
            tables.append((*wholes[:place], *([] if rest is None else [rest]), *wholes[place + 1 :]))
    return [table for table in tables if table]
