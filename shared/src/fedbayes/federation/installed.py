"""Which algorithms are installed, by the names of their packages; none is imported."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from ..bayes.values.names import nearest
from .errors import ArgumentError

PREFIX = "v6_"


def packages() -> list[str]:
    """Return the names of the packages that may be algorithms."""
    names = {file.parent.name for folder in sys.path for file in Path(folder).glob(f"{PREFIX}*/__init__.py")}
    return sorted(name for name in names if name.isidentifier())


def module_name(algorithm: str) -> str:
    """Return the Python package of an algorithm.

    Raises
    ------
    ArgumentError
        If it is not installed, with the nearest name that is.
    """
    for candidate in (f"{PREFIX}{algorithm}", str(algorithm)):
        if (
            candidate.startswith(PREFIX)
            and candidate.isidentifier()
            and importlib.util.find_spec(candidate) is not None
        ):
            return candidate
    near = nearest(algorithm.removeprefix(PREFIX), [name.removeprefix(PREFIX) for name in packages()])
    raise ArgumentError(
        f"algorithm '{algorithm[:60]}' is not installed{near}; `fedbayes algorithms` lists those that are"
    )
