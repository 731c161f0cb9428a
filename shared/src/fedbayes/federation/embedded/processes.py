"""The handle on the host process: starts runs, tells of their ends."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any


class Processes:
    """One host process and its runs; thread-safe."""

    def __init__(self) -> None:
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self._host = subprocess.Popen(
            [sys.executable, "-m", "fedbayes.federation.embedded.host"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
            start_new_session=True,
        )
        self._lock = threading.Lock()
        self._next = 0
        self._ended: dict[int, Callable[[int], None]] = {}
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def alive(self) -> bool:
        """Whether the host runs."""
        return self._host.poll() is None

    def start(
        self, module: str, environment: dict[str, str], folder: str, log: str, ended: Callable[[int], None]
    ) -> int:
        """Fork a container and return its number; `ended` is called with its exit code."""
        with self._lock:
            self._next += 1
            number = self._next
            self._ended[number] = ended
            order = {"run": number, "environment": environment, "folder": folder, "log": log}
            self._order({**order, "preload": [module], "path": sys.path})
        return number

    def kill(self, number: int) -> None:
        """Kill a run at once."""
        with self._lock:
            self._order({"kill": number})

    def close(self) -> None:
        """End the host and every run."""
        if self._host.stdin is not None:
            self._host.stdin.close()
        try:
            self._host.wait(5)
        except subprocess.TimeoutExpired:
            self._host.kill()
        self._listener.join(5)

    def _order(self, order: dict[str, Any]) -> None:
        if self._host.stdin is None or not self.alive:
            raise RuntimeError("the embedded federation's host process has ended; make a new EmbeddedFederation")
        self._host.stdin.write(json.dumps(order) + "\n")
        self._host.stdin.flush()

    def _listen(self) -> None:
        assert self._host.stdout is not None
        with self._host.stdout as lines:
            for line in lines:
                event = json.loads(line)
                if "run" in event:
                    with self._lock:
                        ended = self._ended.pop(event["run"], None)
                    if ended is not None:
                        ended(int(event["code"]))
        with self._lock:
            orphans, self._ended = list(self._ended.values()), {}
        for ended in orphans:
            ended(1)


@lru_cache(maxsize=1)
def _shared(pid: int) -> list[Processes]:
    return []


def processes() -> Processes:
    """Return this process's host, started when first asked for."""
    held = _shared(os.getpid())
    if not held or not held[-1].alive:
        held.append(Processes())
        atexit.register(held[-1].close)
    return held[-1]
