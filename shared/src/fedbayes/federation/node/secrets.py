"""Files that are written whole or not at all: keys, and what a job or a node must remember."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from ...mpc.relay import KEY_BYTES, KeyPair
from ...randomness import secret_bytes
from ..errors import StationError

KEY_FILE = "private_key"
UNWRITABLE = "a folder of the node cannot be written; ask the node's administrator for space and rights"


def held_in(path: str | Path) -> bytes:
    """Return what a file holds; `FileNotFoundError` where there is none."""
    with open(path, "rb", buffering=0) as file:
        return file.readall()


def once(path: str | Path, content: bytes, renew: bool = False) -> bytes:
    """Write a file of mode 0600 unless it is there, atomically and on disk; return what it holds then.

    Of several writers at the same time the first one's content stays; with `renew` the last one's.

    Raises
    ------
    StationError
        If the folder is full or cannot be written.
    """
    try:
        with suppress(FileNotFoundError):
            if not renew:
                return held_in(path)
        return content if _write(path, lambda file: file.write(content), renew) else held_in(path)
    except OSError:
        raise StationError(UNWRITABLE) from None


def first(path: str | Path, write: Callable[[IO[bytes]], object]) -> bool:
    """Write a file as `once` does, without reading it again, for what is long; return whether it was this call that wrote it.

    Raises
    ------
    StationError
        If the folder is full or cannot be written.
    """
    try:
        return not os.path.exists(path) and _write(path, write, False)
    except OSError:
        raise StationError(UNWRITABLE) from None


def append(path: str | Path, line: bytes) -> None:
    """Add a line to a file of mode 0600, on disk, unless the file has it. Of several writers at the same time one waits for the other.

    Raises
    ------
    StationError
        If the folder is full or cannot be written.
    """
    try:
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            held = file.read().split(b"\n")[:-1]
            if line not in held:
                file.seek(sum(len(earlier) + 1 for earlier in held))
                file.truncate()  # what a crash left of a line
                file.write(line + b"\n")
                file.flush()
                os.fsync(file.fileno())
    except OSError:
        raise StationError(UNWRITABLE) from None


def lines(path: str | Path) -> list[bytes]:
    """Return the whole lines that `append` has added to a file; none where there is no file."""
    with suppress(FileNotFoundError):
        return held_in(path).split(b"\n")[:-1]
    return []


def _write(path: str | Path, write: Callable[[IO[bytes]], object], renew: bool) -> bool:
    # Not named by the process: every container's is number 1.
    draft = f"{path}-{secret_bytes(8).hex()}"
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        (os.replace if renew else os.link)(draft, path)
    except FileExistsError:
        return False
    finally:
        with suppress(FileNotFoundError):
            os.unlink(draft)
    return True


def own_keys(folder: Path, name: str = KEY_FILE) -> KeyPair:
    """Return the key pair of a folder, made when first asked for; by default a station's key pair of the job."""
    path = os.path.join(folder, name)
    try:
        return KeyPair.from_bytes(held_in(path))
    except FileNotFoundError:
        return KeyPair.from_bytes(once(path, secret_bytes(KEY_BYTES)))
