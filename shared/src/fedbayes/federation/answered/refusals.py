"""The record of refusals: how many different questions a column has had refused, so that no search by halving goes on for ever.

Whether an exact answer is refused because few rows lie between two borders is an answer too: by halving a range of borders a researcher finds the value of
a record, by its refusals alone. So a node with a folder database counts, for each column of its table, the questions about it that were refused in a way that
may follow from values. From the node's maximum on it answers exact questions about the column only as it has answered them before, whatever the
table holds, until its administrator forgets the refusals.

A question is what stations were asked in a job until then, without the names of columns in lists, keys, seals and numbers under masks. So a question that is
asked again, or of other columns with no border, code, condition or bound of its own, counts once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..codec import Message, fields_of
from .record import Record, Remembered, file_of

ANSWERED, REFUSED = "answered\x1f", "refused\x1f"
"""Before a column's name: the questions of which one is remembered."""
FILE = ("refusals", "question")
"""Name of the file's table, and of its texts."""


def words_of(value: Any, names: Collection[str]) -> Any:
    """Return what a request asks as plain JSON, without bytes, masked numbers and lists of columns, `names`."""
    if isinstance(value, Message):
        return {name: words_of(getattr(value, name), names) for name in fields_of(cast(Any, type(value)))}
    if isinstance(value, dict):
        return {str(key): words_of(part, names) for key, part in sorted(value.items(), key=str)}
    if isinstance(value, np.ndarray):
        return None if value.dtype.kind == "u" else value.tolist()
    if isinstance(value, list | tuple):
        plain = all(isinstance(part, str) and part in names for part in value)
        return None if plain else [words_of(part, names) for part in value]
    return None if isinstance(value, bytes) else value


def digest_of(questions: Any) -> str:
    """Return the digest of what `words_of` gave, 32 hexadecimal digits."""
    return hashlib.sha256(json.dumps(questions, sort_keys=True, default=str).encode()).hexdigest()[:32]


class Refusals:
    """The questions that one node has refused and answered; `Record` has the parameters."""

    def __init__(self, folder: Path, organization: int, source: str) -> None:
        self._record = Record(folder, organization, source, *FILE)

    def admit(self, columns: Collection[str], question: str, most: int) -> bool:
        """Return whether a question about columns may be looked at: it was answered before of each column that has had `most` refused ones.

        Raises
        ------
        StationError
            If the file cannot be read.
        """
        with self._record.reading() as remembered:
            return remembered is None or _admitted(remembered, columns, question, most)

    def note(self, kind: str, columns: Collection[str], question: str, most: int) -> bool:
        """Remember, as of `kind`, that a question about columns was answered or refused, if it still may be; return whether it may.

        Of many questions at once each is admitted before any is refused: what counts is how many have been refused when this one is told.

        Raises
        ------
        StationError
            If the file cannot be read or written.
        """
        with self._record.reading() as remembered:
            if remembered is not None and all(question in remembered.of(kind + name) for name in columns):
                return True
        with self._record.transaction() as remembered:
            if not _admitted(remembered, columns, question, most):
                return False
            for name in columns:
                remembered.add(kind + name, question)
        return True


def _admitted(remembered: Remembered, columns: Collection[str], question: str, most: int) -> bool:
    return all(
        len(remembered.of(REFUSED + name)) < most or question in remembered.of(ANSWERED + name) for name in columns
    )


def counted(folder: Path) -> list[tuple[str, int]]:
    """Return the columns of a node's tables of which questions were refused, and of how many, for its administrator; one entry a table and column."""
    ask = "SELECT name, COUNT(*) FROM refusals WHERE name LIKE ? GROUP BY organization, source, name ORDER BY name"
    with file_of(folder, *FILE).reading() as connection:
        rows = [] if connection is None else connection.execute(ask, (f"{REFUSED}%",)).fetchall()
    return [(name.removeprefix(REFUSED), count) for name, count in rows]


def forget(folder: Path, columns: Collection[str]) -> None:
    """Forget the refused questions about columns, of all tables of the node."""
    with file_of(folder, *FILE).transaction() as connection:
        for name in columns:
            connection.execute("DELETE FROM refusals WHERE name=?", (REFUSED + name,))
