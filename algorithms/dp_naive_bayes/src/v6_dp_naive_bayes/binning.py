"""What is left to the plan: bins of numbers, and groups of states that are numbers, chosen from public facts alone, never from data.

The facts are the domain, the noise that the budget makes in a cell, and about how many rows there are, if the caller says so. A sum over features adds up
the noise of all, so that what counts is how far the rows of a class stand out of the noise of a cell, over the number of features. The limits were
chosen on parts of Adult's training rows and on scikit-learn's digits, and are held against other choices (`tests/benchmarks/test_bins_of_the_plan.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from fedbayes.bayes.naive_bayes.counting import DEFAULT_BINS
from fedbayes.bayes.schema import Column
from fedbayes.federation.horizontal import check_bins
from fedbayes.federation.horizontal.planning import USUAL_ROWS, is_wide, left_to_the_plan, numbers_of_bins

from .model import Plan

CHOICES = ((0.5, 2), (1.0, 4), (1.5, 8))
"""Below so many rows of a class over the noise of a cell and the number of features: so many bins; else as many as without noise."""
STANDS_OUT = 2.0
"""Deviations of the noise below which the mean count of a state does not stand out of it."""


def chosen(plan: Plan, rows: int | None) -> Plan:
    """Return the plan with bins and groups for its noise, which no data decide.

    Parameters
    ----------
    plan : Plan
        With the noise that will be added, in bins of which the noise does not depend.
    rows : int or None
        About how many rows there are in all; `USUAL_ROWS` where nobody says.
    """
    number = _number(plan, rows or USUAL_ROWS)
    schema = plan.columns.schema
    bins = {name: _rule(schema[name], number) for name in plan.columns.features if not schema[name].is_categorical}
    return replace(plan, bins=check_bins(plan.columns, bins), groups=_groups(plan, number, rows or USUAL_ROWS))


def choices(plan: Plan) -> dict[str, Any]:
    """Return what was chosen, for results and plans; empty where nothing was."""
    parts = (("bins", numbers_of_bins(plan.bins)), ("groups of states", dict(plan.groups)))
    return left_to_the_plan({name: value for name, value in parts if value})


def _number(plan: Plan, rows: int) -> int:
    """Return how many bins every numeric feature has."""
    if not plan.noise.private or plan.published or not plan.tabled:
        return DEFAULT_BINS
    noise = plan.deviations(1)[0] * plan.columns.classes * len(plan.columns.features)
    return next((number for limit, number in CHOICES if rows < limit * noise), DEFAULT_BINS)


def _rule(column: Column, number: int) -> Any:
    return {"log": number} if number < DEFAULT_BINS and is_wide(column) else number


def _groups(plan: Plan, number: int, rows: int) -> dict[str, int]:
    """Return the groups of categorical features whose states are numbers, more than there would be bins, whose mean counts do not stand out of the noise."""
    if number == DEFAULT_BINS:
        return {}
    noise, found = plan.deviations(1)[0], {}
    for name in plan.columns.features:
        states = plan.columns.schema[name].categories or ()
        drowned = rows < STANDS_OUT * noise * plan.columns.classes * len(states)
        if len(states) > number and drowned and _are_in_order(states):
            found[name] = number
    return found


def _are_in_order(states: Sequence[Any]) -> bool:
    """Return whether states are numbers that increase."""
    numbers = all(isinstance(state, (int, float)) and not isinstance(state, bool) for state in states)
    return numbers and all(low < high for low, high in pairwise(states))
