"""The record of organizations: over which sets of organizations a node has given exact answers, so that these cannot be subtracted from one another.

A sum over the stations a, b, c, d minus the same sum over a, b, c is d's own table, although each task had as many organizations as every
node demands. So a node with a folder database remembers, for each column of its table, the sets of organizations over which it has given
exact answers. An answer over another set is refused if some linear combination of the sums over it and over earlier sets is about fewer
organizations than the node's minimum. The same set may be asked again: a difference of two answers over it is about all its organizations.

- What counts is the linear span: {a, b, c} and {d, e, f} and {a, ..., g} give g alone, as {a, b, c} and {a, ..., d} give d.
- A station knows only of the tasks that it took part in.
- The record is by column of the table. Whatever a dictionary, a bin or a subset makes of a column counts as a question about that column.
- A set is remembered when an answer is made, in one transaction on disk before the answer leaves, whatever becomes of the job: a station
  cannot see whether central got the other stations' parts.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterator, Sequence

import numpy as np

from ...typing import Integers
from .record import Record, Remembered

MOST_SETS = 64
"""Sets that one column is remembered to be answered over; none follows from others, so there are no more than organizations, and nobody fills the record."""
MOST_GROUPS = 10_000
"""Groups of organizations that are looked at in one check, a second's work; where there are more, a new set is refused."""
_PRIME = 2_147_483_647
"""Ranks are taken modulo 2^31 - 1: products fit into 64 bits, and minors of the 0/1 matrices of so few sets hardly ever are multiples."""
Members = frozenset[str]


class Answers(Record):
    """The sets of organizations that one node's exact answers were about; `Record` has the parameters."""

    table, field = "answers", "members"

    def admit(self, columns: Collection[str], namings: Sequence[Members], fewest: int) -> bool:
        """Remember an answer about columns over a set of organizations, unless it would reveal a sum over fewer than `fewest` of them.

        Parameters
        ----------
        columns : collection of str
            As they are named in the table.
        namings : sequence of frozenset of str
            The organizations with data that the answer adds up over, by names, and again by what else they are known by: each is held against earlier ones
            of its kind, so that a server that changes one begins nothing anew.
        fewest : int
            Organizations; 1 or less admits everything.

        Returns
        -------
        bool
            Whether the answer may leave; then it is remembered.

        Raises
        ------
        StationError
            If the file cannot be read or written.
        """
        if not columns:
            return True
        asked = _by_key(columns, namings)

        def remember(remembered: Remembered) -> bool:
            answered = {key: self._sets(remembered, key) for key in asked}
            if any(tells_of_few(answered[key], new, fewest) for key, new in asked.items()):
                return False
            for key, new in asked.items():
                if not follows(answered[key], new):
                    remembered.add(key, json.dumps(sorted(new)))
            return True

        return self._admits(
            lambda earlier: all(follows(self._sets(earlier, key), new) for key, new in asked.items()), remember
        )

    def foresees(self, columns: Collection[str], namings: Sequence[Members], fewest: int) -> bool:
        """Return whether `admit` would let an answer out, as things stand; nothing is remembered."""
        with self.reading() as remembered:
            return remembered is None or not any(
                tells_of_few(self._sets(remembered, key), new, fewest) for key, new in _by_key(columns, namings).items()
            )

    def _sets(self, remembered: Remembered, name: str) -> list[Members]:
        """Return the sets over which a column was answered."""
        try:
            sets = [frozenset(json.loads(text)) for text in remembered.of(name)]
        except (TypeError, json.JSONDecodeError):
            raise self.damaged from None
        if any(not isinstance(member, str) for one in sets for member in one):
            raise self.damaged
        return sets


def _by_key(columns: Collection[str], namings: Sequence[Members]) -> dict[str, Members]:
    """Return under which text the sets over which a column was answered are kept, one for each naming: no column's name has a NUL."""
    return {"\x00" * kind + name: members for kind, members in enumerate(namings) for name in columns}


