"""What one record can change in tables of common records, and the statement of a noisy answer.

Which records are common is known to all stations and their number to everyone, so a neighbour has other values in one record (`replace_one`), or none
(`zero_out`), not a record more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...dp.laws import Change
from ...dp.shares import honest_parties
from ...typing import Floats, Integers
from ..errors import StationError

NUMBERS = 64
"""Bits of the ring of products of numbers; counts have fewer."""
REPLACE_ONE = "replace_one"
"""What is promised unless the caller chooses the weaker `zero_out`."""


def table_sensitivity(states: Sequence[int], neighbors: str) -> int:
    """Return by how much the cells of one table change in all when one record's values change.

    Parameters
    ----------
    states : sequence of int
        States along each axis; a table of one cell counts records, and a record can only leave it or enter it.
    neighbors : str
        ``replace_one``: it leaves one cell and enters another; ``zero_out``: it leaves one.
    """
    return 2 if neighbors == REPLACE_ONE and math.prod(states) > 1 else 1


def change_of(tables: Sequence[Sequence[int]], neighbors: str) -> Change:
    """Return what one record changes in a batch of tables.

    Parameters
    ----------
    tables : sequence of sequences of int
        The states along each axis of every table.
    neighbors : str
        ``replace_one`` or ``zero_out``.

    Notes
    -----
    A record that leaves one cell of a table and enters another changes it by 2 in the L1 norm and the root of 2 in the L2 norm, one that is erased by 1 in
    both; the squares of the latter add up over the tables.
    """
    moved = sum(table_sensitivity(states, neighbors) for states in tables)
    return Change(float(moved), math.sqrt(moved), sum(math.prod(states) for states in tables))


def questions(holders: Sequence[Sequence[int]], cells: Sequence[int]) -> int:
    """Return how many of a batch's tables are questions: a count that leaves out what one station says of another count belongs to that one, once.

    Parameters
    ----------
    holders : sequence of sequences of int
        Stations whose columns each table is about.
    cells : sequence of int
        Of every table; a count has one.
    """
    counts = [frozenset(stations) for stations, size in zip(holders, cells, strict=True) if size == 1]
    beside = {part for part in counts if any(part < whole and len(whole - part) == 1 for whole in counts)}
    return len(holders) - len(beside)


def check_possible(counts: Integers, cells: Floats, records: int) -> None:
    """Check that exact tables of counts are not negative and no more than the records in all.

    Parameters
    ----------
    counts : int64 array, shape (cells of all tables,)
        The tables, flat.
    cells : float array, shape (tables,)
        Of every table.
    records : int
        In all.

    Raises
    ------
    StationError
        If they cannot be counts: somebody dealt, opened or shared something wrong, which is noticed where it is gross.
    """
    starts = (np.cumsum(cells) - cells).astype(np.int64)
    if counts.min(initial=0) < 0 or (np.add.reduceat(counts, starts) > records).any():
        raise StationError(
            "the shares add up to counts that cannot be: an organization deals or shares wrongly; the job stops"
        )


def noise_parties(stations: int, helper: bool, honest_fraction: float) -> int:
    """Return how many organizations add noise: the stations, and a helper where one more then counts, so that as many as without it may deviate.

    Raises
    ------
    ValueError, UntrustedFraction
        As `dp.shares.honest_parties`.
    """
    more = honest_parties(stations + 1, honest_fraction) - honest_parties(stations, honest_fraction)
    return stations + 1 if helper and more else stations
