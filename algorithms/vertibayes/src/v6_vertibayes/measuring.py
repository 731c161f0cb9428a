"""A network from measured margins: noisy tables of single columns, then of how pairs go together, then of the cliques that these suggest.

Three batches, whatever the number of columns. Everything after a batch looks at its noisy tables only. Of pairs and larger tables no counts are measured
but differences between states (`fedbayes.bayes.markov.balance`), which one record changes less: what single columns tell is not bought again.

References
----------
.. [1] McKenna, Miklau, Sheldon (2021), Winning the NIST contest: a scalable and general approach to differentially private synthetic data (select,
   measure, generate).
.. [2] Xiao, He, Zhang, Kifer (2023), An optimal and scalable matrix mechanism for noisy marginals under convex loss functions (residual queries).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from fedbayes.bayes.counts.tables import TableOracle
from fedbayes.bayes.markov import MarkovNetwork
from fedbayes.bayes.markov.balance import balanced
from fedbayes.bayes.markov.junction_search import Limits, search
from fedbayes.bayes.markov.squares import Axes, Margin
from fedbayes.bayes.search.scores import Score
from fedbayes.bayes.search.structure import Structure
from fedbayes.federation.questions.contrasts import Contrasts
from fedbayes.typing import Counts

Contrasted = Callable[[Sequence[tuple[str, ...]], Contrasts], list[Counts]]
OUTSTANDING = 4.0
"""Standard deviations by which the records without a value of a column must exceed 0 to be believed: one column in 30,000 passes by chance."""
RECORDS_A_CELL = 1.0
"""Records for one cell of the network's cliques: Adult and Mushroom are closer with one than with two; Asia, Child and Alarm need fewer cells."""
ALONE = 0.2
"""Weight, in squares, of a single column beside that of a pair, for every other column: with it they share the noise about as they did in batches apart."""
MOST_ALONE = 8.0
"""The most of that: with more, sums would leave the bits that `ROOM` keeps."""
HIGHEST = 3
"""Columns of the largest tables that are measured; what four have in common that no three have is not."""
TRIPLES = 0.5
"""Weight, in squares, of a triple beside that of a pair: of a quarter to one the best on Child."""
FIT_STEPS = 300
"""Most steps of mirror descent: later ones fit the noise rather than the records. In the mean of six seeds Child is 3 to 4 % closer than with 1000, Asia
and Alarm by columns 1 %, by rows they are as close; with 200 these two are farther by rows (4 and 1 %)."""
HEAVY = 0.2
"""Mean total variation that noise alone makes in the tables of the cliques from which on a result warns."""
FINEST, COARSEST = 64, 3
"""Whole numbers for 1 in differences of states: finer ones gain less than a hundredth, coarser ones are unbalanced."""
ROOM = 2**29
"""Records times the scale, once for every column of a table: with it sums of differences, and the noise on them, stay within 31 bits."""


@dataclass(frozen=True)
class Batch:
    """Tables that were measured together.

    Attributes
    ----------
    tables : list of tuple of str
        Their columns.
    deviation : float
        Standard deviation of the noise in every cell, in records; of differences between states, in one of length 1 of the largest tables.
    variation : float
        Mean over the tables of the total variation that the noise alone is expected to make.
    """

    tables: list[tuple[str, ...]]
    deviation: float
    variation: float

    def to_dict(self) -> dict[str, Any]:
        """Return it as a part of a result."""
        return {
            "tables": [list(table) for table in self.tables],
            "deviation": self.deviation,
            "expected_total_variation": self.variation,
        }


@dataclass(frozen=True)
class Measured:
    """What measuring gives.

    Attributes
    ----------
    structure : Structure
        Parents and (not whole) family counts, which agree with one another; "missing" is the last state of a column with gaps.
    gaps : dict of str to bool
        Columns of which values are missing.
    missing : dict of str to (float, float)
        Records without a known value of a column, and all records.
    batches : list of Batch
        What was measured.
    """

    structure: Structure
    gaps: dict[str, bool]
    missing: dict[str, tuple[float, float]]
    batches: list[Batch]