def tells_of_few(answered: Sequence[Members], new: Members, fewest: int) -> bool:
    """Return whether a combination of sums over `new` and over `answered` sets is about fewer than `fewest` organizations, and needs both.

    Parameters
    ----------
    answered : sequence of frozenset of str
        Sets whose sums are known.
    new : frozenset of str
        The set asked about.
    fewest : int
        Organizations.

    Notes
    -----
    Sums over sets are linear forms in the organizations' tables. Up to what is known, the sum over `new` is the form v if and only if their difference is in
    the span of the known sets: if both have one syndrome, their product with a basis of what all known sets are orthogonal to. So of each small group it
    is asked whether the syndrome of `new` is a combination of those of its members. Organizations that no set tells apart have one coefficient in every
    form, so groups are made of such bundles.
    """
    if fewest <= 1 or not answered or follows(answered, new):
        return False
    if len(answered) >= MOST_SETS:
        return True
    rows = _rows(answered, new)
    bundles: dict[tuple[bool, ...], int] = {}
    for pattern in zip(*rows, strict=True):
        bundles[pattern] = bundles.get(pattern, 0) + 1
    matrix = np.array(list(bundles), dtype=np.int64).T
    checks = _orthogonal(matrix[:-1])
    syndrome = matrix[-1] @ checks % _PRIME
    for looked, group in enumerate(_groups(list(bundles.values()), fewest)):
        if looked >= MOST_GROUPS:
            return True
        alone = not np.delete(matrix[-1], group).any()
        if not alone and _in_span(checks[list(group)], syndrome):
            return True
    return False


def follows(answered: Sequence[Members], new: Members) -> bool:
    """Return whether sums over `new` follow from sums over `answered` sets, so that there is nothing to remember."""
    if new in answered or not answered:
        return new in answered
    table = np.array(_rows(answered, new), dtype=np.int64)
    return not (table[-1] @ _orthogonal(table[:-1]) % _PRIME).any()


def _rows(answered: Sequence[Members], new: Members) -> list[list[bool]]:
    everyone = sorted(new.union(*answered))
    return [[member in one for member in everyone] for one in (*answered, new)]


def _groups(sizes: list[int], fewest: int) -> Iterator[tuple[int, ...]]:
    """Yield positions of bundles that hold fewer than so many organizations together."""
    small = [index for index, size in enumerate(sizes) if size < fewest]
    for number in range(1, fewest):
        for group in itertools.combinations(small, number):
            if sum(sizes[index] for index in group) < fewest:
                yield group


def _orthogonal(rows: Integers) -> Integers:
    """Return a basis of the vectors orthogonal to `rows`, modulo `_PRIME`; one a column, shape (columns of `rows`, n)."""
    left, pivots = rows % _PRIME, list[int]()
    for column in range(left.shape[1]):
        start = len(pivots)
        nonzero = np.flatnonzero(left[start:, column])
        if len(nonzero) == 0:
            continue
        left[[start, start + nonzero[0]]] = left[[start + nonzero[0], start]]
        left[start] = left[start] * pow(int(left[start, column]), -1, _PRIME) % _PRIME
        factors = left[:, column].copy()
        factors[start] = 0
        left = (left - factors[:, None] * left[start] % _PRIME) % _PRIME
        pivots.append(column)
    free = [column for column in range(left.shape[1]) if column not in pivots]
    basis = np.zeros((left.shape[1], len(free)), dtype=np.int64)
    basis[free, range(len(free))] = 1
    basis[pivots] = -left[: len(pivots), free] % _PRIME
    return basis


def _in_span(rows: Integers, wanted: Integers) -> bool:
    """Return whether `wanted` is a combination of `rows`, modulo `_PRIME`."""
    left = np.concatenate([rows, wanted[None]])
    for number in range(len(rows)):
        nonzero = np.flatnonzero(left[number])
        if len(nonzero):
            pivot = left[number] * pow(int(left[number, nonzero[0]]), -1, _PRIME) % _PRIME
            factors = left[number + 1 :, nonzero[0], None]
            left[number + 1 :] = (left[number + 1 :] - factors * pivot % _PRIME) % _PRIME
    return not left[-1].any()
