"""Waiting for the runs of a sub-task.

vantage6's own ``wait_for_results`` waits ever longer between its looks; here the status is asked often, from the moment on at which a stock node can have
answered, with a time-out. A stock node may lose a reply (when it or the server is started again, its container is killed, its disk is full for a moment):
what was lost is asked for once more, by the same request, to which a station gives the reply that it has recorded.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..errors import StationError, from_log
from ..node.platform import FINISHED

# A stock node looks once a second whether a container has ended, and sleeps another second before it sends the result.
FIRST_LOOK_SECONDS = 2.0
POLL_SECONDS = 0.1  # first pause between two looks for results
EMBEDDED_POLL_SECONDS = 0.02  # on one machine, where a look costs nothing
LONGEST_POLL_SECONDS = 1.0  # between looks at a task in a long round
POLL_FRACTION = 0.05  # of the time that was waited: a look too late adds 5 % to a round, on average 2.5 %
TIMEOUT_SECONDS = 600.0  # of a round, unless a method gives its stations more
START_SECONDS = 120.0  # a node that is started again, or was cut off for a minute, needs up to two
SETTLE_SECONDS = 10.0  # for results that the platform does not list yet when a task has ended
SILENT_SECONDS = 150.0  # from which on a reply that is missing may be lost, and is asked for again
FINAL = ("pending", "killed by user", "not allowed", "non-existing Docker image")
LONGEST_CAUSE = 300  # characters


def pauses(began: float) -> Iterator[float]:
    """Yield the seconds to wait before each look at a round of which `began` is the monotonic time: a look costs the server and the proxy 30 ms of work.

    On a platform, the first look is when a stock node can have answered at the earliest, and looking adds at most a twentieth to the time of a round: where a
    busy server makes rounds long, many looks would make them longer.
    """
    if os.environ.get("FEDBAYES_EMBEDDED") == "true":
        yield 0.0
        while True:
            yield EMBEDDED_POLL_SECONDS
    yield max(0.0, began + FIRST_LOOK_SECONDS - time.monotonic())
    while True:
        yield min(max(POLL_SECONDS, POLL_FRACTION * (time.monotonic() - began)), LONGEST_POLL_SECONDS)


def results_of(
    client: Any,
    task: int,
    members: Sequence[int],
    began: float,
    timeout: float,
    name: Callable[[int], str],
    patience: float = TIMEOUT_SECONDS,
) -> list[Any]:
    """Return the results of a sub-task once all its runs have ended, one has failed, or `patience` seconds have passed.

    Raises
    ------
    StationError
        Naming the organizations whose node is off or silent.
    """
    deadline, impatient = began + timeout, time.monotonic() + patience
    look = time.monotonic() + START_SECONDS
    for pause in pauses(began):
        if pause:
            time.sleep(pause)
        status = client.request(f"task/{task}/status").get("status")
        if status in FINISHED or time.monotonic() > min(impatient, deadline):
            break
        if time.monotonic() > look:
            _check_started(client, task, name)
            look += START_SECONDS
    if time.monotonic() > deadline and status not in FINISHED:
        silent = ", ".join(name(member) for member in members)
        raise StationError(f"no answer in time from one of {silent}; is its node online?")
    results = client.result.from_task(task)
    if status in FINISHED and status != "completed":
        results = _settle(client, task, min(deadline, time.monotonic() + SETTLE_SECONDS))
    return [result for result in results if isinstance(result, dict)]


def may_be_asked_again(client: Any, task: int, missing: Sequence[int]) -> bool:
    """Return whether the platform may have lost the replies that are missing: nobody refused, and every node is there."""
    for run in _runs_of(client, task, missing):
        reason = from_log(str(run.get("log") or ""))
        if run.get("status") in FINAL or (reason is not None and not isinstance(reason, StationError)):
            return False
    return True


def cause(client: Any, task: int, missing: Sequence[int], name: Callable[[int], str]) -> str:
    """Return in words what the platform tells of runs without a reply: their log's last word, or their status."""
    words = []
    for run in _runs_of(client, task, missing):
        reason = from_log(str(run.get("log") or ""))
        status = run.get("status")
        lost = "its node lost the reply" if status == "completed" else f"its container ended as '{status}'"
        why = lost if reason is None else str(reason)[:LONGEST_CAUSE]
        words.append(f"{name(int(run['organization']['id']))}: {why}")
    return "; ".join(sorted(words)) or "see the node's log"


def _runs_of(client: Any, task: int, members: Sequence[int]) -> list[dict[str, Any]]:
    return [run for run in client.run.from_task(task) if int(run["organization"]["id"]) in members]


def _check_started(client: Any, task: int, name: Callable[[int], str]) -> None:
    """Raise `StationError` naming the organizations whose node has not even taken up the sub-task: such a node is off."""
    runs = [run for run in client.run.from_task(task) if run.get("status") == "pending"]
    if runs:
        names = ", ".join(sorted(name(int(run["organization"]["id"])) for run in runs))
        raise StationError(
            f"the node of {names} has not taken up the task in {START_SECONDS:g} s: it is off or out of reach; "
            "leave it out or try later"
        )


def _settle(client: Any, task: int, deadline: float) -> list[Any]:
    """After one failure give the siblings, which may still run, a moment: their refusals tell more than a crash."""
    while time.monotonic() < deadline:
        if all(run.get("status") in FINISHED for run in client.run.from_task(task)):
            break
        time.sleep(POLL_SECONDS)
    return list(client.result.from_task(task))
