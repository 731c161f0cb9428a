"""The record of what stations entered: by which columns, products of columns and case weights exact answers about linked records, or one station, were made.

Two answers by two columns of one station that say the same of all records but one, a diagnosis at admission and at discharge, differ by what that record has
at other stations. So do two Cox models, one with case weights and one without, where one record weighs much more than all others. So a node with a folder
database remembers the names of the columns, and how they were read and cut, and looks at its own table again when another one is entered. It refuses a
column that says the same as an earlier one of all rows but few (`alike`), and case weights whose change few records carry. What one task enters is compared
alike, at other nodes too; there case weights are compared with none. The product of own columns that was multiplied with others' numbers is held against
earlier ones (`own_products`).

Times of a fit are another part than what is counted or multiplied: an event may follow from the time but for few records, whose follow-up ends on one day.
So they are held against other times, and as columns anew. Columns with a formula are guarded by FEDBAYES_ALLOW_FORMULAS instead. The record holds names and
what tasks said.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...bayes.values.column_codes import distinct_values
from ...bayes.values.encoding import canonical_text, number_of
from ...typing import Floats, Integers
from ..errors import ThresholdError
from . import linked
from .alike import alike_but_for_few, change_is_carried_by_few, cut_alike_but_for_few, in_one_unit_but_for_few
from .column_texts import apart, is_cut_by_task, names_of, whose
from .own_products import adds_up_but_for_few, differ_by_few
from .readings import MOST_READINGS, SHOWN, column_of, is_cut, values_of
from .record import Record, Remembered
from .selections import SETS_FEW_APART

if TYPE_CHECKING:
    from ..node.memory import Memory
    from ..tables.reading import Source

ROWS, TIME, WEIGHTS, OWN_PRODUCTS, HELD_ALONE = "linked", "time", "weights", "own products", "held alone"
"""What is noted for the rounds of the job: which rows are linked, a fit's times and case weights, columns whose product is multiplied with others' numbers,
and those of united records that no other station has. Texts of times end with `TIME`."""
COLUMN, WEIGHT, PRODUCT = "column", "weight", "product"
"""Kinds of what is remembered."""
NO_WEIGHTS = json.dumps(None)
"""A fit without case weights, where others have a column and how it is read."""
ALIKE = (
    "say the same of all records but fewer than this node demands, so that answers by both would tell of these; ask with one of them alone, give an epsilon, "
    "or ask the node administrator about FEDBAYES_ALLOW_DIFFERENCES"
)
WEIGHED_APART = (
    "weights: fewer records than this node demands carry nearly all of what changes between these case weights and others, or none, so that two fits would "
    "tell of these; cap the weights, ask with those of earlier fits, or ask the node administrator about FEDBAYES_ALLOW_DIFFERENCES"
)
MULTIPLIED_APART = (
    "columns: the product of this station's columns and one that was multiplied with other organizations' numbers before differ by what fewer records than "
    "this node demands hold, so that two answers would tell the others' values of these; ask with other columns, or ask the node administrator about "
    "FEDBAYES_ALLOW_DIFFERENCES"
)
Column = tuple[Integers, list[str | None]]
"""Place of every row's value among the values, -1 where it is missing, and these."""
Judge = Callable[[Sequence[str], Sequence[str]], Collection[str]]
"""Gets what is new and what is remembered besides, refuses by raising `ThresholdError`, and returns which of the new is to be compared with later ones."""


class _Record(Record):
    """What one node's exact answers were made by; `Record` has the parameters."""

    table = "entered"

    def admit(self, kind: str, asked: Collection[str], rows: str, judge: Judge) -> None:
        """Remember texts of a kind over rows, by a digest of these, unless `judge` refuses them."""
        over = f"{kind}\x1f{rows}"

        def remember(remembered: Remembered) -> bool:
            fresh = sorted(text for text in asked if not remembered.has(over, text))
            for text in judge(fresh, [text for text in remembered.of(kind) if text not in fresh]):
                remembered.add(kind, text)
            for text in fresh:
                remembered.add(over, text)
            return True

        self._admits(lambda earlier: all(earlier.has(over, text) for text in asked), remember)


