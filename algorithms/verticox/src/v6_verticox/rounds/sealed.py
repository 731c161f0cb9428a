"""What central passes on and cannot read."""

from __future__ import annotations

from collections.abc import Mapping

from fedbayes.federation import Broadcast, Sealed


def sealed_parts(replies: Mapping[int, Sealed | None]) -> dict[int, bytes]:
    """Return what central passes on to the member that learns the sum."""
    return {member: sealed.content for member, sealed in replies.items() if sealed is not None}


def content_of(sealed: Sealed | None) -> bytes:
    """Return the bytes of what is sealed for one organization; none of nothing."""
    return b"" if sealed is None else sealed.content


def to_one(sent: Broadcast, receiver: int) -> Broadcast:
    """Return a broadcast with the key of one receiver."""
    return Broadcast(sent.content, {receiver: sent.keys[receiver]})