class Measurer:
    """Asks for tables, and keeps what was asked.

    Parameters
    ----------
    oracle : TableOracle
        Answers batches of counts; "missing" is the last state of variables with ``missing=True``.
    contrasted : callable
        Answers batches of functions of tables.
    deviation : callable
        Standard deviation of the noise in the batch that was answered last.
    states : mapping of str to int
        States of every column as the oracle answers, in declared order.
    records : int, optional
        Their number, where it is public and each is in a state of every column; else it is estimated.
    """

    def __init__(
        self,
        oracle: TableOracle,
        contrasted: Contrasted,
        deviation: Callable[[], float],
        states: Mapping[str, int],
        records: int | None = None,
    ) -> None:
        self._oracle, self._contrasted, self._deviation = oracle, contrasted, deviation
        self._names, self._states = tuple(states), tuple(states.values())
        self._trimmed: frozenset[int] = frozenset()
        self.records, self.rows = records, float(records or 1)
        self.batches: list[Batch] = []

    def singles(self) -> list[Margin]:
        """Return the counts of every column; their sums give the number of records where it is not public."""
        named: list[tuple[str, ...]] = [(name,) for name in self._names]
        answers = self._oracle(named)
        deviation = self._deviation()
        margins = [Margin((v,), counts.astype(np.float64), deviation) for v, counts in enumerate(answers)]
        if self.records is None:
            self.rows = max(float(np.mean([margin.counts.sum() for margin in margins])), 1.0)
        cells = float(np.mean([margin.counts.size for margin in margins]))
        self._note(named, deviation, deviation * cells)
        return margins

    def __call__(self, tables: Sequence[Axes], wider: float = 1.0) -> list[Margin]:
        """Return differences between the states of tables over positions of columns, without the states that are left out.

        Parameters
        ----------
        tables : sequence of tuple of int
            One to `HIGHEST` positions, rising.
        wider : float
            Weight of a table over one column more beside that of one over one less, in squares.
        """
        widest = max(map(len, tables))
        scale = min(FINEST, max(COARSEST, int((ROOM / self.rows) ** (1.0 / widest))))
        asked = sorted({position for axes in tables for position in axes})
        maps = {v: balanced(self.cardinalities[v], scale, int(v in self._trimmed)) for v in asked}
        factors = [max(1, round((scale / np.sqrt(wider)) ** (widest - len(axes)))) for axes in tables]
        named = [tuple(self._names[position] for position in axes) for axes in tables]
        answers = self._contrasted(named, Contrasts({self._names[v]: matrix for v, matrix in maps.items()}, factors))
        unit = self._deviation() / float(scale) ** widest
        margins, moved = [], []
        for axes, factor, answer in zip(tables, factors, answers, strict=True):
            one = factor * float(scale) ** len(axes)
            kept = tuple(maps[v][:, : self.cardinalities[v]] / scale for v in axes)
            margins.append(Margin(axes, answer / one, self._deviation() / one, kept))
            cells = float(np.prod([self.cardinalities[v] for v in axes]))
            moved.append(margins[-1].deviation * float(np.sqrt(answer.size * cells)))
        self._note(named, unit, float(np.mean(moved)))
        return margins

    def _note(self, tables: list[tuple[str, ...]], deviation: float, moved: float) -> None:
        """Keep what was asked; `moved` is the sum over a table's cells of the deviation in a cell, in the mean over the tables."""
        variation = min(1.0, 0.5 * float(np.sqrt(2.0 / np.pi)) * moved / self.rows)
        self.batches.append(Batch(tables, deviation, variation))

    def leave_out(self, positions: Sequence[int]) -> None:
        """Leave the last state of columns out from now on."""
        self._trimmed = frozenset(positions)

    def trim(self, margin: Margin) -> Margin:
        """Return counts without the states that are left out."""
        kept = tuple(slice(0, -1) if position in self._trimmed else slice(None) for position in margin.axes)
        return Margin(margin.axes, margin.counts[kept], margin.deviation)

    @property
    def cardinalities(self) -> list[int]:
        """States of every column without those that are left out."""
        return [states - int(position in self._trimmed) for position, states in enumerate(self._states)]


def measure(ask: Measurer, names: Sequence[str], gappy: Mapping[str, bool], max_parents: int, score: Score) -> Measured:
    """Return a structure and its family counts from three batches of noisy tables.

    Parameters
    ----------
    ask : Measurer
        Who measures.
    names : sequence of str
        The columns in declared order, two or more.
    gappy : mapping of str to bool
        Whether the last state of a column is "missing".
    max_parents : int
        Most parents of a node: cliques have at most one variable more.
    score : Score
        Of the structure, for the result.
    """
    alone = ask.singles()
    missing = {
        name: (float(margin.counts[-1]), ask.rows) for name, margin in zip(names, alone, strict=True) if gappy[name]
    }
    gaps = {
        name: gappy[name] and bool(margin.counts[-1] > OUTSTANDING * margin.deviation)
        for name, margin in zip(names, alone, strict=True)
    }
    ask.leave_out([position for position, name in enumerate(names) if gappy[name] and not gaps[name]])
    again, pairs = _pairs(ask, len(names))
    alone = [*(ask.trim(margin) for margin in alone), *again]
    limits = Limits(max_parents + 1, ask.rows / RECORDS_A_CELL)
    network = search(alone, pairs, ask.cardinalities, ask.rows, limits)
    cliques = ask(_parts(network.tree.cliques), TRIPLES)
    network = network.fit([*alone, *pairs, *cliques], ask.rows, FIT_STEPS)
    structure = _structure(network, names, ask.rows, score, ask.batches)
    return Measured(structure, gaps, missing, ask.batches)


def _pairs(ask: Measurer, columns: int) -> tuple[list[Margin], list[Margin]]:
    """Return all pairs of columns, and, where the number of records is public, single columns measured with them.

    A record that gets other values changes pairs most if half of its columns change, single columns if all do: together they cost less than apart.
    """
    pairs = list(combinations(range(columns), 2))
    if ask.records is None:
        return [], ask(pairs)
    measured = ask([*((v,) for v in range(columns)), *pairs], 1.0 / min(ALONE * (columns - 1), MOST_ALONE))
    return measured[:columns], measured[columns:]


def _parts(cliques: Sequence[Axes]) -> list[Axes]:
    """Return the pairs and triples of all cliques, and those of one column."""
    parts: set[Axes] = {clique for clique in cliques if len(clique) == 1}
    for clique in cliques:
        for size in range(2, min(len(clique), HIGHEST) + 1):
            parts.update(combinations(clique, size))
    return sorted(parts, key=lambda axes: (len(axes), axes))


def _structure(
    network: MarkovNetwork, names: Sequence[str], rows: float, score: Score, batches: Sequence[Batch]
) -> Structure:
    families = network.families()
    parents, counts = {}, {}
    for position, name in enumerate(names):
        above, table = families[position]
        parents[name] = tuple(names[v] for v in above)
        counts[name] = table * rows
    total = sum(score(np.rint(table).astype(np.int64)) for table in counts.values())
    return Structure(parents, counts, total, len(batches), sum(len(batch.tables) for batch in batches))