class Entered:
    """What one job enters of linked records at one station, held against what was entered before.

    Parameters
    ----------
    memory : Memory
        What the job has noted so far.
    source : Source
        The table.
    minimum : int
        Rows: `minimum_count` of the node.
    opened_with : callable or None
        Returns what a record is opened with; None where nothing is remembered.
    """

    def __init__(
        self, memory: Memory, source: Source, minimum: int, opened_with: Callable[[], tuple[Path, str]] | None
    ) -> None:
        self._memory, self._source, self._minimum, self._opened_with = memory, source, minimum, opened_with

    def note_rows(self, places: NDArray[np.integer], total: int, by: str | None) -> None:
        """Note which of `total` rows are linked and count, and by which column of identifiers ("" by their places; None where they are not linked)."""
        self._memory.note(ROWS, [linked.words_of(places, total), total, by])

    def note_alone(self) -> None:
        """Note that an answer is about this station alone: who is linked it does not tell, so its rows, any, are not held against those of others."""
        self.note_rows(np.arange(0), 0, None)

    def note_time(self, column: str) -> None:
        """Note the column of a fit's times."""
        self._memory.note(TIME, column)

    def note_weights(self, weights: str | None) -> None:
        """Note the column of case weights of a fit, None without."""
        if weights is None or weights in self._source.names:
            read = {} if weights is None else self._source.reads([weights], None, ())
            self._memory.note(WEIGHTS, next(map(list, read.items()), None))

    def note_held_alone(self, columns: Collection[str]) -> None:
        """Note columns of united records that no other station has: what answers by two of them differ in is for this one to see."""
        self._memory.note(HELD_ALONE, sorted(columns))

    def note_product(self, columns: Sequence[str], domain: Mapping[str, Any] | None) -> None:
        """Note columns whose product is multiplied with others' numbers; not of one with a formula."""
        if set(columns) <= set(self._source.names):
            self._memory.note(OWN_PRODUCTS, self._source.reads(columns, domain, ()))

    def check(self, columns: Sequence[str], readings: Sequence[tuple[str, str]], summed: bool) -> None:
        """Remember rows, columns (as they are read and cut) and weights of the job, or refuse them.

        Of an answer that is `summed` over stations with other rows only columns that this station holds alone are compared: of others it knows its own rows.

        Raises
        ------
        ThresholdError
            If they are refused.
        StationError
            If the record cannot be read or written.
        """
        alone = {name for noted in self._memory.noted(HELD_ALONE) for name in self._source.origins(noted)}
        words = self._words([name for name in columns if name in alone or not summed], readings)
        weights = [json.dumps(one) for one in self._memory.noted(WEIGHTS)]
        products = [json.dumps(one, sort_keys=True) for one in self._memory.noted(OWN_PRODUCTS)]
        for number, (rows, total, by) in enumerate(self._memory.noted(ROWS)):
            admitted = f"linked admitted|{number}|{hashlib.sha256(repr([columns, words, weights, products]).encode()).hexdigest()}"
            if self._memory.read(admitted) is None:
                if total:
                    self._check_rows(columns, rows, total, by)
                self._check(COLUMN, words, rows, total)
                self._check(WEIGHT, weights, rows, total)
                self._check(PRODUCT, products, rows, total)
                self._memory.once(admitted, b"1")

    def _words(self, columns: Sequence[str], readings: Sequence[tuple[str, str]]) -> list[str]:
        """Return these columns, as they are read and cut, as texts; conditions on them are `selections`' to compare."""
        times = self._memory.noted(TIME)
        read = [(name, words) for name, words in readings if name in columns]
        cut = [(name, words) for name, words in readings if is_cut(words) and column_of(name) in columns]
        chosen = {(column_of(name), words) for name, words in cut if name.startswith(SHOWN)}
        cut = [(column_of(name), words) for name, words in cut]
        read += [(f"{SHOWN}{name}" if (name, words) in chosen else name, words) for name, words in cut]
        return sorted(
            {json.dumps([name, words, *([TIME] if column_of(name) in times else [])]) for name, words in read}
        )

    def _check_rows(self, columns: Sequence[str], rows: str, total: int, by: str | None) -> None:
        if self._opened_with is not None and not linked.Linked(*self._opened_with()).admit(
            columns, rows, total, self._minimum, by
        ):
            raise ThresholdError(linked.LINKS_FEW)

    def _check(self, kind: str, asked: Sequence[str], rows: str, total: int) -> None:
        """Remember what is asked of a kind, or refuse it; where nothing is remembered, weights are compared with none."""

        def judge(fresh: Sequence[str], earlier: Sequence[str]) -> Collection[str]:
            chosen = linked.rows_of(rows, total)
            judges = {COLUMN: self._columns, WEIGHT: self._weights, PRODUCT: self._products}
            return judges[kind](fresh, self._here(earlier), chosen)

        if self._opened_with is None:
            judge(asked, [NO_WEIGHTS] if kind == WEIGHT else [])
        elif asked:
            digest = hashlib.sha256(rows.encode()).hexdigest()
            _Record(*self._opened_with()).admit(kind, asked, digest, judge)

    def _columns(self, fresh: Sequence[str], earlier: Sequence[str], rows: linked.Rows) -> Collection[str]:
        """Refuse columns that say the same as others of all rows but few; return those that are not as an earlier reading of theirs."""
        codes, numbers = self._coded(
            list(dict.fromkeys(one for text in (*fresh, *earlier) for one in apart(text))), rows
        )
        sides = [[one for text in texts for one in apart(text)] for texts in (fresh, earlier)]
        new, old = (list({(*whose(one), codes[one].tobytes()): one for one in side}.values()) for side in sides)
        same = alike_but_for_few([codes[one] for one in new], [codes[one] for one in old], self._minimum)
        same |= in_one_unit_but_for_few([numbers[one] for one in new], [numbers[one] for one in old], self._minimum)
        cut = [column for column, one in enumerate((*new, *old)) if is_cut_by_task(one)]
        for one, other in itertools.combinations(cut, 2):
            if one < len(new):
                bins = [numbers[(*new, *old)[column]] for column in (one, other)]
                same[one, other] |= cut_alike_but_for_few(bins[0], bins[1], self._minimum)
        about = [(column_of(name), part) for name, part in map(whose, (*new, *old))]
        for one, other in np.argwhere(same):
            (name, part), (beside, as_part) = about[one], about[other]
            if name != beside and part == as_part:
                named = f"'{beside}'" if other < len(new) else "one that was asked for before"
                raise ThresholdError(f"columns '{name}' and {named} {ALIKE}")
        kept = []
        for text in fresh:
            readings = [codes[one] for one in earlier if whose(one) == whose(text)]
            if not any(np.array_equal(codes[text], one) for one in readings):
                kept.append(text)
                if len(readings) >= MOST_READINGS:
                    raise ThresholdError(SETS_FEW_APART)
        return kept

    def _coded(self, texts: Sequence[str], rows: linked.Rows) -> tuple[dict[str, Integers], dict[str, Floats]]:
        """Return of each text the number of every row's value, the same for the same value in all columns, and every row's number, NaN where it is none."""
        columns, chosen = self._values(texts), rows if len(rows) else slice(None)
        codes = {text: one[chosen] for text, one in zip(texts, _numbered(columns), strict=True)}
        return codes, {text: _numbers_of(one)[chosen] for text, one in zip(texts, columns, strict=True)}

    def _weights(self, fresh: Sequence[str], earlier: Sequence[str], rows: linked.Rows) -> Collection[str]:
        """Refuse case weights of which few rows carry what changes from others; return those that are new."""
        columns = [self._numbers(text, rows) for text in (*fresh, *earlier)]
        for one, other in itertools.combinations(columns, 2):
            if change_is_carried_by_few(one, other, self._minimum):
                raise ThresholdError(WEIGHED_APART)
        return fresh

    def _products(self, fresh: Sequence[str], earlier: Sequence[str], rows: linked.Rows) -> Collection[str]:
        """Refuse products of own columns that differ from others, or from sums of two, by what few rows hold; return those that are new."""
        if fresh and len(earlier) >= MOST_READINGS:
            raise ThresholdError(SETS_FEW_APART)
        columns = [self._product(text, rows) for text in (*fresh, *earlier)]
        for new, one in enumerate(columns[: len(fresh)]):
            others = columns[new + 1 :]
            pairs = itertools.combinations(others, 2)
            if any(differ_by_few(one, other, self._minimum) for other in others) or any(
                adds_up_but_for_few(one, *pair, self._minimum) for pair in pairs
            ):
                raise ThresholdError(MULTIPLIED_APART)
        return fresh

    def _product(self, text: str, rows: linked.Rows) -> Floats:
        """Return the product of columns, (rows,)."""
        read = json.loads(text)
        columns = [self._numbers(json.dumps([name, words]), rows) for name, words in read.items()]
        product: Floats = np.prod(columns, axis=0)
        return product

    def _numbers(self, text: str, rows: linked.Rows) -> Floats:
        """Return case weights, or other numbers, (rows,), NaN where a cell is missing."""
        if text == NO_WEIGHTS:
            return np.ones(int(rows.sum()))
        return _numbers_of(self._values([text])[0])[rows]

    def _values(self, texts: Sequence[str]) -> list[Column]:
        """Return columns as they are read."""
        asked = [(column_of(name), words) for name, words, *_ in map(json.loads, texts)]
        frame = self._source.written(sorted({name for name, _ in asked}))
        coded = {name: distinct_values(frame[name]) for name, _ in asked}
        written = {name: [canonical_text(value) for value in distinct] for name, (_, distinct) in coded.items()}
        return [(coded[name][0], values_of(written[name], words)) for name, words in asked]

    def _here(self, texts: Sequence[str]) -> list[str]:
        """Return what is remembered of columns that the table still has, and of a fit without weights."""
        return [text for text in texts if text == NO_WEIGHTS or names_of(text) <= set(self._source.names)]


def _numbers_of(column: Column) -> Floats:
    """Return the number of every row, (rows,), NaN where a cell is none."""
    places, values = column
    table = [np.nan if (number := number_of(value)) is None else number for value in (*values, None)]
    return np.array(table, dtype=np.float64)[places]


def _numbered(columns: Sequence[Column]) -> list[Integers]:
    """Return the number of every row's value, (rows,) each: the same value has the same in all columns."""
    numbers: dict[str | None, int] = {None: 0}
    tables = ([numbers.setdefault(value, len(numbers)) for value in (*values, None)] for _, values in columns)
    return [np.array(table)[places] for table, (places, _) in zip(tables, columns, strict=True)]
