"""What a container learns about its own run from vantage6: identity, data labels, temporary folder."""

from __future__ import annotations

import base64
import functools
import hashlib
import http.client
import json
import os
import tempfile
import time
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..errors import MessageError, PolicyError, StationError
from .patience import PAUSE_SECONDS, READY_SECONDS, Patience

ASK_SECONDS = 60.0  # timeout of one request to the node's proxy
MOST_PAGES = 100  # of one of the server's lists: far beyond any collaboration
ORIGIN_MARK = "fedbayes_origin"
FINISHED = (
    "completed",
    "failed",
    "crashed",
    "killed by user",
    "not allowed",
    "unknown error",
    "start failed",
    "non-existing Docker image",
)


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


@dataclass(frozen=True, slots=True)
class Origin:
    """What the platform says of the task of central that a sub-task belongs to; nothing of it comes from a message.

    Attributes
    ----------
    job, parent : int
        The job, and the task that central runs for.
    image : str
        The image of both.
    organization : int
        The organization that runs central.
    created_at : str
        When the task of central was made.
    """

    job: int
    parent: int
    image: str
    organization: int
    created_at: str

    @property
    def session(self) -> str:
        """The job's name in every key and seal, 32 hexadecimal digits."""
        parts = (self.job, self.parent, self.image, self.organization, self.created_at)
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


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
    identity = _identity()
    return Run(
        int(identity["organization_id"]),
        int(identity["task_id"]),
        Path(os.environ["TEMPORARY_FOLDER"]),
        False,
    )


def _identity() -> dict[str, Any]:
    """Return what the container's token says of it."""
    payload = Path(os.environ["TOKEN_FILE"]).read_text().strip().split(".")[1]
    identity: dict[str, Any] = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["sub"]
    return identity


def ask(endpoint: str) -> Any:
    """Return what the server answers this container on a GET request, through the node's proxy.

    Without a web client, whose import would take longer than the request.

    Raises
    ------
    StationError
        If it does not answer.
    """
    address = os.environ["HOST"].rstrip("/")
    kind = http.client.HTTPSConnection if address.startswith("https") else http.client.HTTPConnection
    token = Path(os.environ["TOKEN_FILE"]).read_text().strip()
    path = f"/{os.environ.get('API_PATH', '').strip('/')}/{endpoint}".replace("//", "/")
    deadline = time.monotonic() + READY_SECONDS
    while True:
        connection = kind(address.partition("://")[2], int(os.environ["PORT"]), timeout=ASK_SECONDS)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
            answer = connection.getresponse()
            if answer.status == 200:
                return json.loads(answer.read())
            if answer.status < 500:
                break
        except (OSError, http.client.HTTPException, ValueError):
            pass
        finally:
            connection.close()
        if time.monotonic() > deadline:
            break
        time.sleep(PAUSE_SECONDS)
    raise StationError("the server does not tell this station what it is asked for; try again")


def own_origin(run: Run, mock_client: Any = None, task: dict[str, Any] | None = None) -> Origin:
    """Return the origin of the job whose central function runs here; `task` is what the server tells of this run's task."""
    if mock_client is not None:
        from ...randomness import secret_bytes

        origin = Origin(1, 1, "mock_image", run.organization, secret_bytes(16).hex())
        setattr(mock_client, ORIGIN_MARK, origin)
        return origin
    if task is None or task.get("id") != run.task:
        raise StationError("the server does not tell what this task is; try again")
    return Origin(
        int(task["job_id"]), int(task["id"]), str(task["image"]), run.organization, str(task.get("created_at"))
    )


def sub_task_origin(run: Run, mock_client: Any = None) -> Origin:
    """Return where a partial's task comes from; one request, without `created_at`.

    Raises
    ------
    PolicyError
        If it was not made by a central function of the same image: partials answer nobody else.
    """
    if mock_client is not None:
        origin = getattr(mock_client, ORIGIN_MARK, None)
        if not isinstance(origin, Origin):
            raise _no_origin()
        return origin
    task = ask(f"task/{run.task}")
    try:
        if task["id"] != run.task or not task["parent"] or not task["init_org"]:
            raise _no_origin()
        return Origin(
            int(task["job_id"]), int(task["parent"]["id"]), str(task["image"]), int(task["init_org"]["id"]), ""
        )
    except (KeyError, TypeError, ValueError, OverflowError):
        raise _no_origin() from None


