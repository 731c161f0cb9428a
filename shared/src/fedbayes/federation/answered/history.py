"""One station's exact answers held against those that its node gave before: of organizations, of readings of columns, and of counts."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import MembersError, ThresholdError
from ..tables import node_databases
from . import readings, selections, sheets, sources
from .cut_columns import FEW_BETWEEN, in_numbers, sets_few_between
from .entered import Entered
from .minima import Minima
from .organizations import Answers, Members
from .questions import Questions
from .readings import Readings
from .record import REMEMBERS_NOTHING
from .selections import Selections

if TYPE_CHECKING:
    from ..node.memory import Memory
    from ..node.policy import Policy
    from ..tables.reading import Source

TELLS_OF_FEW = (
    "organizations: with exact answers about the same columns that were given before over others, this one would tell about fewer organizations than this node "
    "demands; name the same organizations as before, give an epsilon, or ask the node administrator about FEDBAYES_ALLOW_DIFFERENCES"
)

BY_VALUE = ("==", "missing")
"""Conditions whose groups of rows are the same in every task: those of one value."""
READ, LEFT_OUT, BORDERS, TABLED = "readings", "left-out", "borders", "tabled"
"""What is noted for the rounds of the job: how columns are read, columns whose gaps leave rows out, where numbers are cut, and by which states columns are
counted."""


class History:
    """What a node remembers of its exact answers, and refuses because of it.

    A node that lets answers differ (FEDBAYES_ALLOW_DIFFERENCES) remembers nothing and refuses nothing. One without a folder database cannot remember, and
    answers only what no task could ask in two ways.

    Parameters
    ----------
    policy : Policy
        The limits of the node.
    memory : Memory
        What the job has noted so far.
    organization : int
        Whose answers; the mock client's organizations share a folder.
    source : Source
        The table that they are about.
    """

    def __init__(self, policy: Policy, memory: Memory, organization: int, source: Source) -> None:
        self._policy, self._memory, self._organization, self._source = policy, memory, organization, source

    def note_read(self, columns: Sequence[str], identifiers: Sequence[str], domain: Mapping[str, Any] | None) -> None:
        """Note for the rounds of the job which columns of the table this station reads, and how."""
        if self._policy.allow_differences:
            return
        self._note_readings(self._source.reads(self._source.origins(columns), domain, identifiers))
        for name in columns:
            self.note_borders(name, ())
        values = [name for name in columns if name not in identifiers]
        self.questions.read(set(self._source.origins(values)))

    def note_left_out(self, column: str, domain: Mapping[str, Any] | None) -> None:
        """Note for the job that its answers leave out rows with a missing cell in a column.

        `check` compares these rows with those of counts and of other tasks. Columns with a formula are guarded by FEDBAYES_ALLOW_FORMULAS instead.
        """
        if column in self._source.cut:
            column = self._source.cut[column].column
        read = {} if self._folder is None else self._source.reads([column], domain, (column,))
        if read:
            self._memory.note(LEFT_OUT, selections.words_of([(column, "missing", None)], read))

    def note_linked(self, places: NDArray[np.integer], total: int, by: str | None) -> None:
        """Note for the job which of this station's `total` rows are linked and count, and by which column; `check` holds them against earlier answers."""
        if not self._policy.allow_differences:
            self.entered.note_rows(places, total, by)

    def note_borders(self, column: str, cuts: Sequence[float]) -> None:
        """Note for the rounds of the job at which points it cuts a column; `check` holds those of one number against one another.

        Points of a column that the dictionary cuts from a number are those of the dictionary, and are noted where it is read.
        """
        if column in self._source.cut:
            column, cuts = self._source.cut[column].column, self._source.cut[column].at
        if cuts:
            self._memory.note(BORDERS, [column, list(cuts)])

    def note_bins(self, column: str, domain: Mapping[str, Any] | None, cuts: Sequence[float], chosen: bool) -> None:
        """Note for the rounds of the job by which states this station counts a column, and in which bins; nothing of one with a formula.

        A column that the dictionary cuts from a number counts as bins of the number.

        Raises
        ------
        ThresholdError
            If the borders are `chosen` by the task, and nothing is remembered.
        """
        chosen = chosen or column in self._source.cut
        self._note_cuts(column, domain, cuts, (readings.OF, readings.SHOWN) if chosen else (readings.OF,))

    def note_described(self, column: str, domain: Mapping[str, Any] | None, cuts: Sequence[float]) -> None:
        """Note for the rounds of the job at which points a description that tells of this station's rows alone cuts a column.

        Raises
        ------
        ThresholdError
            If nothing is remembered.
        """
        self.note_borders(column, cuts)
        self._note_cuts(column, domain, cuts, (readings.SHOWN,))

    def _note_cuts(
        self, column: str, domain: Mapping[str, Any] | None, cuts: Sequence[float], kinds: Sequence[str]
    ) -> None:
        if column in self._source.cut:
            column, cuts = self._source.cut[column].column, self._source.cut[column].at
        self.check_remembers(borders=readings.SHOWN in kinds and bool(cuts))
        if self._folder is not None:
            for name, words in self._source.reads([column], domain, ()).items():
                self._note_readings(readings.of_bins(name, words, cuts, kinds))
                self._memory.note(TABLED, [name, readings.bins_of(words, cuts) if cuts else words])

    def check_remembers(self, conditions: Sequence[tuple[str, str, Any]] = (), borders: bool = False) -> None:
        """Refuse what a node that can remember nothing does not answer: conditions but one on one value, and `borders` of the task's choice.

        It comes before anything that looks at the table: by which words such a node refuses would else tell of values, as often as anybody asks.

        Raises
        ------
        ThresholdError
            If the node remembers nothing, and should.
        """
        if not self._forgets:
            return
        conditions = in_numbers(conditions, self._source.cut)
        if borders or len(conditions) > 1 or any(test not in BY_VALUE for _, test, _ in conditions):
            raise ThresholdError(REMEMBERS_NOTHING)

    def check_conditions(self, conditions: Sequence[tuple[str, str, Any]], domain: Mapping[str, Any] | None) -> None:
        """Remember the conditions of an exact count, each (column, operator, value), or refuse them if with earlier ones they set few rows apart.

        Conditions on columns with a formula are not recorded: they are guarded by FEDBAYES_ALLOW_FORMULAS. Those on a column that is cut from a
        number are ranges of the number.

        Raises
        ------
        ThresholdError, StationError
            As `check`.
        """
        if self._folder is None or not conditions:
            return
        conditions = in_numbers(conditions, self._source.cut)
        columns = list(dict.fromkeys(name for name, _, _ in conditions))
        read = self._source.reads([name for name in columns if name not in self._source.derived], domain, ())
        self._note_readings(readings.of_conditions(conditions, read))
        self._check_readings()
        if len(read) == len(columns):
            self._admit_rows(selections.words_of(conditions, read))

    def check(self, namings: Sequence[Members]) -> None:
        """Remember an exact answer, or refuse it if it would, with earlier ones, tell about fewer organizations or rows than this node demands.

        Parameters
        ----------
        namings : sequence of frozenset of str
            The organizations whose rows the answer adds up, by each of what they are known by; none where it is not summed over organizations.

        Raises
        ------
        ThresholdError
            If the answer is refused.
        StationError
            If the record cannot be read or written.
        """
        if not self._policy.allow_differences:
            self._check_borders()
        columns, minimum = self.questions.columns(), self._policy.minimum_count
        if self._forgets and readings.changes_few(self._readings(), minimum, self._source.texts):
            raise ThresholdError(REMEMBERS_NOTHING)
        if self._folder is not None:
            sheets.check(*self._place(), columns, minimum)
            Minima(*self._place()).check(columns, minimum)
            self._check_readings()
            for words in self._memory.noted(LEFT_OUT):
                self._admit_rows(words)
            self._check_table()
        if not self._policy.allow_differences:
            self.entered.check(columns, self._readings(), bool(namings))
        least = self._policy.minimum_organizations
        if self._folder and namings and not Answers(*self._place()).admit(columns, namings, least):
            raise MembersError(TELLS_OF_FEW)

    def foresee(self, columns: Collection[str], namings: Sequence[Members]) -> None:
        """Refuse in a preflight what `check` would refuse: an exact answer about columns over a set of organizations. Nothing is remembered.

        Raises
        ------
        ThresholdError, StationError
            As `check`. What readings of columns would set apart is not foreseen: no value of the table is looked at.
        """
        if self._folder is None:
            return
        names = sorted(set(self._source.origins(list(columns))))
        if not Answers(*self._place()).foresees(names, namings, self._policy.minimum_organizations):
            raise MembersError(TELLS_OF_FEW)

    @cached_property
    def questions(self) -> Questions:
        """What the job has asked exactly, held against what was refused of the columns that it reads."""
        remembers = self._folder is not None and self._source.present
        return Questions(self._memory, self._policy.maximum_refusals, self._source, self._place if remembers else None)

    @cached_property
    def entered(self) -> Entered:
        """What the job enters of linked records, held against what was entered before."""
        remembers = None if self._folder is None else self._place
        return Entered(self._memory, self._source, self._policy.minimum_count, remembers)

    @cached_property
    def _folder(self) -> Path | None:
        """Where the records are; None where nothing is held against earlier answers."""
        return None if self._policy.allow_differences else self._policy.folder() or node_databases.embedded_record()

    @property
    def _forgets(self) -> bool:
        """Whether exact answers should be held against earlier ones and cannot be."""
        return not self._policy.allow_differences and self._folder is None

    def _place(self) -> tuple[Path, str]:
        """Return what a record is opened with; its data have one name for all labels of one file, and never one that a researcher or a server writes."""
        assert self._folder is not None  # only there are records opened
        return self._folder, self._table

    @cached_property
    def _table(self) -> str:
        label = node_databases.requested_label()
        address = f"mock {self._organization}" if label is None else os.environ[f"{label.upper()}_DATABASE_URI"]
        if os.path.exists(address):
            address = os.path.realpath(address)
        fact = f"source|{address}|{self._policy.cohort}"
        assert self._folder is not None
        found = self._memory.read(fact)
        name = found or self._memory.once(fact, sources.name_of(self._folder, address, self._policy.cohort).encode())
        return name.decode()

    def _note_readings(self, read: Mapping[str, str]) -> None:
        self._memory.note(READ, sorted(read.items()))

    def _readings(self) -> list[tuple[str, str]]:
        """Return the readings of columns that the job has noted so far."""
        return [(name, words) for noted in self._memory.noted(READ) for name, words in noted]

    def _check_borders(self) -> None:
        """Refuse if the job cuts a number at points between which there are few rows, in two columns or in two rounds."""
        points: dict[str, list[list[float]]] = {}
        for name, cuts in self._memory.noted(BORDERS):
            points.setdefault(name, []).append(cuts)
        for name, several in points.items():
            if len(several) > 1:
                rows, read = Counter(self._source.texts(name)), self._source.reads([name], None, ())
                groups = [readings.groups_of(list(rows), readings.bins_of(read[name], cuts)) for cuts in several]
                if sets_few_between(groups, np.array(list(rows.values())), self._policy.minimum_count):
                    raise ThresholdError(FEW_BETWEEN)

    def _check_readings(self) -> None:
        """Remember the job's readings, or refuse if readings of a column, this job's and earlier ones, set few rows apart."""
        admitted = f"readings admitted|{len(self._memory.noted(READ))}"
        if self._memory.read(admitted) is not None:
            return
        if not Readings(*self._place()).admit(self._readings(), self._policy.minimum_count, self._source.texts):
            raise ThresholdError(selections.SETS_FEW_APART)
        self._memory.once(admitted, b"1")

    def _check_table(self) -> None:
        """Remember the columns that the job counts by states, or refuse if a cell of theirs and an earlier count differ in few rows."""
        states = dict(self._memory.noted(TABLED))
        admitted = f"table admitted|{len(states)}"
        if not states or self._memory.read(admitted) is not None:
            return
        if not Selections(*self._place()).admit_table(states, self._policy.minimum_count, self._source.texts):
            raise ThresholdError(selections.SETS_FEW_APART)
        self._memory.once(admitted, b"1")

    def _admit_rows(self, words: str) -> None:
        if not Selections(*self._place()).admit(words, self._policy.minimum_count, self._source.texts):
            raise ThresholdError(selections.SETS_FEW_APART)
