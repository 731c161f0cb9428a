"""Files that are written once: keys, and what a job at a station must remember."""

from __future__ import annotations

import os
from pathlib import Path

from ..mpc.relay import KeyPair

KEY_FILE = "private_key"


def once(path: Path, content: bytes) -> bytes:
    """Write a file of mode 0600 unless it is there, atomically and on disk; return what it holds then.

    Of several writers at the same time the first one's content stays.
    """
    if not path.exists():
        draft = path.with_name(f"{path.name}-{os.getpid()}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_bytes()


def own_keys(folder: Path, name: str = KEY_FILE) -> KeyPair:
    """Return the key pair of a folder, made when first asked for; by default a station's key pair of the job."""
    from ..randomness import secret_bytes

    path = folder / name
    return KeyPair.from_bytes(path.read_bytes() if path.exists() else once(path, secret_bytes(32)))
