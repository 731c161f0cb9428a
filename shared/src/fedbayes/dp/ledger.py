"""The node's ledger: every released answer is debited here, across jobs and algorithms, before its noise is drawn.

One SQLite file with a rollback journal (no write-ahead log: safe on network drives, and a copy of the file is whole whenever no charge is running).
A charge is one `BEGIN IMMEDIATE` transaction that is on disk before `charge` returns, so a kill between charge and release keeps the debit, and two tasks
at once never both spend the last of the budget. A repeat of the same key is free: the platform may run a step twice, and the step
then returns the bytes it recorded. Budgets compose by addition, and sums are compared with the limit as a whole: no charge brings a tolerance of its own.

A budget of epsilon without one of delta implies `promise.IMPLIED_DELTA`. A sliding period runs on `clock`, so that a clock that is set forward or back gives
nothing back. A file that cannot be read or written, is empty, or lacks debits that it counted is refused: then nothing is released. So is one with fewer
debits than it was seen with (`witness`), as after it was deleted or put back from an older copy.

The file protects against honest algorithms only: another image that the node allows could write to it.
"""

from __future__ import annotations

import math
import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import clock, promise
from .storage import Storage
from .witness import Witness

_ROUNDING = 2.0**-50  # of a limit, once: decimal parts of a budget do not add up to it exactly
_DAY = 86_400.0  # seconds
_LARGEST = 1e100  # of one cost: sums stay finite
_TABLES = """
CREATE TABLE IF NOT EXISTS debits (
    session TEXT NOT NULL, round TEXT NOT NULL, request TEXT NOT NULL, epsilon REAL NOT NULL, delta REAL NOT NULL,
    queries INTEGER NOT NULL, note TEXT NOT NULL, time REAL NOT NULL, PRIMARY KEY (session, round, request));
CREATE TABLE IF NOT EXISTS state (
    one INTEGER PRIMARY KEY CHECK (one = 1), debits INTEGER NOT NULL, time REAL NOT NULL, wall REAL NOT NULL,
    boot TEXT NOT NULL, uptime REAL NOT NULL);
"""


class LedgerExhausted(ValueError):
    """The charge is more than what is left; nothing was debited."""


class LedgerUnusable(LedgerExhausted, sqlite3.DatabaseError):
    """The ledger cannot be read or written, so nothing can be shown to be left; nothing was debited, and nothing may be released."""


