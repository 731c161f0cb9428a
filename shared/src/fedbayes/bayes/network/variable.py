"""A column as a node of a network that is learned from counts."""

from __future__ import annotations

from dataclasses import dataclass

MISSING_STATE = "?"
"""What a missing value is called where it is a state of its own."""


@dataclass(frozen=True)
class Variable:
    """A node: its states without "missing", whether its counts have "missing" as a further, last state, and its cut points."""

    name: str
    states: tuple[str, ...]
    missing: bool = False
    cuts: tuple[float, ...] | None = None

    def all_states(self) -> tuple[str, ...]:
        """Return the states, "?" last where missing is one."""
        return (*self.states, MISSING_STATE) if self.missing else self.states
