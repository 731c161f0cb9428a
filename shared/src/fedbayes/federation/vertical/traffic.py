"""About how many bytes an answer over vertically split records sends: for plans, which know the question, and neither tables nor stations.

What grows is one share of every opened state at every other station; the factors were measured over 3 and 5 stations and 200 to 20,000 records.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .planning import Planner
from .states import DEFAULT_BINS

BASE64 = 4 / 3  # growth of bytes by encoding
MATCHING, ANYWAY = 49, 6
"""Bytes a record: for every other station (hashes, positions, the presence of records), and once."""
STATE, JOINT = 4, 8.5
"""Bytes a record and station of a state that its owner opens (4 each, at every station), and, for every other station, of one made by a product."""
ORGANIZATION = 10_000
"""Bytes of one organization whatever the records are: keys, seals and questions of four to six rounds."""


def states_of(column: str, domain: Any, bins: Any) -> int | None:
    """Return how many states a column has by its public domain; None where the domain does not tell it."""
    entry = domain.get(column) if isinstance(domain, Mapping) else None
    if not isinstance(entry, Mapping):
        return None
    if "categories" in entry:
        return len(entry["categories"])
    rule = bins.get(column) if isinstance(bins, Mapping) else bins
    return len(rule) + 1 if isinstance(rule, list | tuple) else rule if isinstance(rule, int) else DEFAULT_BINS


def answer_bytes(stations: int, rows: int, opened: float, joint: float = 0.0) -> int:
    """Return about the bytes of an answer, all organizations together.

    Parameters
    ----------
    stations : int
        With data; a helper comes on top.
    rows : int
        Of each station.
    opened, joint : float
        States that the owners of columns open, and those that products make.
    """
    others = stations - 1
    record = MATCHING * others + ANYWAY + STATE * stations * opened + JOINT * others * joint
    return round(ORGANIZATION * stations + BASE64 * rows * record)


def tables_bytes(
    questions: Sequence[tuple[str, ...]], sizes: Mapping[str, int | None], stations: int, rows: int, joint: float = 0.0
) -> int | None:
    """Return about the bytes of tables, their columns dealt over the stations in turn; None where a size or the number of rows is not known."""
    if not rows or stations < 2 or any(size is None for size in sizes.values()):
        return None
    planner = Planner({name: (index % stations,) for index, name in enumerate(sizes)})
    opened = float(sum(size or 0 for size in sizes.values()))
    for name in sizes:
        planner.add((name,), name)
    for columns, left, _ in (step for level in planner.plan(questions).levels for step in level):
        made = math.prod(sizes[name] or 0 for name in columns)
        opened, joint = (opened, joint + made) if left else (opened + made, joint)
    return answer_bytes(stations, rows, opened, joint)
