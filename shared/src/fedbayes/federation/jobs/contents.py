"""What a station seals for central, round its reply: what it has debited, or why it refuses."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..messages.codec import Message, decode

COSTS = ("epsilon", "delta", "queries")
LONGEST_REFUSAL = 2**14
"""Characters of a refusal, which the researcher's log and screen show; ours have some hundred."""


class Answered(Message):
    """A reply, what it has cost, and the node's tag of the job's manifest, empty without one."""

    reply: dict[str, Any]
    spent: dict[str, float]
    token: str

    def __post_init__(self) -> None:
        _check_spent(self.spent)


class Refused(Message):
    """The kind of an error and its text, and what was debited before it."""

    error: tuple[str, str]
    spent: dict[str, float]

    def __post_init__(self) -> None:
        _check_spent(self.spent)
        if len(self.error[1]) > LONGEST_REFUSAL:
            raise ValueError("a refusal is too long")


def checked(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a station has sealed; `MessageError` if it is neither a reply nor a refusal."""
    decode(Refused if "error" in content else Answered, content)
    return dict(content)


def _check_spent(spent: Mapping[str, float]) -> None:
    """Raise `ValueError` for debits that no ledger has."""
    if not spent.keys() <= set(COSTS) or not all(0.0 <= cost < math.inf for cost in spent.values()):
        raise ValueError("a debit is malformed")
