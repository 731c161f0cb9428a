"""Tasks and runs as the embedded server keeps them."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FAILED = ("crashed", "killed by user")
PIECE = 3 * 2**18
"""Bytes of an answer that are read at a time: whole groups of three, as base64 has."""


@dataclass
class RunState:
    """One run of a task at one organization.

    Attributes
    ----------
    id, task, organization : int
    input : str
        As it came; empty once the run has its folder, which has it then.
    status : str
    method : str
        Name of the remote function.
    output : Path or None
        File of the run's answer, as JSON: long answers lie on the disk, not in this process.
    log : str
    """

    id: int
    task: int
    organization: int
    input: str
    status: str = "pending"
    method: str = ""
    output: Path | None = None
    log: str = ""

    @property
    def result(self) -> str | None:
        """The answer as the platform tells it, base64 of JSON; None without one."""
        return None if self.output is None else base64.b64encode(self.output.read_bytes()).decode("ascii")

    def json_parts(self) -> Iterator[bytes]:
        """Yield what the server tells of the answer, as JSON, piece by piece."""
        yield b'{"id": %d, "blob_storage_used": false, "result": ' % self.id
        if self.output is None:
            yield b"null}"
            return
        yield b'"'
        with self.output.open("rb") as file:
            while part := file.read(PIECE):
                yield base64.b64encode(part)
        yield b'"}'

    @property
    def json_bytes(self) -> int:
        """How many bytes `json_parts` yields."""
        head = len('{"id": , "blob_storage_used": false, "result": ') + len(str(self.id))
        return head + (len("null}") if self.output is None else len('""}') + 4 * -(-self.output.stat().st_size // 3))


@dataclass
class TaskState:
    """One task and its runs."""

    id: int
    name: str
    job: int
    parent: int | None
    databases: list[dict[str, str]]
    created_at: str
    image: str
    init_org: int
    runs: list[RunState] = field(default_factory=list)
    was_read: bool = False

    @property
    def status(self) -> str:
        """The platform's rule: failed as soon as one run has failed."""
        states = [run.status for run in self.runs]
        if any(state in FAILED for state in states):
            return "failed"
        return "completed" if all(state == "completed" for state in states) else "active"

    def to_dict(self) -> dict[str, Any]:
        """Return what the server tells of a task."""
        return {
            "id": self.id,
            "name": self.name,
            "job_id": self.job,
            "parent": {"id": self.parent} if self.parent else None,
            "status": self.status,
            "created_at": self.created_at,
            "image": self.image,
            "init_org": {"id": self.init_org},
            "databases": self.databases,
            "runs": [{"organization": {"id": run.organization}} for run in self.runs],
        }
