"""What a central function knows before its first round; and how far it comes where there is no federation at all.

`Outset` holds what a federation knows without asking anybody; `Federation` adds the rounds. `Outlook` has no rounds: a central function
that runs with it ends where it opens the channel, with what it would tell the stations. That is what a plan is made of.
"""

from __future__ import annotations

from typing import Any, NoReturn

from .errors import ArgumentError
from .opening import Preflight
from .policy import Policy


class Outset:
    """Who there is, the limits of central's own node, the study's dictionary; and the warnings so far.

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
        matches = [key for key, name in self.names.items() if name == entry]
        if len(matches) != 1:
            known = ", ".join(f"{key} ({name})" for key, name in sorted(self.names.items()))
            raise ArgumentError(
                f"{argument} holds an entry that is no organization of this collaboration; it has: {known}"[:600]
            )
        return matches[0]


class Foreseen(Exception):
    """A central function is at its first round: `preflight` is what it would tell the stations, None where it asks without telling.

    `asked_nobody`: it is at its end instead, without a round.
    """

    def __init__(self, preflight: Preflight | None, asked_nobody: bool = False) -> None:
        super().__init__("a round is where an outlook ends")
        self.preflight, self.asked_nobody = preflight, asked_nobody


class Outlook(Outset):
    """What a central function sees where nobody can be asked: so many stations without names, and the limits of one of them."""

    rounds = 0

    def __init__(self, stations: int, policy: Policy) -> None:
        super().__init__({number: f"station {number}" for number in range(1, stations + 1)}, 1, policy)

    def resolve(self, organizations: Any, argument: str = "organizations") -> tuple[int, ...]:
        """Return all stations, or as many as are named: names are known at the server only."""
        return tuple(range(1, len(organizations) + 1)) if isinstance(organizations, list) else tuple(self.names)

    def open_channel(self, organizations: Any = None, preflight: Preflight | None = None) -> NoReturn:
        """End with what the stations would be told.

        Raises
        ------
        Foreseen
        """
        self.names = {number: self.name(number) for number in self.resolve(organizations)}
        raise Foreseen(preflight)

    def round(self, *asked: Any, **how: Any) -> NoReturn:
        """End without any preflight: nobody can be asked, and nobody was.

        Raises
        ------
        Foreseen
        """
        raise Foreseen(None)

    secure_sum = round

    def result(self, *made: Any, **fields: Any) -> NoReturn:
        """End, as a function that asks nobody does.

        Raises
        ------
        Foreseen
        """
        raise Foreseen(None, asked_nobody=True)
