"""The record of readings: how tasks have read a column, so that two exact answers cannot isolate a few rows by reading it differently.

A *reading* says which values of a column are missing, unknown, recoded or in one bin. If one answer takes a value for missing, or for
another value, and a second answer does not, they differ by the rows with that value: each answer is about many rows, their difference about
few. The same holds for two cut points on either side of a row.

So a node with a folder database remembers, for each column, by which readings it has given exact answers. When a task brings a new reading, the station
counts, on its own table, the rows in each group of values that all readings together tell apart. If a group has fewer rows than the node's minimum the answer
is refused, unless the group stands by itself in every reading. Any combination of answers is made of these groups, so no number of them tells about fewer.

The record holds what tasks said, and borders of bins that were found for them and revealed, but no other value of the table. A reading that tells no more
values apart than earlier ones is not recorded, so that nobody can fill the record.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ...bayes.formulae.formula import as_numbers
from ...bayes.values.encoding import canonical_text, with_aliases
from ...typing import Integers
from ..tables.words import COMMA, NUMBERS, OPEN, commas_of, plain_of, pointed_texts, usual_gone
from .moved_numbers import moves_few
from .record import Record, Remembered

MOST_READINGS = 64
"""Readings of one column, as many as sets of organizations (`organizations.MOST_SETS`); where there are more, a new one is refused."""
OF = "conditions on\x1f"
"""Before a column's name: the conditions of counts on it and the bins of tables, which are held against one another."""
SHOWN = "description of\x1f"
"""Before a column's name: the borders that descriptions told of it, and what tasks chose. What is told is held against `OF` too, but not bins that a station
finds in its own data against what was told before: they are no choice of a task, and a description is for whoever wants to fit later."""
CUT = "bins"
"""Stands for an operator where words tell of bins."""
NO_NUMBER = "no number"
"""Stands for an operator where a column that is cut from a number is missing: where the number is, and where a text is in its place."""
Texts = Callable[[str], "list[str | None]"]
"""Gives a column's canonical texts, one a row."""
GONE = -1
"""Group of the rows whose value is missing."""


def groups_of(texts: Sequence[str | None], words: str) -> Integers:
    """Return the group of each value by a reading, `GONE` where it is missing.

    Parameters
    ----------
    texts : sequence of str or None
        Canonical texts.
    words : str
        From `words_of`.
    """
    missing, listed, _, *more = json.loads(words)
    conditions = [one for one in more if one not in (NUMBERS, OPEN) and one[0] != COMMA]
    texts, recode, allowed = _as_read(texts, words), json.loads(words)[2], frozenset(listed)
    decides = frozenset() if OPEN in more else allowed
    gone = frozenset(missing) | usual_gone(texts, missing, decides, {*recode, *allowed})
    if NUMBERS in more:
        recode = dict(zip(texts, map(canonical_text, as_numbers(_recoded(texts, gone, recode))), strict=True))
        gone |= {text for text, number in recode.items() if number is None}
    if conditions and conditions[0][0] == CUT:
        return _cut(texts, gone, recode, conditions[0][1])
    if conditions:
        return _held(texts, gone, recode, conditions)
    numbers: dict[str | None, int] = {}
    groups = np.full(len(texts), GONE, dtype=np.int64)
    categories = with_aliases({text: text for text in allowed if text is not None})
    for row, text in enumerate(texts):
        meant = recode.get(text, text)
        if text is None or text in gone or meant is None or (allowed and not {text, meant} <= set(categories)):
            continue
        groups[row] = numbers.setdefault(categories.get(meant, meant), len(numbers))
    return groups


def values_of(texts: Sequence[str | None], words: str) -> list[str | None]:
    """Return what canonical texts are taken for by a reading without conditions, bins by their place; None where they are missing."""
    recode, groups = json.loads(words)[2], groups_of(texts, words)
    meant = map(str, groups) if is_cut(words) else (recode.get(text, text) for text in _as_read(texts, words))
    return [None if group == GONE else value for value, group in zip(meant, groups, strict=True)]


