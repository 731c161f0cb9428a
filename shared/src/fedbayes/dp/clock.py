"""Time that a moved clock cannot turn: the ledger's periods run on it.

The wall clock can be set. The machine's time since its start cannot, but it begins anew with every start. So the ledger keeps what both said at its last
charge, and the wall clock is believed only as far as the machine's own time confirms it: a clock that jumps forward between two charges of one start
gains what really passed, a clock that is set back stands still. Across a restart only the wall clock is left, and it never runs backwards.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

_BOOT, _UPTIME = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/uptime")
_DRIFT = 1e-3  # of the time that passed: clocks are corrected by less
_LEAP = 5.0  # seconds that a correction may add at once


@dataclass(frozen=True, slots=True)
class Reading:
    """What the clocks say: the wall clock (seconds since 1970), and the machine's start with the seconds since; empty and 0 where unknown."""

    wall: float
    boot: str = ""
    uptime: float = 0.0


def read() -> Reading:
    """Return what the clocks of this machine say now."""
    wall = time.time()
    try:
        return Reading(wall, _BOOT.read_text().strip(), float(_UPTIME.read_text().split()[0]))
    except (OSError, ValueError, IndexError):
        return Reading(wall)


def advance(before: float, seen: Reading, now: Reading) -> float:
    """Return the ledger's time.

    Parameters
    ----------
    before : float
        The ledger's time at the last charge.
    seen, now : Reading
        The clocks at the last charge, and now.

    Returns
    -------
    float
        Never below `before`; the wall clock's time, but within one start of the machine not above `before` plus what passed since.
    """
    if not now.boot or now.boot != seen.boot:
        return max(before, now.wall)
    passed = max(0.0, now.uptime - seen.uptime)
    return max(before, min(now.wall, before + passed * (1.0 + _DRIFT) + _LEAP))
