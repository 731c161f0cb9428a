"""Bins by minimum description length: fine bins are counted with the label, then merged wherever they are counted
again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fedbayes.bayes.network.discretise import Bins, minimum_description_length
from fedbayes.bayes.network.variable import Variable
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.guards.installments import Installment
from fedbayes.federation.questions.contrasts import Contrasts
from fedbayes.typing import Counts

from .arguments import BY_CLASS
from .sources import Source, Tables


class MergedTables(Source):
    """A source whose fine bins are merged.

    Parameters
    ----------
    source : Source
        Counts fine bins.
    cuts : mapping of str to tuple of float
        Column -> the cut points that are kept, out of those of its fine bins.

    Notes
    -----
    Central sees the fine tables.
    """

    def __init__(self, source: Source, cuts: Mapping[str, tuple[float, ...]]) -> None:
        super().__init__(source.budget, dict(source.variables))
        self._source = source
        self.neighbors, self.records, self.deviations = source.neighbors, source.records, source.deviations
        self.minimum_count, self.found_in_data = source.minimum_count, source.found_in_data
        self._starts: dict[str, list[int]] = {}
        for column, kept in cuts.items():
            fine = source.variables[column]
            ends = [len(fine.states)] if fine.missing else []
            self._starts[column] = [0, *((fine.cuts or ()).index(cut) + 1 for cut in kept), *ends]
            self.variables[column] = Variable(column, Bins(kept).labels, fine.missing, kept)

    def answer(self, tables: Tables, noise: Installment | None, contrasts: Contrasts | None = None) -> list[Counts]:
        """Return tables of which the fine bins are merged; functions of these are not asked."""
        if contrasts is not None:
            raise ArgumentError(
                'bins: "mdl" merges bins by noisy tables; with structure="private" give a number or cut points'
            )
        answers = self._source.answer(tables, noise)
        return [self._merge(columns, counts) for columns, counts in zip(tables, answers, strict=True)]

    def by_fold(self, tables: Tables) -> list[Counts]:
        """Return the tables with the fold as a further, first axis."""
        answers = self._source.by_fold(tables)
        return [
            np.stack([self._merge(columns, part) for part in counts])
            for columns, counts in zip(tables, answers, strict=True)
        ]

    def _merge(self, columns: Sequence[str], counts: Counts) -> Counts:
        for axis, column in enumerate(columns):
            if column in self._starts:
                counts = np.add.reduceat(counts, self._starts[column], axis=axis)
        return counts

    def reveals(self) -> dict[str, str]:
        """Return role -> what it learns."""
        reveals = self._source.reveals()
        return {**reveals, "central": f"{reveals.get('central', '')}; tables with finer bins than the model's"}


def merged_by_class(source: Source, bins: Any, label: str | None) -> Source:
    """Return a source with the bins that the Fayyad-Irani criterion keeps, for the columns whose rule is "mdl".

    Raises
    ------
    ArgumentError
        There is no label to judge bins by.
    """
    numeric = [name for name, variable in source.variables.items() if variable.cuts]
    by_class = [name for name in numeric if (bins.get(name) if isinstance(bins, Mapping) else bins) == BY_CLASS]
    if bins != BY_CLASS and not by_class:
        return source
    if label is None:
        raise ArgumentError('bins="mdl" needs a label: the column by which bins are judged')
    merged = [name for name in by_class if name != label]
    if not merged:
        return source
    cuts = {}
    for name, counts in zip(merged, source([(name, label) for name in merged]), strict=True):
        fine = source.variables[name]
        by_label = counts[: len(fine.states), : len(source.variables[label].states)]
        cuts[name] = minimum_description_length(np.maximum(by_label, 0), fine.cuts or ()).cuts
    return MergedTables(source, cuts)
