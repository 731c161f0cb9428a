"""A vantage6 collaboration inside this process: the client, tokens, environments and files of containers, without containers.

Everything above it is the real thing: decorators, codec, envelopes, the station's own readers. This is the only file that knows how.
"""

from __future__ import annotations

import base64
import contextlib
import importlib
import io
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np

IMAGE = "registry.example/fedbayes:1"
LABEL = "default"


class Client:
    """What a container asks of the server, as `vantage6.algorithm.client.AlgorithmClient` offers it."""

    def __init__(self, platform: InProcess, task: int, organization: int) -> None:
        def create(input_: Any, organizations: list[int], name: str = "", description: str = "") -> dict[str, Any]:
            return platform.create(json.loads(json.dumps(input_)), organizations, task, organization)

        listed = [{"id": key, "name": name, "public_key": ""} for key, name in platform.names.items()]
        self._platform = platform
        self.organization_id = organization
        self.image, self.collaboration_id, self.databases = IMAGE, 1, [{"label": LABEL}]
        self.task = SimpleNamespace(get=lambda number, **_: dict(platform.tasks[int(number)]), create=create)
        self.organization = SimpleNamespace(list=lambda **_: listed, get=lambda number, **_: listed[int(number) - 1])
        self.result = SimpleNamespace(
            from_task=lambda number, **_: [run["result"] for run in reversed(platform.runs[int(number)])]
        )
        self.run = SimpleNamespace(from_task=lambda number, **_: list(reversed(platform.runs[int(number)])))
        self.wait_for_results = self.result.from_task

    def request(self, endpoint: str, *_: Any, **__: Any) -> Any:
        kind, number, *rest = endpoint.partition("?")[0].strip("/").split("/")
        if kind == "organization":
            return self.organization.get(number)
        if kind != "task":
            raise NotImplementedError(endpoint)
        told = self.task.get(number)
        return {"status": told["status"]} if rest else told

    def check_if_blob_store_enabled(self) -> bool:
        return False


def in_turn(_: bytes, records: int, folds: int) -> Any:
    """Return the fold of each record, (records,), by its place."""
    return np.arange(records) % folds


