"""Who counts: oracles of tables over vertically, horizontally and hybridly split records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fedbayes.bayes.discretise import Bins
from fedbayes.bayes.encoding import canonical_text
from fedbayes.bayes.tables import Counts
from fedbayes.federation import Federation, Parties, arguments
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.vertical import SecureTables, open_parties
from fedbayes.federation.vertical.opening import FOLDS
from fedbayes.mpc.ring import lift

from .messages import CountsReply, CountsRequest
from .model import Variable

SPLITS = ("vertical", "horizontal", "hybrid")
MOST_CELLS = 2**22
HONEST_FRACTION = 0.5


class Source(Protocol):
    """An oracle that knows its variables and says what each role learns; `found`: columns whose states come from
    data.
    """

    variables: dict[str, Variable]
    records: int | None
    minimum_count: int
    found: list[str]

    def __call__(self, tables: Sequence[tuple[str, ...]]) -> list[Counts]:
        """Return one table of counts per tuple of columns."""

    def by_fold(self, tables: Sequence[tuple[str, ...]]) -> list[Counts]:
        """Return the tables with the fold as a further, first axis."""

    def reveals(self) -> dict[str, str]:
        """Return role -> what it learns."""


@dataclass(frozen=True)
class Question:
    """What the oracles are opened with.

    Attributes
    ----------
    columns : tuple of str
        The nodes.
    id_column : str or None
        The identifier; needed unless records are split by rows.
    domain, bins : object
        How values become states, see `fedbayes.federation.vertical.states`.
    split : {"vertical", "horizontal", "hybrid"}
        What the stations share: records, columns, or some of both.
    epsilon : float or None
        Privacy budget of one batch of tables.
    helper : int, str or None
        The commodity server.
    folds : int
        How many folds tables may be asked by; 0: none.
    """

    columns: tuple[str, ...]
    id_column: str | None
    domain: Mapping[str, Any]
    bins: Any
    split: str
    epsilon: float | None = None
    helper: Any = None
    folds: int = 0

    def __post_init__(self) -> None:
        arguments.check_choice("split", self.split, SPLITS)
        arguments.check_mapping("domain", self.domain)
        if self.split != "horizontal" and self.id_column is None:
            raise ArgumentError("id_column must name the column that tells whose record a row is")
        if self.split != "vertical" and self.folds:
            raise ArgumentError('validation="svdg" needs split="vertical"; use scv or public')

    @property
    def fold(self) -> str:
        """Name of the column that tells a record's fold."""
        return f"{FOLDS}{self.folds}"


def open_source(federation: Federation, question: Question, organizations: list[int | str] | None) -> Source:
    """Open the channel and return the oracle for the way in which the records are split."""
    if question.split == "horizontal":
        return HorizontalTables(federation, federation.open_channel(organizations), question)
    return VerticalTables(federation, open_parties(federation, organizations, question.helper), question)


class VerticalTables:
    """Tables over columns of several stations: products of private vectors; see `fedbayes.federation.vertical`.

    Parameters
    ----------
    federation, parties
        The job, its channel open.
    question : Question
        Columns, identifier, bins.
    """

    def __init__(self, federation: Federation, parties: Parties, question: Question) -> None:
        self._question = question
        folded = {question.fold: {"categories": list(range(question.folds))}} if question.folds else {}
        self._tables = SecureTables.open(
            federation,
            parties,
            id_column=question.id_column or "",
            columns=[*question.columns, *folded],
            domain={**question.domain, **folded},
            bins=question.bins,
            missing_state=True,
            helper=question.helper,
            records="union" if question.split == "hybrid" else "intersection",
            noisy=question.epsilon is not None,
        )
        self.minimum_count = self._tables.minimum_count
        self.found = sorted(name for name in question.columns if not self._tables.columns[name].public)
        self.records: int | None = self._tables.rows
        self.variables = {
            name: Variable(name, _texts(states.labels), states.has_missing, states.cuts)
            for name, states in ((column, self._tables.columns[column]) for column in question.columns)
        }

    def __call__(self, tables: Sequence[tuple[str, ...]]) -> list[Counts]:
        """Return one table of counts per tuple of columns: one batch."""
        refuse_large(tables, self.variables)
        return self._tables.tables(list(tables), epsilon=self._question.epsilon, honest_fraction=HONEST_FRACTION)

    def by_fold(self, tables: Sequence[tuple[str, ...]]) -> list[Counts]:
        """Return the tables with the fold as a further, first axis."""
        fold = self._question.fold
        answers = self._tables.tables([(*table, fold) for table in tables], epsilon=self._question.epsilon)
        return [np.moveaxis(counts, -1, 0)[: self._question.folds] for counts in answers]

    def reveals(self) -> dict[str, str]:
        """Return role -> what it learns."""
        return self._tables.reveals()


