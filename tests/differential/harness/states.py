"""The states that stations with vertically split data make of columns, and when they must refuse to."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from hypothesis import strategies as st

from . import wild
from .cases import Case
from .records import Refusals, expected_cuts, is_numeric, number, owner_of, place_of

MOST_EPSILON = 20.0
FEW_VALUES = 10
"""So many different numbers of a column are categories, if nothing else is said of it."""


def is_private(case: Case) -> bool:
    """Return whether the answer is noisy: then nothing may be refused because of data."""
    return case.arguments.get("epsilon") is not None


def is_covered(case: Case) -> bool:
    """Return whether noise stands in for the guards of exact answers: there is some, of an epsilon that may be called private."""
    return 0 < (case.arguments.get("epsilon") or 0) <= MOST_EPSILON


def few(sides: Any, case: Case) -> bool:
    """Return whether a group of records is small and not empty."""
    return any(0 < side < case.limit("minimum_count", 5) for side in sides)


@st.composite
def drawn_states(draw: Any, people: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Draw `domain` and `bins`; what bites as a missing text is always public."""
    domain: dict[str, Any] = {}
    bins: Any = draw(st.sampled_from([None, None, "quantile", "published", 3, "dict"]))
    chosen: dict[str, Any] = {}
    for name in names:
        if people["kinds"][name] == "category":
            states = people["states"][name] or sorted({cell for cell in people["columns"][name] if cell})
            bites = {"None", "NA", "NULL", "n/a", "nan", "NaN", "inf", "Infinity"} & set(states)
            if bites or draw(st.booleans()):
                domain[name] = {"categories": draw(st.permutations(states))}
            continue
        values = [float(cell) for cell in people["columns"][name] if cell is not None] or [0.0]
        if draw(st.booleans()):
            low, high = min(values), max(values)
            margin = max(1.0, wild.NARROWEST * max(abs(low), abs(high)))
            domain[name] = {"bounds": [low - margin, high + margin]}
        elif bins == "dict":
            cuts = sorted({float(np.quantile(values, share)) for share in (0.3, 0.7)})
            chosen[name] = draw(st.sampled_from([cuts, 2, "quantile", "published"]))
    arguments: dict[str, Any] = {"domain": domain} if domain else {}
    if bins == "dict":
        return arguments | ({"bins": chosen} if chosen else {})
    return arguments | ({} if bins is None else {"bins": bins})


def state_refusals(case: Case, columns: list[str]) -> Refusals:
    """Return why the owner of a column must refuse to make states of it."""
    refuse: Refusals = []
    if is_private(case):
        without = [column for column in columns if not _is_public(case, column)]
        if without:
            return [("ArgumentError", f"{without[0]!r} has no public states")]
        around = (
            []
            if is_covered(case)
            else [column for column in columns if _cut_around(case, column, _cells(case, column))]
        )
        return [("ThresholdError", f"the cut points of {around[0]!r} leave few records on a side")] if around else []
    for column in columns:
        cells = _cells(case, column)
        if not refuse and _cut_around(case, column, cells):
            refuse.append(("ThresholdError", f"the cut points of {column!r} leave few records on a side"))
        if _lists_few(case, column, cells):
            refuse.append(("ThresholdError", f"the states of {column!r} would list what few records have"))
        if all(cell is None for cell in cells):
            refuse.append(("DataProblem", f"{column!r} has no value"))
        elif None in cells and not case.arguments.get("missing_state", True):
            refuse.append(("DataProblem", f"{column!r} has gaps"))
        entry = (case.arguments.get("domain") or {}).get(column, {})
        rule = case.arguments.get("bins", "quantile")
        named = isinstance(rule, dict) and column in rule
        if not is_numeric(cells) and ("bounds" in entry or (named and "categories" not in entry)):
            refuse.append(("DataProblem", f"{column!r} is text"))
        if "categories" in entry and any(
            cell is not None and place_of(cell, entry["categories"], None) is None for cell in cells
        ):
            refuse.append(("DataProblem", f"{column!r} holds a value outside its categories"))
    return refuse


def _lists_few(case: Case, column: str, cells: list[Any]) -> bool:
    """Whether states that are found, one a value, would in good part be those of few of their owner's records each."""
    entry, bins = (case.arguments.get("domain") or {}).get(column), case.arguments.get("bins")
    if entry or (isinstance(bins, dict) and column in bins):
        return False
    numeric = is_numeric(cells)
    sizes = Counter(number(cell) if numeric else cell.strip() for cell in cells if cell is not None).values()
    least = case.limit("minimum_count", 5)
    return least > 1 and not (numeric and len(sizes) > FEW_VALUES) and sum(size < least for size in sizes) >= least


def _cells(case: Case, column: str) -> list[Any]:
    owner = owner_of(case, column)
    return [] if owner is None else list(case.stations()[owner][column])


def entry_of(case: Case, column: str) -> tuple[dict[str, Any], Any]:
    """Return a column's public domain and its rule for bins; with noise a rule by name means five bins of equal width."""
    entry = (case.arguments.get("domain") or {}).get(column, {})
    rule = case.arguments.get("bins", "quantile")
    rule = rule.get(column) if isinstance(rule, dict) else rule
    return entry, "width" if is_private(case) and not isinstance(rule, list | int) else rule


def _is_public(case: Case, column: str) -> bool:
    entry, rule = entry_of(case, column)
    return bool(entry) or isinstance(rule, list)


def cut_in_study(case: Case, column: str, cells: list[Any]) -> bool:
    """Return whether the dictionary cuts a column from a number, and leaves an interval or a side with a few of a station's records."""
    entry = case.facts.get("dictionary", {}).get("columns", {}).get(column, {})
    if "cut" not in entry:
        return False
    places = [place_of(cell, entry["categories"], None) for cell in cells if cell is not None]
    return few_beside(
        np.array([place for place in places if place is not None], dtype=int), len(entry["cut"]["at"]), case
    )


def few_beside(intervals: Any, cuts: int, case: Case) -> bool:
    """Return whether an interval, or a side of a cut point, has a few records; `intervals`: the number of each record's."""
    sizes = np.bincount(intervals, minlength=cuts + 1)
    below = np.cumsum(sizes)[:-1]
    return few([*sizes, *below, *(len(intervals) - below)], case)


def _cut_around(case: Case, column: str, cells: list[Any]) -> bool:
    """Return whether given cut points, or equal widths of given bounds, leave a bin or a side with a few of its owner's records."""
    if cut_in_study(case, column, cells):
        return True
    entry, rule = entry_of(case, column)
    values = [number(cell) for cell in cells if cell is not None]
    if "categories" in entry or None in values or not values:
        return False
    if not isinstance(rule, list) and not ("bounds" in entry and (rule in (None, "width") or isinstance(rule, int))):
        return False
    cuts = expected_cuts(rule, values, entry.get("bounds"), len(cells)) or []
    bins = [sum(cut <= value for cut in cuts) for value in values if value is not None]
    return few_beside(np.array(bins, dtype=int), len(cuts), case)


def known(case: Case, records: dict[str, dict[str, Any]], axes: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the records in which, with noise, what is in no state is missing."""
    if not is_private(case):
        return records
    known = {}
    for name, record in records.items():
        known[name] = dict(record)
        for axis in axes:
            if place_of(record[axis["column"]], axis["labels"], axis["cuts"]) is None:
                known[name][axis["column"]] = None
    return known
