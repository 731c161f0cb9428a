"""Names of what is on shares: what it is, of which step and version, and whose part of it.

A name is a value with fields; as a text it travels, and is what is kept and what masks are drawn for. Nobody but `Name.read` takes a text apart.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fedbayes.federation.messages.codec import Text

TEXT = re.compile(r"(?:(?P<step>\d{1,7})\.(?P<version>\d{1,4})/)?(?P<kind>[a-z]{1,16})/?(?P<part>\d{1,4})?", re.ASCII)


class Name(Text):
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

    __slots__ = ("kind", "part", "step", "version")

    kind: str
    step: int | None
    version: int
    part: int | None

    def __new__(cls, kind: str, step: int | None = None, version: int = 0, part: int | None = None) -> Name:
        """Write the text."""
        own = "" if part is None else str(part)
        text = f"{kind}/{own}" if own else kind
        name = super().__new__(cls, text if step is None else f"{step}.{version}/{kind}{own}")
        name.kind, name.step, name.version, name.part = kind, step, version, part
        return name

    @classmethod
    def read(cls, text: str) -> Name:
        """Return the name that a text says.

        Raises
        ------
        ValueError
            When it is the text of none.
        """
        match = TEXT.fullmatch(text)
        numbers = {key: int(match[key]) for key in ("step", "version", "part") if match[key]} if match else {}
        if match is None or (name := cls(match["kind"], **numbers)) != text:
            raise ValueError("a name in the protocol is malformed")
        return name


START = Name("reciprocal", 0)
"""The first reciprocals, at zero coefficients."""


@dataclass(frozen=True, slots=True)
class Input:
    """A private input: its name, the position of the share holder that enters it, and its columns."""

    name: Name
    holder: int
    columns: int
