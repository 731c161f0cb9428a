"""The members of a job as its first round shows them: their roles and limits, and what follows from these before anything is debited."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from ..errors import ThresholdError, too_few, too_few_with_data
from ..node import limits
from ..perimeter.opening import OpenReply, Parties, Preflight


class Nodes:
    """Roles and limits of a job's members; of none before the first round.

    Parameters
    ----------
    parties : Parties, optional
        Who has which role.
    replies : dict of int to OpenReply, optional
        What they told of their limits.
    """

    def __init__(self, parties: Parties | None = None, replies: Mapping[int, OpenReply] | None = None) -> None:
        self._members: dict[int, dict[str, Any]] = {}
        for member, reply in (replies or {}).items():
            if parties is not None:
                self._members[member] = {"role": parties.role(member), "limits": limits.read(reply.policy.value)}

    def named(self, name: Callable[[int], str]) -> dict[str, dict[str, Any]]:
        """Return role and limits by the members' names, for the result."""
        return {name(member): node for member, node in self._members.items()}

    @property
    def minimum_count(self) -> int:
        """Smallest count of records that all stations of the task allow to be shown; a helper has no records."""
        stations = [node["limits"] for node in self._members.values() if node["role"] == "station"]
        return max((int(limit["minimum_count"]) for limit in stations), default=0)

    def demanded(self, members: Collection[int]) -> int:
        """Return how many organizations some of the members demand, at least."""
        limits_of = [self._members[member]["limits"] for member in members if member in self._members]
        return max((int(limit["minimum_organizations"]) for limit in limits_of), default=0)

    def check_enough(self, preflight: Preflight | None, parties: Parties, least: int) -> None:
        """Refuse a job of fewer organizations than a node, or central's, which demands `least`, wants in it, or in what it is to add up.

        Raises
        ------
        ThresholdError
            If there are too few, or too few with data for the sums that the job announces.
        """
        least = max(least, self.demanded(parties.members))
        if len(parties.members) < least:
            raise ThresholdError(too_few("a node", least))
        if preflight is None or not (preflight.everywhere and preflight.summed):
            return
        if not preflight.private:
            self.check_with_data(parties.stations, least)
        if (
            preflight.honest_fraction > 0.0 and len(parties.stations) > 1
        ):  # noise in shares, under masks; methods tell of one alone
            self.check_summable(parties.stations)

    def check_with_data(self, stations: Collection[int], least: int = 0) -> None:
        """Refuse exact sums over whole or united records of fewer stations than one of them demands organizations, or than `least`; `ThresholdError`."""
        least = max(least, self.demanded(stations))
        if len(stations) < least:
            raise ThresholdError(too_few_with_data("a node", least))

    def check_summable(self, stations: Collection[int], having: str = "data") -> None:
        """Refuse a sum over some stations, before they debit it, that is one station's own numbers, or that a node would not mask.

        Parameters
        ----------
        stations : collection of int
            Who is to be asked.
        having : str
            What they have, in the words of the error.

        Raises
        ------
        ThresholdError
            If there are fewer than two, or than one of them demands.
        """
        least = max(2, self.demanded(stations))
        if len(stations) < least:
            raise ThresholdError(
                f"too few organizations for a secure sum, which needs {least} or more with {having}; include more of them (nothing was asked)"
            )
