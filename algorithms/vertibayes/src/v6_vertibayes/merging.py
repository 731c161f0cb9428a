"""Bins by minimum description length: fine bins are counted with the label, then merged wherever they are counted
again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fedbayes.bayes.discretise import Bins, minimum_description_length
from fedbayes.bayes.tables import Counts
from fedbayes.federation.contrasts import Contrasts
from fedbayes.federation.errors import ArgumentError

from .arguments import BY_CLASS
from .model import Variable
from .sources import Budget, Source


class MergedTables:
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
        self._source = source
        self.records = source.records
        self.minimum_count = source.minimum_count
        self.found = source.found
        self._starts: dict[str, list[int]] = {}
        self.variables = dict(source.variables)
        for column, kept in cuts.items():
            fine = source.variables[column]
            ends = [len(fine.states)] if fine.missing else []
            self._starts[column] = [0, *((fine.cuts or ()).index(cut) + 1 for cut in kept), *ends]
            self.variables[column] = Variable(column, Bins(kept).labels, fine.missing, kept)

    @property
    def neighbors(self) -> str:
        """Which tables the promise is about."""
        return self._source.neighbors

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise in a cell of the fine tables that were asked last."""
        return self._source.deviation

    @property
    def budget(self) -> Budget:
        """The budget of the tables."""
        return self._source.budget

    def __call__(self, tables: Sequence[tuple[str, ...]]) -> list[Counts]:
        """Return one table of counts per tuple of columns."""
        return [self._merge(columns, counts) for columns, counts in zip(tables, self._source(tables), strict=True)]

    def rest(self, tables: Sequence[tuple[str, ...]], kept: int) -> list[Counts]:
        """Return the tables with what is left of the epsilon but for `kept` batches; none where nothing is left."""
        answers = self._source.rest(tables, kept)
        if not answers:
            return []
        return [self._merge(columns, counts) for columns, counts in zip(tables, answers, strict=True)]

    def contrasted(self, tables: Sequence[tuple[str, ...]], contrasts: Contrasts) -> list[Counts]:
        """Refuse: functions of merged bins are not asked."""
        raise ArgumentError(
            'bins: "mdl" merges bins by noisy tables; with structure="private" give a number or cut points'
        )

    def by_fold(self, tables: Sequence[tuple[str, ...]]) -> list[Counts]:
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
        told = self._source.reveals()
        return {**told, "central": f"{told.get('central', '')}; tables with finer bins than the model's"}


def merged_by_class(source: Source, bins: Any, label: str | None) -> Source:
    """Return a source with the bins that the Fayyad-Irani criterion keeps, for the columns whose rule is "mdl".

    Raises
    ------
    ArgumentError
        There is no label to judge bins by.
    """
    numeric = [name for name, variable in source.variables.items() if variable.cuts]
    asked = [name for name in numeric if (bins.get(name) if isinstance(bins, Mapping) else bins) == BY_CLASS]
    if bins != BY_CLASS and not asked:
        return source
    if label is None:
        raise ArgumentError('bins="mdl" needs a label: the column by which bins are judged')
    asked = [name for name in asked if name != label]
    if not asked:
        return source
    answers = source([(name, label) for name in asked])
    chosen = {}
    for name, counts in zip(asked, answers, strict=True):
        fine = source.variables[name]
        kept = counts[: len(fine.states), : len(source.variables[label].states)]
        chosen[name] = minimum_description_length(np.maximum(kept, 0), fine.cuts or ()).cuts
    return MergedTables(source, chosen)
