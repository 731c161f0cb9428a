"""A vantage6 server and its nodes' proxies in one small HTTP server on the loopback address.

It speaks the few requests that vantage6's own `AlgorithmClient` makes, with the platform's manners: a task has failed as
soon as one of its runs has, failed runs leave no result, results come without organization in descending order of runs,
sub-task inputs and results travel as JSON text in base64.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from .tasks import RunState, TaskState

LONG_POLL_SECONDS = 1.0  # that a request for a status waits
CLOSING_SECONDS = 0.01  # that closing takes at the most


class Server:
    """State and HTTP face of the embedded platform.

    Parameters
    ----------
    organizations : dict of int to str
        Ids and names.
    launch : callable
        ``launch(run, task)`` starts a container.
    image : callable
        Returns the image of the task that the researcher makes next.
    """

    def __init__(
        self,
        organizations: dict[int, str],
        launch: Callable[[RunState, TaskState], None],
        image: Callable[[], str] = lambda: "embedded",
    ) -> None:
        self.organizations = organizations
        self.tasks: dict[int, TaskState] = {}
        self.tokens: dict[str, RunState] = {}
        self.changed = threading.Condition()
        self._launch = launch
        self._image = image
        self._runs = 0
        self._http: ThreadingHTTPServer | None = None

    @property
    def port(self) -> int:
        """Where it answers, which it begins to do when first asked."""
        if self._http is None:
            self._http = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"platform": self}))
            self._http.daemon_threads = True
            threading.Thread(target=self._http.serve_forever, args=(CLOSING_SECONDS,), daemon=True).start()
        return int(self._http.server_address[1])

    def close(self) -> None:
        """Stop answering."""
        if self._http is not None:
            self._http.shutdown()
            self._http.server_close()

    def create(
        self, inputs: dict[int, str], name: str, databases: list[dict[str, str]], parent: TaskState | None
    ) -> TaskState:
        """Make a task and start its runs."""
        with self.changed:
            number = len(self.tasks) + 1
            task = TaskState(
                number,
                name,
                parent.job if parent else number,
                parent.id if parent else None,
                databases,
                datetime.now(timezone.utc).isoformat(),
                parent.image if parent else self._image(),
                parent.runs[0].organization if parent else min(self.organizations),
            )
            for organization, text in inputs.items():
                self._runs += 1
                task.runs.append(RunState(self._runs, number, organization, text))
            self.tasks[number] = task
        for run in task.runs:
            self._launch(run, task)
        return task

    def finish(self, run: RunState, status: str, output: Path | None, log: str) -> None:
        """Note the end of a run."""
        with self.changed:
            run.status, run.output, run.log = status, output, log
            self.changed.notify_all()

    def forget(self, latest: TaskState) -> None:
        """Remove the answers that a parent had read before those of a task that it has read now: it will not ask for them again."""
        with self.changed:
            before = [
                task
                for task in self.tasks.values()
                if task.was_read and task.parent == latest.parent and task is not latest
            ]
            latest.was_read = True
        for run in (run for task in before for run in task.runs):
            if run.output is not None:
                run.output.unlink(missing_ok=True)
                run.output = None

    def settle(self, job: int, seconds: float) -> None:
        """Wait until no task of a job runs any more, or some time has passed."""

        def ended() -> bool:
            return all(
                task.job != job or all(run.status != "active" for run in task.runs)
                for task in list(self.tasks.values())
            )

        with self.changed:
            self.changed.wait_for(ended, seconds)

    def wait(self, task: TaskState, seconds: float) -> str:
        """Return a task's status, once it has finished or after some time."""
        with self.changed:
            self.changed.wait_for(lambda: task.status != "active", seconds)
            return task.status


class _Handler(BaseHTTPRequestHandler):
    platform: Server
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *arguments: Any) -> None:
        """Keep quiet."""

    def _send(self, content: Any, code: int = 200) -> None:
        body = json.dumps(content).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _caller(self) -> RunState | None:
        return self.platform.tokens.get(self.headers.get("Authorization", "").removeprefix("Bearer "))

    def do_GET(self) -> None:
        """Answer a question."""
        caller = self._caller()
        if caller is None:
            return self._send({"msg": "Unknown token"}, 401)
        url = urlsplit(self.path)
        parts = url.path.strip("/").split("/")[1:]
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        if parts[0] == "result" and int(query.get("task_id", 0)) in self.platform.tasks:
            return self._tell_results(self.platform.tasks[int(query["task_id"])])
        answer = self._read(parts, query)
        if answer is None:
            return self._send({"msg": "Not found"}, 404)
        return self._send(answer)

    def _read(self, parts: list[str], query: dict[str, str]) -> Any:
        platform = self.platform
        if parts[0] == "organization":
            entries = [
                {"id": key, "name": name, "public_key": ""}
                for key, name in platform.organizations.items()
                if len(parts) == 1 or key == int(parts[1])
            ]
            if len(parts) == 1:
                return {"data": entries if int(query.get("page", 1)) == 1 else [], "links": {}}
            return entries[0] if entries else None
        if parts[0] == "task" and int(parts[1]) in platform.tasks:
            task = platform.tasks[int(parts[1])]
            if parts[2:] == ["status"]:
                return {"status": platform.wait(task, LONG_POLL_SECONDS)}
            return task.to_dict()
        if parts[0] == "run" and int(query.get("task_id", 0)) in platform.tasks:
            return {"data": self._runs(platform.tasks[int(query["task_id"])]), "links": {}}
        if parts[:2] == ["blobstream", "status"]:
            return {"blob_store_enabled": False}
        return None

    def _runs(self, task: TaskState) -> list[dict[str, Any]]:
        with self.platform.changed:
            return [
                {"id": run.id, "status": run.status, "organization": {"id": run.organization}, "log": run.log}
                for run in sorted(task.runs, key=lambda run: -run.id)
            ]

    def _tell_results(self, task: TaskState) -> None:
        """Send the answers of a task's runs, which may be long, one after the other from where they lie."""
        with self.platform.changed:
            runs = sorted((replace(run) for run in task.runs), key=lambda run: -run.id)
        head, tail = b'{"links": {}, "data": [', b"]}"
        length = len(head) + len(tail) + sum(run.json_bytes for run in runs) + 2 * max(len(runs) - 1, 0)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(head)
        for index, run in enumerate(runs):
            self.wfile.write(b", " if index else b"")
            for part in run.json_parts():
                self.wfile.write(part)
        self.wfile.write(tail)
        self.platform.forget(task)

    def do_POST(self) -> None:
        """Create a sub-task."""
        content = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        caller = self._caller()
        if caller is None or not self.path.rstrip("/").endswith("/task"):
            return self._send({"msg": "Unknown token or address"}, 401)
        platform = self.platform
        inputs = {int(entry["id"]): str(entry["input"]) for entry in content["organizations"]}
        if not inputs or any(key not in platform.organizations for key in inputs):
            return self._send({"msg": "Organization is not in the collaboration"}, 400)
        parent = platform.tasks[caller.task]
        task = platform.create(inputs, str(content.get("name")), parent.databases, parent)
        return self._send(task.to_dict(), 201)


def to_text(value: Any) -> str:
    """Return JSON in base64, as inputs and results travel."""
    return base64.b64encode(json.dumps(value).encode()).decode()


def from_text(text: str) -> Any:
    """Return the value of `to_text`."""
    return json.loads(base64.b64decode(text))
