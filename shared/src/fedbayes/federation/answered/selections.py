"""The record of counts: the conditions of exact counts, so that their differences cannot isolate a few rows.

`readings` compares conditions on one column; this module compares conditions on several columns of one station. Two counts, of which one
has one more condition, differ by the rows for which that condition fails: age >= 40, and age >= 40 with sex = m, differ by the women of 40
and more, who may be one.

So a node with a folder database remembers the conditions on its own columns of the exact counts that it took part in. For a new count the
station forms, on its own table, every sum of its rows with those of up to two earlier counts and of all rows, each added, subtracted or left
out. The count is refused if such a sum is about fewer rows than the node's minimum, but about some.

Combinations of more than three counts and the number of all rows are not detected. `tabled` compares counts with the cells of tables. The
record holds what tasks said, and borders of bins that were found for them and revealed, but no other value of the table.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...typing import Booleans, Integers
from . import tabled
from .readings import Texts, conditions_of, groups_of
from .record import Record, Remembered

MOST_SELECTIONS = 500
"""Counts that are remembered of one table, by their rows; a new one is refused then. All pairs of so many over a million rows take one processor some 4 s."""
ROWS_AT_ONCE = 65_536
"""Rows whose places are added in 32-bit floats, exactly."""
EVERYTHING, TABLES = "rows", "tables"
"""The names under which counts and tables are remembered: they are of no single column."""
SETS_FEW_APART = (
    "dictionary, domain, bins, times, conditions or id_column: with exact answers that were given before, what is missing, unknown, recoded, cut or asked for "
    "here would set apart fewer rows than this node demands; ask as before, with fewer columns or bins of this station, with borders of earlier tasks or far "
    "from them, give an epsilon, or ask the node administrator about FEDBAYES_ALLOW_DIFFERENCES"
)
Rows = Booleans


class Selections(Record):
    """The rows that one node's exact counts were about; `Record` has the parameters."""

    table = "selections"

    def admit(self, words: str, minimum: int, texts: Texts) -> bool:
        """Remember a count, unless a combination with up to two earlier ones would be about fewer than `minimum` rows.

        Parameters
        ----------
        words : str
            From `words_of`.
        minimum : int
            Rows.
        texts : callable
            Gives a column's canonical texts, one a row.

        Returns
        -------
        bool
            Whether the answer may leave; then it is remembered, if its rows differ from those of all earlier counts.

        Raises
        ------
        StationError
            If the file cannot be read or written.
        """

        def remember(remembered: Remembered) -> bool:
            remembered_words = remembered.of(EVERYTHING)
            columns = _Columns(texts)
            new, earlier = columns.rows(words), [columns.rows(one) for one in remembered_words]
            if any(np.array_equal(new, one) for one in earlier):
                return True
            if len(remembered_words) >= MOST_SELECTIONS or tells_of_few(earlier, new, minimum):
                return False
            if any(_few_beside(table, [words], columns, minimum) for table in _tables(remembered)):
                return False
            remembered.add(EVERYTHING, words)
            return True

        return self._admits(lambda earlier: earlier.has(EVERYTHING, words), remember)

    def admit_table(self, states: Mapping[str, str], minimum: int, texts: Texts) -> bool:
        """Remember the columns of a table and how they become states, unless a cell and an earlier count would differ in fewer than `minimum` rows.

        Parameters
        ----------
        states : mapping of str to str
            Column -> its states, in words of `readings`.
        minimum, texts
            As of `admit`.

        Raises
        ------
        StationError
            As of `admit`.
        """

        def remember(remembered: Remembered) -> bool:
            tables = _tables(remembered)
            table = tabled.united(tables, states)
            if len(tables) >= tabled.MOST_TABLES or _few_beside(
                table, remembered.of(EVERYTHING), _Columns(texts), minimum
            ):
                return False
            remembered.add(TABLES, json.dumps(table, sort_keys=True))
            return True

        return self._admits(
            lambda earlier: any(states.items() <= table.items() for table in _tables(earlier)), remember
        )


def _tables(remembered: Remembered) -> list[dict[str, str]]:
    """Return the tables that are remembered, without those that another one holds."""
    tables: list[dict[str, str]] = [json.loads(text) for text in remembered.of(TABLES)]
    return [one for one in tables if not any(one.items() < other.items() for other in tables)]


