"""The two neighbouring relations, between tables that one unit of a promise tells apart.

``add_remove``: one row more or less, so the number of rows is not public. ``replace_one``: the content of one row changes, so it is public.
What a query changes by is stated where it is asked: `laws.Change`.
"""

from __future__ import annotations

__all__ = ["NEIGHBORS", "check_neighbors"]

NEIGHBORS: tuple[str, str] = ("add_remove", "replace_one")


def check_neighbors(neighbors: str) -> str:
    """Return the relation's name, or raise ValueError naming the two that exist."""
    if neighbors not in NEIGHBORS:
        raise ValueError('neighbors: give "add_remove" or "replace_one"')
    return neighbors
