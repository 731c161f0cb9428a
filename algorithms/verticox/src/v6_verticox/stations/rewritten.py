"""Columns that the task's dictionary rewrites, by recodes and cuts: its caller chooses them, so they must set no few records apart.

A threshold beside another of the same column, or beside an indicator that a station has, spans what is between the two.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from fedbayes.bayes.dictionary import Dictionary
from fedbayes.bayes.formula import as_numbers, as_texts
from fedbayes.bayes.terms import Terms
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
    """Raise `DataProblem` naming a recoded or cut column that few records carry beside its median, or that differs from another in few records."""
    entries = {} if dictionary is None else dictionary.columns
    made = [name for name in columns if name in entries and (entries[name].recode or entries[name].cut is not None)]
    for name in made:
        if frame[name].dtype.kind in "iuf":
            values = as_numbers(frame[name])
            if is_narrow((values - np.median(values))[:, None], minimum_count):
                raise DataProblem(
                    f"feature '{name}' is recoded to values that fewer records than this node reveals carry; recode it in another way"
                )
        for other in columns:
            if other != name and _differ_in_few(frame[name], frame[other], minimum_count):
                raise DataProblem(
                    f"features '{name}' and '{other}' differ in fewer records than this node reveals; leave one of them out"
                )


def _differ_in_few(left: Any, right: Any, minimum_count: int) -> bool:
    """Say whether some categories of two columns together are the same records but for few."""
    levels = [
        np.unique(as_texts(column).astype(str), return_inverse=True, return_counts=True) for column in (left, right)
    ]
    if any(len(counts) > MOST_CATEGORIES for _, _, counts in levels):
        return False
    (_, one, ones), (_, two, twos) = levels
    table = np.zeros((len(ones), len(twos)), dtype=np.int_)
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
