"""The node's ledger: every released answer is debited here, across jobs and algorithms, before its noise is drawn.

One SQLite file with a rollback journal (no write-ahead log: safe on network drives, and a copy of the file is whole whenever no charge is running).
A charge is one `BEGIN IMMEDIATE` transaction that is on disk before `charge` returns, so a kill between charge and release keeps the debit, and two tasks
at once never both spend the last of the budget. A repeat of the same key is free: the platform may run a step twice, and the step
then returns the bytes it recorded. Budgets compose by addition.

The file protects against honest algorithms only: another image that the node allows could write to it.
"""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Entry", "Ledger", "LedgerExhausted"]

_TOLERANCE = 1e-9
_BUSY_SECONDS = 60.0
_DAY = 86_400.0
_TABLE = """
CREATE TABLE IF NOT EXISTS debits (
    session TEXT NOT NULL, round TEXT NOT NULL, request TEXT NOT NULL, epsilon REAL NOT NULL, delta REAL NOT NULL,
    queries INTEGER NOT NULL, note TEXT NOT NULL, time REAL NOT NULL, PRIMARY KEY (session, round, request))
"""


class LedgerExhausted(ValueError):
    """The charge is more than what is left; nothing was debited."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One debit: its key (session, round, request digest), what it cost, a note and when (seconds since 1970, UTC)."""

    session: str
    round: str
    request: str
    epsilon: float
    delta: float
    queries: int
    note: str
    time: float


@dataclass(frozen=True, slots=True)
class Amount:
    """A sum of debits, or what is left of a budget (infinite where there is no limit)."""

    epsilon: float
    delta: float
    queries: float


class Ledger:
    """A budget of privacy loss for one node's data.

    Parameters
    ----------
    path : str or Path
        The SQLite file; made at the first charge, with rights for its owner only.
    epsilon, delta : float, optional
        Budget of the period; None is no limit.
    days : float, optional
        Length of the sliding period; None is for ever.
    queries : int, optional
        Largest number of counted queries in the period; None is no limit.

    Raises
    ------
    ValueError
        If a limit is negative or not finite.
    """

    def __init__(
        self,
        path: str | Path,
        epsilon: float | None = None,
        delta: float | None = None,
        days: float | None = None,
        queries: int | None = None,
    ) -> None:
        for name, limit in (("epsilon", epsilon), ("delta", delta), ("days", days), ("queries", queries)):
            if limit is not None and not 0.0 <= limit < math.inf:
                raise ValueError(f"{name}: give a finite budget of at least 0, or none")
        self.path = Path(path)
        self.budget = Amount(*(math.inf if limit is None else limit for limit in (epsilon, delta, queries)))
        self.days = days

    def charge(self, key: tuple[str, str, str], epsilon: float, delta: float, note: str, queries: int = 0) -> bool:
        """Debit one answer, or do nothing if this key was debited before.

        Parameters
        ----------
        key : (session, round, request digest)
            What makes a repeat recognisable.
        epsilon, delta : float
            Cost, at least 0.
        note : str
            What the administrator reads; no data.
        queries : int
            Counted queries of this answer.

        Returns
        -------
        bool
            True if it was debited now, False if it had been before.

        Raises
        ------
        LedgerExhausted
            If less is left than the cost; says how much.
        ValueError
            If a cost is negative or not finite.
        """
        if not (0.0 <= epsilon < math.inf and 0.0 <= delta < math.inf and queries >= 0):
            raise ValueError("epsilon, delta, queries: give finite costs of at least 0")
        now = time.time()
        with self._transaction() as connection:
            seen = connection.execute("SELECT 1 FROM debits WHERE session=? AND round=? AND request=?", key).fetchone()
            if seen is not None:
                return False
            rows = connection.execute("SELECT epsilon, delta, queries, time FROM debits").fetchall()
            self._refuse_excess(self._sum(rows, now), Amount(epsilon, delta, queries))
            row = (*key, float(epsilon), float(delta), int(queries), note, now)
            connection.execute("INSERT INTO debits VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        return True

    def spent(self) -> Amount:
        """Return the debits of the current period."""
        return self._sum(self._read("epsilon, delta, queries, time"), time.time())

    def remaining(self) -> Amount:
        """Return what is left of the budget in the current period."""
        return self._left(self.spent())

    def entries(self) -> list[Entry]:
        """Return every debit that was ever made, oldest first."""
        return [Entry(*row) for row in self._read("session, round, request, epsilon, delta, queries, note, time")]

    def _left(self, spent: Amount) -> Amount:
        return Amount(
            max(0.0, self.budget.epsilon - spent.epsilon),
            max(0.0, self.budget.delta - spent.delta),
            max(0.0, self.budget.queries - spent.queries),
        )

    def _refuse_excess(self, spent: Amount, cost: Amount) -> None:
        left = self._left(spent)
        for name in ("epsilon", "delta", "queries"):
            needed, available, limit = getattr(cost, name), getattr(left, name), getattr(self.budget, name)
            slack = _TOLERANCE * limit if limit < math.inf else 0.0
            if needed > available + slack:
                period = "" if self.days is None else f" of {self.days:g} days"
                raise LedgerExhausted(
                    f"the node's privacy budget{period} is not enough: {name} {needed:g} was asked for, {available:.6g} is left; "
                    f"ask for at most that, or ask the node's administrator"
                )

    def _sum(self, rows: list[Any], now: float) -> Amount:
        """Sum (epsilon, delta, queries, time) over the current period."""
        since = -math.inf if self.days is None else now - self.days * _DAY
        current = [row[:3] for row in rows if row[3] > since]
        epsilons, deltas, queries = zip(*current, strict=True) if current else ((), (), ())
        return Amount(math.fsum(epsilons), math.fsum(deltas), sum(queries))

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """One immediate transaction, committed to disk at the end or rolled back whole."""
        if not self.path.exists():
            self.path.touch(mode=0o600)
        with self._connection() as connection:
            connection.execute("PRAGMA journal_mode=DELETE")
            connection.execute("PRAGMA synchronous=EXTRA")
            connection.execute("BEGIN IMMEDIATE")
            try:
                connection.execute(_TABLE)
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def _read(self, columns: str) -> list[Any]:
        """Return columns of every debit, oldest first; needs no right to write."""
        if not self.path.exists():
            return []
        with self._connection() as connection:
            if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'debits'").fetchall():
                return []
            return connection.execute(f"SELECT {columns} FROM debits ORDER BY time, rowid").fetchall()

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        connection = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
        try:
            yield connection
        finally:
            connection.close()