class InProcess:
    """Organizations with a file or none, their limits, and who runs central.

    Parameters
    ----------
    module : str
        Package of the algorithm.
    files : mapping of str to (str, bytes or None)
        Organization -> its CSV file's text, or its Excel file.
    policies : mapping of str to mapping
        Organization -> {limit: value}.
    central : str
        The organization that runs central functions.
    """

    def __init__(
        self,
        module: str,
        files: Mapping[str, str | bytes | None],
        policies: Mapping[str, Mapping[str, Any]],
        central: str,
    ) -> None:
        self.module = importlib.import_module(module)
        self.names = {number + 1: name for number, name in enumerate(files)}
        self._ids = {name: number for number, name in self.names.items()}
        self._central = self._ids[central]
        self._folder = tempfile.TemporaryDirectory(prefix="fedbayes-differential-", dir=_memory())
        self._files: dict[int, tuple[Path, str]] = {}
        self.replace(files)
        self._policies = {
            self._ids[name]: {f"FEDBAYES_{key.upper()}": _text(value) for key, value in limits.items()}
            for name, limits in policies.items()
        }
        self.tasks: dict[int, dict[str, Any]] = {}
        self.runs: dict[int, list[dict[str, Any]]] = {}
        self._stack: list[tuple[Client, dict[str, str]]] = []

    def __enter__(self) -> InProcess:
        return self

    def __exit__(self, *_: Any) -> None:
        self._folder.cleanup()

    def replace(self, files: Mapping[str, str | bytes | None]) -> None:
        """Give the organizations these files in the place of what they had."""
        for name, content in files.items():
            if content is not None:
                number = self._ids[name]
                self._files[number] = write_file(Path(self._folder.name) / str(number), content)

    def hand_over(self, organization: int, path: Path, kind: str, label: str) -> None:
        """Give an organization a file or a folder that is there already."""
        name = f"{label.upper()}_DATABASE"
        self.limit(organization, {f"{name}_URI": str(path), f"{name}_TYPE": kind})

    def limit(self, organization: int, variables: Mapping[str, str]) -> None:
        """Give an organization environment variables."""
        self._policies[organization] = {**self._policies.get(organization, {}), **variables}

    def run(self, function: str, arguments: Mapping[str, Any]) -> Any:
        """Run a central function as one task; what it raises is what the researcher's log would tell."""
        from fedbayes.federation.node import platform

        number = self._task(None, self._central)
        content = json.loads(json.dumps({"kwargs": dict(arguments)}))
        with (
            mock.patch.object(platform, "algorithm_client", self._client),
            mock.patch.object(platform, "ask", self._ask),
            self._folds(),
            contextlib.redirect_stdout(io.StringIO()),
            self._container(number, self._central),
        ):
            result = getattr(self.module, function)(**content["kwargs"])
            return json.loads(json.dumps(result, allow_nan=False))

    def _folds(self) -> Any:
        """Return what has the folds of a Cox model drawn in turn, so that a twin knows them."""
        name = self.module.__name__
        known = name == "v6_verticox"
        return mock.patch(f"{name}.stations.folds.fold_of", in_turn) if known else contextlib.nullcontext()

    def _client(self) -> Client:
        return self._stack[-1][0]

    def _ask(self, endpoint: str) -> Any:
        if endpoint.startswith("organization?"):
            return {"data": self._client().organization.list()}
        return self._client().request(endpoint)

    # -- the server ------------------------------------------------------------------------------------------------------

    def _task(self, parent: int | None, initiator: int) -> int:
        number = len(self.tasks) + 1
        self.tasks[number] = {
            "id": number,
            "job_id": self.tasks[parent]["job_id"] if parent else number,
            "parent": {"id": parent, "link": f"/api/task/{parent}"} if parent else None,
            "created_at": datetime.now(timezone.utc).isoformat(),
            "status": "active",
            "image": IMAGE,
            "databases": [{"label": LABEL}],
            "init_org": {"id": initiator, "link": f"/api/organization/{initiator}"},
            "runs": [{"organization": {"id": initiator}}],
            "collaboration": {"id": 1},
        }
        return number

    def create(self, content: Any, organizations: list[int], parent: int, initiator: int) -> dict[str, Any]:
        """Create a sub-task and run it at once at every organization."""
        number = self._task(parent, initiator)
        self.runs[number] = []
        crashed = False
        for organization in organizations:
            result, status = None, "crashed"
            with self._container(number, organization):
                try:
                    answer = getattr(self.module, content["method"])(**content["kwargs"])
                    result, status = json.loads(json.dumps(answer)), "completed"
                except Exception:
                    crashed = True
            self.runs[number].append({"result": result, "status": status, "organization": {"id": organization}})
        self.tasks[number]["status"] = "failed" if crashed else "completed"
        return dict(self.tasks[number])

    # -- the node --------------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _container(self, task: int, organization: int) -> Iterator[None]:
        folder = Path(self._folder.name) / f"job-{self.tasks[task]['job_id']}" / str(organization)
        folder.mkdir(parents=True, exist_ok=True)
        token = folder / f"token-{task}"
        identity = {"organization_id": organization, "task_id": task, "image": IMAGE, "databases": [{"label": LABEL}]}
        identity |= {"client_type": "container", "node_id": organization, "collaboration_id": 1}
        payload = base64.urlsafe_b64encode(json.dumps({"sub": identity}).encode()).decode().rstrip("=")
        token.write_text(f"header.{payload}.signature")
        environment = {
            "TOKEN_FILE": str(token),
            "TEMPORARY_FOLDER": str(folder),
            "FEDBAYES_EMBEDDED": "true",
            "FEDBAYES_ALLOW_DIFFERENCES": "true",
            "PKG_NAME": self.module.__name__,
            "USER_REQUESTED_DATABASE_LABELS": LABEL,
            **self._policies.get(organization, {}),
        }
        if organization in self._files:
            path, kind = self._files[organization]
            environment |= {"DEFAULT_DATABASE_URI": str(path), "DEFAULT_DATABASE_TYPE": kind}
        # A container inside another one, a sub-task in central, knows what that one was given: the environment is searched once a task.
        outer = self._stack[-1][1] if self._stack else {key: os.environ[key] for key in os.environ if _ours(key)}
        _exchange(outer, environment)
        self._stack.append((Client(self, task, organization), environment))
        try:
            yield
        finally:
            self._stack.pop()
            _exchange(environment, outer)


def write_file(stem: Path, content: str | bytes) -> tuple[Path, str]:
    """Write a table; return (its file, its kind)."""
    if isinstance(content, bytes):
        suffix, kind = (".parquet", "parquet") if content.startswith(b"PAR1") else (".xlsx", "excel")
        stem.with_suffix(suffix).write_bytes(content)
        return stem.with_suffix(suffix), kind
    stem.with_suffix(".csv").write_text(content, encoding="utf-8", newline="")
    return stem.with_suffix(".csv"), "csv"


def _exchange(gone: Mapping[str, str], given: Mapping[str, str]) -> None:
    """Take variables out of this process's environment and put others in."""
    for key in gone.keys() - given.keys():
        os.environ.pop(key, None)
    os.environ.update({key: value for key, value in given.items() if gone.get(key) != value})


def _ours(key: str) -> bool:
    return (
        key.startswith("FEDBAYES_")
        or key.endswith(("_DATABASE_URI", "_DATABASE_TYPE"))
        or key
        in (
            "TOKEN_FILE",
            "TEMPORARY_FOLDER",
            "PKG_NAME",
            "USER_REQUESTED_DATABASE_LABELS",
        )
    )


def _memory() -> str | None:
    """Return a folder in memory, if there is one: every station writes and syncs small files in every round."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _text(value: Any) -> str:
    return json.dumps(value) if isinstance(value, list) else str(value)
