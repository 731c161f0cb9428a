"""What the node gives to a container: environment variables, encoded, and a token."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from pathlib import Path

from ..tables.node_databases import RECORD
from .tasks import RunState, TaskState

PASSED_ON = ("PATH", "HOME", "LANG", "PYTHONPATH", "VIRTUAL_ENV", "TMPDIR")


def token_of(run: RunState, task: TaskState, image: str) -> str:
    """Return the token by which a container is known to the server."""
    import jwt

    identity = {
        "client_type": "container",
        "node_id": run.organization,
        "organization_id": run.organization,
        "collaboration_id": 1,
        "task_id": task.id,
        "image": image,
        "databases": task.databases,
    }
    secret = "the embedded server knows its own tokens"
    return jwt.encode({"sub": identity, "run": run.id}, secret, algorithm="HS256")


def places_of(folder: Path, job_folder: Path, record: Path, port: int, task: TaskState) -> dict[str, str]:
    """Return the variables that say where files, the server and databases are."""
    return {
        "INPUT_FILE": str(folder / "input"),
        "OUTPUT_FILE": str(folder / "output"),
        "TOKEN_FILE": str(folder / "token"),
        "TEMPORARY_FOLDER": str(job_folder),
        "HOST": "http://127.0.0.1",
        "PORT": str(port),
        "API_PATH": "/api",
        "FEDBAYES_EMBEDDED": "true",
        RECORD: str(record),
        "USER_REQUESTED_DATABASE_LABELS": ",".join(entry["label"] for entry in task.databases),
        "OPENBLAS_NUM_THREADS": "1",
    }


def environment_of(package: str, values: Mapping[str, str]) -> dict[str, str]:
    """Return a container's environment: values encoded as the node does, the package's name and what every process needs as they are."""
    encoded = {key: base64.b32encode(value.encode()).decode().replace("=", "!") for key, value in values.items()}
    inherited = {key: os.environ[key] for key in PASSED_ON if key in os.environ}
    return {**inherited, **encoded, "PKG_NAME": package}
