"""Request and reply of the round that opens the channel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .codec import Message


@dataclass(frozen=True, slots=True)
class OpenRequest(Message):
    """Ask for a channel key."""


@dataclass(frozen=True, slots=True)
class OpenReply(Message):
    """A station's channel key (and behind it its long-term key, if it has one), whether it holds the task's database, how many organizations it demands."""

    public_key: bytes
    has_data: bool
    minimum_organizations: int
    policy: dict[str, Any]

    def __post_init__(self) -> None:
        """Check the key's length and the minimum."""
        if len(self.public_key) not in (32, 64) or self.minimum_organizations < 1:
            raise ValueError("the key or the minimum is malformed")
