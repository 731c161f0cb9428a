"""Whom a promise is for: a row, or everybody who has an identifier, of whom a station uses a bounded number of rows.

A person with many rows would spend the budget many times. With ``unit="identifier"`` a station keeps at most ``max_rows_per_identifier`` rows of each
identifier and drops rows without one; all noise is for that many rows at once. Which rows of an identifier are kept depends on nothing but those rows, not
on other identifiers, so that an identifier more or less changes no other's rows. Under noise a key of the job at the station chooses them; for exact answers
they are the first ones of the table, so that two answers use the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from fedbayes.bayes.values.column_codes import identifier_codes

from ...typing import Array, Booleans, Integers
from ..errors import ArgumentError
from ..guards import announced, choosing
from ..messages.codec import Message
from ..station import Station

UNITS = ("row", "identifier")
MOST_ROWS_OF_ONE = 10_000  # of one identifier
AT_SEVERAL = "; an identifier that several stations have spends the epsilon at each of them"
"""In statements: no station sees who is at others, so that the losses of these add up (docs/threat-model.md)."""


class Unit(Message):
    """Whom the promise is for; part of requests.

    Parameters
    ----------
    id_column : str or None
        The column of identifiers; None: every row stands for itself.
    rows : int
        Most rows of one identifier that a station uses; 1 without identifiers.
    """

    id_column: str | None = None
    rows: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.rows <= (MOST_ROWS_OF_ONE if self.id_column is not None else 1):
            raise ValueError("rows of one unit must be at least 1, and 1 without a column of identifiers")

    @property
    def name(self) -> str:
        """``row`` or ``identifier``, for the statement."""
        return "row" if self.id_column is None else "identifier"

    @property
    def statement(self) -> str:
        """What the statement says beside the unit; empty for rows."""
        if self.id_column is None:
            return ""
        return f"; at most {self.rows} row(s) of each identifier are used at a station, and all of them are covered together{AT_SEVERAL}"

    def columns(self, names: list[str]) -> list[str]:
        """Return the columns to read: these, and the identifiers'."""
        return names if self.id_column is None else [*names, self.id_column]

    def table(self, station: Station, names: list[str], domain: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return these columns of a station's table and the identifiers', which keep their text: ``007`` is not ``7``."""
        if self.id_column is None:
            return station.arrays(names, domain)
        return self.frame(station, names, domain)  # type: ignore[no-any-return]

    def frame(self, station: Station, names: list[str], domain: Mapping[str, Any]) -> Any:
        """Return the same as a pandas.DataFrame, and have rows without an identifier held against those of earlier exact answers."""
        frame = station.data(self.columns(names), domain=domain, identifiers=self.columns([]))
        if self.id_column is not None and bool((identifier_codes(frame[self.id_column]) < 0).any()):
            station.history.note_left_out(self.id_column, domain)
        return frame

    def kept(self, station: Station, table: Mapping[str, Any], content: Mapping[str, Array]) -> Any:
        """Return which rows of a station's table are used.

        Parameters
        ----------
        station : Station
            Whose job gives the key.
        table : mapping
            Holds `id_column`, shape (n,).
        content : mapping of str to ndarray
            The columns that are used, encoded, shape (n,) each: rows alike in them are exchangeable.

        Returns
        -------
        ndarray of bool, shape (n,), or slice
            All rows, as a slice, without identifiers.
        """
        if self.id_column is None:
            return slice(None)
        key = hashlib.sha256(f"{station.session}|{station.organization}|rows of an identifier".encode()).digest()
        identifiers = identifier_codes(table[self.id_column])
        least = station.policy.minimum_count
        if sets_few_apart(identifiers, self.rows, least, max(least, station.policy.minimum_rows)):
            choosing.note_few_identified(station)
        if announced.is_private(station.memory):
            return bounded(identifiers, content, self.rows, key)
        used = bounded(identifiers, {}, self.rows, key)
        if not used.all():
            station.history.note_linked(np.flatnonzero(used), len(used), None)
        return used


ROW = Unit()
"""Every row for itself."""


def sets_few_apart(identifiers: Integers, rows: int, fewest: int, fewest_used: int) -> bool:
    """Return whether rows without an identifier, identifiers of more rows than are used, or rows that are used, are some and fewer than a node demands.

    The answer over all rows, or over one row more of each identifier, less this one is about the first two.

    Parameters
    ----------
    identifiers : ndarray
        int64, shape (n,); -1 = missing.
    rows : int
        Most rows of an identifier that are used.
    fewest, fewest_used : int
        Rows or identifiers that are left out, rows that are used.
    """
    sizes = np.bincount(identifiers[identifiers >= 0], minlength=1)
    without, crowded = int((identifiers < 0).sum()), int((sizes > rows).sum())
    used = int(np.minimum(sizes, rows).sum())
    return 0 < without < fewest or 0 < crowded < fewest or used < fewest_used


def bounded(identifiers: Integers, content: Mapping[str, Array], rows: int, key: bytes) -> Booleans:
    """Return which rows are used so that each identifier has at most `rows` of them.

    Parameters
    ----------
    identifiers : ndarray
        int64, shape (n,); -1 = missing, not used.
    content : mapping of str to ndarray
        What a row holds, shape (n,) each; without any, the first rows of an identifier are used.
    rows : int
        At least 1.
    key : bytes
        Of the hash that chooses.
    """
    used = identifiers >= 0
    sizes = np.bincount(identifiers[used], minlength=1)
    crowded = np.nonzero(used & (sizes[np.maximum(identifiers, 0)] > rows))[0]
    parts = [np.ascontiguousarray(column[crowded], dtype=np.float64) for _, column in sorted(content.items())]
    bodies = np.stack(parts, axis=1) if parts else np.zeros((len(crowded), 0))
    ranks = [hashlib.blake2b(body.tobytes(), digest_size=16, key=key).digest() for body in bodies]
    order = sorted(range(len(crowded)), key=lambda row: (identifiers[crowded[row]], ranks[row]))
    before, seen = -1, 0
    for row in order:
        owner = int(identifiers[crowded[row]])
        seen = seen + 1 if owner == before else 1
        before = owner
        used[crowded[row]] = seen <= rows
    return np.asarray(used)


def check_unit(unit: str, id_column: str | None = None, max_rows_per_identifier: int = 1) -> Unit:
    """Return the unit of a task.

    Raises
    ------
    ArgumentError
        If identifiers lack their column; also where they are named but rows are the unit: that would promise less than it looks.
    """
    if unit == "identifier" and id_column is None:
        raise ArgumentError("id_column is needed with unit='identifier'; name the column of identifiers")
    if unit == "row" and id_column is not None:
        raise ArgumentError(
            "id_column protects identifiers only with unit='identifier'; give it too, or leave id_column out"
        )
    if unit == "row" and max_rows_per_identifier != 1:
        raise ArgumentError("max_rows_per_identifier needs unit='identifier'; give it too, or leave it out")
    return Unit(id_column, max_rows_per_identifier)
