"""Which organizations are behind each member."""

from __future__ import annotations

from typing import Any

from fedbayes.federation import Federation
from fedbayes.federation.errors import ArgumentError


def groups_of(federation: Federation, members: Any, stations: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    """Return the name and the organizations of each member.

    Raises
    ------
    ArgumentError
        A group names an unknown organization or one without data, two groups overlap, or an organization is in none.
    """
    if members == "party":
        return {federation.name(station): (station,) for station in stations}
    named = list(members.items()) if isinstance(members, dict) else [(None, group) for group in members]
    groups: dict[str, tuple[int, ...]] = {}
    for name, group in named:
        chosen = federation.resolve(list(group), "members")
        outside = [federation.name(member) for member in chosen if member not in stations]
        if outside:
            raise ArgumentError(f"members: {outside[0]} does not take part or holds no data of this task; leave it out")
        groups[name or "+".join(federation.name(member) for member in chosen)] = chosen
    everyone = [member for group in groups.values() for member in group]
    if len(everyone) != len(set(everyone)) or len(groups) != len(named):
        raise ArgumentError("members: groups must not overlap; name each organization in one group")
    left = [federation.name(station) for station in stations if station not in everyone]
    if left:
        federation.warn(f"without a vote, as they are in no group: {', '.join(left)}")
    return groups
