"""Columns of one fit that together set few records apart: two that differ in few, and those that the task's dictionary rewrites.

A threshold beside another of the same column, or beside an indicator that a station has, spans what is between the two; so do two indicators that a
station has: of two columns that differ in few records the coefficients of both, or their difference, are those of these records.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from fedbayes.bayes.dictionaries.dictionary import Dictionary
from fedbayes.bayes.formulae.formula import as_numbers, as_texts
from fedbayes.bayes.formulae.terms import Terms
from fedbayes.federation.errors import DataProblem

from ..cox.narrow import few, is_narrow
from .columns import MOST_CATEGORIES


def check_cuts(dictionary: Dictionary | None, columns: list[str], terms: Terms | None) -> None:
    """Raise `DataProblem` if a column that the task's dictionary cuts is cut again, or has a spline: their difference is what is between two thresholds."""
    splines = [] if terms is None else [factor for factor in terms.factors.values() if factor.spline is not None]
    chosen = {factor.columns[0]: factor.name for factor in splines}
    for name in columns:
        entry = None if dictionary is None else dictionary.columns.get(name)
        if entry is not None and entry.cut is not None and chosen.setdefault(entry.cut.column, name) != name:
            other = chosen[entry.cut.column]
            raise DataProblem(f"features '{other}' and '{name}' have thresholds of one column; choose one of them")


def check_rewritten(dictionary: Dictionary | None, frame: Any, columns: list[str], minimum_count: int) -> None:
    """Raise `DataProblem` naming a recoded or cut column that few records carry beside its median, or two columns that differ in few records."""
    entries = {} if dictionary is None else dictionary.columns
    made = [name for name in columns if name in entries and (entries[name].recode or entries[name].cut is not None)]
    for name in made:
        if frame[name].dtype.kind in "iuf":
            values = as_numbers(frame[name])
            if is_narrow((values - np.median(values))[:, None], minimum_count):
                raise DataProblem(
                    f"feature '{name}' is recoded to values that fewer records than this node reveals carry; recode it in another way"
                )
    check_near_duplicates(frame, columns, made, minimum_count)


def check_near_duplicates(frame: Any, columns: list[str], rewritten: Collection[str], minimum_count: int) -> None:
    """Refuse two columns that differ in few records.

    Compared are any two numbers, cell by cell; any two columns of categories or of two values, by what belongs together; and every column that the task's
    dictionary rewrites with all others, in the same way.

    Parameters
    ----------
    frame : DataFrame
        Without gaps.
    columns : list of str
        Which of its columns.
    rewritten : collection of str
        Those that the task recodes or cuts.
    minimum_count : int
        Of the node.

    Raises
    ------
    DataProblem
        Naming both.
    """
    numbers = {name: as_numbers(frame[name]) for name in columns if _is_number(frame[name])}
    plain = [name for name in columns if name not in numbers or len(np.unique(numbers[name])) == 2]
    levels: dict[str, tuple[npt.NDArray[np.int_], int]] = {}
    for one, other in combinations(columns, 2):
        apart = one in numbers and other in numbers and few(np.sum(numbers[one] != numbers[other]), minimum_count)
        if not apart and ({one, other} <= set(plain) or {one, other} & set(rewritten)):
            for name in {one, other} - set(levels):
                levels[name] = _levels(frame[name])
            apart = _differ_in_few(levels[one], levels[other], minimum_count)
        if apart:
            raise DataProblem(
                f"features '{one}' and '{other}' differ in fewer records than this node reveals; leave one of them out"
            )


def _is_number(column: Any) -> bool:
    return bool(column.dtype.kind in "iuf")


def _levels(column: Any) -> tuple[npt.NDArray[np.int_], int]:
    """Return the category of every record, (records,), and how many there are."""
    kinds, codes = np.unique(as_texts(column).astype(str), return_inverse=True)
    return codes.astype(np.int_), len(kinds)


def _differ_in_few(
    left: tuple[npt.NDArray[np.int_], int], right: tuple[npt.NDArray[np.int_], int], minimum_count: int
) -> bool:
    """Say whether some categories of two columns together are the same records but for few."""
    (one, ones), (two, twos) = left, right
    if max(ones, twos) > MOST_CATEGORIES:
        return False
    table = np.zeros((ones, twos), dtype=np.int_)
    np.add.at(table, (one, two), 1)
    return bool(few(_crossing(table, minimum_count), minimum_count))


def _crossing(table: npt.NDArray[np.int_], minimum_count: int) -> npt.NDArray[np.int_]:
    """Return for every group of rows and columns of a table that large cells join how many records are in one of its rows or columns but not in both."""
    rows, columns = np.nonzero(table >= minimum_count)
    size = len(table) + table.shape[1]
    links = coo_array((np.ones(len(rows)), (rows, columns + len(table))), shape=(size, size))
    count, group = connected_components(links, directed=False)
    inside = np.array([group[: len(table)] == place for place in range(count)])
    beside = np.array([group[len(table) :] == place for place in range(count)])
    both = np.einsum("gr,rc,gc->g", inside.astype(np.int_), table, beside.astype(np.int_))
    return np.asarray(inside @ table.sum(axis=1) + beside @ table.sum(axis=0) - 2 * both, dtype=np.int_)
