"""What is left out of a result so that small counts do not come back from it.

Central sees the tables; whoever reads the result must not. So everything in a result is computed from what the published
network tells anyway: hidden configurations of parents count together, and scores rest on groups of enough records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbayes.bayes.hiding import hidden_configurations

from .model import Learned

Array = npt.NDArray[np.float64]


def guarded(learned: Learned, minimum: float) -> Learned:
    """Return what was learned with both networks as they may be published."""
    if minimum <= 0:
        return learned
    counted = {node: np.maximum(table, 0) for node, table in learned.structure.counts.items()}
    return replace(
        learned,
        network=learned.network.publish(learned.counts, minimum),
        intermediate=learned.intermediate.publish(counted, minimum),
    )


def pooled(
    parents: Mapping[str, Sequence[str]], counts: Mapping[str, npt.NDArray[Any]], minimum: float
) -> dict[str, npt.NDArray[Any]]:
    """Return family counts with the hidden configurations of a node as one; as they are where none is hidden."""
    hidden = hidden_configurations(parents, {node: np.maximum(table, 0) for node, table in counts.items()}, minimum)
    pooled_counts = {}
    for node, table in counts.items():
        if not hidden[node].any() or not parents[node]:
            pooled_counts[node] = table
            continue
        together = table[hidden[node]].sum(axis=0, keepdims=True)
        pooled_counts[node] = np.concatenate([table[~hidden[node]], together])
    return pooled_counts


def pooled_tables(
    parents: Mapping[str, Sequence[str]],
    counts: Mapping[str, npt.NDArray[Any]],
    tables: Mapping[str, Array],
    minimum: float,
) -> dict[str, Array]:
    """Return a network's tables in the shape of `pooled`: the mean of the rows of hidden configurations."""
    hidden = hidden_configurations(parents, {node: np.maximum(table, 0) for node, table in counts.items()}, minimum)
    shown = {}
    for node, table in tables.items():
        if not hidden[node].any() or not parents[node]:
            shown[node] = table
            continue
        together = table[hidden[node]].mean(axis=0, keepdims=True)
        shown[node] = np.concatenate([table[~hidden[node]], together])
    return shown
