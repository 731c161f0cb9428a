"""What methods over whole records leave to the plan where the researcher does not say: from public facts alone, never from data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fedbayes.bayes.schema import Column

from ..declare import When, argument
from ..kinds import whole

MOST_ROWS = 10**12
"""More than any federation has."""
USUAL_ROWS = 10_000
"""Rows that are taken where the caller does not say."""
WIDE = 1_000.0
"""Range of a column's bounds from which on values are taken to be mostly small and seldom large, as amounts are: bins are logarithmic."""
FARTHEST = 2.0**43
"""Low bound up to which floats are a thousandth of one apart."""


def rows_in_all(used_when: When | tuple[When, ...]) -> Any:
    """Return the field of the rows that bins are chosen for."""
    words = f"About how many rows there are in all, as far as that is public; bins are chosen for {USUAL_ROWS:,} when left out."
    return argument(whole(1, MOST_ROWS), words, None, used_when=used_when, unit="rows")


def is_wide(column: Column) -> bool:
    """Whether the bins of a numeric column are logarithmic.

    Of a range that begins beyond `FARTHEST`, as that of moments in nanoseconds, they are equal: there floats do not tell a scale of ones.
    """
    low, high = column.bounds or (0.0, 0.0)
    return high - low >= WIDE and abs(low) <= FARTHEST


def numbers_of_bins(bins: Mapping[str, Any]) -> dict[str, int]:
    """Return how many bins each numeric feature has, of rules as `check_bins` gives them."""
    return {name: rule if isinstance(rule, int) else len(rule) + 1 for name, rule in bins.items()}


def left_to_the_plan(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was chosen and why, for results and plans; empty where nothing was."""
    return {**chosen, "from": "domain, budget and rows as given, never data"} if chosen else {}
