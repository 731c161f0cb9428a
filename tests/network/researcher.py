"""vantage6 as a researcher uses it, and what an administrator can see of the nodes."""

from __future__ import annotations

import json
import logging
import sqlite3
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedbayes.federation.errors import from_log

ROOT = Path(__file__).resolve().parents[2]
STATE = ROOT / "docker/network/state"
POLL_SECONDS = 0.5
"""Between looks of a researcher: each costs the server 25 ms of work, and it has one process."""
LONGEST_SECONDS = 240.0
OVER = (
    "completed",
    "failed",
    "crashed",
    "killed by user",
    "not allowed",
    "unknown error",
    "start failed",
    "non-existing Docker image",
)


class TaskFailed(Exception):
    """A task ended without a result, and no log tells why."""


def plain_field(name: str, path: Path) -> str:
    """Return ``name = "..."`` of a TOML file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return next(line.split('"')[1] for line in lines if line.startswith(f"{name} = "))


@dataclass(frozen=True)
class Ledger:
    """Reads a node's ledger while its containers may write: read-only connections, tried again when it is busy."""

    path: Path

    def debits(self) -> list[tuple[str, str, str, float, str]]:
        """Return (session, round, request, epsilon, note) of every debit; none where there is no ledger yet."""
        deadline = time.monotonic() + 30.0
        while self.path.exists():
            try:
                connection = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True, timeout=5.0)
                try:
                    query = "SELECT session, round, request, epsilon, note FROM debits ORDER BY time, rowid"
                    return [tuple(row) for row in connection.execute(query).fetchall()]
                finally:
                    connection.close()
            except sqlite3.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
        return []


class Network:
    """Submits tasks with the researcher's key by vantage6's own client, waits, and reads results."""

    def __init__(self, made: dict[str, Any]) -> None:
        from vantage6.client import UserClient

        self.made = made
        self.stations: list[str] = made["stations"]
        self.helper: str = made["helper"]
        self.client = UserClient(made["url"], made["port"], made["api_path"], log_level="error")
        self.client.authenticate(made["user"], made["password"])
        self.client.setup_encryption(made["private_key"] if made["encrypted"] else None)
        logging.getLogger("vantage6").setLevel(logging.CRITICAL)
        listed = self.client.organization.list(per_page=100)["data"]
        self.ids = {entry["name"]: int(entry["id"]) for entry in listed if entry["name"] in made["organizations"]}
        collaborations = self.client.collaboration.list(per_page=100)["data"]
        self.collaboration = next(
            int(entry["id"]) for entry in collaborations if entry["name"] == made["collaboration"]
        )

    def image(self, algorithm: str) -> str:
        """Return the tag that scripts/images gave the method."""
        lock = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
        platform = next(
            line.split("==")[1].split()[0] for line in lock if line.startswith("vantage6-algorithm-tools==")
        )
        version = plain_field("version", ROOT / f"algorithms/{algorithm}/pyproject.toml")
        return f"{self.made['registry']}/algorithms/{algorithm}:{version}-v6-{platform}"

    def submit(
        self,
        algorithm: str,
        function: str,
        arguments: dict[str, Any],
        at: str,
        label: str = "default",
        image: str | None = None,
    ) -> int:
        """Create a task at one organization and return its id."""
        task = self.client.task.create(
            collaboration=self.collaboration,
            organizations=[self.ids[at]],
            name=f"{algorithm} {function}",
            description="dev network test",
            image=image or self.image(algorithm),
            input_={"method": function, "kwargs": arguments},
            databases=[{"label": label}],
        )
        assert "id" in task, f"the server refused the task: {task.get('msg')}"
        return int(task["id"])

    def status(self, task: int) -> str:
        """Return a task's status."""
        return str(self.client.request(f"task/{task}/status")["status"])

    def job(self, task: int) -> int:
        """Return the id of a task's job: the task and its sub-tasks."""
        return int(self.client.request(f"task/{task}")["job_id"])

    def offline(self) -> list[str]:
        """Return the nodes that the server does not hold for online."""
        nodes = self.client.request("node", params={"per_page": 100})["data"]
        return sorted(node["name"] for node in nodes if node["status"] != "online")

    def runs(self, task: int) -> list[dict[str, Any]]:
        """Return the runs of a task as the server tells them, nothing decrypted."""
        return list(self.client.request("run", params={"task_id": task, "per_page": 100})["data"])

    def subtasks(self, task: int) -> list[int]:
        """Return the ids of a task's sub-tasks, in the order of their creation."""
        listed = self.client.request("task", params={"parent_id": task, "per_page": 100})["data"]
        return sorted(int(entry["id"]) for entry in listed)

    def result(self, task: int, timeout: float = LONGEST_SECONDS) -> Any:
        """Wait for a task's end and return its result; raise the error that its log tells of."""
        deadline = time.monotonic() + timeout
        while (status := self.status(task)) not in OVER:
            if time.monotonic() > deadline:
                self.client.task.kill(task)
                raise TaskFailed(f"task {task} is still {status} after {timeout:g} s")
            time.sleep(POLL_SECONDS)
        if status != "completed":
            log = "\n".join(str(run.get("log") or "") for run in self.runs(task))
            raise from_log(log) or TaskFailed(f"task {task} is {status}: {log[-1500:]}")
        return json.loads(self.client.result.from_task(task)["data"][0]["result"])

    def run(
        self, algorithm: str, function: str, arguments: dict[str, Any], at: str | None = None, label: str = "default"
    ) -> Any:
        """Submit and wait; central functions run at the helper unless told otherwise."""
        return self.result(self.submit(algorithm, function, arguments, at or self.helper, label))

    def ledger(self, organization: str) -> Ledger:
        """Return the reader of a node's ledger."""
        return Ledger(Path(self.made["ledgers"][organization]) / "fedbayes-ledger.sqlite3")

    def container(self, organization: str) -> str:
        """Return the name of a node's container."""
        return f"vantage6-fedbayes_{organization}-user"

    def tables(self, label: str) -> dict[str, dict[str, Path]]:
        """Return the stations' files of one label, as the embedded federation takes them."""
        folder = Path(self.made["tables"])
        return {station: {"default": folder / station / f"{label}.csv"} for station in self.stations}

    def wait_online(self, organization: str, wanted: str = "online", seconds: float = 120.0) -> None:
        """Wait until the server holds a node for online (or offline)."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            nodes = self.client.request("node", params={"organization_id": self.ids[organization]})["data"]
            if [node["status"] for node in nodes] == [wanted]:
                return
            time.sleep(POLL_SECONDS)
        raise TaskFailed(f"the node of {organization} is not {wanted} after {seconds:g} s")


def docker(*arguments: str) -> str:
    """Run the docker command and return what it printed."""
    done = subprocess.run(["docker", *arguments], check=True, capture_output=True, text=True, timeout=120)
    return done.stdout.strip()


def algorithms() -> Sequence[str]:
    """Return every method that has an image."""
    return sorted(
        path.parent.name for path in ROOT.glob("algorithms/*/Dockerfile") if (path.parent / "pyproject.toml").exists()
    )
