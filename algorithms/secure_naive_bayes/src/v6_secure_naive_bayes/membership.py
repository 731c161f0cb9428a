"""Joins and leaves without telling everyone the new number of parties: Algorithm 1, with the branch that it
lacks.

Party k sizes its noise by u_k instead of by n. As long as every u_k is in (n/2, n], the noise is at least one
full term and less than about two, and a join or a leave changes the u of at most two parties.

References
----------
.. [1] M. Huai et al., "Privacy-Preserving Naive Bayes Classification", KSEM 2015, section 4.3, Algorithm 1,
   theorem 2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

FORMAT = "fedbayes.membership/1"
IDENTIFIER = re.compile(r"[1-9][0-9]{0,17}")


@dataclass(frozen=True)
class Membership:
    """Who takes part, and by which number each party sizes its noise.

    Attributes
    ----------
    uses : dict of int to int
        Organization -> u_k. The values are always those of `initial_uses` in some order.
    epoch : int
        Number of joins and leaves so far; keys are renewed with every epoch.

    Raises
    ------
    ValueError
        When a u_k is not in (n/2, n].
    """

    uses: dict[int, int]
    epoch: int = 0

    def __post_init__(self) -> None:
        if not self.uses or self.epoch < 0:
            raise ValueError("a membership has at least one organization and an epoch of at least 0")
        if any(not 2 * used > self.size >= used for used in self.uses.values()):
            raise ValueError("every organization's number must be above half the number of organizations, at most all")

    @property
    def size(self) -> int:
        """Return n."""
        return len(self.uses)

    @classmethod
    def create(cls, organizations: Iterable[int]) -> Membership:
        """Return the initial state (lines 1 to 6)."""
        members = sorted(set(organizations))
        return cls(dict(zip(members, initial_uses(len(members)), strict=True)))

    def joined(self, organization: int) -> Membership:
        """Return the state after a join (lines 8 to 14).

        Raises
        ------
        ValueError
            When the organization takes part already.
        """
        if organization in self.uses:
            raise ValueError("the organization takes part already")
        size = self.size + 1
        smallest = min(self.uses, key=lambda member: (self.uses[member], member))
        return Membership({**self.uses, smallest: size, organization: size}, self.epoch + 1)

    def left(self, organization: int) -> Membership:
        """Return the state after a leave (lines 16 to 24).

        Algorithm 1 changes nothing when only one remaining party has the largest u: then it keeps u = n + 1 >
        n, too little noise. Here that party gets floor(n/2) + 1 in every case.

        Raises
        ------
        ValueError
            When the organization does not take part, or is the last one.
        """
        if organization not in self.uses or self.size == 1:
            raise ValueError("the organization does not take part, or is the last one")
        freed = self.uses[organization]
        uses = {member: used for member, used in self.uses.items() if member != organization}
        size = len(uses)
        largest = max(uses.values())
        holders = sorted(member for member, used in uses.items() if used == largest)
        if largest > size:
            uses[holders[0]] = size // 2 + 1
            if len(holders) > 1:
                uses[holders[1]] = freed
        return Membership(uses, self.epoch + 1)

    def changed(self, before: Membership) -> list[int]:
        """Return the organizations whose number differs from that in an earlier state, new ones included."""
        return sorted(member for member, used in self.uses.items() if before.uses.get(member) != used)

    def to_dict(self) -> dict[str, Any]:
        """Return the state as JSON; `from_dict` reads it."""
        return {
            "format": FORMAT,
            "epoch": self.epoch,
            "uses": {str(member): used for member, used in self.uses.items()},
        }

    @classmethod
    def from_dict(cls, data: Any) -> Membership:
        """Read what `to_dict` wrote.

        Raises
        ------
        ValueError
            When it is malformed.
        """
        if not isinstance(data, dict) or set(data) != {"format", "epoch", "uses"} or data["format"] != FORMAT:
            raise ValueError("it is not the `membership` object of a result")
        uses, epoch = data["uses"], data["epoch"]
        if not isinstance(uses, dict) or type(epoch) is not int:
            raise ValueError("its uses must be an object and its epoch a whole number")
        if any(type(used) is not int or not IDENTIFIER.fullmatch(str(member)) for member, used in uses.items()):
            raise ValueError("its uses must map organization ids to whole numbers")
        return cls({int(member): used for member, used in uses.items()}, epoch)


def initial_uses(size: int) -> list[int]:
    """Return the initial numbers u of `size` parties: every number above size/2 twice, the lowest once if odd."""
    low = size // 2 + 1
    numbers = [used for used in range(low, size + 1) for _ in range(2)]
    return numbers if size % 2 == 0 else numbers[1:]
