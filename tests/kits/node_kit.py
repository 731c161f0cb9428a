"""A file as the database of a node: what the platform sets for a container."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def database(path: Path, kind: str) -> Iterator[None]:
    """Set the one database of this process as a node does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("USER_REQUESTED_DATABASE_LABELS", "default")
        patch.setenv("DEFAULT_DATABASE_URI", str(path))
        patch.setenv("DEFAULT_DATABASE_TYPE", kind)
        yield
