"""A YAML file's nodes, before anything is made of them: a few lines of aliases of aliases would be billions of values."""

from __future__ import annotations

from typing import Any

MOST_NODES = 1_000_000
"""Of a file with every alias written out: far more than a dictionary of all columns of a hospital has."""


def root_of(loader: Any) -> Any:
    """Return the node that a loader's file holds, None of an empty one.

    Raises
    ------
    yaml.YAMLError
        If the file is no YAML, an alias is inside what it stands for, or there are too many nodes with every alias written out.
    """
    root = loader.get_single_node()
    if root is not None:
        _written_out(root, {})
    return root


def _written_out(node: Any, sizes: dict[int, int | None]) -> int:
    """Return how many nodes there are with every alias written out; `sizes`: of nodes by their identity, None while they are counted."""
    from yaml.constructor import ConstructorError

    if id(node) not in sizes:
        sizes[id(node)] = None
        parts = node.value if isinstance(node.value, list) else []
        flat = [part for one in parts for part in (one if isinstance(one, tuple) else (one,))]
        sizes[id(node)] = 1 + sum(_written_out(part, sizes) for part in flat)
    size = sizes[id(node)]
    if size is None or size > MOST_NODES:
        fault = "an alias is inside what it stands for" if size is None else "its aliases make it too large"
        raise ConstructorError(None, None, fault, node.start_mark)
    return size
