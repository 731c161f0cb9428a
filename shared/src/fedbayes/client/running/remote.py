"""Run a task on a vantage6 server, through vantage6's own `UserClient`.

vantage6's ``wait_for_results`` waits ever longer between its looks; here the status is asked at a constant interval, the sub-tasks' names tell the
rounds, an error is read from the log of the run, and an interruption kills the task on every node.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...federation.node.platform import FINISHED
from ..exits import TaskFailed, UsageProblem
from ..interrupts import asks_to_stop, shield
from ..result import Result
from .local import Job

POLL_SECONDS = 0.5  # between looks at a task's status
RETRIES = 20  # of a request that times out, as while a server restarts


@dataclass(frozen=True)
class RemotePlace:
    """Where to run on the server.

    Attributes
    ----------
    collaboration : int
        Its id.
    image : str
        Image of the algorithm, as the nodes know it.
    organization : int or str, optional
        Where the function runs (id or name); the user's own by default.
    databases : sequence of str
        Labels of the nodes' databases.
    timeout : float
        Seconds after which the task is killed.
    """

    collaboration: int
    image: str
    organization: int | str | None = None
    databases: Sequence[str] = ("default",)
    timeout: float = 3600.0


def run(
    client: Any,
    job: Job,
    place: RemotePlace,
    on_progress: Callable[[dict[str, Any]], None] | None = None,
    on_submitted: Callable[[int], None] | None = None,
) -> Any:
    """Submit a job, wait for it and return its result; `on_submitted` gets the task's id.

    Raises
    ------
    UsageProblem
        If the collaboration, organization or image is refused before anything runs.
    AlgorithmError
        What the function raised, by its class, read from the run's log.
    TaskFailed
        If it ended in another way.
    KeyboardInterrupt
        After the task was killed.
    """
    names = _organizations(client, place.collaboration)
    organization = _resolve(place.organization, names, client.whoami.organization_id)
    task: int | None = None
    with asks_to_stop():
        try:
            with shield():
                task = _create(client, job, place, organization)
            if on_submitted is not None:
                on_submitted(task)
            watch = _Watch(task, names, on_progress)
            status = _wait(client, task, watch, time.monotonic() + place.timeout)
        except BaseException:
            if task is not None:
                client.task.kill(task)
            raise
    return _ended(client, task, status)


def attach(client: Any, task: int, timeout: float, on_progress: Callable[[dict[str, Any]], None] | None = None) -> Any:
    """Wait for a task that runs already, and return its result; however this ends, the task is left alone.

    Raises
    ------
    UsageProblem
        If the server shows no such task, or it is a sub-task.
    AlgorithmError, TaskFailed
        As `run`; TaskFailed too when it does not end in time.
    """
    task_state = client.request(f"task/{task}", attempts_on_timeout=RETRIES)
    if not isinstance(task_state, dict) or task_state.get("id") != task:
        raise UsageProblem(f"the server shows no task {task} to this user; `fedbayes jobs` lists yours")
    if task_state.get("parent"):
        parent = task_state["parent"].get("id") if isinstance(task_state["parent"], dict) else task_state["parent"]
        raise UsageProblem(f"task {task} is a round of task {parent}; attach to {parent}")
    collaboration = int((task_state.get("collaboration") or {}).get("id") or 0)
    watch = _Watch(task, _organizations(client, collaboration), on_progress)
    return _ended(client, task, _wait(client, task, watch, time.monotonic() + timeout, "goes on without this command"))


def tasks(client: Any, collaboration: int | None, everyone: bool = False) -> list[dict[str, Any]]:
    """Return the tasks at a server, the newest first: id, name, status, created, user; no rounds.

    Parameters
    ----------
    client : UserClient
        Authenticated.
    collaboration : int, optional
        Of this one only.
    everyone : bool
        Other users' tasks and finished ones too, as far as the server shows them.
    """
    asked: dict[str, Any] = {"is_user_created": 1, "per_page": 100, "sort": "-id"}
    if collaboration is not None:
        asked["collaboration_id"] = collaboration
    own = getattr(client.whoami, "id_", None)
    listed = []
    for entry in _listed(client, "task", asked):
        user = (entry.get("init_user") or {}).get("id") if isinstance(entry.get("init_user"), dict) else None
        if everyone or (entry.get("status") not in FINISHED and user in (own, None)):
            fields = {name: entry.get(name) for name in ("id", "name", "status")}
            listed.append({**fields, "created": entry.get("created_at"), "user": user})
    return listed


def _ended(client: Any, task: int, status: str) -> Any:
    if status != "completed":
        raise _failure(status, _listed(client, "run", {"task_id": task}))
    return _result(client, task)


def _organizations(client: Any, collaboration: int) -> dict[int, str]:
    entries = _listed(client, "organization", {"collaboration_id": collaboration, "per_page": 100})
    if not entries:
        raise UsageProblem("--collaboration: the server shows no such collaboration to this user; check its id")
    names = {int(entry["id"]): str(entry.get("name") or entry["id"]) for entry in entries}
    details = client.request(f"collaboration/{collaboration}", attempts_on_timeout=RETRIES)
    encrypted = bool(details.get("encrypted"))
    if encrypted != (type(client.cryptor).__name__ == "RSACryptor"):
        advice = "is encrypted: give --key" if encrypted else "is not encrypted: leave --key out"
        raise UsageProblem(f"the collaboration {advice}")
    return names


def _resolve(wanted: int | str | None, names: dict[int, str], own: int) -> int:
    if wanted is None:
        wanted = own
    matches = [key for key, name in names.items() if wanted in (key, name)]
    if len(matches) != 1:
        listed = ", ".join(f"{key} ({name})" for key, name in sorted(names.items()))
        raise UsageProblem(f"--organization must be one of the collaboration's: {listed}")
    return matches[0]


def _create(client: Any, job: Job, place: RemotePlace, organization: int) -> int:
    task = client.task.create(
        collaboration=place.collaboration,
        organizations=[organization],
        name=f"{job.algorithm} {job.function}",
        description="submitted by fedbayes",
        image=place.image,
        input_={"method": job.function, "kwargs": dict(job.arguments)},
        databases=[{"label": label} for label in place.databases],
    )
    if not isinstance(task, dict) or "id" not in task:
        reason = task.get("msg", "") if isinstance(task, dict) else ""
        raise UsageProblem(f"the server did not accept the task: {str(reason)[:300] or 'no reason given'}")
    return int(task["id"])


def _wait(client: Any, task: int, watch: _Watch, deadline: float, late: str = "was killed") -> str:
    while True:
        answer = client.request(f"task/{task}/status", attempts_on_timeout=RETRIES)
        status = answer.get("status")
        if status is None:
            raise TaskFailed(f"the server stopped telling of task {task}: {str(answer.get('msg', ''))[:200]}")
        watch.look(client)
        if status in FINISHED:
            return str(status)
        if time.monotonic() > deadline:
            raise TaskFailed(f"task {task} did not end in time and {late}; are all nodes online?")
        time.sleep(POLL_SECONDS)


class _Watch:
    """Turns what the server tells of sub-tasks into events, each once."""

    def __init__(self, task: int, names: dict[int, str], on_progress: Callable[[dict[str, Any]], None] | None) -> None:
        self._task, self._names, self._tell = task, names, on_progress
        self._seen: dict[tuple[int, int], str] = {}
        self._done: set[int] = set()

    def look(self, client: Any) -> None:
        """Ask once and tell what is new; the server lists the newest sub-tasks first."""
        if self._tell is None:
            return
        subtasks = _listed(client, "task", {"parent_id": self._task, "per_page": 100})
        for subtask in sorted(subtasks, key=lambda entry: int(entry["id"])):
            if int(subtask["id"]) not in self._done:
                self._look_at(client, subtask)

    def _look_at(self, client: Any, subtask: dict[str, Any]) -> None:
        number = int(subtask["id"])
        for run in _listed(client, "run", {"task_id": number}):
            organization, status = int(run["organization"]["id"]), str(run["status"])
            earlier = self._seen.get((number, organization))
            event = {
                "task": number,
                "name": subtask.get("name"),
                "organization": self._names.get(organization, str(organization)),
                "status": status,
            }
            if earlier is None and self._tell is not None:
                self._tell({**event, "event": "start"})
            if status in FINISHED and earlier not in FINISHED and self._tell is not None:
                self._tell({**event, "event": "end"})
            self._seen[(number, organization)] = status
        if subtask.get("status") in FINISHED:
            self._done.add(number)


def _listed(client: Any, endpoint: str, parameters: dict[str, Any]) -> list[dict[str, Any]]:
    answer = client.request(endpoint, params=parameters, attempts_on_timeout=RETRIES)
    entries = answer.get("data", []) if isinstance(answer, dict) else []
    return [entry for entry in entries if isinstance(entry, dict)]


def _failure(status: str, runs: list[dict[str, Any]]) -> Exception:
    from ...federation.errors import from_log

    for run in runs:
        failure: Exception | None = from_log(str(run.get("log") or ""))
        if failure is not None:
            return failure
    states = sorted({str(run.get("status")) for run in runs} - {"completed"}) or [status]
    reasons = {
        "not allowed": "the node's administrator does not allow this image or user",
        "non-existing Docker image": "the node does not find the image; check --image",
        "killed by user": "somebody killed it",
        "start failed": "the node could not start the container",
    }
    return TaskFailed(f"the task ended as '{states[0]}': {reasons.get(states[0], 'see its log at the server')}")


def _result(client: Any, task: int) -> Any:
    for entry in client.result.from_task(task).get("data", []):
        text = entry.get("result")
        if text:
            try:
                content = json.loads(text)
                return Result(content) if isinstance(content, dict) else content
            except (TypeError, ValueError):
                break
    raise TaskFailed("the result cannot be read; in an encrypted collaboration give your organization's --key")
