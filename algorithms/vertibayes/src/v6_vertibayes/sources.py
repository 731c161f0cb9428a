"""Who counts: oracles of tables over vertically, horizontally and hybridly split records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from fedbayes.bayes.discretise import Bins, equal_width
from fedbayes.bayes.encoding import canonical_text
from fedbayes.bayes.tables import Counts
from fedbayes.dp import promise
from fedbayes.dp.shares import HONEST_FRACTION
from fedbayes.federation import Federation, Parties, Preflight
from fedbayes.federation.contrasts import Contrasts
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.installments import Installment
from fedbayes.federation.transport import summed
from fedbayes.federation.vertical import PARTIALS, SecureTables, check_alignment, open_parties, setup_of
from fedbayes.federation.vertical.accounting import REPLACE_ONE
from fedbayes.federation.vertical.opening import FOLDS
from fedbayes.federation.vertical.roles import check_helper_name
from fedbayes.federation.vertical.states import DEFAULT_BINS
from fedbayes.mpc.ring import lift

from .messages import CountsReply, CountsRequest
from .model import Variable

MOST_CELLS = 2**22


class Budget:
    """How many batches of tables may be asked, and an epsilon in parts, one a batch.

    Parameters
    ----------
    epsilon : float or None
        All of it; None where tables are exact.
    batches : int or None
        Most batches that can be asked; None where nobody knows (exact tables only).
    delta : float
        Of Gaussian noise, of which batches have parts of the square of mu; 0: Laplace noise, of which they have parts of epsilon.
    weights : sequence of float, optional
        Of the batches; equal ones if left out.
    """

    def __init__(
        self,
        epsilon: float | None = None,
        batches: int | None = 1,
        delta: float = 0.0,
        weights: Sequence[float] | None = None,
    ) -> None:
        self.epsilon, self.batches, self.delta, self._taken = epsilon, batches, delta, 0
        self._weights = list(weights or [1.0] * (batches or 0))

    @property
    def exact(self) -> bool:
        """Whether tables have no noise."""
        return self.epsilon is None

    @property
    def covered(self) -> bool:
        """Whether the noise stands in for the guards of exact tables."""
        return promise.covers(self.epsilon, self.delta)

    def take(self, parts: int = 1) -> Installment | None:
        """Return what the next batch, which has so many parts, may spend."""
        first, self._taken = self._taken, self._taken + parts
        if self.epsilon is None or self.batches is None:
            return None
        if self._taken > self.batches:
            raise ArgumentError("epsilon: more tables are asked than it was divided over; the job stops")
        if self.delta:
            return Installment(self.epsilon, self.delta, self._weights, list(range(first, self._taken)))
        return Installment(self.epsilon * parts / self.batches)

    def rest(self, kept: int) -> int:
        """Return the parts that are left but for those that are kept for later; 0 where tables are exact."""
        return 0 if self.epsilon is None or self.batches is None else self.batches - self._taken - kept

    @property
    def spent_epsilon(self) -> float:
        """What the batches that were asked cost together; of Gaussian noise all is debited with the first."""
        part = float(self._taken > 0) if self.delta else self._taken / (self.batches or 1)
        return (self.epsilon or 0.0) * part

    @property
    def spent(self) -> bool:
        """Whether no batch can follow."""
        return self.batches is not None and self._taken >= self.batches


class Source(Protocol):
    """An oracle that knows its variables and says what each role learns; `found`: columns whose states come from
    data.
    """

    variables: dict[str, Variable]
    records: int | None
    minimum_count: int
    found: list[str]

    @property
    def budget(self) -> Budget:
        """How much may be asked."""

    @property
    def neighbors(self) -> str:
        """Which tables the promise is about: of one record more, or of one record with other values or without any."""

    def __call__(self, tables: Sequence[tuple[str, ...]]) -> list[Counts]:
        """Return one table of counts per tuple of columns."""

    def rest(self, tables: Sequence[tuple[str, ...]], kept: int) -> list[Counts]:
        """Return the tables with what is left of the epsilon but for `kept` batches; none where nothing is left."""

    def by_fold(self, tables: Sequence[tuple[str, ...]]) -> list[Counts]:
        """Return the tables with the fold as a further, first axis."""

    def contrasted(self, tables: Sequence[tuple[str, ...]], contrasts: Contrasts) -> list[Counts]:
        """Return functions of the tables: one batch."""

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise in every cell of the tables that were asked last; 0 where they are exact."""

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

    def __post_init__(self) -> None:
        if self.split != "horizontal":
            object.__setattr__(self, "id_column", check_alignment(self.id_column, self.rows_aligned))
        if self.split != "vertical" and self.folds:
            raise ArgumentError('validation="svdg" needs split="vertical"; use scv or public')

        if self.split == "horizontal" or self.budget.epsilon is not None:
            object.__setattr__(self, "bins", public_bins(self.columns, self.domain, self.bins))

    def preflight(self) -> Preflight:
        """Return what the stations check before anything is spent."""
        by_rows = self.split == "horizontal"
        identifier = [self.id_column] if self.id_column and not by_rows else []
        return Preflight(
            columns=(*self.columns, *identifier),
            everywhere=by_rows,
            summed=by_rows,
            functions=("partial_counts",) if by_rows else PARTIALS,
            epsilon=self.budget.epsilon or 0.0,
            delta=self.budget.delta,
            queries=len(self.columns),
            private=self.budget.covered,
        )

    @property
    def fold(self) -> str:
        """Name of the column that tells a record's fold."""
        return f"{FOLDS}{self.folds}"


