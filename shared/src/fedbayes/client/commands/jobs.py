"""``fedbayes jobs`` and ``fedbayes attach``: tasks that run at a server already."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import connection
from ..files import print_json
from .exits import UsageProblem
from .listing import print_table


@dataclass(frozen=True)
class Door:
    """Which server, and who asks."""

    server: str | None
    username: str | None
    mfa_code: str | None = None
    key: Path | None = None

    def open(self) -> Any:
        """Return an authenticated client.

        Raises
        ------
        UsageProblem
            If the address, user, password or key is missing or wrong.
        """
        from .run import access

        if self.server is None:
            raise UsageProblem("--server is needed: the address of the vantage6 server; an embedded run has no jobs")
        if self.key is not None and not self.key.is_file():
            raise UsageProblem(f"--key: the file {self.key} does not exist; check the path")
        return connection.connect(access(self.server, self.username, self.mfa_code, self.key))


@dataclass(frozen=True)
class Goal:
    """Where the result goes, and whether progress is told."""

    out: Path | None
    report: Path | None
    force: bool
    quiet: bool


def jobs(door: Door, collaboration: int | None, everyone: bool, as_json: bool) -> None:
    """Print the tasks of the user at a server that have not ended (or all of them)."""
    from .. import remote

    running = remote.tasks(door.open(), collaboration, everyone)
    if as_json:
        print_json(running)
    elif running:
        heading = ("id", "name", "status", "created")
        print_table(heading, ([task[name] for name in heading] for task in running))
    else:
        print("no task of yours is running; --all lists those that ended too")


def attach(door: Door, task: int, goal: Goal, timeout: float) -> None:
    """Wait for a task and write its result; Ctrl-C leaves the task running."""
    from rich.console import Console

    from .. import remote
    from .progress import Progress
    from .run import Target

    target = Target.checked(goal.out, goal.report, goal.force)
    client = door.open()
    progress = Progress(Console(stderr=True), goal.quiet)
    try:
        result = remote.attach(client, task, timeout, progress)
    finally:
        progress.finish()
    target.write(result, progress)
