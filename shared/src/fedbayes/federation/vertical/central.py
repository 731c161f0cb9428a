"""`SecureTables`: contingency tables over columns of several organizations, as central asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dp.shares import HONEST_FRACTION
from ...typing import Counts
from .. import arguments
from ..errors import ArgumentError
from ..guards.installments import Installment
from ..questions.contrasts import Contrasts
from ..questions.factor_info import Wanted
from ..rounds import Federation
from .accounting import REPLACE_ONE, change_of, noise_parties, table_sensitivity
from .columns import locate, sharing_pairs, states_at
from .engine import Engine, described
from .known_tables import KnownTables
from .messages import Setup
from .open_factors import OpenFactors
from .planning import Columns
from .roles import reveals_of
from .states import ColumnStates, check_public


class SecureTables:
    """Tables of counts over columns that several organizations hold; nobody sees a record.

    Use `open`; then `tables` answers batches. See the package's text.

    Attributes
    ----------
    rows : int
        Records in the tables.
    columns : dict of str to ColumnStates
        States and owners of every column.
    minimum_count : int
        The largest `minimum_count` of the stations: smallest count that they allow to be published.
    """

    def __init__(
        self,
        federation: Federation,
        engine: Engine,
        columns: dict[str, ColumnStates],
        noisy: bool = False,
        narrow: bool = False,
    ) -> None:
        self.federation = federation
        self.engine = engine
        self.columns = columns
        self.rows = engine.rows
        self.minimum_count = engine.minimum_count
        self._narrows = narrow
        self._undecided = {name for name, states in columns.items() if narrow and states.has_missing}
        self._known = KnownTables()
        self._open = OpenFactors(engine, columns, 32 if noisy else 0)

    @classmethod
    def open(
        cls,
        federation: Federation,
        setup: Setup,
        columns: Sequence[str],
        *,
        groups: Sequence[Sequence[str]] = (),
        small_groups: Sequence[Sequence[str]] = (),
        noisy: bool = False,
        narrow: bool = False,
        seeded: bool = False,
    ) -> SecureTables:
        """Align the records and open the columns: two rounds (three for a union).

        Parameters
        ----------
        federation : Federation
            The job, after `open_channel`.
        setup : Setup
            Who plays which part, and how columns become states: `setup_of`.
        columns : sequence of str
            The columns; each lives at one station (at several for a union).
        groups : sequence of sequences of str
            Columns whose joint states at one station are opened at once.
        small_groups : sequence of sequences of str
            The same, but only at a station that has all columns of a group, and where the groups it has are small together
            (`opening.MOST_OPTIONAL_CELLS`): tables over them then cost no round of openings.
        noisy : bool
            Whether the larger ring is needed, for scores or noise.
        narrow : bool
            Whether later questions leave the state "missing" of a column out where the first exact table shows that no record is in it: fewer bytes,
            the same tables. Not with `joint`, whose factors have all states.
        seeded : bool
            Whether scores follow from exact tables: with the last ones come the stations' parts of what is added to these, as `engine.seed`.

        Raises
        ------
        ArgumentError
            A column nowhere, or at two stations, or, where answers are private, without public states.
        """
        names = arguments.check_names("columns", list(columns))
        if setup.private:
            check_public(names, setup.domain, setup.bins)
        if setup.id_column in names:
            raise ArgumentError("columns must not hold the id_column")
        wanted = [Wanted("states", [name]) for name in names]
        wanted += [Wanted("states", list(group)) for group in groups if len(group) > 1]
        wanted += [Wanted("states", list(group), optional=True) for group in small_groups]
        engine = Engine(federation, setup)
        replies = engine.submit(wanted, seeded=seeded)
        owners = locate(federation, engine, names)
        engine.match(distinct=sharing_pairs(federation, setup, owners))
        states_of = {member: described(reply) for member, reply in replies.items()}
        if setup.union:
            states_of = engine.extend({}, wanted, 32)
        states = states_at(federation, setup, owners, states_of)
        return cls(federation, engine, states, noisy or setup.private, narrow and not setup.private)

    def tables(
        self,
        questions: Sequence[Sequence[str]],
        epsilon: float | Installment | None = None,
        honest_fraction: float = HONEST_FRACTION,
        last: bool = False,
        contrasts: Contrasts | None = None,
    ) -> list[Counts]:
        """Return one table of counts for every tuple of columns.

        Parameters
        ----------
        questions : sequence of tuples of column names
            Thousands are fine. One round, plus one for each level of products that is not open yet.
        epsilon : float or Installment, optional
            Privacy budget of the whole batch: every cell gets discrete Laplace noise made of the stations' shares, of the scale
            `sensitivity(questions)`/epsilon, for the setup's `neighbors`.
            Or the batch's part of the budget of a job, which may be of Gaussian noise.
        honest_fraction : float
            Share of the stations whose noise the promise rests on.
        last : bool
            Whether this is the job's last round.
        contrasts : Contrasts, optional
            Functions of the tables that are asked for in place of their counts, with noise only; then no question may be asked twice.

        Returns
        -------
        list of int64 arrays
            One axis a column, in the order asked for; noisy ones may be negative.

        Notes
        -----
        **Reveals** the tables to central, nothing to anyone else.
        """
        if not questions:
            return []
        if self.engine.setup.private != (epsilon is not None):
            raise ArgumentError("epsilon: columns that are opened for noisy answers give no others, and the reverse")
        for question in questions:
            self._check_question(question)
        noise = Installment(epsilon) if isinstance(epsilon, int | float) else epsilon
        plan = self._open.plan([tuple(question) for question in questions])
        cuts = [() if noise else self._cuts(parts) for parts in plan.questions]
        asked = [self._open.names(parts, cut) for parts, cut in zip(plan.questions, cuts, strict=True)]
        unique = list(dict.fromkeys(asked))
        counted = self.engine.ask(unique, self._open.bits, noise, honest_fraction, last=last, contrasts=contrasts)
        answers = dict(zip(unique, counted, strict=True))
        if contrasts:
            return [
                _ordered(answers[names], parts, question)
                for names, parts, question in zip(asked, plan.questions, questions, strict=True)
            ]
        tables = self._arranged([answers[names] for names in asked], cuts, plan.questions, questions)
        self._narrow(questions, tables)
        return tables

    def _cuts(self, parts: Sequence[Columns]) -> tuple[bool, ...]:
        """Return of which factors the last state of the first column is not asked for, as it follows from other tables."""
        follow = self._known.cuts(parts)
        return tuple([cut and self._open.can_be_cut(part) for cut, part in zip(follow, parts, strict=True)])

    def _narrow(self, questions: Sequence[Sequence[str]], tables: Sequence[Counts]) -> None:
        """Leave "missing" out from now on where a table shows that no record is in it."""
        for question, counts in zip(questions, tables, strict=True):
            for axis, column in enumerate(question):
                if column not in self._undecided:
                    continue
                self._undecided.discard(column)
                if not counts.take(-1, axis=axis).any():
                    self._open.narrow(column)

    def sensitivity(self, questions: Sequence[Sequence[str]]) -> int:
        """Return by how much the cells of a batch change in all when the values of one record change, for the setup's `neighbors`."""
        neighbors = self.engine.setup.neighbors
        return sum(
            table_sensitivity([self.columns[column].cardinality for column in question], neighbors)
            for question in questions
        )

    def deviation(
        self,
        questions: Sequence[Sequence[str]],
        noise: Installment,
        honest_fraction: float = HONEST_FRACTION,
        contrasts: Contrasts | None = None,
    ) -> float:
        """Return the standard deviation of the noise in a cell of a batch that is paid for so."""
        setup = self.engine.setup
        if contrasts:
            change = contrasts.change(questions, setup.neighbors == REPLACE_ONE, setup.union)
        else:
            states = [[self.columns[column].cardinality for column in question] for question in questions]
            change = change_of(states, setup.neighbors)
        parties = noise_parties(len(setup.stations), bool(setup.helper), honest_fraction)
        return noise.deviation(change, parties, honest_fraction)

    def joint(self, groups: Sequence[Sequence[str]]) -> list[tuple[Columns, str]]:
        """Open the joint states of every group of columns as one factor; one round for each level that is not open yet.

        Returns
        -------
        list of (columns, name)
            The factor of each group, and its columns in the order of its states (the last one fastest).
        """
        for group in groups:
            self._check_question(group)
        return self._open.joint([tuple(group) for group in groups])

    def _check_question(self, question: Sequence[str]) -> None:
        unknown = [column for column in question if column not in self.columns]
        if unknown or not question or len(set(question)) != len(question):
            raise ArgumentError("a table is asked over one or more distinct columns that have been opened")

    def _arranged(
        self,
        counts: Sequence[Counts],
        cuts: Sequence[tuple[bool, ...]],
        parts: Sequence[tuple[Columns, ...]],
        questions: Sequence[Sequence[str]],
    ) -> list[Counts]:
        """Return tables with all states of their columns, in the order of the questions; states left out have no record.

        Tables of one form are completed together, those first that others of the batch follow from (`KnownTables.cuts`).
        """
        forms: dict[tuple[Any, ...], list[int]] = {}
        for number, (cut, one, question) in enumerate(zip(cuts, parts, questions, strict=True)):
            order = sum(one, ())
            sizes = tuple([self._open.sizes(self._open.name(part)) for part in one])
            axes = [0, *(order.index(column) + 1 for column in question)]
            cardinalities = [self.columns[column].cardinality for column in order]
            turn = number if len(order) == len(cut) == 2 and not all(cut) else len(counts)
            forms.setdefault((turn, cut, sizes, tuple(axes), tuple(cardinalities)), []).append(number)
        arranged: dict[int, Counts] = {}
        for (_, cut, sizes, axes, cardinalities), alike in sorted(forms.items(), key=lambda form: int(form[0][0])):
            whole = self._known.completed([counts[n] for n in alike], cut, [parts[n] for n in alike], sizes)
            if whole.shape[1:] != cardinalities:
                padded = np.zeros((len(alike), *cardinalities), dtype=whole.dtype)
                padded[tuple([slice(size) for size in whole.shape])] = whole
                whole = padded
            for number, table in zip(alike, np.ascontiguousarray(whole.transpose(axes)), strict=True):
                self._known.add(tuple(questions[number]), table)
                arranged[number] = table
        return [arranged[number] for number in range(len(counts))]

    def reveals(self) -> dict[str, str]:
        """Return what each role learns beyond its own input and the result."""
        private = [name for name, states in self.columns.items() if not states.public]
        states = f"; the states found in the data of: {', '.join(sorted(private))}" if private else ""
        reveals = reveals_of(self.engine.setup, states)
        if self._narrows:
            reveals["stations"] += "; in which columns no common record lacks the value"
        return reveals


def _ordered(functions: Counts, parts: Sequence[Columns], question: Sequence[str]) -> Counts:
    """Return functions with one axis a column of the factors in the order of the question."""
    order = [column for part in parts for column in part]
    return np.ascontiguousarray(np.transpose(functions, [order.index(column) for column in question]))