def _as_read(texts: Sequence[str | None], words: str) -> list[str | None]:
    """Return a column's texts as a reading has them before it recodes any: with decimal points, if the file's commas are these."""
    missing, listed, *_ = json.loads(words)
    where = commas_of(words)
    return list(texts) if where is None else pointed_texts(texts, missing, listed, where)


def conditions_of(conditions: Sequence[tuple[str, Any]], words: str) -> str:
    """Return conditions, each (operator, value), on a column that is read by `words`, as a reading: values for which all hold are one group."""
    tests = sorted([list(one) for one in conditions], key=str)
    return json.dumps([*json.loads(words), *tests], separators=(",", ":"))


def bins_of(words: str, cuts: Sequence[float]) -> str:
    """Return bins, given by their cut points, of a column that is read by `words`, as a reading: values of one bin are one group."""
    return json.dumps([*json.loads(words), [CUT, list(cuts)]], separators=(",", ":"))


def _recoded(
    texts: Sequence[str | None], missing: Collection[str | None], recode: Mapping[str | None, str | None]
) -> list[str | None]:
    return [None if text is None or text in missing else recode.get(text, text) for text in texts]


def _cut(
    texts: Sequence[str | None],
    missing: Collection[str | None],
    recode: Mapping[str | None, str | None],
    cuts: Sequence[float],
) -> Integers:
    """Return the bin of each value, `GONE` of what is missing or no number."""
    from ...bayes.network.discretise import Bins
    from ...bayes.network.model import MISSING
    from ..questions.conditions import numbers_of

    codes = Bins(tuple(cuts)).encode(numbers_of(_recoded(texts, missing, recode)))
    return np.where(codes == MISSING, GONE, codes)


def _held(
    texts: Sequence[str | None],
    missing: Collection[str | None],
    recode: Mapping[str | None, str | None],
    conditions: Sequence[Sequence[Any]],
) -> Integers:
    """Return 1 for each value for which all conditions hold, else 0."""
    import pandas

    from ..questions.conditions import holds, numbers_of
    from ..questions.factor_info import Condition

    values = pandas.Series(_recoded(texts, missing, recode), dtype=object)
    held = np.ones(len(values), dtype=np.bool_)
    for operator, value in conditions:
        number = operator not in ("==", "!=", "in", "missing")
        column = numbers_of(values) if number else values
        held &= holds(column, Condition("value", "missing" if operator == NO_NUMBER else operator, value))
    return held.astype(np.int64)


def tells_of_few(
    words: Sequence[str], groups: Sequence[Integers], rows: Mapping[str | None, int], minimum: int
) -> bool:
    """Return whether readings of a column, their groups of the values in `rows` in the same order, set few rows apart or make them other numbers.

    See `sets_few_apart` and `moves_few`.

    Bins and conditions are compared over the values that are in a bin only: rows without a value are beside the bins of a table, but among
    those for which a condition fails, in every column with a few gaps.
    """
    table, counts = np.stack(groups), np.array(list(rows.values()))
    if moves_few([json.loads(one)[2] for one in words], _as_read(list(rows), words[-1]), table, counts, minimum):
        return True
    cuts = np.array([is_cut(one) for one in words])
    if any(part.any() and sets_few_apart(list(table[part]), counts, minimum) for part in (cuts, ~cuts)):
        return True
    inside = (table[cuts] != GONE).all(axis=0)
    return bool(inside.any()) and sets_few_apart(list(table[:, inside]), counts[inside], minimum)


def is_cut(words: str) -> bool:
    """Return whether a reading is of bins."""
    return any(one[0] == CUT for one in json.loads(words)[3:])


def sets_few_apart(groups: Sequence[Integers], rows: Integers, minimum: int) -> bool:
    """Return whether readings together set fewer than `minimum` rows apart that do not already stand by themselves in each of them.

    Parameters
    ----------
    groups : sequence of int64 array, shape (values,)
        Group of each value by every reading.
    rows : int64 array, shape (values,)
        Rows that have the value.
    minimum : int
        Rows.
    """
    table = np.stack(groups)
    _, together = np.unique(table, axis=1, return_inverse=True)
    sizes = np.bincount(together.ravel(), weights=rows)[together.ravel()]
    gone = table == GONE
    changed = gone.any(axis=0) & ~gone.all(axis=0)
    for one in table:
        changed |= np.bincount(one - GONE, weights=rows)[one - GONE] > sizes
    return bool((changed & (sizes > 0) & (sizes < minimum)).any())


