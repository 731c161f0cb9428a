"""What a node remembers of its exact answers, column by column, beside its ledger; `organizations`, `readings` and `selections` compare later ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ...dp.storage import Storage
from ..errors import StationError

if TYPE_CHECKING:
    import sqlite3


REMEMBERS_NOTHING = (
    "conditions, bins, times, domain, dictionary, formula: this node has no folder database to remember its exact answers in, and without that two tasks whose "
    "ranges, borders or codes differ in one row would tell that row; ask with ==, with bins found in the data and values as they are, or with splines of "
    "degree 3 and bounds beyond all values, or give an epsilon, or ask the node administrator for a folder database (FEDBAYES_LEDGER) or about "
    "FEDBAYES_ALLOW_DIFFERENCES"
)


def file_of(folder: Path, table: str, field: str) -> Storage:
    """Return a file of texts by column, in the folder of the ledger; `Record` has the parameters."""
    statement = (
        f"CREATE TABLE IF NOT EXISTS {table} (\n    source TEXT NOT NULL, name TEXT NOT NULL, {field} TEXT NOT NULL,\n"
        f"    PRIMARY KEY (source, name, {field}));"
    )
    path = folder / f"fedbayes-{table}.sqlite3"
    return Storage(path, statement, f"record of {table}", "what was answered", StationError)


class Remembered:
    """The texts of one node's table in an open file."""

    def __init__(self, connection: sqlite3.Connection, table: str, field: str, source: str) -> None:
        self._connection, self._source = connection, source
        named = f"FROM {table} WHERE source=? AND name=?"
        self._ask, self._has = f"SELECT {field} {named} ORDER BY rowid", f"SELECT 1 {named} AND {field}=?"
        self._count = f"SELECT COUNT(*) {named}"
        self._add = f"INSERT OR IGNORE INTO {table} VALUES (?, ?, ?)"

    def of(self, name: str) -> list[str]:
        """Return what is remembered of a column, oldest first."""
        return [text for (text,) in self._connection.execute(self._ask, (self._source, name))]

    def has(self, name: str, text: str) -> bool:
        """Return whether a text of a column is remembered."""
        return self._connection.execute(self._has, (self._source, name, text)).fetchone() is not None

    def count(self, name: str) -> int:
        """Return how many texts of a column are remembered."""
        (number,) = self._connection.execute(self._count, (self._source, name)).fetchone()
        return int(number)

    def add(self, name: str, text: str) -> None:
        """Remember a text of a column."""
        self._connection.execute(self._add, (self._source, name, text))


class Record:
    """A file of texts by column.

    Parameters
    ----------
    folder : Path
        The folder of the ledger.
    source : str
        Which data: what is remembered of one table says nothing of another, and is the same whatever number a server gives the organization.
    """

    table: ClassVar[str]
    """Name of the file's table: ``answers``."""
    field: ClassVar[str] = "words"
    """Name of its texts."""

    def __init__(self, folder: Path, source: str) -> None:
        self._file, self._source = file_of(folder, self.table, self.field), source

    @property
    def damaged(self) -> StationError:
        """The error of texts that cannot be read."""
        return StationError(self._file.damaged)

    @contextmanager
    def reading(self) -> Iterator[Remembered | None]:
        """Open the file to look at it; None if there is none yet. Raises `StationError` if it cannot be read."""
        with self._file.reading() as connection:
            yield None if connection is None else self._remembered(connection)

    @contextmanager
    def transaction(self) -> Iterator[Remembered]:
        """Open the file to add to it, on disk at the end or not at all. Raises `StationError` if it cannot be read or written."""
        with self._file.transaction() as connection:
            yield self._remembered(connection)

    def _remembered(self, connection: sqlite3.Connection) -> Remembered:
        return Remembered(connection, self.table, self.field, self._source)

    def _admits(self, answered: Callable[[Remembered], bool], remember: Callable[[Remembered], bool]) -> bool:
        """Return whether an answer may leave, which is remembered then: one that is `answered` already, without a right to write, or that `remember` admits.

        Raises
        ------
        StationError
            If the file cannot be read or written.
        """
        with self.reading() as remembered:
            if remembered is not None and answered(remembered):
                return True
        with self.transaction() as remembered:
            return remember(remembered)
