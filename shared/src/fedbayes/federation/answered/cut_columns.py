"""Columns that a data dictionary cuts from numbers, in words about these numbers: another name for bins and ranges is no way round the record of answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...bayes.dictionaries.entry import Cut
from ...bayes.schema import LARGEST_BOUND
from ...bayes.values.encoding import canonical_text
from ...typing import Booleans, Integers
from ..errors import ThresholdError
from .readings import GONE, NO_NUMBER

NOT_NEIGHBOURS = (
    "conditions: of a column that the dictionary cuts from a number, exact counts are of categories that are beside one another; ask for such, "
    "or give an epsilon"
)
FEW_BETWEEN = (
    "bins, dictionary: the task cuts one number at points between which this station has too few records, so that answers of this one task would tell of "
    "these; take one of the columns that are made of it, or points alike, or give an epsilon where the method takes one"
)
Test = tuple[str, str, Any]
"""A condition: column, operator, value."""


def in_numbers(conditions: Sequence[Test], cut: Mapping[str, Cut]) -> list[Test]:
    """Return conditions in which those on cut columns are ranges of the numbers that they are cut from.

    Parameters
    ----------
    conditions : sequence of (column, operator, value)
        Of an exact count.
    cut : mapping
        How columns are cut, by name.

    Raises
    ------
    ThresholdError
        If categories for which a condition holds are not beside one another.
    """
    return [one for test in conditions for one in (_of_number(*test, cut[test[0]]) if test[0] in cut else iter([test]))]


def _of_number(name: str, operator: str, value: Any, cut: Cut) -> Iterator[Test]:
    if operator == "missing":
        yield cut.column, NO_NUMBER, value
        return
    held = np.flatnonzero(_held(name, operator, value, cut))
    if not len(held) or len(held) <= held[-1] - held[0]:
        raise ThresholdError(NOT_NEIGHBOURS)
    first, after = int(held[0]), int(held[-1]) + 1
    if first or after > len(cut.at):
        yield cut.column, ">=", cut.at[first - 1] if first else -LARGEST_BOUND
    if after <= len(cut.at):
        yield cut.column, "<", cut.at[after - 1]


def _held(name: str, operator: str, value: Any, cut: Cut) -> Booleans:
    """Return for which categories a condition holds, shape (categories,)."""
    import pandas

    from ..questions.conditions import holds
    from ..questions.factor_info import Condition

    categories = [canonical_text(category) for category in cut.categories]
    return holds(pandas.Series(categories, dtype=object), Condition(name, operator, value))


def sets_few_between(groups: Sequence[Integers], rows: Integers, minimum: int) -> bool:
    """Return whether the bins of one number that a single task has set fewer than `minimum` rows apart together, which no one of them does alone.

    Parameters
    ----------
    groups, rows, minimum
        As of `readings.sets_few_apart`, which is stricter: there each answer is a task of its own.
    """
    _, together = np.unique(np.stack(groups), axis=1, return_inverse=True)
    sizes = np.bincount(together.ravel(), weights=rows)[together.ravel()]
    alone = [np.bincount(one - GONE, weights=rows)[one - GONE] == sizes for one in groups]
    return bool(((sizes > 0) & (sizes < minimum) & ~np.any(alone, axis=0)).any())
