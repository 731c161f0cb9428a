"""What a result says of its computation, in one place: the parts of a dossier ask it, not the result."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...federation.results import ROLES
from ..kinds import OTHER
from ..view import view_of_result

RECORDS_OF_PERSONS = ("predicted", "probabilities")
"""Fields of a model, or of `predictions`, that hold an answer for every single record."""


@dataclass(frozen=True)
class Statements:
    """What nobody but people can state; empty where they did not.

    Attributes
    ----------
    purpose, region, sector, contact : str
        Of the computation: what for, whose law, which sector (as the registry lists them), who answers questions.
    """

    purpose: str = ""
    region: str = ""
    sector: str = ""
    contact: str = ""


@dataclass(frozen=True)
class Facts:
    """A result, read for a dossier.

    Attributes
    ----------
    result : mapping
        What the task returned.
    stated : Statements
        What whoever makes the dossier adds.
    """

    result: Mapping[str, Any]
    stated: Statements = field(default_factory=Statements)

    def part(self, name: str) -> Mapping[str, Any]:
        """Return a part of the result; an empty one where it lacks it."""
        section = self.result.get(name)
        return section if isinstance(section, Mapping) else {}

    @property
    def privacy(self) -> Mapping[str, Any]:
        """The method's statement."""
        return self.part("privacy")

    @property
    def private(self) -> bool:
        """Whether the whole result is differentially private."""
        return bool(self.privacy.get("differentially_private"))

    @property
    def epsilon(self) -> float:
        """Of the promise."""
        return float(self.privacy.get("epsilon") or 0.0)

    @property
    def delta(self) -> float:
        """Of the promise."""
        return float(self.privacy.get("delta") or 0.0)

    @property
    def unit(self) -> str:
        """What one neighbouring step changes."""
        return str(self.privacy.get("unit") or "row")

    @property
    def reason(self) -> str:
        """Why there is no promise."""
        return str(self.privacy.get("reason") or "the result gives no reason")

    @property
    def reveals(self) -> dict[str, str]:
        """Role -> what it learns, in the method's own words; what is said of a role without words is left out."""
        stated = self.privacy.get("reveals") or {}
        return {role: str(stated[role]) for role in ROLES if str(stated.get(role) or "").strip()}

    @property
    def algorithm(self) -> str:
        """The method."""
        return str(self.part("provenance").get("algorithm") or "not told by the result")

    @property
    def function(self) -> str:
        """The central function."""
        return str(self.part("provenance").get("function") or "not told by the result")

    @property
    def answer(self) -> str:
        """What kind of answer it is."""
        kind = view_of_result(self.result).kind
        return f"the answer of {self.function}" if kind == OTHER else kind

    @property
    def arguments(self) -> Mapping[str, Any]:
        """As the researcher gave them."""
        arguments = self.part("provenance").get("arguments")
        return arguments if isinstance(arguments, Mapping) else {}

    @property
    def nodes(self) -> Mapping[str, Mapping[str, Any]]:
        """Organization -> role and limits."""
        nodes = self.part("federation").get("nodes")
        return nodes if isinstance(nodes, Mapping) else {}

    @property
    def organizations(self) -> list[str]:
        """Everyone who was asked."""
        return [str(name) for name in self.part("federation").get("organizations") or self.nodes]

    def with_role(self, role: str) -> list[str]:
        """Return the organizations of a role, station or helper."""
        return [name for name in self.organizations if self.nodes.get(name, {}).get("role") == role]

    @property
    def central(self) -> str:
        """The organization that ran the central function."""
        return str(self.part("federation").get("aggregator") or "not told by the result")

    @property
    def rounds(self) -> list[Mapping[str, Any]]:
        """The rounds that ran."""
        return list(self.part("federation").get("per_round") or [])

    def names_of(self, entry: Mapping[str, Any]) -> list[str]:
        """Return the names of those asked in a round: results list names by ascending id, rounds list ids."""
        ids = sorted({number for one in self.rounds for number in one.get("organizations", [])})
        names = dict(zip(ids, self.organizations, strict=True)) if len(ids) == len(self.organizations) else {}
        return [names.get(number, f"organization {number}") for number in entry.get("organizations", [])]

    def declared(self, name: str) -> tuple[Any, ...]:
        """Return what the installed method declares under a name beside its arguments; nothing where it is not installed, or declares none."""
        try:
            module = importlib.import_module(f"v6_{self.algorithm}.arguments")
        except Exception:
            return ()
        return tuple(getattr(module, name, ()))

    def only_opened(self, names: list[str]) -> bool:
        """Return whether organizations were asked in no round but the first, which opens the channel."""
        asked = {entry.get("function") for entry in self.rounds if set(names) & set(self.names_of(entry))}
        return asked == {"partial_open_channel"}

    @property
    def single_records(self) -> bool:
        """Whether the result tells something of every single record of a station."""
        parts = (self.part("model"), self.part("predictions"))
        return bool(self.part("predictions")) or any(name in part for part in parts for name in RECORDS_OF_PERSONS)


def listed(names: list[str]) -> str:
    """Return names as a phrase; "nobody" for none."""
    return ", ".join(names) if names else "nobody"