def _few_beside(table: Mapping[str, str], counts: Sequence[str], columns: _Columns, minimum: int) -> bool:
    """Return whether one of the counts, in words, differs from cells of a table in few rows."""
    if minimum <= 1 or not counts:
        return False
    states = {column: columns.groups(column, reading) for column, reading in table.items()}
    return any(
        tabled.differs_in_few(columns.rows(words), list(json.loads(words)), states, minimum, len(counts))
        for words in counts
    )


class _Columns:
    """Columns by distinct values, each read once."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._read: dict[str, tuple[list[str | None], Integers]] = {}

    def rows(self, words: str) -> Rows:
        """Return for which rows all conditions hold."""
        chosen: Rows = np.all(
            [self.groups(column, reading) == 1 for column, reading in json.loads(words).items()], axis=0
        )
        return chosen

    def groups(self, column: str, reading: str) -> Integers:
        """Return the group of every row by a reading of a column."""
        distinct, codes = self._of(column)
        return groups_of(distinct, reading)[codes]

    def _of(self, column: str) -> tuple[list[str | None], Integers]:
        if column not in self._read:
            numbers: dict[str | None, int] = {}
            codes = [numbers.setdefault(text, len(numbers)) for text in self._texts(column)]
            self._read[column] = list(numbers), np.array(codes, dtype=np.int64)
        return self._read[column]


def words_of(conditions: Sequence[tuple[str, str, Any]], read: Mapping[str, str]) -> str:
    """Return conditions, (column, operator, value) each, in words: column -> its own in words; `read`: how each column is read."""
    parts = {}
    for column in sorted({name for name, _, _ in conditions}):
        tests = [(operator, value) for name, operator, value in conditions if name == column]
        parts[column] = conditions_of(tests, read[column])
    return json.dumps(parts)


def tells_of_few(answered: Sequence[Rows], new: Rows, minimum: int, whole: bool = True) -> bool:
    """Return whether a combination of a count of `new` rows, of up to two `answered` ones and of all rows is about fewer than `minimum` rows.

    Parameters
    ----------
    answered : sequence of bool array, shape (rows,)
        Rows of earlier counts.
    new : bool array, shape (rows,)
        Of the one that is asked for.
    minimum : int
        Rows.
    whole : bool
        Whether the sum over all rows is known too.

    Notes
    -----
    A row's part in the sum new + a first + b second + c all, with a, b and c of -1, 0 and 1, depends only on which of the three sets it is in. How many rows
    are in which follows from the sizes of all intersections, which two matrix products give for all pairs at once.
    """
    if minimum <= 1 or not answered:
        return False
    table = np.stack([*answered, np.zeros_like(new)])  # the last stands for no second one
    inside, everywhere = _pairs(table[:, new]), _pairs(table)
    within, without = _places(inside, int(new.sum())), _places(everywhere - inside, int((~new).sum()))
    proper = ~np.eye(len(table), dtype=np.bool_)
    for first, second, everything in itertools.product((-1, 0, 1), (-1, 0, 1), (-1, 0, 1) if whole else (0,)):
        derived = np.zeros_like(inside)
        for chosen, cells in ((1, within), (0, without)):
            for a, b in itertools.product((0, 1), repeat=2):
                if chosen + a * first + b * second + everything != 0:
                    derived += cells[a][b]
        if bool(((derived > 0) & (derived < minimum) & proper).any()):
            return True
    return False


def _places(pairs: Integers, total: int) -> list[list[Integers]]:
    """Return of `total` rows how many are in a first and in a second set (1) or not (0), [first][second], for each two sets."""
    single = np.diag(pairs)
    first, second = single[:, None] - pairs, single[None, :] - pairs
    return [[total - first - second - pairs, second], [first, pairs]]


def _pairs(table: Booleans) -> Integers:
    """Return how many rows each two sets have in common, shape (sets, sets)."""
    pairs = np.zeros((len(table), len(table)), dtype=np.int64)
    for start in range(0, table.shape[1], ROWS_AT_ONCE):
        part = table[:, start : start + ROWS_AT_ONCE].astype(np.float32)
        pairs += np.rint(part @ part.T).astype(np.int64)
    return pairs
