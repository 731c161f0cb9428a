"""Which known name was meant by one that is misspelt."""

from __future__ import annotations

from collections.abc import Iterable

LIKENESS = 0.6
"""Of two names, 0 to 1, from which on one may be meant by the other; as difflib counts it."""


def near(unknown: str, candidates: Iterable[str], likeness: float = LIKENESS) -> str:
    """Return the known name nearest to an unknown one; empty where none is so near (0 to 1)."""
    import difflib

    listed = list(candidates)
    alike = [name for name in listed if name.casefold() == unknown.casefold()]
    found = alike or difflib.get_close_matches(unknown[:60], listed, n=3, cutoff=likeness)
    whole = [name for name in found if name.startswith(unknown)]  # ``tie``: ties rather than time
    return [*whole, *found, ""][0]


def nearest(unknown: str, candidates: Iterable[str], likeness: float = LIKENESS) -> str:
    """Return the question whether the name of `near` was meant, to put behind an unknown one; empty where there is none."""
    meant = near(unknown, candidates, likeness)
    return f" (did you mean '{meant}'?)" if meant else ""
