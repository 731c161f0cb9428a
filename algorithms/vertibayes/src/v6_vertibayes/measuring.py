"""A network from measured margins: noisy tables of all pairs choose the cliques, noisy tables of the cliques and the pairs fit them.

Two batches, whatever the number of columns. Everything after a batch looks at its noisy tables only.

References
----------
.. [1] McKenna, Miklau, Sheldon (2021), Winning the NIST contest: a scalable and general approach to differentially private synthetic data (select,
   measure, generate).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbayes.bayes.junction_search import Limits, search, singles
from fedbayes.bayes.markov import Axes, Margin, MarkovNetwork
from fedbayes.bayes.scores import Score
from fedbayes.bayes.structure import Structure
from fedbayes.bayes.tables import TableOracle

from .arguments import CLIQUES, PAIRS

Array = npt.NDArray[np.float64]
OUTSTANDING = 4.0
"""Standard deviations by which the records without a value of a column must exceed 0 to be believed: one column in 30,000 passes by chance."""
CELLS = 1.0
"""Cells of a clique for one record in the mean and one standard deviation: so many that noise alone is about two fifths of the records."""
FIT_STEPS = 1000
"""Most steps of mirror descent, which ends before where the misfit hardly falls any more (`MarkovNetwork.fit`)."""
HEAVY = 0.2
"""Mean total variation that noise alone makes in the tables of the cliques from which on a result warns."""


@dataclass(frozen=True)
class Batch:
    """Tables that were measured together.

    Attributes
    ----------
    tables : list of tuple of str
        Their columns.
    deviation : float
        Standard deviation of the noise in every cell, in records.
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
        Answers batches; "missing" is the last state of variables with ``missing=True``.
    deviation : callable
        Standard deviation of the noise in the batch that was answered last.
    states : mapping of str to int
        States of every column as the oracle answers, in declared order.
    """

    def __init__(self, oracle: TableOracle, deviation: Callable[[], float], states: Mapping[str, int]) -> None:
        self._oracle, self._deviation = oracle, deviation
        self._names, self._states = tuple(states), tuple(states.values())
        self._trimmed: frozenset[int] = frozenset()
        self.batches: list[Batch] = []

    def __call__(self, tables: Sequence[Axes]) -> list[Margin]:
        """Return tables over positions of columns, without the states that are left out."""
        named = [tuple(self._names[position] for position in axes) for axes in tables]
        answers = self._oracle(named)
        deviation = self._deviation()
        margins = [
            Margin(axes, counts.astype(np.float64), deviation) for axes, counts in zip(tables, answers, strict=True)
        ]
        rows = max(float(np.mean([margin.counts.sum() for margin in margins])), 1.0)
        found = [self.trim(margin) for margin in margins]
        cells = float(np.mean([margin.counts.size for margin in found]))
        variation = min(1.0, 0.5 * float(np.sqrt(2.0 / np.pi)) * deviation * cells / rows)
        self.batches.append(Batch(named, deviation, variation))
        return found

    def leave_out(self, positions: Sequence[int]) -> None:
        """Leave the last state of columns out from now on."""
        self._trimmed = frozenset(positions)

    def trim(self, margin: Margin) -> Margin:
        """Return a table without the states that are left out."""
        kept = tuple(slice(0, -1) if position in self._trimmed else slice(None) for position in margin.axes)
        return Margin(margin.axes, margin.counts[kept], margin.deviation)

    @property
    def cardinalities(self) -> list[int]:
        """States of every column without those that are left out."""
        return [states - int(position in self._trimmed) for position, states in enumerate(self._states)]


def measure(ask: Measurer, names: Sequence[str], gappy: Mapping[str, bool], max_parents: int, score: Score) -> Measured:
    """Return a structure and its family counts from two batches of noisy tables.

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
    pairs = ask(list(combinations(range(len(names)), 2)))
    alone = singles(pairs, ask.cardinalities)
    rows = max(float(np.average([m.counts.sum() for m in alone])), 1.0)
    missing = {name: (float(margin.counts[-1]), rows) for name, margin in zip(names, alone, strict=True) if gappy[name]}
    gaps = {
        name: gappy[name] and bool(margin.counts[-1] > OUTSTANDING * margin.deviation)
        for name, margin in zip(names, alone, strict=True)
    }
    ask.leave_out([position for position, name in enumerate(names) if gappy[name] and not gaps[name]])
    pairs = [ask.trim(pair) for pair in pairs]
    limits = Limits(max_parents + 1, CELLS * rows / _clique_deviation(pairs, len(names)))
    network = search(pairs, ask.cardinalities, rows, limits)
    cliques = ask(network.tree.cliques)
    network = network.fit([*singles(pairs, ask.cardinalities), *pairs, *cliques], rows, FIT_STEPS)
    structure = _structure(network, names, rows, score, ask.batches)
    return Measured(structure, gaps, missing, ask.batches)


def _clique_deviation(pairs: Sequence[Margin], cliques: int) -> float:
    """Return about the deviation in the second batch, if it has so many tables: the noise grows with the root of their number."""
    return pairs[0].deviation * float(np.sqrt(cliques / len(pairs) * PAIRS / CLIQUES))


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
