"""A SQLite file that a node must not lose: what it spent, and what it answered.

One file with a rollback journal (no write-ahead log: safe on network drives, and a copy of the file is whole whenever nothing is written).
A transaction is on disk before it ends, and of two at once the second waits. A file that cannot be read or written, is empty, or lacks its tables is refused.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_BUSY_SECONDS = 60.0  # as long as a round may last in good order; then somebody holds the file who should not


class Storage:
    """One SQLite file with its tables.

    Parameters
    ----------
    path : Path
        Made at the first transaction, with rights for its owner only.
    tables : str
        Statements ``CREATE TABLE IF NOT EXISTS``, the first of a table that every good file has; each ends with a semicolon.
    name, content : str
        What the file is called and what it tells, for errors: "ledger", "what was spent".
    failure : type
        Error of a file that cannot be used; raised by `transaction` and `reading`.
    """

    def __init__(self, path: Path, tables: str, name: str, content: str, failure: type[Exception]) -> None:
        self.path, self._tables, self._failure = path, tables, failure
        self.damaged = (
            f"the node's {name} is empty, damaged or no {name}, so {content} is unknown and nothing is released; "
            "ask the node's administrator to restore it from a copy"
        )
        self.unwritable = (
            f"the node's {name} cannot be written, so nothing is released; "
            "ask the node's administrator to check its folder, its rights and the space on its disk"
        )
        self.busy = (
            f"the node's {name} is in use by another task for too long, so nothing is released; run the task again"
        )

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """One immediate transaction, committed to disk at the end or rolled back whole."""
        with self.clear_errors():
            if not self.path.exists():
                self._make()
            self._refuse_empty()
            with self._connection() as connection:
                connection.execute("PRAGMA journal_mode=DELETE")
                connection.execute("PRAGMA synchronous=EXTRA")
                connection.execute("BEGIN IMMEDIATE")
                try:
                    for statement in self._tables.split(";")[:-1]:
                        connection.execute(statement)
                    yield connection
                except BaseException:
                    connection.execute("ROLLBACK")
                    raise
                connection.execute("COMMIT")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """Open the file without a right to write; None if there is none yet."""
        if not self.path.exists():
            yield None
            return
        with self.clear_errors():
            self._refuse_empty()
            with self._connection() as connection:
                first = self._tables.split("EXISTS", 1)[1].split("(", 1)[0].strip()
                if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (first,)).fetchall():
                    raise self._failure(self.damaged)
                yield connection

    def _make(self) -> None:
        """Make the file with its tables under another name and link it into place: a file that is there is never empty."""
        draft = self.path.with_name(f".{self.path.name}-{os.getpid()}-{time.monotonic_ns()}")
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            connection = sqlite3.connect(draft, isolation_level=None)
            connection.executescript(self._tables)
            connection.close()
            os.link(draft, self.path)
        except FileExistsError:
            pass
        finally:
            draft.unlink(missing_ok=True)

    def _refuse_empty(self) -> None:
        if self.path.stat().st_size == 0:
            raise self._failure(self.damaged)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        connection = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
        try:
            yield connection
        finally:
            connection.close()

    @contextmanager
    def clear_errors(self) -> Iterator[None]:
        """Turn failures of the file into `failure`, with a text that says what to do and nothing of paths or contents."""
        try:
            yield
        except UnicodeDecodeError:
            error = self._failure(self.damaged)
        except ValueError:
            raise
        except sqlite3.OperationalError as problem:
            busy = "locked" in str(problem) or "busy" in str(problem)
            error = self._failure(self.busy if busy else self.unwritable)
        except sqlite3.Error:
            error = self._failure(self.damaged)
        except OSError:
            error = self._failure(self.unwritable)
        else:
            return
        raise error from None
