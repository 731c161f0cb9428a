"""What one job asks a station exactly, held against the record of refusals."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BudgetError
from . import refusals

if TYPE_CHECKING:
    from ..codec import Message
    from ..memory import Memory
    from ..tables.reading import Source

TOO_MANY_REFUSED = (
    "this node has refused as many different exact questions about one of the columns as it may (maximum_refusals), and refusals tell of records too; it "
    "answers exact questions about it only as before: ask with the borders, codes, conditions and bounds of an earlier answer, give an epsilon, or ask the "
    "node administrator to forget the refusals ('fedbayes node refusals')"
)
ASKED, COLUMNS = "asked", "columns"
"""What is noted for the rounds of the job: what was asked, and which columns of the table were read."""


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
        self, memory: Memory, most: int, source: Source, opened_with: Callable[[], tuple[Path, int, str]] | None
    ) -> None:
        self._memory, self._most, self._source, self._opened_with = memory, most, source, opened_with

    def columns(self) -> list[str]:
        """Return the columns of the table that the job has read so far, identifiers apart."""
        return sorted(set().union(*self._memory.noted(COLUMNS)))

    def read(self, columns: Collection[str]) -> None:
        """Note which columns the job reads; raises as `ask`."""
        self._memory.note(COLUMNS, sorted(columns))
        self._check()

    def ask(self, request: Message) -> None:
        """Note what a round asks, and refuse it if too many other questions about a column that the job reads were refused.

        Raises
        ------
        BudgetError
            If it is refused: before any value is looked at, and whatever the table holds.
        StationError
            If the record cannot be read.
        """
        if self._opened_with is not None:
            self._memory.note(ASKED, refusals.words_of(request, self._source.names))
            self._check()

    def told(self, kind: str) -> None:
        """Remember that what the job has asked so far was answered or refused, as `kind` says; raises as `ask`."""
        self._check(kind)

    def _check(self, kind: str = "") -> None:
        question = self._question()
        if self._opened_with is None or question is None:
            return
        record, columns = refusals.Refusals(*self._opened_with()), self.columns()
        admitted = (
            record.note(kind, columns, question, self._most) if kind else record.admit(columns, question, self._most)
        )
        if not admitted:
            raise BudgetError(TOO_MANY_REFUSED)

    def _question(self) -> str | None:
        """Return the digest of what the job has asked exactly; None where it has asked nothing so, or read no column."""
        asked = self._memory.noted(ASKED)
        return refusals.digest_of(asked) if asked and self.columns() else None
