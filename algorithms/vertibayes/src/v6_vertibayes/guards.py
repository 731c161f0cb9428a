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
    found = {}
    for node, table in counts.items():
        if not hidden[node].any() or not parents[node]:
            found[node] = table
            continue
        together = table[hidden[node]].sum(axis=0, keepdims=True)
        found[node] = np.concatenate([table[~hidden[node]], together])
    return found


def pooled_tables(
    parents: Mapping[str, Sequence[str]],
    counts: Mapping[str, npt.NDArray[Any]],
    tables: Mapping[str, Array],
    minimum: float,
) -> dict[str, Array]:
    """Return a network's tables in the shape of `pooled`: the mean of the rows of hidden configurations."""
    hidden = hidden_configurations(parents, {node: np.maximum(table, 0) for node, table in counts.items()}, minimum)
    found = {}
    for node, table in tables.items():
        if not hidden[node].any() or not parents[node]:
            found[node] = table
            continue
        together = table[hidden[node]].mean(axis=0, keepdims=True)
        found[node] = np.concatenate([table[~hidden[node]], together])
    return found


def grouped(probabilities: Array, weight: Array, minimum: float) -> Array:
    """Return predictions that fewer than `minimum` records have as the mean of a group with enough records.

    Parameters
    ----------
    probabilities : float array, shape (patterns, classes)
        Prediction of every pattern of records.
    weight : float array, shape (patterns,)
        Records of each.
    minimum : float
        Fewest records of a group; 0 or 1 leaves all as it is.

    Notes
    -----
    Neighbours in predicted class and certainty form a group, so scores change little; a network that is made to
    give one record a prediction of its own scores like its neighbours.
    """
    if minimum <= 1 or not len(weight):
        return probabilities
    _, same = np.unique(probabilities.round(12), axis=0, return_inverse=True)
    kinds = int(same.max()) + 1
    records: Array = np.bincount(same.ravel(), weights=weight, minlength=kinds)
    means = np.stack([np.bincount(same.ravel(), weights=weight * part, minlength=kinds) for part in probabilities.T], 1)
    means /= np.maximum(records, 1e-300)[:, None]
    order = np.lexsort((means.max(axis=1), means.argmax(axis=1)))
    group = np.zeros(kinds, dtype=np.int64)
    current, held = 0, 0.0
    for place in order:
        group[place] = current
        held += records[place]
        if held >= minimum:
            current, held = current + 1, 0.0
    if held > 0 and current > 0:
        group[group == current] = current - 1
    share: Array = np.bincount(group, weights=records)
    joined = np.stack([np.bincount(group, weights=records * part) for part in means.T], 1) / share[:, None]
    result: Array = joined[group][same.ravel()]
    return result


def shown(confusion: Array, minimum: float) -> list[list[float | None]]:
    """Return a confusion table with small counts, and what sums of lines would give back, as None."""
    counts = np.asarray(confusion, dtype=np.float64)
    hidden = (counts > 0) & (counts < minimum)
    changed = bool(hidden.any())
    while changed:
        changed = any(_complete(counts[line], hidden[line]) for line in range(len(counts)))
        changed |= any(_complete(counts[:, line], hidden[:, line]) for line in range(counts.shape[1]))
        if not changed and counts[hidden].sum() < minimum and not hidden.all():
            hidden[np.unravel_index(int(np.argmin(np.where(hidden, np.inf, counts))), counts.shape)] = True
            changed = True
    return [
        [None if hide else float(value) for value, hide in zip(values, hides, strict=True)]
        for values, hides in zip(counts, hidden, strict=True)
    ]


def _complete(counts: Array, hidden: npt.NDArray[np.bool_]) -> bool:
    """Hide the smallest visible count of a line that has exactly one hidden; tell whether any was."""
    if int(hidden.sum()) != 1 or hidden.all():
        return False
    hidden[int(np.argmin(np.where(hidden, np.inf, counts)))] = True
    return True
