"""What is left to the plan: rounds and bins of a private fit, chosen from public facts alone, never from data.

The facts are the domain, the budget, the kind of model, and about how many rows there are, if the caller says so. The rules were chosen on parts of
Adult's training rows and held against all of their choices on other sets (`tests/benchmarks/test_left_to_the_plan.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fedbayes.dp.gaussian import mu_of
from fedbayes.federation.horizontal import Columns
from fedbayes.federation.horizontal.planning import USUAL_ROWS, is_wide, left_to_the_plan, numbers_of_bins

from .terms import fits_values

EXACT_ROUNDS, AVERAGED_ROUNDS, PRIVATE_ROUNDS = 40, 17, 8
"""Most steps by exact gradients, which stop where they have converged; of averaged improvements; with noise, where each further step makes that of all
wider."""
USUALLY_CONVERGED = 22
"""Steps by exact gradients after which the objective has usually converged: 9 to 26 on six sets of 150 to 20,000 rows with 4 to 30 numbers."""
USUAL_BINS = 10
"""Of exact fits."""
FEWEST_BINS, FEW_BINS, MANY_BINS = 4, 8, 16
"""Of private fits, the last where the rows stand far out of the noise; fewer where more would make too large a model for steps by terms (`terms.MOST_WORK`),
which learn more: of 64 numbers and ten classes, 4 bins are better than 8 and 16 with 1,400 rows and with 29,000."""
FAR_OUT = 5_000.0
"""Rows times mu (what the budget allows, see `fedbayes.dp.gaussian`) from which on more bins pay."""


def usual_rounds(epsilon: float | None, optimizer: str, structure: str) -> int:
    """Return the most steps of a fit unless the caller says."""
    if optimizer == "secure_gradient" and epsilon is None:
        return EXACT_ROUNDS
    return PRIVATE_ROUNDS if (optimizer, structure) == ("secure_gradient", "naive") else AVERAGED_ROUNDS


def usual_bins(columns: Columns, epsilon: float | None, delta: float, rows: int | None) -> Any:
    """Return the bins of numeric features unless the caller says: a number, or {feature: number, edges or logarithmic scale}."""
    if epsilon is None:
        return USUAL_BINS
    most = MANY_BINS if mu_of(epsilon, delta) * (rows or USUAL_ROWS) >= FAR_OUT else FEW_BINS
    numbers = [number for number in (MANY_BINS, FEW_BINS, FEWEST_BINS) if number <= most]
    choices = [_cut(columns, number) for number in numbers]
    return next((bins for bins in choices if fits_values(columns.classes, _values(columns, bins))), choices[0])


def _cut(columns: Columns, number: int) -> dict[str, Any]:
    """Return the bins of every numeric feature, about so many."""
    bounds = {name: columns.schema[name].bounds for name in columns.features}
    return {name: _bins(columns, name, number) for name, both in bounds.items() if both is not None}


def _values(columns: Columns, bins: Mapping[str, Any]) -> int:
    """Return the number of values of all features together, in these bins."""
    features = [columns.schema[name] for name in columns.features]
    return sum(len(one.edges(bins[one.name])) - 1 if one.name in bins else one.cardinality for one in features)


def _bins(columns: Columns, name: str, number: int) -> Any:
    """Return the bins of one feature: of wide ranges logarithmic ones, and where there are many also half as many equal ones."""
    column = columns.schema[name]
    if not is_wide(column):
        return number
    if number < MANY_BINS:
        return {"log": number}
    both = {float(edge) for rule in ({"log": number}, number // 2) for edge in column.edges(rule)[1:-1]}
    return sorted(both)


def choices(rounds: int, bins: Mapping[str, Any], given: Mapping[str, bool], clip: float | None) -> dict[str, Any]:
    """Return what was chosen, for results and plans, and why; empty where the caller said everything."""
    settled: dict[str, Any] = {"rounds": rounds, "bins": numbers_of_bins(bins), "clip": clip}
    return left_to_the_plan(
        {name: value for name, value in settled.items() if not given[name] and value not in (None, {})}
    )
