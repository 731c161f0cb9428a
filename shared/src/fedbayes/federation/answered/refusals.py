"""The record of refusals: how many different questions a column has had refused, so that no search by halving goes on for ever.

Whether an exact answer is refused because few rows lie between two borders is an answer too: by halving a range of borders a researcher finds the value of
a record, by its refusals alone. So a node with a folder database counts, for each column of its table, the questions about it that were refused in a way that
may follow from values. From the node's maximum on it answers exact questions about the column only as it has answered them before, whatever the
table holds, until its administrator forgets the refusals.

A question is what stations were asked in a job until then and which models it names, without the names of columns in lists, keys, seals, numbers under
masks and all but the first three digits of coefficients that the job itself found. So a question that is asked again, or of other columns with no border,
code, condition or bound of its own, counts once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..messages.codec import Message, fields_of
from .record import Record, Remembered, file_of

ANSWERED, REFUSED = "answered\x1f", "refused\x1f"
"""Before a column's name: the questions of which one is remembered."""
FILE = ("refusals", "question")
"""Name of the file's table, and of its texts."""
FITTED = ("coefficients", "beside")
"""Fields of requests with what earlier rounds of the job came to, which the next job that is asked the same finds again but for the last digits.

They count by their first three digits: a central that deviates chooses them, and what stations refuse of them follows from values too.
"""


def words_of(value: Any, is_column: Callable[[str], bool]) -> Any:
    """Return what a request asks as plain JSON, without bytes, masked numbers and lists of columns."""
    if isinstance(value, Message):
        words = {name: words_of(getattr(value, name), is_column) for name in fields_of(cast(Any, type(value)))}
        return {name: _rounded(word) if name in FITTED else word for name, word in words.items()}
    if isinstance(value, dict):
        return {str(key): words_of(part, is_column) for key, part in sorted(value.items(), key=_key)}
    if isinstance(value, np.ndarray):
        return None if value.dtype.kind == "u" else value.tolist()
    if isinstance(value, list | tuple):
        plain = all(isinstance(part, str) and is_column(part) for part in value)
        return None if plain else [words_of(part, is_column) for part in value]
    return None if isinstance(value, bytes) else value


def _rounded(words: Any) -> Any:
    if isinstance(words, dict):
        return {key: _rounded(part) for key, part in words.items()}
    if isinstance(words, list):
        return [_rounded(part) for part in words]
    return f"{words:.3g}" if isinstance(words, float) else words


def _key(entry: tuple[Any, Any]) -> str:
    return str(entry[0])


def digest_of(questions: Any) -> str:
    """Return the digest of what `words_of` gave, 32 hexadecimal digits."""
    return hashlib.sha256(json.dumps(questions, sort_keys=True, default=str).encode()).hexdigest()[:32]


class Refusals(Record):
    """The questions that one node has refused and answered; `Record` has the parameters."""

    table, field = FILE

    def admit(self, columns: Collection[str], question: str, most: int) -> bool:
        """Return whether a question about columns may be looked at: it was answered before of each column that has had `most` refused ones.

        Raises
        ------
        StationError
            If the file cannot be read.
        """
        with self.reading() as remembered:
            return most > 0 if remembered is None else _admitted(remembered, columns, question, most)

    def refuse(self, columns: Collection[str], question: str, most: int) -> bool:
        """Remember that a question about columns was refused, if it still may be; return whether it may. Of many at once one comes after the other.

        Raises
        ------
        StationError
            If the file cannot be read or written.
        """
        with self.transaction() as remembered:
            admitted = _admitted(remembered, columns, question, most)
            for name in columns if admitted else ():
                remembered.add(REFUSED + name, question)
        return admitted

    def answer(self, columns: Collection[str], questions: Collection[str]) -> None:
        """Remember that questions about columns were answered; raises as `refuse`."""
        wanted = [(ANSWERED + name, question) for name in columns for question in questions]
        with self.reading() as remembered:
            if remembered is not None and all(remembered.has(*entry) for entry in wanted):
                return
        with self.transaction() as remembered:
            for entry in wanted:
                remembered.add(*entry)


def _admitted(remembered: Remembered, columns: Collection[str], question: str, most: int) -> bool:
    return all(remembered.count(REFUSED + name) < most or remembered.has(ANSWERED + name, question) for name in columns)


def counted(folder: Path) -> list[tuple[str, int]]:
    """Return the columns of a node's tables of which questions were refused, and of how many, for its administrator; one entry a table and column."""
    ask = "SELECT name, COUNT(*) FROM refusals WHERE name LIKE ? GROUP BY source, name ORDER BY name"
    with file_of(folder, *FILE).reading() as connection:
        rows = [] if connection is None else connection.execute(ask, (f"{REFUSED}%",)).fetchall()
    return [(name.removeprefix(REFUSED), count) for name, count in rows]


def forget(folder: Path, columns: Collection[str]) -> None:
    """Forget the refused questions about columns, of all tables of the node."""
    with file_of(folder, *FILE).transaction() as connection:
        for name in columns:
            connection.execute("DELETE FROM refusals WHERE name=?", (REFUSED + name,))
