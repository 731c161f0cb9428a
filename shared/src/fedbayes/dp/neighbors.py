"""The neighbouring relations, between tables that one unit of a promise tells apart.

``add_remove``: one row more or less, so the number of rows is not public. ``replace_one``: the content of one row changes, so it is public.
``zero_out``, of records whose identifiers are matched: all values of one record are erased, so that it is in no state of any column and counts in no table;
which records there are, and how many, is public. Replacing a record is erasing it and filling it again, so an epsilon under ``zero_out`` is up to twice as
much under ``replace_one`` (and a delta (1 + exp(epsilon)) times as much): the weaker promise, at half of the change.
What a query changes by is stated where it is asked: `laws.Change`.

References
----------
Kairouz, McMahan, Song, Thakkar, Thakurta, Xu, Practical and private (deep) learning without sampling or shuffling, ICML 2021, definition 1.1 (zero-out).
"""

from __future__ import annotations

NEIGHBORS: tuple[str, str] = ("add_remove", "replace_one")
"""Of rows that nothing matches."""
OF_RECORDS: tuple[str, str] = ("replace_one", "zero_out")
"""Of records that several stations hold in part: which are common is known, so none of them is added or removed."""


def check_neighbors(neighbors: str) -> str:
    """Return the relation's name, or raise ValueError naming the two that rows have."""
    if neighbors not in NEIGHBORS:
        raise ValueError('neighbors: give "add_remove" or "replace_one"')
    return neighbors
