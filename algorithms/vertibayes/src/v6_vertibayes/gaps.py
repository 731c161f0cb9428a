"""Tables without the state "missing" of columns in which nothing is missing, and structures whose families are counted without gaps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from fedbayes.bayes.counts.tables import TableOracle
from fedbayes.bayes.network.variable import Variable
from fedbayes.bayes.search.structure import Structure
from fedbayes.typing import Counts

OUTSTANDING = 6.0  # how many noise scales a sum of noisy counts must exceed to be more than noise


class ObservedStates:
    """A table oracle that drops the "missing" state of columns in which nothing is missing.

    Whether something is missing in a column shows in the first table that has the column.

    Parameters
    ----------
    oracle : TableOracle
        Its tables have "missing" as the last state of every variable with ``missing=True``.
    variables : mapping of str to Variable
        The variables, as the oracle answers.
    epsilon : float, optional
        Budget of a batch where counts are noisy: then "missing" must stand out of the noise to stay.
    deviation : callable, optional
        Instead, the standard deviation of the noise in the batch that was answered last.
    earlier : ObservedStates, optional
        What has decided already of which columns values are missing.

    Attributes
    ----------
    missing : dict of str to (float, float)
        Records without a known value of a column, and all records, as the first table that has the column counts them.
    """

    def __init__(
        self,
        oracle: TableOracle,
        variables: Mapping[str, Variable],
        epsilon: float | None = None,
        earlier: ObservedStates | None = None,
        deviation: Callable[[], float] | None = None,
    ) -> None:
        self._epsilon, self._deviation = epsilon, deviation
        self._oracle = oracle
        self._variables = dict(variables)
        self._gaps: dict[str, bool] = {} if earlier is None else earlier._gaps
        self.missing: dict[str, tuple[float, float]] = {}

    def __call__(self, tables: Sequence[tuple[str, ...]]) -> list[Counts]:
        """Return the tables without the states that are dropped."""
        answers = self._oracle(tables)
        if not answers:
            return []
        for columns, counts in zip(tables, answers, strict=True):
            for axis, column in enumerate(columns):
                if column not in self._gaps:
                    last = np.take(counts, -1, axis=axis)
                    least = OUTSTANDING * self._scale(len(tables)) * float(np.sqrt(last.size))
                    self._gaps[column] = bool(self._variables[column].missing and last.sum() > least)
                    if self._variables[column].missing:
                        self.missing[column] = (float(last.sum()), float(counts.sum()))
        gapless = {column for column, gaps in self._gaps.items() if self._variables[column].missing and not gaps}
        if not gapless:
            return answers
        return [
            counts[tuple([slice(0, -1) if column in gapless else slice(None) for column in columns])]
            for columns, counts in zip(tables, answers, strict=True)
        ]

    def has_gaps(self, column: str) -> bool:
        """Tell whether values of the column are missing; True if no table had it yet."""
        return self._gaps.get(column, self._variables[column].missing)

    def _scale(self, tables: int) -> float:
        """Return the scale of the noise in a batch of so many tables: of Gaussian noise that of Laplace noise of the same deviation."""
        if self._deviation is not None:
            return self._deviation() / float(np.sqrt(2.0))
        return 2.0 * tables / self._epsilon if self._epsilon else 0.0


def without_gaps(structure: Structure, present: Mapping[str, int]) -> Structure:
    """Return a structure whose family counts are of records that have a value in all columns of the family."""
    counts = {
        node: table[tuple(slice(0, present[name]) for name in (*structure.parents[node], node))]
        for node, table in structure.counts.items()
    }
    return replace(structure, counts=counts)


def counted_again(structure: Structure, oracle: TableOracle) -> Structure:
    """Return a structure with its families counted again, where the oracle still answers."""
    families = [(*parents, node) for node, parents in structure.parents.items()]
    answers = oracle(families)
    if not answers:
        return structure
    counts = {
        node: table[tuple(slice(0, size) for size in structure.counts[node].shape)]
        for node, table in zip(structure.parents, answers, strict=True)
    }
    return replace(structure, counts=counts, batches=structure.batches + 1, tables=structure.tables + len(families))
