"""What a station reads of its own table: columns that the node allows, under the study's dictionary and the node's guards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from ...bayes.dictionaries.dictionary import Dictionary
from ...bayes.dictionaries.entry import Cut
from ...bayes.values.encoding import identifier_text
from ...bayes.values.missing import public_part
from ...typing import Booleans
from ..answered.history import History
from ..answered.readings import GONE, groups_of
from ..errors import DataProblem, PolicyError, ThresholdError
from ..node.memory import Memory
from ..perimeter.envelope import Request
from ..tables import node_databases
from ..tables.names import differs_unseen
from ..tables.reading import Source
from . import announced, choosing, dictionaries
from .member import Member

ABSENT = "is not in this station's table"
"""What a station says of a column that it does not have; central looks for it where all stations refuse (`jobs.job`)."""


class TableReader(Member):
    """A member of the job with the table that its node holds for the task, if there is one.

    Parameters
    ----------
    organization, memory, request
        As of `Member`.
    mock_data : object
        The table under vantage6's mock client; None in a container, which reads its database.
    """

    def __init__(self, organization: int, memory: Memory, request: Request, mock_data: Any = None) -> None:
        super().__init__(organization, memory, request)
        self._mock_data = mock_data

    @property
    def has_data(self) -> bool:
        """Whether this station holds the database that the task asks for."""
        return self._source.present

    @cached_property
    def dictionary(self) -> Dictionary | None:
        """The study's data dictionary, from the job's first round."""
        return dictionaries.kept(self.memory)

    @property
    def cut(self) -> Mapping[str, Cut]:
        """Columns that the study's dictionary cuts from numbers, by name."""
        return self._source.cut

    def use_dictionary(self, content: dict[str, Any] | None) -> None:
        """Keep the dictionary that a job's first round brings for the rounds that follow; see `dictionaries.keep`."""
        dictionaries.keep(self.memory, content)
        for made_of_it in ("dictionary", "_source", "history"):
            self.__dict__.pop(made_of_it, None)

    @cached_property
    def _source(self) -> Source:
        return self._source_by(self.dictionary)

    def _source_by(self, dictionary: Dictionary | None) -> Source:
        """Return the table as a task's dictionary, or none, has it read."""
        cohort = self.policy.cohort
        folder = self.policy.folder() if cohort is not None else None
        return Source(
            self._mock_data,
            self._schema_file or {},
            dictionary,
            cohort,
            folder,
            self.policy.csv_separator,
            self.policy.csv_decimal,
            announced.is_private(self.memory),
        )

    @cached_property
    def history(self) -> History:
        """What the node remembers of its exact answers about the table."""
        return History(self.policy, self.memory, self.organization, self._source)

    @property
    def columns(self) -> list[str]:
        """Names of the columns that this node lets the task use, with those that the study's dictionary derives from them."""
        names = [name for name in self._source.names if self.policy.allows(name)]
        derived = self._source.derived.items()
        return [*names, *(name for name, needs in derived if not self.policy.denies(name) and needs <= set(names))]

    def data(
        self,
        columns: list[str],
        minimum: bool = True,
        domain: Mapping[str, Any] | None = None,
        identifiers: Sequence[str] = (),
    ) -> Any:
        """Return the station's table with exactly `columns`. `fedbayes.bayes.values.missing` has the rule for missing cells.

        Parameters
        ----------
        columns : list of str
            Names, in the order wanted.
        minimum : bool
            Whether the node's `minimum_rows` applies. It does not to new records that are only classified.
        domain : mapping, optional
            The task's domain, if it has one: which cells are values and which are missing codes.
        identifiers : sequence of str
            Columns whose cells keep their text, such as ``00257``.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        PolicyError
            If a column may not be used at this node.
        DataProblem
            If the table lacks a column or has it twice.
        ThresholdError
            If the table has fewer rows than the node demands.
        """
        self.check_columns(columns)
        self.history.note_read(columns, identifiers, domain)
        if self.dictionary is not None:
            self._check_table(self.dictionary.sources(columns), self._source.names, None)
            frame, left_out = self._source.applied(columns, domain, identifiers)
        else:
            frame, left_out = self._source.frame(domain, identifiers, columns), 0
        if minimum:
            choosing.note(self, len(frame), left_out, self._source.named)
        self._check_table(columns, list(frame.columns), self._whole(len(frame) + left_out) if minimum else None)
        return frame[columns]

    def identifiers(self, column: str, minimum: bool = True) -> list[str]:
        """Return the identifiers in a column as they are written, one per row, empty where missing; under the guards of `data`."""
        self.check_linked_by(column)
        announced.check_linked(self.memory, column)
        values = self.data([column], minimum, identifiers=(column,))[column]
        return [identifier_text(value) for value in values.tolist()]

    def check_linked_by(self, column: str) -> None:
        """Raise `PolicyError` if records may not be linked by a column here, or not as the task's dictionary reads it; nothing is read."""
        self.check_all_rows()
        entry = None if self.dictionary is None else self.dictionary.columns.get(column)
        if entry is not None and (entry.is_derived or entry.missing or entry.recode):
            raise PolicyError(
                f"dictionary: records are linked by column '{column}' as it is in the stations' files, or a task could try whether somebody is in them; "
                "leave out its missing codes, recode, cut and derive"
            )
        self.policy.check_identifier(column)

    def check_all_rows(self) -> None:
        """Raise `PolicyError` where records are linked, or aligned, of a table of which the task chose rows: how many are left is told, with noise too."""
        if node_databases.preprocessing() or (self.dictionary is not None and self.dictionary.subset is not None):
            raise PolicyError(
                "a subset, or the platform's preprocessing, would tell which records are left out where records are linked; leave it out of the task"
            )

    def check_aligned(self) -> None:
        """As `check_all_rows`, where records are matched by their place in the table; raise `DataProblem` where it has none."""
        if not self._source.has_order:
            raise DataProblem("rows_aligned: rows of a database have no order; name the id_column to match them")
        self.check_all_rows()

    def arrays(self, columns: list[str], domain: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """Return `columns` of the station's table by name, each of shape (rows,), as in `data`.

        Under the same guards as `data`. A small CSV file is read without pandas, whose import takes longer than the file.
        """
        self.check_columns(columns)
        self.history.note_read(columns, (), domain)
        small = self._source.arrays(columns, domain)
        if small is None:
            return self.data(columns, domain=domain)  # type: ignore[no-any-return]
        table, rows, left_out = small
        choosing.note(self, rows, left_out, self._source.named)
        self._check_table(columns, list(table), self._whole(rows + left_out))
        return table

    def parts(
        self, columns: list[str], domain: Mapping[str, Any] | None = None, rows: int = 0
    ) -> Iterator[Mapping[str, Any]]:
        """Yield the station's table in parts of rows, each as `arrays` gives the whole: what is added up over rows needs no more of it at once.

        Parts have so many `rows` if that is more than usual: as many as cells that are counted into, for those are added up for each part.
        Under the same guards, held before the first part. A large parquet file is read part by part, anything else comes as one. Parts are for encoding with
        ``outside="absorb"`` (see `tables.parquet.parts`).
        """
        self.check_columns(columns)
        read = self._source.parts(columns, domain, rows)
        if read is None:
            yield self.arrays(columns, domain)
            return
        self.history.note_read(columns, (), domain)
        parts, count = read
        self._check_table(columns, self._source.names, count)
        yield from parts

    def check_made_missing(self, column: str, gone: Booleans) -> None:
        """Refuse a column of which the task takes few values for missing that are none in the file, where small cells are told.

        Such a code may be one person's value, and whatever is told of the other columns over all records, and with this one over the rest, tells of that
        person. Codes in the station's schema file are the administrator's, who may also let answers differ in few rows; what derives a column needs leave.

        Parameters
        ----------
        column : str
            A column of the task.
        gone : ndarray of bool, shape (rows,)
            Where it is missing as the task reads it.

        Raises
        ------
        ThresholdError
            If few rows, but some, are missing, and one of them because the task says so.
        """
        if self.policy.allow_differences or not 0 < int(gone.sum()) < self.policy.minimum_count:
            return
        name = self.cut[column].column if column in self.cut else column
        plain = self._source_by(None)
        if name not in plain.names:
            return
        texts = self._source.texts(name)
        without = groups_of(texts, plain.reads([name], None, ())[name]) == GONE
        if len(texts) == len(gone) and bool((gone & ~without).any()):
            raise ThresholdError(
                f"dictionary, domain: the task takes few values of column '{column}' for missing, and what is told of the other columns would tell of these "
                "records; leave the code out, have it in the station's schema file, give an epsilon, or ask the node administrator about "
                "FEDBAYES_ALLOW_DIFFERENCES"
            )

    @staticmethod
    def _whole(rows: int) -> int | None:
        """Return the rows of the table before the task chose some; None where it was read so, by vantage6's preprocessing (see `choosing.note`)."""
        return None if node_databases.preprocessing() else rows

    def _check_table(self, columns: list[str], present: list[str], rows: int | None) -> None:
        for column in columns:
            if present.count(column) != 1:
                if column in present:
                    raise DataProblem(f"column '{column}' is twice in this station's table; name one of them anew")
                alike = differs_unseen(column, filter(self.policy.allows, present))
                hint = " (one there differs only by blanks, capitals or accents)" if alike else ""
                raise DataProblem(
                    f"column '{column}' {ABSENT}; check the name in the task{hint}, or leave the column or this station out"
                )
        if rows is not None and rows < self.policy.minimum_rows:
            raise ThresholdError("fewer rows than the node demands (minimum_rows); leave this station out")

    def check_names(self, columns: list[str]) -> None:
        """Raise `DataProblem` naming a column that the table does not have exactly once; no values are read."""
        wanted = columns if self.dictionary is None else self.dictionary.sources(columns)
        self._check_table(wanted, self._source.names, None)

    def check_columns(self, columns: list[str]) -> None:
        """Raise `PolicyError` naming a column that may not be used here.

        Checked are `columns`, the columns that they are derived from, and those by which preprocessing or a subset leaves rows out.
        """
        self.policy.check_columns(self._source.origins(columns))
        self.policy.check_columns(list(filter(self.policy.denies, columns)))

    def public_schema(self) -> dict[str, Any] | None:
        """Return the public domains from the administrator's schema file beside the ledger; None without such a file."""
        return None if self._schema_file is None else public_part(self._schema_file)

    @cached_property
    def _schema_file(self) -> dict[str, Any] | None:
        return self.policy.schema_content()
