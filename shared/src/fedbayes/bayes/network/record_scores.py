"""A network's classifier as a sum over factors, so that records split over stations can be scored in shares.

log P(label, record) is, up to terms without the label, a sum over the tables that contain the label. Each is a row of a
matrix (joint states of the table's other columns, classes) picked by the joint indicator of these columns: linear in
what the stations hold shares of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...typing import Floats, Integers, Words
from .inference import JunctionTree
from .model import BayesianNetwork

FRAC_BITS = 16  # of a log-probability in a 32-bit ring
LEAST_LOG = -40.0  # of a probability in a table, so that sums fit the ring


@dataclass(frozen=True)
class Classifier:
    """The sum by which records are scored.

    Attributes
    ----------
    groups : list of tuple of str
        Columns of each factor.
    tables : list of arrays
        log P of each factor: one axis a column ("missing" last), the classes on the last axis.
    prior : float array, shape (classes,)
        The term without columns.
    """

    groups: list[tuple[str, ...]]
    tables: list[Floats]
    prior: Floats

    @classmethod
    def of(cls, network: BayesianNetwork, label: str, missing: str = "?") -> Classifier:
        """Return the classifier of a network.

        A missing child is summed over, a missing parent averaged over its distribution given the class (of the label's
        own parents: over their distribution). That is exact for complete records and for gaps in columns without children
        other than the label's; an approximation where the gap of one column meets two observed children, or its parents.

        Parameters
        ----------
        network : BayesianNetwork
            The model.
        label : str
            What is predicted.
        missing : str
            Name of a last state that already means "missing".

        Raises
        ------
        ValueError
            The label is connected to nothing.
        """
        position, classes = network.nodes.index(label), len(network.states[label])
        evidence = np.full((classes, len(network.nodes)), -1)
        evidence[:, position] = np.arange(classes)
        tree = JunctionTree(network)
        given_class, alone = tree.marginals(evidence), tree.marginals(np.full((1, len(network.nodes)), -1))
        groups, tables, prior = [], [], np.zeros(classes)
        for node in network.nodes:
            family = (*network.parents[node], node)
            if label not in family:
                continue
            others = tuple(name for name in family if name != label)
            table = np.moveaxis(network.tables[node], family.index(label), -1)
            for axis, name in enumerate(others):
                if network.states[name][-1] != missing:
                    weights = np.repeat(alone[name], classes, axis=0) if node == label else given_class[name]
                    weights = np.ones_like(weights) if name == node else weights
                    average = np.einsum("i...c,ci->...c", np.moveaxis(table, axis, 0)[: weights.shape[1]], weights)
                    table = np.concatenate([table, np.expand_dims(average, axis)], axis=axis)
            logs = np.log(np.maximum(table, np.exp(LEAST_LOG)))
            if others:
                groups.append(others)
                tables.append(logs)
            else:
                prior = logs
        if not groups:
            raise ValueError("the label is connected to no other node; nothing can be predicted from records")
        return cls(groups, tables, prior)

    def weights(self, axes: Sequence[Sequence[str]]) -> list[Integers]:
        """Return the tables as fixed-point matrices (states, classes), for factors whose columns come in the order
        `axes`.
        """
        matrices = []
        for group, table, order in zip(self.groups, self.tables, axes, strict=True):
            turned = np.transpose(table, [*(group.index(name) for name in order), len(group)])
            scaled = np.rint(turned.reshape(-1, table.shape[-1]) * 2.0**FRAC_BITS)
            matrices.append(scaled.astype(np.int64))
        return matrices

    def absent(self) -> Floats:
        """Return the scores, (classes,), of a record of which everything is missing."""
        total: Floats = self.prior + sum(table.reshape(-1, table.shape[-1])[-1] for table in self.tables)
        return total


def log_scores(shares: Words, prior: Floats, rows: int) -> Floats:
    """Return log P(class, record) up to a term of each record, (rows, classes), from summed shares in the ring of 32 bits."""
    ring = (shares & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(np.int32)
    scores: Floats = ring.astype(np.float64).reshape(rows, len(prior)) / 2.0**FRAC_BITS + prior
    return scores


def log_posteriors(shares: Words, prior: Floats, rows: int) -> Floats:
    """Return log P(class | record), shape (rows, classes), from summed shares in the ring of 32 bits."""
    logs = log_scores(shares, prior, rows)
    top = logs.max(axis=1, keepdims=True)
    normalised: Floats = logs - top - np.log(np.exp(logs - top).sum(axis=1, keepdims=True))
    return normalised
