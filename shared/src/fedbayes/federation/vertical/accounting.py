"""What one record can change in tables of common records, and the statement of a noisy answer."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...dp.laws import Change

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


def change_of(tables: Sequence[Sequence[int]]) -> Change:
    """Return what one record with other values changes in a batch of tables.

    Parameters
    ----------
    tables : sequence of sequences of int
        The states along each axis of every table.

    Notes
    -----
    A record leaves one cell of a table and enters another: 2 in the L1 norm and the root of 2 in the L2 norm; the squares of the latter add up over the tables.
    """
    moved = sum(table_sensitivity(states) for states in tables)
    return Change(float(moved), math.sqrt(moved), sum(math.prod(states) for states in tables))


def trusted_fraction(stations: Sequence[int], aggregator: int, honest_fraction: float) -> float:
    """Return the part of the stations whose noise must suffice: without that of the station of central, which it knows."""
    parties = len(stations)
    return min(honest_fraction, (parties - 1) / parties) if aggregator in stations else honest_fraction
