"""A network's classifier as a sum over factors, so that records split over stations can be scored in shares.

log P(label, record) is, up to terms without the label, a sum over the tables that contain the label. Each is a row of a
matrix (joint states of the table's other columns, classes) picked by the joint indicator of these columns: linear in
what the stations hold shares of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbayes.bayes.inference import JunctionTree
from fedbayes.bayes.network import BayesianNetwork
from fedbayes.federation.errors import ArgumentError

from .model import MISSING_STATE, Variable

FRAC_BITS = 16
LEAST_LOG = -40.0
Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Model:
    """A network as `fit` returned it."""

    network: BayesianNetwork
    label: str | None
    variables: dict[str, Variable]

    @classmethod
    def read(cls, model: Any) -> Model:
        """Return the model of a result, or of its `model` entry.

        Raises
        ------
        ArgumentError
            It is no such model.
        """
        content = model.get("model", model) if isinstance(model, Mapping) else model
        if not isinstance(content, Mapping):
            raise ArgumentError("model must be the model that fit returned")
        try:
            network = BayesianNetwork.from_dict(content)
            nodes = content["nodes"]
            variables = {name: _variable(name, states, nodes[name]) for name, states in network.states.items()}
        except (ValueError, KeyError, TypeError) as problem:
            raise ArgumentError(f"model must be the model that fit returned: {problem}") from None
        return cls(network, content.get("label"), variables)

    def target(self, label: Any) -> str:
        """Return the label that is asked for, or the model's own."""
        chosen = self.label if label is None else label
        if chosen not in self.network.states:
            raise ArgumentError("label must name a node of the model")
        return str(chosen)

    @property
    def domain(self) -> dict[str, Any]:
        """Public states of the columns that are not binned."""
        return {name: {"categories": list(v.states)} for name, v in self.variables.items() if v.cuts is None}

    @property
    def bins(self) -> dict[str, Any]:
        """Cut points of the binned columns."""
        return {name: list(v.cuts) for name, v in self.variables.items() if v.cuts is not None}


def _variable(name: str, states: tuple[str, ...], node: Mapping[str, Any]) -> Variable:
    cuts = node.get("cuts")
    plain = states[:-1] if states[-1] == MISSING_STATE else states
    return Variable(name, plain, True, None if cuts is None else tuple(float(cut) for cut in cuts))


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
    tables: list[Array]
    prior: Array

    @classmethod
    def of(cls, network: BayesianNetwork, label: str) -> Classifier:
        """Return the classifier of a network.

        A missing value is averaged over the node's own distribution: exact for complete records, an approximation for
        others.

        Raises
        ------
        ArgumentError
            The label is connected to nothing.
        """
        marginals = JunctionTree(network).marginals(np.full((1, len(network.nodes)), -1))
        groups, tables, prior = [], [], np.zeros(len(network.states[label]))
        for node in network.nodes:
            family = (*network.parents[node], node)
            if label not in family:
                continue
            others = tuple(name for name in family if name != label)
            table = np.moveaxis(network.tables[node], family.index(label), -1)
            for axis, name in enumerate(others):
                if network.states[name][-1] != MISSING_STATE:
                    average = np.tensordot(marginals[name][0], table, axes=(0, axis))
                    table = np.concatenate([table, np.expand_dims(average, axis)], axis=axis)
            logs = np.log(np.maximum(table, np.exp(LEAST_LOG)))
            if others:
                groups.append(others)
                tables.append(logs)
            else:
                prior = logs
        if not groups:
            raise ArgumentError("the label is connected to no other node; nothing can be predicted from records")
        return cls(groups, tables, prior)

    def weights(self, axes: Sequence[Sequence[str]]) -> list[npt.NDArray[np.int64]]:
        """Return the tables as fixed-point matrices (states, classes), for factors whose columns come in the order
        `axes`.
        """
        found = []
        for group, table, order in zip(self.groups, self.tables, axes, strict=True):
            turned = np.transpose(table, [*(group.index(name) for name in order), len(group)])
            scaled = np.rint(turned.reshape(-1, table.shape[-1]) * 2.0**FRAC_BITS)
            found.append(scaled.astype(np.int64))
        return found


def log_posteriors(scores: npt.NDArray[np.uint64], prior: Array, rows: int) -> Array:
    """Return log P(class | record), shape (rows, classes), from summed shares in the ring of 32 bits."""
    ring = (scores & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(np.int32)
    logs = ring.astype(np.float64).reshape(rows, len(prior)) / 2.0**FRAC_BITS + prior
    top = logs.max(axis=1, keepdims=True)
    normalised: Array = logs - top - np.log(np.exp(logs - top).sum(axis=1, keepdims=True))
    return normalised
