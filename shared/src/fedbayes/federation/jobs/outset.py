"""What a central function knows before its first round, and a stand-in for the federation with which tasks are planned.

`Outset` holds what is known without asking anybody; `Federation` adds the rounds. `Outlook` has no rounds: a central function that is given
one runs until it would open the channel, and ends there with the preflight that it would send. Plans are made from that.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ...bayes.values.encoding import composed
from ...bayes.values.names import nearest
from ...dp.shares import HONEST_FRACTION
from ..errors import ArgumentError
from ..node.policy import Policy
from ..perimeter.opening import Preflight


class Outset:
    """The organizations, the limits of central's own node, the study's dictionary, and the warnings so far.

    Parameters
    ----------
    names : dict of int to str
        Organizations of the collaboration.
    organization : int
        The one that runs central.
    policy : Policy
        The limits of its node.

    Attributes
    ----------
    dictionary : dict or None
        The study's data dictionary, as stations apply it.
    warnings : list of str
        Each once.
    """

    def __init__(self, names: dict[int, str], organization: int, policy: Policy) -> None:
        self.names, self.organization, self.policy = names, organization, policy
        self.dictionary: dict[str, Any] | None = None
        self.honest_fraction = HONEST_FRACTION
        self.warnings: list[str] = []

    def warn(self, text: str) -> None:
        """Add a warning to the result, once."""
        if text not in self.warnings:
            self.warnings.append(text)

    def name(self, organization: int) -> str:
        """Return an organization's name."""
        return self.names.get(organization, f"organization {organization}")

    def resolve(self, organizations: Any, argument: str = "organizations") -> tuple[int, ...]:
        """Return ids of organizations given by id or name, ascending; None means all of the collaboration.

        Raises
        ------
        ArgumentError
            If one is not in the collaboration, or comes twice.
        """
        if organizations is None:
            return tuple(sorted(self.names))
        if not isinstance(organizations, list | tuple) or not organizations:
            raise ArgumentError(f"{argument} must be a list of organization ids or names")
        chosen = [self._resolve_one(entry, argument) for entry in organizations]
        if len(set(chosen)) != len(chosen):
            raise ArgumentError(f"{argument} names an organization twice")
        return tuple(sorted(chosen))

    def _resolve_one(self, entry: Any, argument: str) -> int:
        if isinstance(entry, int) and not isinstance(entry, bool) and entry in self.names:
            return entry
        matches = [
            key for key, name in self.names.items() if isinstance(entry, str) and composed(name) == composed(entry)
        ]
        if len(matches) != 1:
            listed = ", ".join(f"{key} ({name})" for key, name in sorted(self.names.items()))
            near = nearest(str(entry), list(self.names.values()))
            raise ArgumentError(
                f"{argument} holds an entry that is no organization of this collaboration{near}; it has: {listed}"[:600]
            )
        return matches[0]


class Foreseen(Exception):
    """Ends a central function that runs with an `Outlook`.

    Attributes
    ----------
    preflight : Preflight or None
        What it would announce to the stations; None if it asks them without an announcement.
    asked_nobody : bool
        Whether it came to its result without any round.
    """

    def __init__(self, preflight: Preflight | None, asked_nobody: bool = False) -> None:
        super().__init__("a round is where an outlook ends")
        self.preflight, self.asked_nobody = preflight, asked_nobody


class Outlook(Outset):
    """What a central function sees in a plan: a number of unnamed stations, and the limits of one of them."""

    rounds = 0

    def __init__(self, stations: int, policy: Policy) -> None:
        super().__init__({number: f"station {number}" for number in range(1, stations + 1)}, 1, policy)

    def resolve(self, organizations: Any, argument: str = "organizations") -> tuple[int, ...]:
        """Return all stations, or as many as are named, whatever the names: only the server knows them."""
        return tuple(range(1, len(organizations) + 1)) if isinstance(organizations, list) else tuple(self.names)

    def open_channel(self, organizations: Any = None, preflight: Preflight | None = None) -> NoReturn:
        """End with the preflight that the stations would get.

        Raises
        ------
        Foreseen
        """
        self.names = {number: self.name(number) for number in self.resolve(organizations)}
        raise Foreseen(preflight)

    def round(self, *asked: Any, **how: Any) -> NoReturn:
        """End without a preflight: the function asks before it has announced anything.

        Raises
        ------
        Foreseen
        """
        raise Foreseen(None)

    secure_sum = round

    def result(self, *made: Any, **fields: Any) -> NoReturn:
        """End without a round: the function needs no station.

        Raises
        ------
        Foreseen
        """
        raise Foreseen(None, asked_nobody=True)
