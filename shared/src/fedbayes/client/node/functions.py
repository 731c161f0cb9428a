"""Names of remote functions in a node's configuration, held against those of the methods that are installed here."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterator, Sequence

from ...federation.installed import packages

SIMILAR = 0.8  # of two names, by difflib


def misspelt(names: Sequence[str]) -> Iterator[str]:
    """Yield what to say of every name that no installed method has, though one that is written nearly so; other images may have the rest."""
    functions = _installed() if names else set()
    for name in names:
        near = [] if name in functions else difflib.get_close_matches(name, sorted(functions), n=1, cutoff=SIMILAR)
        if near:
            yield f"'{name}' is a function of no method that is installed here; did you mean '{near[0]}'?"


def _installed() -> set[str]:
    """Return the remote functions of the installed methods; those that cannot be imported are left out."""
    found: set[str] = set()
    for module in packages():
        try:
            found.update(getattr(importlib.import_module(module), "__all__", ()))
        except Exception:
            continue
    return found
