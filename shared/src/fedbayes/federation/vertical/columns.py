"""Where each column lives, and its states: what central reads of the stations' first replies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from ...bayes.values.names import nearest
from ..errors import ArgumentError
from ..rounds import Federation
from .engine import Engine
from .messages import Setup
from .opening import FOLDS
from .roles import at_two_stations
from .states import ColumnStates, public_states


def at_no_station(federation: Federation, column: str) -> str:
    """Return the words of an error about a column that nobody has, with the dictionary's column that is written nearly so."""
    return (
        f"column '{column}' is at no station that takes part, or may not be used there{nearest_listed(federation, column)}; "
        "check the name, or leave it out"
    )


def nearest_listed(federation: Federation, column: str) -> str:
    """Return the question whether the dictionary's column that is written nearly so was meant; empty where there is none."""
    listed = (federation.dictionary or {}).get("columns", {})
    return nearest(column, [name for name in listed if name != column])


def locate(federation: Federation, engine: Engine, columns: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Return where every column lives.

    Raises
    ------
    ArgumentError
        If one is at no station, or at two (unless records are united).
    """
    owners: dict[str, tuple[int, ...]] = {}
    for column in columns:
        holders = tuple(member for member, reply in engine.replies.items() if column in reply.columns.value)
        if not holders:
            raise ArgumentError(at_no_station(federation, column))
        if len(holders) > 1 and not engine.setup.union:
            raise at_two_stations(federation, column, holders)
        owners[column] = holders
    used = {member for column, holders in owners.items() if not column.startswith(FOLDS) for member in holders}
    for member in engine.setup.stations:
        if member not in used:
            federation.warn(
                f"{federation.name(member)} holds none of the columns; only records that it has too are counted"
            )
    return owners


def sharing_pairs(federation: Federation, setup: Setup, owners: dict[str, tuple[int, ...]]) -> list[tuple[int, int]]:
    """Return the pairs of stations that hold the same column, and tell what that means under an epsilon."""
    several = [name for name, holders in owners.items() if len(holders) > 1]
    if setup.private and several:
        federation.warn(
            f"several stations hold {', '.join(several)}: with an epsilon a record that two of them have is counted by the first one's row "
            "alone; where they hold the same people, leave these columns out at one of them"
        )
    return sorted({pair for name in several for pair in combinations(owners[name], 2)})


def states_at(
    federation: Federation, setup: Setup, owners: dict[str, tuple[int, ...]], by_station: dict[int, dict[str, Any]]
) -> dict[str, ColumnStates]:
    """Return the states of every column: those that its owners tell, or the public ones.

    Parameters
    ----------
    federation, setup
        As of `SecureTables.open`.
    owners : dict of str to tuple of int
        As `locate` returns.
    by_station : dict of int to dict
        Station -> column -> its states, plain JSON.

    Raises
    ------
    ArgumentError
        If two owners tell other states.
    """
    columns = {}
    for name, holders in owners.items():
        entries = [by_station[member].get(name) for member in holders]
        candidates = [ColumnStates.from_json(name, entry, holders) for entry in entries if entry is not None]
        candidates = candidates or [
            replace(public_states(name, setup.domain, setup.bins, setup.missing_state), owners=holders)
        ]
        if any(other.labels != candidates[0].labels for other in candidates):
            raise ArgumentError(f"domain: column '{name}' is at several stations; give its categories or cut points")
        columns[name] = candidates[0]
    private = sorted(name for name, states in columns.items() if not states.public)
    if private:
        federation.warn(
            f"states or bins were found in the data and are revealed: {', '.join(private)}; to avoid it give categories (in the "
            "domain) for texts, and for numbers bounds (there) with a number of bins, 'width' or cut points"
        )
    return columns