class HorizontalTables:
    """Tables over records of several stations that hold the same columns: one secure sum a batch.

    Parameters
    ----------
    federation, parties
        The job, its channel open.
    question : Question
        Its domain gives every column's categories or bounds; numeric columns have public bins.
    """

    records: int | None = None
    minimum_count = 0

    def __init__(self, federation: Federation, parties: Parties, question: Question) -> None:
        self._federation, self._stations, self._question = federation, parties.stations, question
        self.variables = {column: _public_variable(column, question) for column in question.columns}
        self.found: list[str] = []

    def __call__(self, tables: Sequence[tuple[str, ...]]) -> list[Counts]:
        """Return one table of counts per tuple of columns: one round."""
        refuse_large(tables, self.variables)
        question = self._question
        request = CountsRequest(
            dict(question.domain), question.bins, [list(t) for t in tables], question.epsilon, HONEST_FRACTION
        )
        summed = self._federation.secure_sum("partial_counts", request, self._stations, CountsReply)
        shapes = [[len(self.variables[column].all_states()) for column in table] for table in tables]
        cuts = np.cumsum([int(np.prod(shape)) for shape in shapes])
        if len(summed) != cuts[-1]:
            raise ArgumentError("the stations' tables do not have the states of the domain; check domain and bins")
        parts = np.split(lift(summed), cuts[:-1])
        return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]

    def by_fold(self, tables: Sequence[tuple[str, ...]]) -> list[Counts]:
        """Refuse: records that are split by rows are not cut into folds."""
        raise ArgumentError('validation="svdg" needs split="vertical"; use scv or public')

    def reveals(self) -> dict[str, str]:
        """Return role -> what it learns."""
        return {
            "central": "the tables asked for, summed over all stations (two of them must not collude with central)",
            "stations": "nothing but the questions",
        }


def refuse_large(tables: Sequence[tuple[str, ...]], variables: Mapping[str, Variable]) -> None:
    """Raise `ArgumentError` before anything runs if one table would have too many cells."""
    for table in tables:
        cells = float(np.prod([len(variables[column].all_states()) for column in table]))
        if cells > MOST_CELLS:
            raise ArgumentError(
                f"a table over {', '.join(table)} would have too many cells; give coarser bins or lower max_parents"
            )


def _texts(labels: Sequence[Any]) -> tuple[str, ...]:
    return tuple(
        label if isinstance(label, str) else str(canonical_text(label)) for label in labels if label is not None
    )


def _public_variable(column: str, question: Question) -> Variable:
    entry = question.domain.get(column)
    if isinstance(entry, Mapping) and "categories" in entry:
        return Variable(column, _texts(entry["categories"]), True)
    rule = question.bins.get(column) if isinstance(question.bins, Mapping) else None
    if not isinstance(rule, list | tuple):
        raise ArgumentError(
            f"column {column!r}: records split by rows need public states; give its categories in domain, "
            "or its cut points in bins"
        )
    bins = Bins(tuple(float(cut) for cut in rule))
    return Variable(column, bins.labels, True, bins.cuts)
