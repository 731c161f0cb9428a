"""Organizations of a collaboration, given by id or by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import ArgumentError


def resolve(names: Mapping[int, str], organizations: Any, argument: str = "organizations") -> tuple[int, ...]:
    """Return ids of organizations given by id or name, ascending; None means all of the collaboration.

    Raises
    ------
    ArgumentError
        If one is not in the collaboration, or comes twice.
    """
    if organizations is None:
        return tuple(sorted(names))
    if not isinstance(organizations, list | tuple) or not organizations:
        raise ArgumentError(f"{argument} must be a list of organization ids or names")
    chosen = [_resolve_one(names, entry, argument) for entry in organizations]
    if len(set(chosen)) != len(chosen):
        raise ArgumentError(f"{argument} names an organization twice")
    return tuple(sorted(chosen))


def _resolve_one(names: Mapping[int, str], entry: Any, argument: str) -> int:
    if isinstance(entry, int) and not isinstance(entry, bool) and entry in names:
        return entry
    matches = [key for key, name in names.items() if name == entry]
    if len(matches) != 1:
        known = ", ".join(f"{key} ({name})" for key, name in sorted(names.items()))
        raise ArgumentError(
            f"{argument} holds an entry that is no organization of this collaboration; it has: {known}"[:600]
        )
    return matches[0]
