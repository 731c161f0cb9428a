"""What one job remembers at one station: a folder whose name comes from the platform and never from a message.

The folder holds the session, the job's keys and manifest, kept arrays, and the sealed replies, which are returned again if the platform
repeats a request.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ...mpc.relay import KeyPair
from ...randomness import secret_bytes
from ...typing import Array
from ..errors import MessageError, StationError
from . import platform
from .kept_arrays import read_arrays, write_arrays
from .platform import Origin, Run
from .secrets import KEY_FILE, UNWRITABLE, append, first, held_in, lines, once, own_keys

FOLDER = "fedbayes-"
SESSION_FILE = "session"
TASK_FILE = "task"
OVER_FILE = "over"
AGGREGATOR_FILES = ("aggregator-exchange", "aggregator-signing")


def _safe(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:32]


def left_name(digest: bytes) -> str:
    """Return how the name of the file ends in which `Memory.leave` keeps a content."""
    return f"-left-{_safe(digest.hex())}"


class Memory:
    """The job's folder at one station, mode 0700.

    Parameters
    ----------
    run : Run
        Identity of this container.
    origin : Origin
        Where its task comes from; for central, its own task.
    """

    def __init__(self, run: Run, origin: Origin) -> None:
        known_at = origin.created_at if run.mock else ""
        facts = (origin.job, origin.parent, origin.image, origin.organization, run.organization, known_at)
        self.path = run.folder / f"{FOLDER}{_safe(repr(facts))}"
        self.session = self._open(run, origin)
        self._facts: dict[str, bytes] = {}
        self._keys: KeyPair | None = None

    def _file(self, kind: str, name: str) -> str:
        """Return the path of a file of the folder; only a hash of `name` goes into it."""
        return f"{self.path}/{kind}-{_safe(name)}"

    def _open(self, run: Run, origin: Origin) -> str:
        """Return the job's session; remove what a finished job, or another one with the same numbers, left in the folder."""
        session_file = self.path / SESSION_FILE
        if session_file.exists() and not origin.created_at:
            return session_file.read_text()
        session = platform.confirmed(origin).session
        if session_file.exists() and session_file.read_text() != session:
            shutil.rmtree(self.path, ignore_errors=True)
        if not run.mock and not self.path.exists():
            self._remove_stale(run.folder)
        self._make()
        once(self.path / TASK_FILE, str(origin.parent).encode())
        return once(session_file, session.encode()).decode()

    def _make(self) -> None:
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            raise StationError(UNWRITABLE) from None

    @staticmethod
    def _remove_stale(folder: Path) -> None:
        """Remove the folders of jobs whose central task has ended; a job that runs beside this one keeps its own."""
        for other in folder.glob(f"{FOLDER}*"):
            try:
                task = int((other / TASK_FILE).read_text())
            except (OSError, ValueError):
                task = 0
            if task == 0 or not platform.is_running(task):
                shutil.rmtree(other, ignore_errors=True)

    def confirm(self, origin: Origin) -> None:
        """Ask the platform, in the job's first round, whether the folder is still this job's."""
        confirmed = platform.confirmed(origin)
        if confirmed.session != self.session:
            shutil.rmtree(self.path, ignore_errors=True)
            self._facts.clear()
            self._keys = None
            self._make()
            once(self.path / TASK_FILE, str(origin.parent).encode())
            self.session = once(self.path / SESSION_FILE, confirmed.session.encode()).decode()

    def once(self, name: str, content: bytes) -> bytes:
        """Write a fact of the job unless it was written before, and return what stands there."""
        path = self._file("fact", name)
        written = once(path, content)
        self.check_not_over(path)
        return written

    def read(self, name: str) -> bytes | None:
        """Return what `once` wrote, or None; a run reads it once, as it stays what it is."""
        if name not in self._facts:
            with suppress(FileNotFoundError):
                self._facts[name] = held_in(self._file("fact", name))
        return self._facts.get(name)

    def note(self, kind: str, content: Any) -> None:
        """Add plain JSON to what the job has noted of a kind, once."""
        path = self._file("fact", kind)
        append(path, json.dumps(content).encode())
        self.check_not_over(path)

    def noted(self, kind: str) -> list[Any]:
        """Return what `note` added of a kind, in order."""
        return [json.loads(line) for line in lines(self._file("fact", kind))]

    def leave(self, content: bytes, stays: bool = False) -> bytes:
        """Keep a sealed content for central, or for the station of central's own organization; return its digest. A reply `stays` when the job is over.

        The file is not synced to disk: if the machine goes down, both sides start again anyway.
        """
        digest = hashlib.sha256(content).digest()
        path = self.path / f"{'reply' if stays else 'fact'}{left_name(digest)}"
        try:
            draft = path.with_name(f"{path.name}-{secret_bytes(8).hex()}")
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(content)
            draft.replace(path)
        except OSError:
            raise StationError(UNWRITABLE) from None
        return digest

    def left(self, digest: bytes) -> bytes:
        """Return what `leave` kept.

        Raises
        ------
        MessageError
            If it is not there, or was changed.
        """
        content = b""
        with suppress(FileNotFoundError, StopIteration):
            content = next(self.path.glob(f"*{left_name(digest)}")).read_bytes()
        if hashlib.sha256(content).digest() != digest:
            raise MessageError("a message is missing in the job's folder at this node; start the job again")
        return content

    def keep(self, name: str, **arrays: Array) -> bool:
        """Keep arrays for later rounds of this job at this station (the first writer wins); return whether it was this call that kept them."""
        path = self._file("kept", name)
        kept = first(path, lambda file: write_arrays(file, arrays))
        self.check_not_over(path)
        return kept

    def kept(self, name: str) -> dict[str, Array]:
        """Return what `keep` stored.

        Raises
        ------
        MessageError
            If nothing of that name was kept in this job.
        """
        try:
            return read_arrays(self._file("kept", name))
        except FileNotFoundError:
            raise MessageError("an earlier round of this job is missing at this station; start the job again") from None

    def _reply(self, question_digest: str, reply_key: bytes) -> str:
        return self._file("reply", f"{question_digest}|{reply_key.hex()}")

    def recorded(self, question_digest: str, reply_key: bytes) -> Any:
        """Return the sealed reply that this question got before, if the platform runs it again; else None."""
        with suppress(FileNotFoundError):
            return json.loads(held_in(self._reply(question_digest, reply_key)))
        return None

    def record(self, question_digest: str, reply_key: bytes, payload: Any, also: str) -> Any:
        """Record a sealed reply before it leaves, under two names; of two runs at the same time the first one's reply is returned by both."""
        path = self._reply(question_digest, reply_key)
        written = first(path, lambda file: file.write(json.dumps(payload).encode()))
        with suppress(FileExistsError):
            os.link(path, self._reply(also, reply_key))
        return payload if written else json.loads(held_in(path))

    @contextmanager
    def alone(self, request_id: str) -> Iterator[None]:
        """Hold a question's lock: of two runs at the same time the second waits for the reply of the first."""
        try:
            lock = os.open(self._file("lock", request_id), os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            raise StationError(UNWRITABLE) from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def has_keys(self) -> bool:
        """Return whether this station has a key pair of the job."""
        return (self.path / KEY_FILE).exists()

    def has_station(self) -> bool:
        """Return whether this folder is that of a station which takes part in the job, or took part until it ended."""
        return self.has_keys() or (self.path / OVER_FILE).exists()

    def keys(self) -> KeyPair:
        """Return this station's key pair of the job, made when first asked for; `MessageError` if the job has ended here."""
        self.check_not_over()
        if self._keys is None:
            self._keys = own_keys(self.path)
            self.check_not_over(f"{self.path}/{KEY_FILE}")
        return self._keys

    def check_not_over(self, *written: str) -> None:
        """Raise `MessageError` if the job has ended here: what it may ask once was forgotten with its keys, and a second opening would ask it again.

        Who writes a fact looks after writing it: the mark is there before the first fact goes. What was `written` after those went is removed.
        """
        if os.path.exists(f"{self.path}/{OVER_FILE}"):
            for path in written:
                Path(path).unlink(missing_ok=True)
            raise MessageError("the job is over at this station; start another task")

    def wipe(self) -> None:
        """Mark the job as over and remove keys and kept arrays, and drafts of them that a killed container left; sealed replies stay for a repeat by the
        platform, those that were left for central too.
        """
        once(self.path / OVER_FILE, b"")
        self._facts.clear()
        self._keys = None
        self._remove("kept-", "fact-", KEY_FILE)

    def wipe_aggregator(self) -> None:
        """Remove the keys of central, drafts of them, and what it has left for a station of its organization where the job is over already."""
        self._remove(*AGGREGATOR_FILES)
        if (self.path / OVER_FILE).exists():
            self._remove("fact-")

    def _remove(self, *kinds: str) -> None:
        """Remove all files whose names begin so: `secrets.once` writes a file under its name with an ending first."""
        for path in (path for kind in kinds for path in self.path.glob(f"{kind}*")):
            path.unlink(missing_ok=True)
