"""What one job asks a station exactly, held against the record of refusals."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BudgetError
from . import refusals
from .products import Products

if TYPE_CHECKING:
    from ..messages.codec import Message
    from ..node.memory import Memory
    from ..tables.reading import Source

TOO_MANY_REFUSED = (
    "this node has refused as many different exact questions about one of the columns as it may (maximum_refusals), and refusals tell of records too; it "
    "answers exact questions about it only as before: ask with the borders, codes, conditions and bounds of an earlier answer, give an epsilon, or ask the "
    "node administrator to forget the refusals ('fedbayes node refusals')"
)
ASKED, COLUMNS, ANSWERED = "asked", "columns", "answered"
"""What is noted for the rounds of the job: what was asked, which columns of the table were read, and which questions were answered."""


class Questions:
    """The exact questions of one job at one station.

    Parameters
    ----------
    memory : Memory
        What the job has noted so far.
    most : int
        Different questions about a column that may be refused.
    source : Source
        The table.
    opened_with : callable or None
        Returns what a record is opened with; None where nothing is remembered.
    """

    def __init__(
        self, memory: Memory, most: int, source: Source, opened_with: Callable[[], tuple[Path, str]] | None
    ) -> None:
        self._memory, self._most, self._source, self._opened_with = memory, most, source, opened_with

    def columns(self) -> list[str]:
        """Return the columns of the table that the job has read so far, identifiers apart."""
        return sorted(set().union(*self._memory.noted(COLUMNS)))

    def read(self, columns: Collection[str]) -> None:
        """Note which columns the job reads; raises as `ask`."""
        self._memory.note(COLUMNS, sorted(columns))
        self._check()

    def ask(self, request: Message, models: Sequence[str]) -> None:
        """Note what a round asks, and refuse it if too many other questions about a column that the job reads were refused.

        Parameters
        ----------
        request : Message
            What central asks in the round.
        models : sequence of str
            Digests of the models that the job's manifest names.

        Raises
        ------
        BudgetError
            If it is refused: before any value is looked at, and whatever the table holds.
        StationError
            If the record cannot be read.
        """
        if self._opened_with is not None:
            words = refusals.words_of(request, lambda name: name in self._source.names)
            self._memory.note(ASKED, refusals.digest_of([words, *models]))
            self._check()

    def answered(self) -> None:
        """Note that what the job has asked so far is answered; raises as `ask`.

        Of many jobs at once each is admitted before any is refused, so what counts is how many questions have been refused when this one is answered.
        """
        question = self._check()
        if question is not None:
            self._memory.note(ANSWERED, question)

    def refused(self) -> None:
        """Remember that what the job has asked so far was refused because of values; raises as `ask`."""
        question = self._check()
        if question is not None and not self._record.refuse(self.columns(), question, self._most):
            raise BudgetError(TOO_MANY_REFUSED)

    def over(self) -> None:
        """Remember what the job was answered, when it ends: until then nobody has its result."""
        answered = self._memory.noted(ANSWERED)
        if answered:
            self._record.answer(self.columns(), answered)

    def multiplies(self, columns: Collection[str], factors: str, most: int) -> bool:
        """Return whether columns may be multiplied by others, of a digest `factors`, as one of `most` products of each; then it is remembered.

        Raises
        ------
        StationError
            If the record cannot be read or written.
        """
        if self._opened_with is None or most < 1:
            return most > 0
        return Products(*self._opened_with()).admit(set(self._source.origins(list(columns))), factors, most)

    def _check(self) -> str | None:
        """Return the digest of what the job has asked exactly; None where it has asked nothing so, or read no column. Raises as `ask`."""
        asked, columns = self._memory.noted(ASKED), self.columns()
        if self._opened_with is None or not asked or not columns:
            return None
        question = refusals.digest_of(asked)
        if not self._record.admit(columns, question, self._most):
            raise BudgetError(TOO_MANY_REFUSED)
        return question

    @cached_property
    def _record(self) -> refusals.Refusals:
        assert self._opened_with is not None  # else nothing is remembered
        return refusals.Refusals(*self._opened_with())