def open_source(federation: Federation, question: Question, organizations: list[int | str] | None) -> Source:
    """Open the channel and return the oracle for the way in which the records are split."""
    preflight = question.preflight()
    if question.split == "horizontal":
        check_helper_name(federation, question.helper)
        return HorizontalTables(federation, federation.open_channel(organizations, preflight), question)
    return VerticalTables(federation, open_parties(federation, organizations, question.helper, preflight), question)


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
        self._question, self.budget, self.deviation = question, question.budget, 0.0
        self.neighbors = question.neighbors
        folded = {question.fold: {"categories": list(range(question.folds))}} if question.folds else {}
        setup = setup_of(
            federation,
            parties,
            question.id_column or "",
            question.helper,
            records="union" if question.split == "hybrid" else "intersection",
            domain={**question.domain, **folded},
            bins=question.bins,
            missing_state=True,
            private=question.budget.epsilon is not None,
            covered=question.budget.covered,
            neighbors=question.neighbors,
        )
        self._tables = SecureTables.open(federation, setup, [*question.columns, *folded], narrow=True)
        self.minimum_count = self._tables.minimum_count
        self.found = sorted(name for name in question.columns if not self._tables.columns[name].public)
        self.records: int | None = self._tables.rows
        self.variables = {
            name: Variable(name, _texts(states.labels), states.has_missing, states.cuts)
            for name, states in ((column, self._tables.columns[column]) for column in question.columns)
        }

    def __call__(self, tables: Sequence[tuple[str, ...]]) -> list[Counts]:
        """Return one table of counts per tuple of columns: one batch."""
        return self._counted(tables, 1)

    def rest(self, tables: Sequence[tuple[str, ...]], kept: int) -> list[Counts]:
        """Return the tables with what is left of the epsilon but for `kept` batches; none where nothing is left."""
        parts = self._question.budget.rest(kept)
        return self._counted(tables, parts) if parts else []

    def _counted(self, tables: Sequence[tuple[str, ...]], parts: int) -> list[Counts]:
        refuse_large(tables, self.variables)
        return self._ask(tables, self._question.budget.take(parts))

    def contrasted(self, tables: Sequence[tuple[str, ...]], contrasts: Contrasts) -> list[Counts]:
        """Return functions of the tables: one batch."""
        refuse_large(tables, self.variables)
        return self._ask(tables, self._question.budget.take(), contrasts)

    def _ask(
        self, tables: Sequence[tuple[str, ...]], noise: Installment | None, contrasts: Contrasts | None = None
    ) -> list[Counts]:
        last = self._question.budget.spent
        self.deviation = self._tables.deviation(tables, noise, HONEST_FRACTION, contrasts) if noise else 0.0
        return self._tables.tables(
            list(tables), epsilon=noise, honest_fraction=HONEST_FRACTION, last=last, contrasts=contrasts
        )

    def by_fold(self, tables: Sequence[tuple[str, ...]]) -> list[Counts]:
        """Return the tables with the fold as a further, first axis."""
        fold = self._question.fold
        asked = [(*table, fold) for table in tables]
        answers = self._ask(asked, self._question.budget.take())
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
    neighbors = "add_remove"

    def __init__(self, federation: Federation, parties: Parties, question: Question) -> None:
        self._federation, self._stations, self._question = federation, parties.stations, question
        self.budget, self.minimum_count, self.deviation = question.budget, 0, 0.0
        self.variables = {column: _public_variable(column, question) for column in question.columns}
        self.found: list[str] = []

    def __call__(self, tables: Sequence[tuple[str, ...]]) -> list[Counts]:
        """Return one table of counts per tuple of columns: one round."""
        return self._counted(tables, 1)

    def rest(self, tables: Sequence[tuple[str, ...]], kept: int) -> list[Counts]:
        """Return the tables with what is left of the epsilon but for `kept` batches; none where nothing is left."""
        parts = self._question.budget.rest(kept)
        return self._counted(tables, parts) if parts else []

    def contrasted(self, tables: Sequence[tuple[str, ...]], contrasts: Contrasts) -> list[Counts]:
        """Return functions of the tables: one round."""
        return self._counted(tables, 1, contrasts)

    def _counted(
        self, tables: Sequence[tuple[str, ...]], parts: int, contrasts: Contrasts | None = None
    ) -> list[Counts]:
        refuse_large(tables, self.variables)
        question = self._question
        noise = question.budget.take(parts)
        asked = [list(table) for table in tables]
        request = CountsRequest(dict(question.domain), question.bins, asked, noise, HONEST_FRACTION, contrasts)
        replies = self._federation.round(
            "partial_counts", request, self._stations, CountsReply, last=question.budget.spent
        )
        self.minimum_count = max(reply.minimum_count.value for reply in replies.values())
        total = summed([reply.masked for reply in replies.values()])
        shapes = [[len(self.variables[column].all_states()) for column in table] for table in tables]
        if contrasts:
            shapes = [list(contrasts.shape(table)) for table in tables]
        cuts = np.cumsum([int(np.prod(shape)) for shape in shapes])
        if len(total) != cuts[-1]:
            raise ArgumentError("the stations' tables do not have the states of the domain; check domain and bins")
        if noise:
            self.deviation = noise.deviation(request.change(len(total)), len(self._stations), HONEST_FRACTION)
        pieces = np.split(lift(total), cuts[:-1])
        return [piece.reshape(shape) for piece, shape in zip(pieces, shapes, strict=True)]

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


