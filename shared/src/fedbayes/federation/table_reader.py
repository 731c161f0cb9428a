"""What a station reads of its own table: columns that the node allows, under the study's dictionary and the node's guards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from ..bayes.dictionary import Dictionary
from ..bayes.encoding import identifier_text
from ..bayes.missing import public_part
from . import choosing, dictionaries, platform, together
from .envelope import Request
from .errors import DataProblem, PolicyError, ThresholdError
from .member import Member
from .memory import Memory
from .tables.reading import Source


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

    def use_dictionary(self, content: dict[str, Any] | None) -> None:
        """Keep the dictionary that a job's first round brings for the rounds that follow; see `dictionaries.keep`."""
        dictionaries.keep(self.memory, content)
        for known in ("dictionary", "_source"):
            self.__dict__.pop(known, None)

    @cached_property
    def _source(self) -> Source:
        cohort = self.policy.cohort
        folder = self.policy.folder() if cohort is not None else None
        return Source(
            self._mock_data,
            self._schema_file or {},
            self.dictionary,
            cohort,
            folder,
            self.policy.csv_separator,
            self.policy.csv_decimal,
        )

    @property
    def columns(self) -> list[str]:
        """Names of the columns that this node lets the task see, those that the task's dictionary derives of them included."""
        names = [name for name in self._source.names if self.policy.allows(name)]
        derived = self.dictionary.derived if self.dictionary is not None else {}
        denied = self.policy.denied_columns or ()
        return [*names, *(name for name, needs in derived.items() if name not in denied and needs <= set(names))]

    def data(
        self,
        columns: list[str],
        minimum: bool = True,
        domain: Mapping[str, Any] | None = None,
        identifiers: Sequence[str] = (),
    ) -> Any:
        """Return the station's table with exactly `columns`; its missing cells follow the rule in `fedbayes.bayes.missing`.

        Parameters
        ----------
        columns : list of str
            Names, in the order wanted.
        minimum : bool
            Whether `minimum_rows` of the node applies (it does not for new records that are only to be classified).
        domain : mapping, optional
            The task's domain, as far as there is one: what it lists is a value, what it declares missing is missing.
        identifiers : sequence of str
            Columns that keep their text, as ``00257``.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        PolicyError, DataProblem, ThresholdError
            If a column may not be used here, the table lacks it or has it twice, or has fewer rows than the node demands.
        """
        self.check_columns(columns)
        together.note_read(self, self._source, columns, identifiers, domain)
        if self.dictionary is not None:
            self._check_table(self.dictionary.sources(columns), self._source.names, None)
            frame, left_out = self._source.applied(columns, domain, identifiers)
            choosing.note(self, left_out, self._source.named)
        else:
            frame = self._source.frame(domain, identifiers, columns)
        self._check_table(columns, list(frame.columns), len(frame) if minimum else None)
        return frame[columns]

    def identifiers(self, column: str, minimum: bool = True) -> list[str]:
        """Return the identifiers in a column as they are written, one a row, empty where missing; under the guards of `data`."""
        if self.dictionary is not None and self.dictionary.subset is not None:
            raise PolicyError(
                "a subset would tell which records are left out where records are linked; leave it out of the dictionary"
            )
        values = self.data([column], minimum, identifiers=(column,))[column]
        return [identifier_text(value) for value in values.tolist()]

    def arrays(self, columns: list[str], domain: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """Return `columns` of the station's table by name, each of shape (rows,), as in `data`.

        Under the same guards as `data`, without importing pandas for a small CSV file.
        """
        self.check_columns(columns)
        together.note_read(self, self._source, columns, (), domain)
        small = self._source.arrays(columns, domain)
        if small is None:
            return self.data(columns, domain=domain)  # type: ignore[no-any-return]
        table, rows, left_out = small
        choosing.note(self, left_out, self._source.named)
        self._check_table(columns, list(table), rows)
        return table

    def _check_table(self, columns: list[str], present: list[str], rows: int | None) -> None:
        for column in columns:
            if present.count(column) != 1:
                fault = "is not in" if column not in present else "is twice in"
                raise DataProblem(f"column '{column}' {fault} this station's table; check the name in the task")
        if rows is not None and rows < self.policy.minimum_rows:
            raise ThresholdError("fewer rows than the node demands (minimum_rows); leave this station out")

    def check_names(self, columns: list[str]) -> None:
        """Raise `DataProblem` naming a column that the table does not have exactly once; its values are not looked at."""
        wanted = columns if self.dictionary is None else self.dictionary.sources(columns)
        self._check_table(wanted, self._source.names, None)

    def check_columns(self, columns: list[str]) -> None:
        """Raise `PolicyError` naming a column that may not be used here: asked for, one that another is made of, or by which rows are left out."""
        self.policy.check_columns(self.sources(columns))
        self.policy.check_columns([name for name in columns if name in (self.policy.denied_columns or ())])

    def sources(self, columns: list[str]) -> list[str]:
        """Return the columns of the table behind `columns`: what they are made of, and what rows are left out by."""
        filters = [step["parameters"]["column"] for step in platform.preprocessing() if "column" in step["parameters"]]
        return [*(columns if self.dictionary is None else self.dictionary.sources(columns)), *filters]

    def _texts(self, column: str) -> list[str | None]:
        return self._source.texts(column)

    def check_conditions(self, conditions: Sequence[tuple[str, str, Any]], domain: Mapping[str, Any] | None) -> None:
        """Hold conditions of an exact count, (column, operator, value) each, against those of earlier ones (`together.check_conditions`)."""
        together.check_conditions(self, self._source, domain, conditions)

    def note_bins(self, column: str, domain: Mapping[str, Any] | None, cuts: Sequence[float]) -> None:
        """Have an exact answer held against earlier ones by the cut points in which it counts a column (`together.note_bins`)."""
        together.note_bins(self, self._source, column, domain, cuts)

    def note_left_out(self, column: str, domain: Mapping[str, Any] | None) -> None:
        """Have exact answers, which rows without a value in a column are left out of, held against earlier ones (`together.note_left_out`)."""
        together.note_left_out(self, self._source, column, domain)

    def public_schema(self) -> dict[str, Any] | None:
        """Return the public domains that the administrator keeps beside the ledger, or None."""
        return None if self._schema_file is None else public_part(self._schema_file)

    @cached_property
    def _schema_file(self) -> dict[str, Any] | None:
        return self.policy.schema_content()
