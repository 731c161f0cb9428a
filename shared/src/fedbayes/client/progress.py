"""Progress on the terminal: one line a round, on stderr."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import Any

RECENT = 5  # rounds: the first ones open keys and read files, and tell little of the others
ROUND = re.compile(r"^round (\d+):(\w+)$")


@dataclass
class _Round:
    number: int
    function: str
    began: float
    started: set[tuple[int, str]] = field(default_factory=set)
    ended: set[tuple[int, str]] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)


class Progress:
    """Draws rounds as they happen: a spinner on a terminal, plain lines elsewhere.

    Parameters
    ----------
    console : rich.console.Console
        Where to draw; stderr, so that results on stdout stay clean.
    quiet : bool
        Draw nothing.
    expected : int
        Rounds that such a task usually takes, for the time that is left; 0 where nobody knows.
    """

    def __init__(self, console: Any, quiet: bool = False, expected: int = 0) -> None:
        self._console = console
        self._expected = expected
        self._spent: list[float] = []
        self._quiet = quiet
        self._round: _Round | None = None
        self._status = None if quiet or not console.is_terminal else console.status("starting")
        if self._status is not None:
            self._status.start()

    def __call__(self, event: dict[str, Any]) -> None:
        """Take one event: ``{"event": "start"|"end", "task", "name", "organization", "status"}``."""
        match = ROUND.match(str(event.get("name", "")))
        if match is None:
            return
        number, function = int(match.group(1)), match.group(2)
        if self._round is None or self._round.number != number:
            self._close_round()
            self._round = _Round(number, function, time.monotonic())
        key = (int(event["task"]), str(event["organization"]))
        self._round.started.add(key)
        if event["event"] == "end":
            self._round.ended.add(key)
            if event.get("status") not in ("completed", None):
                self._round.failed.add(str(event["organization"]))
        if self._status is not None:
            done, asked = len(self._round.ended), len(self._round.started)
            of = f" of about {self._expected}" if number <= self._expected else ""
            self._status.update(f"round {number}{of}  {function}  {done} of {asked} answered{self._left(number - 1)}")

    def note(self, text: str) -> None:
        """Show a line."""
        from ..bayes.values.written import printable

        if not self._quiet:
            self._console.print(printable(text), highlight=False, markup=False, soft_wrap=True)

    def _close_round(self) -> None:
        finished, self._round = self._round, None
        if finished is None:
            return
        seconds = time.monotonic() - finished.began
        failed = f"  failed at {', '.join(sorted(finished.failed))}" if finished.failed else ""
        self._spent.append(seconds)
        stations = len(finished.started)
        many = f"{stations:>3} organization{'s' if stations != 1 else ' '}"
        line = f"round {finished.number:>2}  {finished.function:<24} {many} {seconds:7.2f} s"
        self.note(line + failed + self._left(finished.number))

    def _left(self, done: int) -> str:
        """Return how long the rounds that are expected still take, as long as the last ones took; nothing where nobody knows."""
        left = self._expected - done
        if left <= 0 or not self._spent:
            return ""
        recent = self._spent[-RECENT:]
        seconds = left * sum(recent) / len(recent)
        return f"  about {seconds:.0f} s left" if seconds < 120 else f"  about {seconds / 60:.0f} min left"

    def finish(self) -> None:
        """Close the last round and remove the spinner."""
        if self._status is not None:
            self._status.stop()
            self._status = None
        self._close_round()