def confirmed(origin: Origin) -> Origin:
    """Return the origin of a sub-task with what the server says of central's task; one request more, once a job.

    Raises
    ------
    PolicyError
        If central's task is of another job or image, or a sub-task itself: a station that is asked something could else ask in its turn. Or if it does not run
        where the sub-task was made: the server gives the token of a task to every node of the collaboration.
    """
    if origin.created_at:
        return origin
    parent = ask(f"task/{origin.parent}?include=runs")
    try:
        facts = (parent["id"], parent["job_id"], parent["image"], parent["parent"] or None)
        asked = [run["organization"]["id"] for run in parent["runs"]]
    except (KeyError, TypeError):
        raise _no_origin() from None
    if facts != (origin.parent, origin.job, origin.image, None) or origin.organization not in asked:
        raise _no_origin()
    return Origin(origin.job, origin.parent, origin.image, origin.organization, str(parent.get("created_at")))


def is_running(task: int) -> bool:
    """Return whether a task of this server has not ended; True where the server does not say."""
    try:
        return bool(ask(f"task/{task}/status").get("status") not in FINISHED)
    except (StationError, AttributeError):
        return True


def organizations() -> dict[int, str]:
    """Return id -> name of the collaboration's organizations.

    Raises
    ------
    MessageError
        If the server's list is malformed.
    """
    listed = f"organization?collaboration_id={_identity()['collaboration_id']}&per_page=100"
    names: dict[int, str] = {}
    for page in range(1, MOST_PAGES + 1):
        try:
            entries = {
                int(entry["id"]): str(entry.get("name") or entry["id"])
                for entry in ask(f"{listed}&page={page}")["data"]
            }
        except (KeyError, TypeError, ValueError, OverflowError):
            raise MessageError("the server's list of organizations is malformed; try again") from None
        if not set(entries) - set(names):
            break
        names.update(entries)
    return names


def _no_origin() -> PolicyError:
    return PolicyError(
        "a partial function answers only the central function of the same image and job; call a central function instead"
    )


def algorithm_client() -> Any:
    """Return vantage6's client of this container, which asks what stays the same in a job only once.

    vantage6's own asks the server for every organization's public key, and whether it has a blob storage, each time that it creates a task.
    It waits while the server is started again. A node that goes away in mid-job collects nothing of what it had started: this container ends at once then,
    so that the node runs the central function once more when it is back, with the keys and the recorded replies of the job.
    """
    from vantage6.algorithm.client import AlgorithmClient

    class Client(AlgorithmClient):  # type: ignore[misc]
        @cached_property
        def organizations(self) -> dict[str, Any]:
            return {}

        @cached_property
        def blob_storage(self) -> bool:
            return bool(super().check_if_blob_store_enabled())

        @cached_property
        def patience(self) -> Patience:
            return Patience(urlsplit(os.environ["HOST"]).hostname or "", int(os.environ["PORT"]))

        def request(self, endpoint: str, *positional: Any, **named: Any) -> Any:
            if positional or named or not endpoint.startswith("organization/"):
                return self._answer(endpoint, *positional, **named)
            if endpoint not in self.organizations:
                self.organizations[endpoint] = self._answer(endpoint)
            return self.organizations[endpoint]

        def _answer(self, endpoint: str, *positional: Any, **named: Any) -> Any:
            ask = functools.partial(super().request, endpoint, *positional, attempts_on_timeout=0, **named)
            return self.patience.answer_of(ask)

        def check_if_blob_store_enabled(self) -> bool:
            return self.blob_storage

    token = Path(os.environ["TOKEN_FILE"]).read_text().strip()
    return Client(token=token, host=os.environ["HOST"], port=int(os.environ["PORT"]), path=os.environ["API_PATH"])
