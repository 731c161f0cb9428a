"""Who counts: oracles of tables over vertically, horizontally and hybridly split records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fedbayes.bayes.network.variable import Variable
from fedbayes.dp.shares import HONEST_FRACTION
from fedbayes.federation import Federation, Parties, Preflight, Relation
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.guards.installments import Installment
from fedbayes.federation.jobs.transport import summed
from fedbayes.federation.questions.contrasts import Contrasts
from fedbayes.federation.vertical import PARTIALS, SecureTables, check_alignment, open_parties, setup_of
from fedbayes.federation.vertical.accounting import REPLACE_ONE
from fedbayes.federation.vertical.opening import fold_domain
from fedbayes.federation.vertical.roles import check_helper_name
from fedbayes.federation.vertical.states import check_cells, check_public, public_states
from fedbayes.mpc.ring import lift
from fedbayes.typing import Counts

from .budget import Budget
from .messages import BY_ROWS, CountsReply, CountsRequest

Tables = Sequence[tuple[str, ...]]
"""The columns of every table that is asked for."""


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
    budget : Budget
        Of all tables.
    helper : int, str or None
        The commodity server.
    folds : int
        How many folds tables may be asked by; 0: none.
    rows_aligned : bool
        Whether all files hold the same records in the same order; then there is no identifier.
    neighbors : str
        What noise in tables of matched records is promised for (`fedbayes.dp.neighbors.OF_RECORDS`).
    scores : bool
        Whether scores are made of exact tables, so that the stations give a seed of what is added to them.
    """

    columns: tuple[str, ...]
    id_column: str | None
    domain: Mapping[str, Any]
    bins: Any
    split: str
    budget: Budget = field(default_factory=Budget)
    helper: Any = None
    folds: int = 0
    rows_aligned: bool = False
    neighbors: str = REPLACE_ONE
    scores: bool = False

    def __post_init__(self) -> None:
        if self.split != "horizontal":
            object.__setattr__(self, "id_column", check_alignment(self.id_column, self.rows_aligned))
        if self.split != "vertical" and self.folds:
            raise ArgumentError('validation="svdg" needs split="vertical"; use scv or public')
        if self.split == "horizontal" or self.budget.epsilon is not None:
            object.__setattr__(self, "bins", public_bins(self.columns, dict(self.domain), self.bins))

    def preflight(self) -> Preflight:
        """Return what the stations check before anything is spent."""
        by_rows = self.split == "horizontal"
        identifier = "" if by_rows else self.id_column or ""
        return Preflight(
            columns=(*self.columns, *filter(None, [identifier])),
            linked_by=identifier,
            everywhere=by_rows,
            summed=by_rows,
            functions=("partial_counts",) if by_rows else PARTIALS,
            epsilon=self.budget.epsilon or 0.0,
            delta=self.budget.delta,
            queries=len(self.columns),
            private=self.budget.covered,
            relation=None
            if self.budget.epsilon is None
            else BY_ROWS
            if by_rows
            else Relation(self.neighbors, "record"),
            honest_fraction=0.0 if self.budget.epsilon is None else HONEST_FRACTION,
        )


