"""The table behind a task at a node: a file, a database or a frame, with the cells that are missing and the columns that a dictionary derives."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...bayes.dictionaries.dictionary import Dictionary
from ...bayes.dictionaries.entry import Cut
from ...bayes.dictionaries.recoding import applied, named_values
from ...bayes.values.encoding import canonical_text, composed
from ...bayes.values.missing import USUAL, Reading
from ..errors import DataProblem
from . import node_databases, parquet
from .database_reader import ReadingErrors, read_database
from .dialect import DECIMALS, Dialect, of_file
from .files import column_names, settled
from .names import check_distinct
from .small_csv import SmallTable, header_of, read_small_csv
from .words import NUMBERS, OPEN, comma_marks, words_of

if TYPE_CHECKING:
    from .databases import Database


class Source:
    """The table of one station in one round: read when asked for, in the way that is asked for.

    Parameters
    ----------
    mock_data : list of pandas.DataFrame or None
        Instead of a database of the node.
    schema : mapping
        The node's schema file ({} without one).
    dictionary : Dictionary, optional
        Of the study: what it says of a column is above the task's domain.
    cohort : str, optional
        What the administrator lets tasks read of an SQL database; see `databases`.
    folder : pathlib.Path, optional
        Where the administrator's files are.
    separator, decimal : str, optional
        As the administrator says of a CSV file; see `dialect`.
    alone : bool
        Whether every cell is read by itself (`fedbayes.bayes.values.missing.Reading`).

    Attributes
    ----------
    named : int
        Values that a recode of a column that was read names one by one, see `named_values`.
    """

    def __init__(
        self,
        mock_data: list[Any] | None,
        schema: Mapping[str, Any],
        dictionary: Dictionary | None = None,
        cohort: str | None = None,
        folder: Path | None = None,
        separator: str | None = None,
        decimal: str | None = None,
        alone: bool = False,
    ) -> None:
        self._alone = alone
        self._cohort, self._folder = cohort, folder
        self._declared = (separator, decimal)
        self._mock, self._schema, self._dictionary = mock_data, schema, dictionary
        self._frames: dict[str, Any] = {}
        self.named = 0

    @property
    def present(self) -> bool:
        """Whether there is a table."""
        if self._mock is not None:
            return len(self._mock) > 0 and len(self._mock[0].columns) > 0
        return node_databases.requested_label() is not None

    @property
    def has_order(self) -> bool:
        """Whether rows have an order of their own: in a file, not in an SQL database."""
        return self._database is None

    @cached_property
    def names(self) -> list[str]:
        """Names of all columns, with composed letters."""
        return list(map(composed, self._written if self._small is None else self._small.cells))

    @cached_property
    def _written(self) -> list[str]:
        """Names of all columns as the table writes them."""
        path = self._plain("csv")
        if self._plain("parquet") is not None:
            with ReadingErrors():
                return parquet.column_names(self._plain("parquet") or Path())
        if path is None and self._database is not None:
            with ReadingErrors():
                return self._database.names()
        if path is None:
            return list(self.frame().columns)
        with ReadingErrors():
            return column_names(path, self._dialect(path))

    def frame(
        self,
        domain: Mapping[str, Any] | None = None,
        identifiers: Sequence[str] = (),
        columns: Sequence[str] | None = None,
    ) -> Any:
        """Return the table as a pandas frame with names of text: all of it, or at least those of `columns` that it has.

        Raises
        ------
        DataProblem, ThresholdError
            If there is none, or it cannot be read.
        """
        reading = self._reading(domain, identifiers)
        chosen = self._chosen(columns)
        key = json.dumps([reading.domain, sorted(identifiers), chosen], sort_keys=True, default=str)
        if key not in self._frames:
            frame = self._read(reading, chosen).copy(deep=False)
            frame.columns = [str(name) for name in frame.columns]
            self._frames[key] = frame
        return self._frames[key]

    def _chosen(self, columns: Sequence[str] | None) -> list[str] | None:
        """Return which columns are to be read, in order; None: all, where nothing is gained, preprocessing may need others, or rows alone count."""
        label = (node_databases.requested_label() or "").upper()
        whole = self._mock is not None or not self.present or os.environ.get(f"{label}_PREPROCESSING") is not None
        parted = self._plain("csv") is not None or self._plain("parquet") is not None or self._database is not None
        if not columns or whole or not parted:
            return None
        chosen = [name for name in self._written if composed(name) in set(columns)]
        return chosen if len(set(chosen)) == len(chosen) else None

    def applied(
        self, columns: Sequence[str], domain: Mapping[str, Any] | None = None, identifiers: Sequence[str] = ()
    ) -> tuple[Any, int]:
        """Return columns as the dictionary means them, a pandas frame, and how many rows its subset leaves out; what they are made of is there once.

        Raises
        ------
        DataProblem, ThresholdError
            As `frame`; also if a column of the table has the name of a derived one.
        """
        assert self._dictionary is not None
        frame = self.frame(domain, identifiers, self._dictionary.sources(columns))
        self._check_derived(self.names)
        sources = {name: frame[name] for name in self._dictionary.sources(columns)}
        self.named = max(self.named, named_values(sources, self._dictionary))
        made, kept = applied(sources, columns, self._dictionary, len(frame))
        import pandas

        changed = pandas.DataFrame({name: _series(values, frame.index) for name, values in made.items()}, frame.index)
        return (changed, 0) if kept is None else (changed[kept].reset_index(drop=True), int(len(kept) - kept.sum()))

    def _check_derived(self, names: Sequence[str]) -> None:
        assert self._dictionary is not None
        for name in self._dictionary.derived:
            if name in names:
                raise DataProblem(
                    f"column '{name}' is in this station's table, but derived in the dictionary; rename it there"
                )

    def arrays(
        self, columns: Sequence[str], domain: Mapping[str, Any] | None = None
    ) -> tuple[Mapping[str, Any], int, int] | None:
        """Return columns by name, the number of rows, and how many a subset leaves out, without importing pandas; None if that is not possible here."""
        wanted = columns if self._dictionary is None else self._dictionary.sources(columns)
        if self._small is None or not set(wanted) <= set(self._small.cells):
            return None
        with ReadingErrors():
            path = self._plain("csv") or Path()
            table = self._small.arrays(wanted, replace(self._reading(domain, ()), comma=self._dialect(path).comma))
        if table is None or self._dictionary is None:
            return None if table is None else (table, self._small.rows, 0)
        self._check_derived(list(self._small.cells))
        self.named = max(self.named, named_values(table, self._dictionary))
        made, kept = applied(table, columns, self._dictionary, self._small.rows)
        if kept is None:
            return made, self._small.rows, 0
        return {name: values[kept] for name, values in made.items()}, int(kept.sum()), int(len(kept) - kept.sum())

    def parts(
        self, columns: Sequence[str], domain: Mapping[str, Any] | None, rows: int
    ) -> tuple[Iterator[Any], int] | None:
        """Return columns of a large parquet file in parts (`parquet.parts`), and the number of rows; None where all are to be read at once."""
        path = self._plain("parquet")
        if path is None or self._dictionary is not None or self._written != self.names:
            return None
        if len(set(self.names)) < len(self.names):
            return None
        if not set(columns) <= set(self.names):
            return None
        with ReadingErrors():
            read = parquet.parts(path, self._reading(domain, ()), columns, rows)
            return None if read is None else (_read_safely(read), parquet.rows(path))

    def reads(
        self, columns: Sequence[str], domain: Mapping[str, Any] | None, identifiers: Sequence[str]
    ) -> dict[str, str]:
        """Return in words how the task reads each of these columns that the table has, see `readings`."""
        entries = self._dictionary.columns if self._dictionary else {}
        commas = self._mock is None and self.present and node_databases.has_decimal_commas(*self._declared)
        reading, words = replace(self._reading(domain, identifiers), comma=commas), {}
        for name in set(columns).intersection(self.names):
            rule, recode = reading.rule(name), dict[str, Any]()
            marks = [OPEN] if rule.listed and not rule.closed else []
            missing, listed = (rule.missing | (USUAL if rule.numeric else set())) - rule.listed, rule.listed
            if name in entries and name not in identifiers and entries[name].recode:
                recode, marks = entries[name].recoded(rule), [NUMBERS] if entries[name].is_number else marks
                listed = entries[name].known((domain or {}).get(name), missing)
            words[name] = words_of(missing, listed, recode, *marks, *comma_marks(rule))
        return words

    @property
    def derived(self) -> Mapping[str, Any]:
        """Columns that the dictionary derives -> those of the table that each is made of."""
        return {} if self._dictionary is None else self._dictionary.derived

    @property
    def cut(self) -> Mapping[str, Cut]:
        """Columns that the dictionary cuts from numbers of the table, by name."""
        return {} if self._dictionary is None else self._dictionary.cut

    def origins(self, columns: Sequence[str]) -> list[str]:
        """Return the columns of the table that `columns` are derived from, and those by which rows are left out."""
        filters = [step["parameters"]["column"] for step in node_databases.preprocessing()]
        return [*(columns if self._dictionary is None else self._dictionary.sources(columns)), *filters]

    def texts(self, column: str) -> list[str | None]:
        """Return a column as it is written, canonical texts, one a row; None where it is missing whatever a task says, which may list any text."""
        return [canonical_text(value) for value in self.written((column,))[column].tolist()]

    def written(self, columns: Sequence[str]) -> Any:
        """Return columns as they are written, a frame; see `texts`."""
        plain = Source(self._mock, {}, None, self._cohort, self._folder, self._declared[0], DECIMALS[0])
        return plain.frame({name: {"categories": sorted(USUAL)} for name in columns}, columns, columns)

    def _plain(self, kind: str) -> Path | None:
        """Return the table's file if it is of this kind and wanted as it is."""
        return node_databases.plain_file(kind) if self._mock is None and self.present else None

    def _dialect(self, path: Path) -> Dialect:
        return of_file(path, *self._declared)

    @cached_property
    def _small(self) -> SmallTable | None:
        return read_small_csv(path, self._dialect(path), self._alone) if (path := self._plain("csv")) else None

    @cached_property
    def _database(self) -> Database | None:
        """The node's SQL database, if that is what the task asks for."""
        label = node_databases.requested_label() if self._mock is None else None
        if label is None or node_databases.database_kind(label) not in node_databases.ADDRESSED:
            return None
        from .databases import Database

        return Database(label, self._cohort, self._folder)

    def _reading(self, domain: Mapping[str, Any] | None, identifiers: Sequence[str]) -> Reading:
        own_domain = domain or {} if self._dictionary is None else self._dictionary.reading(domain or {})
        computed = [name for sources in self.derived.values() for name in sources]
        rewritten = set() if self._dictionary is None else self._dictionary.rewritten
        measured = {*computed, *(cut.column for cut in self.cut.values())}
        return Reading(
            own_domain, self._schema, tuple(identifiers), measured=measured, alone=self._alone, rewritten=rewritten
        )

    def _read(self, reading: Reading, columns: list[str] | None) -> Any:
        if not self.present:
            raise DataProblem("this organization has no database with the label that the task asks for")
        with ReadingErrors():
            if self._mock is not None:
                return settled(self._mock[0], reading)
            path = self._plain("csv")
            if path is not None:
                check_distinct(header_of(path, self._dialect(path)))
            if self._plain("parquet") is not None:
                check_distinct(self.names)
            return read_database(reading, self._database, columns, self._dialect)


def _read_safely(parts: Iterator[Any]) -> Iterator[Any]:
    """Yield the parts of a table; what goes wrong while one is read tells nothing of it."""
    while True:
        with ReadingErrors():
            part = next(parts, None)
        if part is None:
            return
        yield part


def _series(values: Any, index: Any) -> Any:
    import pandas

    return values if isinstance(values, pandas.Series) else pandas.Series(values, index=index)
