"""Names of what is on shares: what it is, of which step and version, and whose part of it.

A name is a value with fields; nobody but `Name.read` takes its text apart, which is what travels, what is kept and what masks are drawn for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

TEXT = re.compile(r"(?:(?P<step>\d{1,7})\.(?P<version>\d{1,4})/)?(?P<kind>[a-z]{1,16})/?(?P<part>\d{1,4})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Name:
    """The name of an input, of a wire or of what is opened.

    Parameters
    ----------
    kind : str
        Lower-case letters, such as "w" for relative risks.
    step, version : int
        Newton step and refinement of the reciprocals inside it; step None: the same in all steps.
    part : int, optional
        Position of the party, or of the group of parties, where each has one.

    Notes
    -----
    As text "1.2/reciprocal" and "1.0/factor3"; without a step "x" and "features/3".
    """

    kind: str
    step: int | None = None
    version: int = 0
    part: int | None = None

    def __str__(self) -> str:
        """Return the text."""
        part = "" if self.part is None else str(self.part)
        if self.step is None:
            return f"{self.kind}/{part}" if part else self.kind
        return f"{self.step}.{self.version}/{self.kind}{part}"

    @classmethod
    def read(cls, text: str) -> Name:
        """Return the name that a text says.

        Raises
        ------
        ValueError
            When it is the text of none.
        """
        found = TEXT.fullmatch(text)
        numbers = {key: int(found[key]) for key in ("step", "version", "part") if found[key]} if found else {}
        if found is None or str(name := cls(found["kind"], **numbers)) != text:
            raise ValueError("a name in the protocol is malformed")
        return name


def named(kind: str, step: int, version: int = 0, part: int | None = None) -> str:
    """Return the text of a name of a step."""
    return str(Name(kind, step, version, part))


@dataclass(frozen=True, slots=True)
class Input:
    """A private input: its name, the position of the share holder that enters it, and its columns."""

    name: Name
    holder: int
    columns: int
