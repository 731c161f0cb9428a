"""What is left to the plan: rounds and bins of a private fit, chosen from public facts alone, never from data.

The facts are the domain, the budget, the kind of model, and about how many rows there are, if the caller says so. The rules were chosen on parts of
Adult's training rows and held against all of their choices on other sets (`tests/benchmarks/test_left_to_the_plan.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fedbayes.dp.gaussian import mu_of
from fedbayes.federation.horizontal import Columns

EXACT_ROUNDS, PRIVATE_ROUNDS = 17, 8
"""Steps without noise, and with it: there each further step makes the noise of all wider."""
USUAL_BINS = 10
"""Of exact fits."""
FEW_BINS, MANY_BINS = 8, 16
"""Of private fits, the second where the rows stand far out of the noise."""
USUAL_ROWS = 10_000
"""Rows that are taken where the caller does not say."""
FAR_OUT = 5_000.0
"""Rows times mu (what the budget allows, see `fedbayes.dp.gaussian`) from which on more bins pay."""
WIDE = 1_000.0
"""Range of a column's bounds from which on values are taken to be mostly small and seldom large, as amounts are: bins are logarithmic."""


def usual_rounds(epsilon: float | None, optimizer: str, structure: str) -> int:
    """Return the steps of a fit unless the caller says."""
    return (
        PRIVATE_ROUNDS
        if epsilon is not None and (optimizer, structure) == ("secure_gradient", "naive")
        else EXACT_ROUNDS
    )


def usual_bins(columns: Columns, epsilon: float | None, delta: float, rows: int | None) -> Any:
    """Return the bins of numeric features unless the caller says: a number, or {feature: number, edges or logarithmic scale}."""
    if epsilon is None:
        return USUAL_BINS
    number = MANY_BINS if mu_of(epsilon, delta) * (rows or USUAL_ROWS) >= FAR_OUT else FEW_BINS
    bounds = {name: columns.schema[name].bounds for name in columns.features}
    return {name: _bins(columns, name, number) for name, both in bounds.items() if both is not None}


def _bins(columns: Columns, name: str, number: int) -> Any:
    """Return the bins of one feature: of wide ranges logarithmic ones, and where there are many also half as many equal ones."""
    column = columns.schema[name]
    low, high = column.bounds or (0.0, 0.0)
    if high - low < WIDE:
        return number
    if number < MANY_BINS:
        return {"log": number}
    both = {float(edge) for rule in ({"log": number}, number // 2) for edge in column.edges(rule)[1:-1]}
    return sorted(both)


def told(rounds: int, bins: Mapping[str, Any], given: Mapping[str, bool], clip: float | None) -> dict[str, Any]:
    """Return what was chosen, for results and plans, and why; empty where the caller said everything."""
    numbers = {name: rule if isinstance(rule, int) else len(rule) + 1 for name, rule in bins.items()}
    found: dict[str, Any] = {"rounds": rounds, "bins": numbers, "clip": clip}
    chosen = {name: value for name, value in found.items() if not given[name] and value not in (None, {})}
    return {**chosen, "from": "domain, budget and rows as they were told, never data"} if chosen else {}
