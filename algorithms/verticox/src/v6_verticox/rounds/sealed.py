"""What central passes on and cannot read."""

from __future__ import annotations

from collections.abc import Mapping

from fedbayes.federation import Sealed


def sealed_parts(replies: Mapping[int, Sealed | None]) -> dict[int, Sealed]:
    """Return what central passes on: of those who sealed something."""
    return {member: sealed for member, sealed in replies.items() if sealed is not None}
