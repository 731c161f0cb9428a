"""``fedbayes jobs`` and ``fedbayes attach``: tasks that run at a server already."""

from __future__ import annotations

from typing import Any

from ..exits import UsageProblem
from ..inputs.files import print_json
from ..running import connection
from .listing import print_table
from .shared import RunOptions


def jobs(options: RunOptions, everyone: bool, as_json: bool) -> None:
    """Print the tasks of the user at a server that have not ended (or all of them)."""
    from ..running import remote

    running = remote.tasks(_client(options), options.collaboration, everyone)
    if as_json:
        print_json(running)
    elif running:
        heading = ("id", "name", "status", "created")
        print_table(heading, ([task[name] for name in heading] for task in running))
    else:
        print("no task of yours is running; --all lists those that ended too")


def attach(task: int, options: RunOptions) -> None:
    """Wait for a task and write its result; Ctrl-C leaves the task running."""
    from rich.console import Console

    from ..progress import Progress
    from ..running import remote
    from .run import Target

    target = Target.checked(options.out, options.report, options.force)
    client = _client(options)
    progress = Progress(Console(stderr=True), options.quiet)
    try:
        result = remote.attach(client, task, options.timeout, progress)
    finally:
        progress.finish()
    target.write(result, progress)


def _client(options: RunOptions) -> Any:
    """Return an authenticated client of the server that is named.

    Raises
    ------
    UsageProblem
        If the address, user, password or key is missing or wrong.
    """
    from .run import access

    if options.server is None:
        raise UsageProblem("--server is needed: the address of the vantage6 server; an embedded run has no jobs")
    if options.key is not None and not options.key.is_file():
        raise UsageProblem(f"--key: the file {options.key} does not exist; check the path")
    return connection.connect(access(options.server, options.username, options.mfa_code, options.key))