class LedgerOlder(LedgerUnusable):
    """The ledger has fewer debits than it was seen with."""


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
        Budget of the period; None is no limit, but for a delta beside an epsilon, which `promise.budget_delta` gives.
    days : float, optional
        Length of the sliding period, above 0; None is for ever.
    queries : int, optional
        Largest number of counted queries in the period; None is no limit.

    Raises
    ------
    ValueError
        If a limit is negative or not finite, or the period is not positive.
    """

    def __init__(
        self,
        path: str | Path,
        epsilon: float | None = None,
        delta: float | None = None,
        days: float | None = None,
        queries: int | None = None,
    ) -> None:
        for name, limit in (("epsilon", epsilon), ("delta", delta), ("queries", queries)):
            if limit is not None and not 0.0 <= limit < math.inf:
                raise ValueError(f"{name}: give a finite budget of at least 0, or none")
        if days is not None and not 0.0 < days < math.inf:
            raise ValueError("days: give a finite period above 0, or none; a period of 0 days would forget every debit")
        self.path = Path(path)
        self._file = Storage(self.path, _TABLES, "ledger", "what was spent", LedgerUnusable)
        self._witness = Witness(self.path)
        limits = (epsilon, promise.budget_delta(epsilon, delta), queries)
        self.budget = Amount(*(math.inf if limit is None else limit for limit in limits))
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
        if not (0.0 <= epsilon < _LARGEST and 0.0 <= delta < _LARGEST and queries >= 0):
            raise ValueError("epsilon, delta, queries: give finite costs of at least 0")
        with self._file.transaction() as connection:
            seen = connection.execute("SELECT 1 FROM debits WHERE session=? AND round=? AND request=?", key).fetchone()
            if seen is not None:
                return False
            rows = self._debits(connection)
            self._refuse_older(rows, self._seen())
            reading = clock.read()
            now = _time(connection, rows, reading)
            self._refuse_excess(self._sum(rows, now), Amount(epsilon, delta, queries))
            row = (*key, float(epsilon), float(delta), int(queries), note, now)
            connection.execute("INSERT INTO debits VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
            state = (len(rows) + 1, now, reading.wall, reading.boot, reading.uptime)
            connection.execute("INSERT OR REPLACE INTO state VALUES (1, ?, ?, ?, ?, ?)", state)
        with self._file.clear_errors():
            self._witness.note(state[0])
        return True

    def affords(self, epsilon: float, delta: float = 0.0, queries: int = 0) -> str | None:
        """Return None if a charge of this cost would be accepted now, else why not; debits nothing.

        Raises
        ------
        LedgerUnusable
            If the ledger cannot be read, or could not be written.
        """
        try:
            self._refuse_excess(self.spent(), Amount(epsilon, delta, queries))
        except LedgerUnusable:
            raise
        except LedgerExhausted as refusal:
            return str(refusal)
        if not os.access(self.path if self.path.exists() else self.path.parent, os.W_OK):
            raise LedgerUnusable(self._file.unwritable)
        return None

    def spent(self) -> Amount:
        """Return the debits of the current period."""
        seen = self._seen()  # before: another task may debit meanwhile
        with self._file.reading() as connection:
            rows = [] if connection is None else self._debits(connection)
            self._refuse_older(rows, seen)
            if connection is None:
                return Amount(0.0, 0.0, 0)
            return self._sum(rows, _time(connection, rows, clock.read()))

    def entries(self) -> list[Entry]:
        """Return every debit that was ever made, oldest first."""
        with self._file.reading() as connection:
            if connection is None:
                return []
            columns = "session, round, request, epsilon, delta, queries, note, time"
            rows = connection.execute(f"SELECT {columns} FROM debits ORDER BY time, rowid").fetchall()
            return [Entry(*row) for row in rows]

    def _refuse_excess(self, spent: Amount, cost: Amount) -> None:
        for name in ("epsilon", "delta", "queries"):
            needed, before, limit = getattr(cost, name), getattr(spent, name), getattr(self.budget, name)
            if needed > 0 and (before >= limit or math.fsum((before, needed)) > limit * (1.0 + _ROUNDING)):
                period = "" if self.days is None else f" of {self.days:g} days"
                raise LedgerExhausted(
                    f"the node's privacy budget{period} is not enough: {name} {needed:g} was asked for, "
                    f"{max(0.0, limit - before):.6g} is left; ask for at most that, or ask the node's administrator"
                )

    def _seen(self) -> float:
        """Return how many debits the ledger was seen with; infinite where that cannot be read."""
        try:
            return self._witness.seen()
        except (OSError, ValueError):
            return math.inf

    def _refuse_older(self, rows: list[Any], seen: float) -> None:
        """Refuse a ledger that was deleted, or that has fewer debits than it was seen with."""
        if len(rows) < seen:
            raise LedgerOlder(
                f"the node's ledger has fewer debits than {self._witness.path.name} beside it was told of, as after a ledger is deleted or put back from an "
                "older copy, so what was spent is unknown and nothing is released; ask the node's administrator for the newest copy of the ledger, or, to "
                "forget what it lacks, to remove that file"
            )

    def _sum(self, rows: list[Any], now: float) -> Amount:
        """Sum (epsilon, delta, queries, time) over the current period; what was debited at a later time than now counts."""
        since = -math.inf if self.days is None else now - self.days * _DAY
        current = [row[:3] for row in rows if row[3] > since]
        epsilons, deltas, queries = zip(*current, strict=True) if current else ((), (), ())
        return Amount(math.fsum(epsilons), math.fsum(deltas), sum(queries))

    def _debits(self, connection: sqlite3.Connection) -> list[Any]:
        """Return (epsilon, delta, queries, time) of every debit; refuses a ledger that lacks some, or whose numbers are none."""
        rows = connection.execute("SELECT epsilon, delta, queries, time FROM debits").fetchall()
        state = _state(connection)
        numbers = [number for row in rows for number in row] + list(() if state is None else (*state[:3], state[4]))
        whole = all(isinstance(number, int | float) and 0.0 <= number < math.inf for number in numbers)
        if not whole or (state is not None and state[0] > len(rows)):
            raise LedgerUnusable(self._file.damaged)
        return rows


def _state(connection: sqlite3.Connection) -> Any:
    """Return (number of debits, time, wall clock, boot, uptime) at the last charge; None for a ledger of an earlier version."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'state'").fetchall():
        return None
    return connection.execute("SELECT debits, time, wall, boot, uptime FROM state").fetchone()


def _time(connection: sqlite3.Connection, rows: list[Any], now: clock.Reading) -> float:
    """Return the ledger's time (see `clock.advance`); at its first charge the wall clock's."""
    state = _state(connection)
    if state is None:
        return float(max([now.wall, *(row[3] for row in rows)]))
    return clock.advance(state[1], clock.Reading(*state[2:]), now)