class Source(ABC):
    """An oracle of tables over the records of all stations: each call is one batch, and spends one part of the budget.

    Parameters
    ----------
    budget : Budget
        How much may be asked.
    variables : dict of str to Variable
        The columns, as their tables have them.

    Attributes
    ----------
    records : int or None
        How many there are; None where nobody knows.
    minimum_count : int
        Smallest count that all nodes allow to be published.
    found_in_data : list of str
        Columns whose states were.
    deviations : list of float
        Standard deviation of the noise in every cell of the tables of each noisy batch, in records.
    seed : int
        What the stations gave of it (`fedbayes.bayes.evaluation.coarse`).
    neighbors : str
        Which tables the promise is about: of one record more, or of one record with other values or without any.
    """

    neighbors = REPLACE_ONE

    def __init__(self, budget: Budget, variables: dict[str, Variable]) -> None:
        self.budget, self.variables = budget, variables
        self.records: int | None = None
        self.minimum_count = self.seed = 0
        self.found_in_data: list[str] = []
        self.deviations: list[float] = []

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise in every cell of the tables that were asked last; 0 where they are exact."""
        return self.deviations[-1] if self.deviations else 0.0

    def __call__(self, tables: Tables) -> list[Counts]:
        """Return one table of counts per tuple of columns."""
        return self.answer(tables, self.budget.take())

    def rest(self, tables: Tables, kept: int) -> list[Counts]:
        """Return the tables with what is left of the epsilon but for `kept` batches; none where nothing is left."""
        parts = self.budget.rest(kept)
        return self.answer(tables, self.budget.take(parts)) if parts else []

    def contrasted(self, tables: Tables, contrasts: Contrasts) -> list[Counts]:
        """Return functions of the tables."""
        return self.answer(tables, self.budget.take(), contrasts)

    @abstractmethod
    def answer(self, tables: Tables, noise: Installment | None, contrasts: Contrasts | None = None) -> list[Counts]:
        """Return tables, or functions of them, with noise for a part of the budget."""

    def by_fold(self, tables: Tables) -> list[Counts]:
        """Return the tables with the fold as a further, first axis."""
        raise ArgumentError('validation="svdg" needs split="vertical"; use scv or public')

    @abstractmethod
    def reveals(self) -> dict[str, str]:
        """Return role -> what it learns."""


def open_source(federation: Federation, question: Question, organizations: list[int | str] | None) -> Source:
    """Open the channel and return the oracle for the way in which the records are split."""
    preflight = question.preflight()
    if question.split == "horizontal":
        check_helper_name(federation, question.helper)
        return HorizontalTables(federation, federation.open_channel(organizations, preflight), question)
    return VerticalTables(federation, open_parties(federation, organizations, question.helper, preflight), question)


class VerticalTables(Source):
    """Tables over columns of several stations: products of private vectors; see `fedbayes.federation.vertical`.

    Parameters
    ----------
    federation, parties
        The job, its channel open.
    question : Question
        Columns, identifier, bins.
    """

    def __init__(self, federation: Federation, parties: Parties, question: Question) -> None:
        self._folds = question.folds
        folded = fold_domain(question.folds)
        setup = setup_of(
            federation,
            parties,
            question.id_column or "",
            question.helper,
            records="union" if question.split == "hybrid" else "intersection",
            domain={**question.domain, **folded},
            bins=question.bins,
            missing_state=True,
            epsilon=question.budget.epsilon,
            delta=question.budget.delta,
            neighbors=question.neighbors,
            unhidden=True,
        )
        wanted = [*question.columns, *folded]
        self._tables = SecureTables.open(federation, setup, wanted, narrow=True, seeded=question.scores)
        states = {column: self._tables.columns[column] for column in question.columns}
        super().__init__(question.budget, {column: own.variable() for column, own in states.items()})
        self.neighbors, self.records = question.neighbors, self._tables.rows
        self.minimum_count = self._tables.minimum_count
        self.found_in_data = sorted(column for column, own in states.items() if not own.public)

    def answer(self, tables: Tables, noise: Installment | None, contrasts: Contrasts | None = None) -> list[Counts]:
        """Return tables, or functions of them: one batch."""
        check_cells(tables, self.variables)
        return self._ask(tables, noise, contrasts)

    def _ask(self, tables: Tables, noise: Installment | None, contrasts: Contrasts | None = None) -> list[Counts]:
        if noise:
            self.deviations.append(self._tables.deviation(tables, noise, HONEST_FRACTION, contrasts))
        counted = self._tables.tables(list(tables), noise, HONEST_FRACTION, last=self.budget.spent, contrasts=contrasts)
        self.seed = self._tables.engine.seed
        return counted

    def by_fold(self, tables: Tables) -> list[Counts]:
        """Return the tables with the fold as a further, first axis."""
        (fold,) = fold_domain(self._folds)
        answers = self._ask([(*table, fold) for table in tables], self.budget.take())
        return [np.moveaxis(counts, -1, 0)[: self._folds] for counts in answers]

    def reveals(self) -> dict[str, str]:
        """Return role -> what it learns."""
        return self._tables.reveals()


class HorizontalTables(Source):
    """Tables over records of several stations that hold the same columns: one secure sum a batch.

    Parameters
    ----------
    federation, parties
        The job, its channel open.
    question : Question
        Its domain gives every column's categories or bounds; numeric columns have public bins.
    """

    neighbors = "add_remove"

    def __init__(self, federation: Federation, parties: Parties, question: Question) -> None:
        domain, bins = dict(question.domain), question.bins
        variables = {name: public_states(name, domain, bins, True).variable() for name in question.columns}
        super().__init__(question.budget, variables)
        self._federation, self._stations = federation, parties.stations
        self._domain, self._bins, self._seeded = domain, bins, question.scores

    def answer(self, tables: Tables, noise: Installment | None, contrasts: Contrasts | None = None) -> list[Counts]:
        """Return tables, or functions of them: one round."""
        check_cells(tables, self.variables)
        self._federation.nodes.check_summable(self._stations)
        columns = [list(table) for table in tables]
        request = CountsRequest(self._domain, self._bins, columns, noise, HONEST_FRACTION, contrasts, self._seeded)
        replies = self._federation.round("partial_counts", request, self._stations, CountsReply, last=self.budget.spent)
        self.minimum_count = max(reply.minimum_count.value for reply in replies.values())
        total = summed([reply.masked for reply in replies.values()])
        if self._seeded:
            total, self.seed = total[:-1], int(total[-1])
        shapes = [[len(self.variables[column].all_states()) for column in table] for table in tables]
        if contrasts:
            shapes = [list(contrasts.shape(table)) for table in tables]
        cuts = np.cumsum([int(np.prod(shape)) for shape in shapes])
        if len(total) != cuts[-1]:
            raise ArgumentError("the stations' tables do not have the states of the domain; check domain and bins")
        if noise:
            self.deviations.append(noise.deviation(request.change(len(total)), len(self._stations), HONEST_FRACTION))
        pieces = np.split(lift(total), cuts[:-1])
        return [piece.reshape(shape) for piece, shape in zip(pieces, shapes, strict=True)]

    def reveals(self) -> dict[str, str]:
        """Return role -> what it learns."""
        return {
            "central": "the tables asked for, summed over all stations (two of them must not collude with central)",
            "stations": "nothing but the questions",
        }


def public_bins(columns: Sequence[str], domain: dict[str, Any], bins: Any) -> dict[str, list[float]]:
    """Return the cut points of every column without categories: as given, or of equal width over its bounds.

    Raises
    ------
    ArgumentError
        A column has neither.
    """
    check_public(columns, domain, bins)
    cuts = {column: public_states(column, domain, bins, True).cuts for column in columns}
    return {column: list(own) for column, own in cuts.items() if own is not None}
