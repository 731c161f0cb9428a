"""What is left out of a result so that small counts do not come back from it.

Central sees the tables; whoever reads the result must not. So everything in a result is computed from what the published
network tells anyway: hidden configurations of parents count together, and scores rest on groups of enough records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fedbayes.bayes.network import BayesianNetwork
from fedbayes.bayes.network.hiding import hidden_configurations
from fedbayes.federation.errors import ThresholdError
from fedbayes.federation.vertical.coding import LISTED, singles_records_out
from fedbayes.typing import Array, Counts, Floats

from .model import Learned, Variable


def check_known(missing: Mapping[str, tuple[float, float]], minimum: float) -> None:
    """Raise `ThresholdError` naming a column of which few records, but not none, have a value: its margin would tell these.

    Parameters
    ----------
    missing : mapping of str to (float, float)
        Records without a value of each column, and all records.
    minimum : float
        Fewest records of which a number may tell.
    """
    for name, (without, total) in missing.items():
        if 0 < total - without < minimum:
            raise ThresholdError(
                f"fewer records than a node demands have a value of column '{name}'; leave it out, or ask with an epsilon"
            )


def check_common(variables: Iterable[Variable], counts: Mapping[str, Counts], minimum: float) -> None:
    """Raise `ThresholdError` naming a column whose categories are, in good part, the values of single records: its margin would list them.

    Parameters
    ----------
    variables : iterable of Variable
        All nodes; those with cut points are held at their owners.
    counts : mapping of str to ndarray
        Family counts, the child on the last axis.
    minimum : float
        Fewest records of which a number may tell.
    """
    for name in (variable.name for variable in variables if variable.cuts is None):
        table = counts[name]
        if singles_records_out(table.reshape(-1, table.shape[-1]).sum(axis=0), minimum):
            raise ThresholdError(LISTED.format(name))


def observed(counts: Mapping[str, Counts], network: BayesianNetwork) -> dict[str, Counts]:
    """Return family counts without states that the network does not have: records with a gap in the family."""
    return {node: counts[node][tuple(slice(0, size) for size in network.shape(node))] for node in network.nodes}


def complete(learned: Learned) -> dict[str, Counts]:
    """Return the counts of the records that have the whole family, on which a published row must rest: expected ones spread few over many."""
    return observed({node: np.maximum(table, 0) for node, table in learned.structure.counts.items()}, learned.network)


def guarded(learned: Learned, minimum: float) -> Learned:
    """Return what was learned with both networks as they may be published."""
    if minimum <= 0:
        return learned
    counted = {node: np.maximum(table, 0) for node, table in learned.structure.counts.items()}
    return replace(
        learned,
        network=learned.network.publish(learned.counts, minimum, complete=complete(learned)),
        intermediate=learned.intermediate.publish(counted, minimum),
    )


def pooled(parents: Mapping[str, Sequence[str]], counts: Mapping[str, Array], minimum: float) -> dict[str, Array]:
    """Return family counts with the hidden configurations of a node as one; as they are where none is hidden."""
    return _together(parents, counts, minimum, counts, np.sum)


def pooled_tables(
    parents: Mapping[str, Sequence[str]],
    counts: Mapping[str, Array],
    tables: Mapping[str, Floats],
    minimum: float,
) -> dict[str, Floats]:
    """Return a network's tables in the shape of `pooled`: the mean of the rows of hidden configurations."""
    return _together(parents, counts, minimum, tables, np.mean)


def _together(
    parents: Mapping[str, Sequence[str]],
    counts: Mapping[str, Array],
    minimum: float,
    tables: Mapping[str, Array],
    unite: Callable[..., Any],
) -> dict[str, Array]:
    hidden = hidden_configurations(parents, {node: np.maximum(table, 0) for node, table in counts.items()}, minimum)
    united = {}
    for node, table in tables.items():
        rows = hidden[node]
        united[node] = table
        if rows.any() and parents[node]:
            united[node] = np.concatenate([table[~rows], unite(table[rows], axis=0, keepdims=True)])
    return united
