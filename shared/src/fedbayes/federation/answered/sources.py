"""Which table a node's records are about: one name for one table, whatever label a task asks for it by.

A node lists databases by label, and hands each to containers as a file of the label's name, a copy mostly. One file under two labels would have two
records, and two tasks that no record compares. So a node with a folder database remembers what its files held: a file that holds what another one held is
that table.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from ...dp.storage import Storage
from ..errors import StationError

BLOCK = 2**16
"""Bytes of a part of a file that is looked at."""
PARTS = 32
"""Of a file, spread over it: files of one size that differ in a few cells are mostly one table."""
_STATEMENT = "CREATE TABLE IF NOT EXISTS sources (\n    location TEXT NOT NULL, content TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (location, content));"


def content_of(path: Path) -> str:
    """Return what tells a file's content from others', without reading all of a large file: 64 hexadecimal digits."""
    size = path.stat().st_size
    digest = hashlib.sha256(str(size).encode())
    with path.open("rb") as file:
        for part in range(PARTS):
            file.seek(max(size - BLOCK, 0) * part // (PARTS - 1))
            digest.update(file.read(BLOCK))
    return digest.hexdigest()


def location_of(address: str, cohort: str | None) -> str:
    """Return the name of a location where tables are, 32 hexadecimal digits: a file's path or a database's address, and what is read of it."""
    return hashlib.sha256(repr((address, cohort)).encode()).hexdigest()[:32]


def name_of(folder: Path, address: str, cohort: str | None) -> str:
    """Return the name under which a node remembers a table, 32 hexadecimal digits.

    Parameters
    ----------
    folder : Path
        Of the ledger.
    address : str
        The table's file, with links followed, or its database's address.
    cohort : str or None
        What is read of it.

    Returns
    -------
    str
        That of the first location at which this one's content was, or of this location as it was first seen.

    Raises
    ------
    StationError
        If what files held cannot be read or written.
    """
    location = location_of(address, cohort)
    if not os.path.isfile(address):
        return location
    content = location_of(content_of(Path(address)), cohort)
    file = Storage(
        folder / "fedbayes-sources.sqlite3", _STATEMENT, "record of tables", "what was answered", StationError
    )
    with file.reading() as connection:
        exact = "SELECT name FROM sources WHERE location=? AND content=?"
        row = None if connection is None else connection.execute(exact, (location, content)).fetchone()
    if row is not None:
        return str(row[0])
    with file.transaction() as connection:
        first = "SELECT name FROM sources WHERE location=? OR content=? ORDER BY location<>?, rowid LIMIT 1"
        row = connection.execute(first, (location, content, location)).fetchone()
        name = location if row is None else str(row[0])
        connection.execute("INSERT OR IGNORE INTO sources VALUES (?, ?, ?)", (location, content, name))
    return name
