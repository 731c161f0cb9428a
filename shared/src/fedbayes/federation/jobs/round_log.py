"""What the rounds of a job carried and cost: the figures under `federation` in its result."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from ..gate import reasons
from ..messages.codec import Message


class RoundLog:
    """The rounds of one job so far.

    Attributes
    ----------
    entries : list of dict
        One a round: `round`, `function`, `organizations`, `seconds`, `bytes`, and `reply`, field -> why its parts left the stations.
    asked : set of int
        Every organization that was asked in some round.
    """

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self.asked: set[int] = set()
        self._began = time.monotonic()

    def start(self, function: str, organizations: Sequence[int], size: int) -> dict[str, Any]:
        """Return the entry of a new round whose requests take `size` bytes; who waits for the replies adds their bytes and the seconds."""
        entry = {
            "round": len(self.entries) + 1,
            "function": function,
            "organizations": list(organizations),
            "seconds": 0.0,
            "bytes": size,
            "reply": {},
        }
        self.entries.append(entry)
        self.asked.update(organizations)
        return entry

    def note_replies(self, replies: Mapping[int, Message], spent: Mapping[int, Mapping[str, float]]) -> None:
        """Note of the last round why each field of its replies left; `spent`: what each organization has debited in the job."""
        carried: dict[str, set[str]] = {}
        for member, reply in replies.items():
            debited = any(spent.get(member, {}).values())
            for name, kinds in reasons(reply, debited).items():
                carried.setdefault(name, set()).update(kinds)
        self.entries[-1]["reply"] = {name: " and ".join(sorted(kinds)) for name, kinds in carried.items()}

    def totals(self) -> dict[str, Any]:
        """Return rounds, bytes, and seconds since the job began."""
        return {
            "rounds": len(self.entries),
            "bytes": sum(entry["bytes"] for entry in self.entries),
            "seconds": round(time.monotonic() - self._began, 3),
        }
