"""Processes that tests start: when a signal reaches the command and no longer a Python that only starts."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path


def wait_for_control(process: subprocess.Popen[str]) -> None:
    """Wait until the command has taken control of signals: a Python that only starts is not the command yet."""
    for _ in range(20_000):
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
        blocked = next(int(line.split()[1], 16) for line in status.splitlines() if line.startswith("SigBlk"))
        if blocked >> (signal.SIGINT - 1) & 1 or process.poll() is not None:
            return
        time.sleep(0.001)
