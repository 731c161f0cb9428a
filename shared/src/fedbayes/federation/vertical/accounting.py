"""What one record can change in tables of common records, and the statement of a noisy answer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

NEIGHBORS = "replace_one"
"""Which records are common is known to all stations and their number to everyone, so a neighbour has other values in one record, not a record more."""


def table_sensitivity(states: Sequence[int]) -> int:
    """Return by how much the cells of one table change in all when one record's values change: it leaves one cell and enters another.

    Parameters
    ----------
    states : sequence of int
        States along each axis; a table of one cell counts records, and a record can only leave it or enter it.
    """
    return 1 if math.prod(states) == 1 else 2


def sensitivity_of(tables: Sequence[Sequence[str]], states: Mapping[str, int]) -> int:
    """Return the sensitivity (sum of absolute changes) of a batch of tables over factors with so many states."""
    return sum(table_sensitivity([states[name] for name in table]) for table in tables)
