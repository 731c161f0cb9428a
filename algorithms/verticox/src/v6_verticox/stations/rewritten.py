"""Columns of one fit that together set few records apart: those that the task's dictionary rewrites, and any two of categories or of two values.

A threshold beside another of the same column, or beside an indicator that a station has, spans what is between the two; so do two indicators that a
station has: of two columns that differ in one record the coefficients are that record's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbayes.bayes.dictionary import Dictionary
from fedbayes.bayes.formula import as_numbers
from fedbayes.bayes.terms import Terms
from fedbayes.federation.errors import DataProblem

from ..cox.narrow import is_narrow
from .near_duplicates import check_near_duplicates


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
