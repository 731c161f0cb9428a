"""What an argument that a function has not may have meant."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ..bayes.encoding import nearest

SIMILAR = (
    ("columns", "features"),
    ("features", "columns"),
    ("target", "label"),
    ("outcome", "label"),
    ("duration", "time"),
    ("status", "event"),
    ("penalizer", "penalty"),
)
"""Names that other functions and packages have, and ours for the same."""
NEAR, NEARER = 0.7, 0.76
"""Likeness of a name to what was meant: where names are less alike the guess was odd; the second for names that another function has."""


def meant(name: str, names: Sequence[str], package: str) -> str:
    """Return what is put behind a name that is none of a function's: one of `names` that is near, or that other functions of the package have it."""
    similar = next((other for one, other in SIMILAR if one == name and other in names), None)
    if similar is not None:
        return f" (did you mean '{similar}'?)"
    functions = {
        key: one.fedbayes_declared
        for key, one in vars(sys.modules[package]).items()
        if hasattr(one, "fedbayes_declared")
    }
    having = sorted(key for key, kind in functions.items() if name in [one.name for one in kind.declared()])
    near = nearest(name, names, NEARER if having else NEAR)
    if not having:
        return near
    others = f"{' and '.join(having)} {'have' if having[1:] else 'has'} one"
    return near.replace("(", f"({others}; ", 1) or f" ({others})"
