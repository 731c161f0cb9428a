"""Exact answers about several sheets of one workbook: a task names the sheet, and two that hold the same rows but few are versions of one table."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from ...bayes.values.encoding import canonical_text, composed
from ...bayes.values.missing import Reading
from ..errors import DataProblem, ThresholdError
from ..tables import node_databases
from ..tables.database_reader import ReadingErrors
from ..tables.files import read_file
from .record import Record, Remembered

OTHER_SHEET = (
    "sheet_name: this station has answered exactly about another sheet of its workbook, which differs from this one in few rows of the task's columns; name "
    "that sheet, give an epsilon, or ask the node administrator about FEDBAYES_ALLOW_DIFFERENCES"
)
EXCEL = "excel"
"""The kind of a workbook among a node's databases."""
Columns = dict[str, list[str | None]]


class Sheets(Record):
    """Of which sheets of its workbook a node has told each column exactly."""

    table: ClassVar[str] = "sheets"

    def admit(self, columns: Sequence[str], sheet: str, differs: Callable[[str], bool]) -> bool:
        """Remember that columns are told of a sheet, empty for the first; or return False where one that they were told of before `differs` from it."""

        def remember(remembered: Remembered) -> bool:
            others = {other for name in columns for other in remembered.of(name)} - {sheet}
            if any(map(differs, sorted(others))):
                return False
            for name in columns:
                remembered.add(name, sheet)
            return True

        return self._admits(lambda earlier: all(earlier.of(name) == [sheet] for name in columns), remember)


def check(folder: Path, source: str, columns: Sequence[str], minimum: int) -> None:
    """Remember of which sheet a job is told columns exactly, or refuse it where another one differs in fewer than `minimum` rows of them.

    Parameters
    ----------
    folder, source : Path, str
        As of `Record`.
    columns : sequence of str
        Of the table, that the job reads.
    minimum : int
        Rows that may be told apart.

    Raises
    ------
    ThresholdError, StationError
        As `History.check`.
    """
    label = node_databases.requested_label()
    if label is None or node_databases.database_kind(label) != EXCEL:
        return
    path, sheet = Path(os.environ[f"{label.upper()}_DATABASE_URI"]), node_databases.asked().get("sheet_name", "")

    def differs(other: str) -> bool:
        ours, theirs = _columns(path, sheet), _columns(path, other)
        if not set(columns) <= ours.keys() & theirs.keys() or are_of_others(ours, theirs):
            return False
        rows, rest = (Counter(zip(*(table[name] for name in columns), strict=True)) for table in (ours, theirs))
        return any(0 < apart.total() < minimum for apart in (rows - rest, rest - rows))

    if not Sheets(folder, source).admit(columns, sheet, differs):
        raise ThresholdError(OTHER_SHEET)


def are_of_others(ours: Columns, theirs: Columns) -> bool:
    """Return whether two sheets are plainly about other records, as of two years: columns in which hardly any value is twice have few in common."""
    apart = []
    for name in ours.keys() & theirs.keys():
        own, other = set(ours[name]), set(theirs[name])
        if 2 * len(own) > len(ours[name]) and 2 * len(other) > len(theirs[name]):
            apart.append(2 * len(own & other) < min(len(own), len(other)))
    return bool(apart) and all(apart)


def _columns(path: Path, sheet: str) -> Columns:
    """Return a sheet's columns as texts; none of one that is gone."""
    try:
        with ReadingErrors():
            frame = read_file(path, EXCEL, Reading({}, {}, ()), sheet or None)
    except DataProblem:
        return {}
    return {composed(str(name)): list(map(canonical_text, frame[name].tolist())) for name in frame.columns}
