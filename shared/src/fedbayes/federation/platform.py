"""What a container learns about its own run from vantage6: identity, data labels, temporary folder."""

from __future__ import annotations

import base64
import json
import os
import tempfile
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from .errors import PolicyError


@dataclass(frozen=True, slots=True)
class Run:
    """Identity of the running container.

    Attributes
    ----------
    organization : int
        The organization whose node runs it.
    task : int or None
        The task's id (None under vantage6's mock client).
    folder : pathlib.Path
        The job's temporary folder at this node.
    mock : bool
        Whether it runs under `MockAlgorithmClient`.
    """

    organization: int
    task: int | None
    folder: Path
    mock: bool


@lru_cache(maxsize=1)
def _mock_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="fedbayes-mock-")


def current_run(mock_client: Any = None) -> Run:
    """Return the identity of this run, from the container's token or from the mock client.

    Raises
    ------
    PolicyError
        If a mock client is given inside a real container: remote input must not choose the identity.
    """
    token_file = os.environ.get("TOKEN_FILE")
    if mock_client is not None:
        if token_file:
            raise PolicyError("mock_client and mock_data are no arguments of a real task; leave them out")
        return Run(int(mock_client.organization_id), None, Path(_mock_folder().name), True)
    if not token_file:
        raise PolicyError("this function runs inside a vantage6 node, or with a mock client")
    payload = Path(token_file).read_text().strip().split(".")[1]
    identity = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["sub"]
    return Run(
        int(identity["organization_id"]),
        int(identity["task_id"]),
        Path(os.environ["TEMPORARY_FOLDER"]),
        False,
    )


def algorithm_client() -> Any:
    """Return vantage6's client of this container, which asks what stays the same in a job only once.

    vantage6's own asks the server for every organization's public key, and whether it has a blob storage, each time that it creates a task.
    """
    from vantage6.algorithm.client import AlgorithmClient

    class Client(AlgorithmClient):  # type: ignore[misc]
        @cached_property
        def organizations(self) -> dict[str, Any]:
            return {}

        @cached_property
        def blob_storage(self) -> bool:
            return bool(super().check_if_blob_store_enabled())

        def request(self, endpoint: str, *positional: Any, **named: Any) -> Any:
            if positional or named or not endpoint.startswith("organization/"):
                return super().request(endpoint, *positional, **named)
            if endpoint not in self.organizations:
                self.organizations[endpoint] = super().request(endpoint)
            return self.organizations[endpoint]

        def check_if_blob_store_enabled(self) -> bool:
            return self.blob_storage

    token = Path(os.environ["TOKEN_FILE"]).read_text().strip()
    return Client(token=token, host=os.environ["HOST"], port=int(os.environ["PORT"]), path=os.environ["API_PATH"])


def requested_label() -> str | None:
    """Return the label of the database that the task asks for, if this node has it."""
    labels = [label for label in os.environ.get("USER_REQUESTED_DATABASE_LABELS", "").split(",") if label]
    for label in labels[:1]:
        uri = os.environ.get(f"{label.upper()}_DATABASE_URI", "")
        if uri and os.path.exists(uri):
            return label
    return None


def plain_csv() -> Path | None:
    """Return the requested database's path if it is a CSV file that the task wants as it is, without vantage6's preprocessing."""
    name = (requested_label() or "").upper()
    plain = os.environ.get(f"{name}_DATABASE_TYPE") == "csv" and os.environ.get(f"{name}_PREPROCESSING") is None
    return Path(os.environ[f"{name}_DATABASE_URI"]) if plain else None


def read_table() -> Any:
    """Return the requested database as a pandas frame, as vantage6's own reader gives it (with its preprocessing)."""
    from vantage6.algorithm.tools.decorators import data

    return data(1)(lambda frame: frame)()


def folder_database(label: str) -> Path:
    """Return the folder of a `folder` database of the node.

    Raises
    ------
    PolicyError
        If the node has no such database.
    """
    uri = os.environ.get(f"{label.upper()}_DATABASE_URI")
    if not uri or not Path(uri).is_dir():
        raise PolicyError(
            "the node's ledger folder is missing; ask the node administrator to configure a folder database"
        )
    return Path(uri)
