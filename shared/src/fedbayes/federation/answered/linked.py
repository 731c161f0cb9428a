"""The record of linked records: which rows exact answers about linked records counted, so that two of them cannot differ in a few.

An answer about linked records counts the rows that every organization of the task has. One more organization that lacks a single person, another column of
identifiers, or a matching that leaves one out, gives a second answer about the same columns; the difference is that person's row. `organizations` does not
see it: nothing is added up over organizations.

So a node with a folder database remembers, for each column of its table, over which of its rows it has given such answers. A new set of rows is refused if it
and up to two earlier ones, each added, subtracted or left out, combine into a sum about fewer rows than the node's minimum. Rows are remembered by their
places in the table; a table with another number of rows is another one. Of united records all rows of a station count. Answers about all rows of this
station alone are not held against these.

Where two people's identifiers are exchanged in one column at another station, or two rows in its file, records that are linked by another column, or by
their places, are the same rows put together otherwise, which no station sees. So a column is answered over records that are linked by one thing.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from .record import Record, Remembered
from .selections import tells_of_few

MOST_LINKED = 64
"""Sets of rows that one column is remembered to be answered over, as many as sets of organizations; where there are more, a new one is refused."""
SETS = "sets of rows"
COLUMN, BY = "column\x1f", "by\x1f"
"""Before a column's name: the digests of the sets of rows over which it was answered, and by what these were linked."""
LINKS_FEW = (
    "organizations, id_column, rows_aligned: with exact answers about the same columns that were given before over other linked records, or over records that "
    "were linked by something else, this one would tell about fewer records than this node demands, or may do so; name the same organizations and id_column as "
    "before, give an epsilon, or ask the node administrator about FEDBAYES_ALLOW_DIFFERENCES"
)
Rows = NDArray[np.bool_]


class Linked(Record):
    """The rows that one node's exact answers about linked records counted; `Record` has the parameters."""

    table = "linked"

    def admit(self, columns: Collection[str], words: str, total: int, minimum: int, by: str | None = None) -> bool:
        """Remember an answer about columns over some rows, unless with up to two earlier ones it would tell about fewer than `minimum` rows.

        Parameters
        ----------
        columns : collection of str
            As they are named in the table.
        words : str
            The rows that count, from `words_of`.
        total : int
            Rows of the table.
        minimum : int
            Rows.
        by : str or None
            The column of identifiers by which the records are linked, "" by their places; None of records that are not linked.

        Returns
        -------
        bool
            Whether the answer may leave; then it is remembered.

        Raises
        ------
        StationError
            If the file cannot be read or written.
        """
        digest = hashlib.sha256(words.encode()).hexdigest()
        names = [f"{COLUMN}{total}\x1f{name}" for name in sorted(columns)]
        linked = [] if by is None else [f"{BY}{name}" for name in names]
        wanted = [*((name, digest) for name in names), *((name, str(by)) for name in linked)]

        def remember(remembered: Remembered) -> bool:
            fresh = [name for name in names if not remembered.has(name, digest)]
            if any(set(remembered.of(name)) - {by} for name in linked):
                return False
            if any(self._refused(remembered, name, rows_of(words, total), minimum) for name in fresh):
                return False
            for one in (*wanted, (SETS, words)):
                remembered.add(*one)
            return True

        return self._admits(lambda earlier: all(earlier.has(*one) for one in wanted), remember)

    def _refused(self, remembered: Remembered, name: str, new: Rows, minimum: int) -> bool:
        wanted = remembered.of(name)
        if len(wanted) >= MOST_LINKED:
            return True
        sets = {hashlib.sha256(words.encode()).hexdigest(): words for words in remembered.of(SETS)} if wanted else {}
        if not set(wanted) <= set(sets):
            raise self.damaged
        return tells_of_few([rows_of(sets[digest], len(new)) for digest in wanted], new, minimum, whole=False)


def words_of(places: NDArray[np.integer], total: int) -> str:
    """Return which of `total` rows are at some places, int (records,), in any order, as text."""
    rows = np.zeros(total, dtype=np.bool_)
    rows[places] = True
    return base64.b64encode(zlib.compress(np.packbits(rows).tobytes())).decode()


def rows_of(words: str, total: int) -> Rows:
    """Return the rows, (total,), of `words_of`."""
    packed = np.frombuffer(zlib.decompress(base64.b64decode(words)), dtype=np.uint8)
    return np.unpackbits(packed, count=total).astype(np.bool_)