def public_bins(columns: Sequence[str], domain: Mapping[str, Any], bins: Any) -> dict[str, list[float]]:
    """Return the cut points of every column without categories: as given, or of equal width over its bounds.

    Raises
    ------
    ArgumentError
        A column has neither.
    """
    found, without = {}, []
    for column in columns:
        entry = domain.get(column, {})
        rule = bins.get(column) if isinstance(bins, Mapping) else bins
        if "categories" in entry:
            continue
        if isinstance(rule, list | tuple):
            found[column] = [float(cut) for cut in rule]
        elif "bounds" in entry:
            low, high = (float(bound) for bound in entry["bounds"])
            number = rule if isinstance(rule, int) else DEFAULT_BINS
            found[column] = [float(cut) for cut in equal_width(low, high, number).cuts]
        else:
            without.append(column)
    if without:
        raise ArgumentError(
            "domain: records that are split by rows, and tables with noise, need public states; give categories or bounds, "
            f"or cut points in bins, for: {', '.join(without)}"
        )
    return found


def _public_variable(column: str, question: Question) -> Variable:
    if column in question.bins:
        bins = Bins(tuple(question.bins[column]))
        return Variable(column, bins.labels, True, bins.cuts)
    return Variable(column, _texts(question.domain[column]["categories"]), True)
