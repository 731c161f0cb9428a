"""Discrete Bayesian networks: structure, conditional probability tables, likelihood, sampling and publishing.

A table has its child on the last axis: ``table.shape == (*parent_cardinalities, child_cardinality)`` and the
parents keep their declared order. Records are integer codes of shape (rows, nodes), one column per node in
the order of ``network.nodes``; ``MISSING`` (-1) stands for a value that was not observed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbayes.randomness import uniform_floats

from ...typing import Booleans, Floats, Integers
from ..values.encoding import canonical_text, number_written
from .graph import topological_order
from .hiding import hidden_configurations
from .junction import TooLarge
from .probability_tables import log_likelihood_of, normalise

MISSING = -1  # the code of a value that is not known
MOST_CELLS = 2**24  # 128 MB of float64
Codes = Integers
Uniforms = Callable[[tuple[int, ...]], Floats]


@dataclass(frozen=True)
class BayesianNetwork:
    """A discrete Bayesian network.

    Attributes
    ----------
    states : dict[str, tuple[str, ...]]
        States of every node, in the declared order of nodes.
    parents : dict[str, tuple[str, ...]]
        Parents of every node.
    tables : dict[str, ndarray]
        float64 tables of shape ``(*parent cardinalities, child cardinality)`` that sum to one over the last axis.

    Raises
    ------
    ValueError
        Tables, parents and states do not fit one another, or the edges form a cycle.
    """

    states: dict[str, tuple[str, ...]]
    parents: dict[str, tuple[str, ...]]
    tables: dict[str, Floats]

    def __post_init__(self) -> None:
        if not set(self.states) == set(self.parents) == set(self.tables):
            raise ValueError("states, parents and tables name different nodes")
        for node, states in self.states.items():
            if not states or len(set(states)) != len(states):
                raise ValueError(f"the states of {node} are empty or not unique")
        for node in self.states:
            self._check_table(node)
        topological_order({node: self.parents[node] for node in self.states})

    def _check_table(self, node: str) -> None:
        table = self.tables[node]
        unknown = [parent for parent in self.parents[node] if parent not in self.states]
        if unknown:
            raise ValueError(f"{node} has the unknown parent {unknown[0]!r}")
        if table.shape != self.shape(node):
            raise ValueError(f"the table of {node} has shape {table.shape}, not {self.shape(node)}")
        if not (np.isfinite(table).all() and (table >= 0).all()):
            raise ValueError(f"the table of {node} holds something that is no probability")
        if not np.allclose(table.sum(axis=-1), 1.0, atol=1e-6):
            raise ValueError(f"the table of {node} does not sum to one over its states")

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of the nodes in declared order."""
        return tuple(self.states)

    @property
    def edges(self) -> list[tuple[str, str]]:
        """Edges (parent, child), by child in declared order."""
        return [(parent, node) for node in self.states for parent in self.parents[node]]

    @property
    def parameters(self) -> int:
        """Number of free parameters."""
        return sum(table.size - table.size // table.shape[-1] for table in self.tables.values())

    def shape(self, node: str) -> tuple[int, ...]:
        """Return ``(*parent cardinalities, child cardinality)`` of a node."""
        return tuple(len(self.states[name]) for name in (*self.parents[node], node))

    def family(self, node: str) -> tuple[int, ...]:
        """Return the positions in ``nodes`` of the node's parents and, last, of the node itself."""
        axis_of = {name: position for position, name in enumerate(self.states)}
        return tuple(axis_of[name] for name in (*self.parents[node], node))

    @classmethod
    def from_counts(
        cls,
        states: Mapping[str, Sequence[str]],
        parents: Mapping[str, Sequence[str]],
        counts: Mapping[str, npt.ArrayLike],
        pseudocount: float = 0.0,
    ) -> BayesianNetwork:
        """Return maximum likelihood tables, or with a positive ``pseudocount`` a cell the posterior mean.

        A parent configuration without any count gets the uniform distribution.
        """
        tables = {node: normalise(np.asarray(counts[node], dtype=np.float64) + pseudocount) for node in states}
        named = {node: tuple(values) for node, values in states.items()}
        return cls(named, {node: tuple(parents[node]) for node in states}, tables)

    def encode(self, records: Mapping[str, Sequence[Any]]) -> Codes:
        """Return the codes (rows, nodes) of records given by column; None and NaN are missing.

        Raises
        ------
        ValueError
            A state that the node does not have, or columns of different lengths; a node without column is
            missing.
        """
        rows = {len(column) for name, column in records.items() if name in self.states}
        if len(rows) != 1:
            raise ValueError("the records need at least one column of the network, all of one length")
        codes = np.full((rows.pop(), len(self.states)), MISSING, dtype=np.int64)
        for position, (node, states) in enumerate(self.states.items()):
            if node in records:
                code_of = {canonical_text(state): code for code, state in enumerate(states)}
                codes[:, position] = [_code(code_of, node, value) for value in records[node]]
        return codes

    def decode(self, codes: Codes) -> dict[str, list[str | None]]:
        """Return records by column from codes (rows, nodes)."""
        return {
            node: [states[code] if code >= 0 else None for code in codes[:, position]]
            for position, (node, states) in enumerate(self.states.items())
        }

    def log_likelihood(self, counts: Mapping[str, npt.ArrayLike]) -> float:
        """Return sum(counts * log table) over the families; 0 log 0 is 0."""
        return log_likelihood_of(self.tables, counts)

    def aic(self, log_likelihood: float) -> float:
        """Return Akaike's criterion 2 k - 2 log L (smaller is better)."""
        return 2.0 * self.parameters - 2.0 * log_likelihood

    def bic(self, log_likelihood: float, rows: float) -> float:
        """Return Schwarz' criterion k log(rows) - 2 log L (smaller is better)."""
        return self.parameters * float(np.log(rows)) - 2.0 * log_likelihood

    def aic_published(self, log_likelihood: float) -> float:
        """Return log L - sum over the nodes of (table cells - 1), as VertiBayes prints it (larger is
        better).
        """
        return log_likelihood - sum(table.size - 1 for table in self.tables.values())

    def sample(self, rows: int, uniforms: Uniforms = uniform_floats) -> Codes:
        """Return ``rows`` complete records, shape (rows, nodes), by ancestral sampling.

        Parameters
        ----------
        rows : int
            Number of records.
        uniforms : callable, optional
            ``uniforms(shape)`` in (0, 1); the operating system's entropy unless a research simulation passes
            another.
        """
        codes = np.full((rows, len(self.states)), MISSING, dtype=np.int64)
        axis_of = {name: position for position, name in enumerate(self.states)}
        for node in topological_order({node: self.parents[node] for node in self.states}):
            index = tuple(codes[:, axis_of[parent]] for parent in self.parents[node])
            cumulative = np.cumsum(self.tables[node][index], axis=-1)
            cumulative = np.broadcast_to(cumulative, (rows, cumulative.shape[-1]))
            drawn = (uniforms((rows,))[:, None] * cumulative[:, -1:] >= cumulative).sum(axis=1)
            codes[:, axis_of[node]] = np.minimum(drawn, len(self.states[node]) - 1)
        return codes

    def publish(
        self,
        counts: Mapping[str, npt.ArrayLike] | None = None,
        minimum_count: float = 0,
        floor: float = 0.0,
        complete: Mapping[str, npt.ArrayLike] | None = None,
    ) -> BayesianNetwork:
        """Return the network as it may be published.

        Parameters
        ----------
        counts : mapping of node to array, optional
            The family counts behind the tables; needed for ``minimum_count``.
        minimum_count : float
            A parent configuration seen in fewer rows gets the distribution of the node over all rows, and so do those
            that would give it back by subtraction (`fedbayes.bayes.network.hiding`).
        floor : float
            No probability below ``floor`` and so none of 1: tables become (1 - cardinality * floor) p +
            floor.
        complete : mapping of node to array, optional
            Counts of the rows that have the whole family, where `counts` are expected ones: a configuration must be seen
            in ``minimum_count`` of these, and where they are enough the distribution over all rows is theirs.

        Raises
        ------
        ValueError
            `minimum_count` without counts, or a floor that leaves no room for the states.
        """
        if minimum_count > 0 and counts is None:
            raise ValueError("minimum_count needs the counts behind the tables")
        behind = complete or counts or {}
        hidden = hidden_configurations(self.parents, behind, minimum_count)
        tables: dict[str, Floats] = {}
        for node, table in self.tables.items():
            if counts is not None and node in hidden:
                enough = np.sum(behind[node]) >= max(minimum_count, 1)
                seen = np.asarray(behind[node] if enough else counts[node], dtype=np.float64)
                table = _back_off(table, seen, hidden[node])
            if not 0 <= floor * table.shape[-1] < 1:
                raise ValueError(f"floor must be at least 0 and below 1 / {table.shape[-1]} for {node}")
            tables[node] = (1 - floor * table.shape[-1]) * table + floor
        return replace(self, tables=tables)

    def to_dict(self) -> dict[str, Any]:
        """Return the network as a JSON value with ``nodes``, ``edges`` and ``tables``."""
        return {
            "nodes": {node: {"states": list(states)} for node, states in self.states.items()},
            "edges": [[parent, child] for parent, child in self.edges],
            "tables": {
                node: {"parents": list(self.parents[node]), "probabilities": table.tolist()}
                for node, table in self.tables.items()
            },
        }

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> BayesianNetwork:
        """Return the network of a JSON value made by :meth:`to_dict`; further entries are ignored.

        Raises
        ------
        ValueError
            A part is missing, a number is none, a state is empty or there twice, or edges and tables do not agree.
        TooLarge
            The tables have more than 2^24 cells.
        """
        try:
            states = {node: tuple(str(s) for s in entry["states"]) for node, entry in value["nodes"].items()}
            parents = {node: tuple(value["tables"][node]["parents"]) for node in states}
            tables = {node: np.asarray(value["tables"][node]["probabilities"], dtype=np.float64) for node in states}
        except (KeyError, TypeError, AttributeError):
            raise ValueError("a network has nodes, edges and tables") from None
        for node, names in states.items():
            meant = {canonical_text(name) for name in names}
            if None in meant or len(meant) < len(names):
                raise ValueError(f"a state of {node} is empty, or two mean the same (1 and 1.0)")
        if sum(table.size for table in tables.values()) > MOST_CELLS:
            raise TooLarge(
                f"the tables of the network have more than {MOST_CELLS} cells; lower max_parents, or merge states"
            )
        network = cls(states, parents, tables)
        if {tuple(edge) for edge in value.get("edges", network.edges)} != set(network.edges):
            raise ValueError("the edges of the network do not agree with the parents of its tables")
        return network

    def table_frame(self, node: str) -> Any:
        """Return the table of a node as a pandas data frame: a row per parent configuration, a column per state."""
        import pandas as pd

        columns = pd.Index(self.states[node], name=node)
        table = self.tables[node].reshape(-1, len(columns))
        if not self.parents[node]:
            return pd.DataFrame(table, columns=columns)
        levels = [self.states[parent] for parent in self.parents[node]]
        rows = pd.MultiIndex.from_product(levels, names=self.parents[node])
        return pd.DataFrame(table, rows, columns)


def _back_off(table: Floats, counts: Floats, hidden: Booleans) -> Floats:
    """Return a table whose hidden parent configurations have the distribution of the node over all rows."""
    margin = normalise(counts.reshape(-1, counts.shape[-1]).sum(axis=0))
    return np.where(hidden[..., None], margin, table)


def _code(code_of: Mapping[str | None, int], node: str, value: Any) -> int:
    text = canonical_text(value)
    if text is None:
        return MISSING
    number = number_written(text)
    if text not in code_of and number is not None:  # as files are read whose column is decimals
        text = canonical_text(number)
    if text not in code_of:
        raise ValueError(f"a record holds a state that {node} did not have when the network was fitted")
    return code_of[text]