class Readings(Record):
    """The readings by which one node has given exact answers; `Record` has the parameters."""

    table = "readings"

    def admit(self, asked: Iterable[tuple[str, str]], minimum: int, texts: Texts) -> bool:
        """Remember readings of columns, unless with earlier ones they set fewer than `minimum` rows apart.

        Parameters
        ----------
        asked : iterable of tuple of str
            Column and words, each.
        minimum : int
            Rows.
        texts : callable
            Gives a column's canonical texts, one a row; asked for only where there is an earlier, different reading.

        Returns
        -------
        bool
            Whether the answer may leave; the readings are remembered then.

        Raises
        ------
        StationError
            If the file cannot be read or written.
        """
        wanted = sorted(set(asked))

        def remember(remembered: Remembered) -> bool:
            for name, words in wanted:
                earlier, beside = remembered.of(name), OF + column_of(name)
                if words in earlier:
                    continue
                others = remembered.of(beside) if name.startswith(SHOWN) and (beside, words) not in wanted else []
                rows = Counter(texts(column_of(name))) if earlier or others else Counter()
                new, refused = _compared(earlier, words, rows, minimum)
                if refused or _compared(others, words, rows, minimum)[1]:
                    return False
                if new:
                    remembered.add(name, words)
            return True

        return self._admits(lambda earlier: all(earlier.has(*one) for one in wanted), remember)


def column_of(name: str) -> str:
    """Return the column that something is remembered of."""
    return name.removeprefix(OF).removeprefix(SHOWN)


def _compared(earlier: Sequence[str], words: str, rows: Mapping[str | None, int], minimum: int) -> tuple[bool, bool]:
    """Return whether a reading tells something new beside earlier ones, and whether it is refused because of them; `rows` has those of each value."""
    if not earlier:
        return True, False
    groups = [groups_of(list(rows), one) for one in (*earlier, words)]
    alike = [one for one, text in zip(groups, earlier, strict=False) if is_cut(text) == is_cut(words)]
    new = not alike or _splits([*alike, groups[-1]])
    full = new and len(earlier) >= MOST_READINGS
    return new, full or tells_of_few([*earlier, words], groups, rows, minimum)


def _splits(groups: Sequence[Integers]) -> bool:
    """Return whether the last reading tells values apart that the others do not; if not, it need not be recorded."""
    counts = [np.unique(np.stack(part), axis=1).shape[1] for part in (groups[:-1], groups)]
    return bool(counts[0] < counts[1])


def of_bins(column: str, words: str, cuts: Sequence[float], kinds: Sequence[str]) -> dict[str, str]:
    """Return the readings, of each of `kinds`, that bins make of a column of the table that is read by `words`; none without cut points."""
    return {kind + column: bins_of(words, cuts) for kind in kinds} if cuts else {}


def of_conditions(conditions: Sequence[tuple[str, str, Any]], read: Mapping[str, str]) -> dict[str, str]:
    """Return the readings that conditions of a count, (column, operator, value) each, make of columns that are read by the words in `read`."""
    tests = {column: [(operator, value) for name, operator, value in conditions if name == column] for column in read}
    return {
        kind + column: conditions_of(tests[column], words) for column, words in read.items() for kind in (OF, SHOWN)
    }


def changes_few(asked: Iterable[tuple[str, str]], minimum: int, texts: Texts) -> bool:
    """Return whether a reading takes some values of few rows for others, or for missing, so that an answer without that would tell of these rows.

    With readings that take values of many rows for others only, no two of them set few rows apart.
    """
    for name, words in set(asked):
        plain = plain_of(words)
        if name == column_of(name) and words != plain:
            rows = Counter(texts(name))
            groups = [groups_of(list(rows), one) for one in (plain, words)]
            if tells_of_few([plain, words], groups, rows, minimum):
                return True
    return False
