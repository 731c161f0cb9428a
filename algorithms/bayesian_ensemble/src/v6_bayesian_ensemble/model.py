"""Members of an ensemble without a federation: from counts to networks, from networks to posteriors.

A member is a network over some columns and the label. All members are searched in step: their nodes form one search
space in which edges cross no border, so one batch of tables serves all of them.

References
----------
.. [1] van Daalen et al. (2023), Federated Bayesian network ensembles, FMEC 2023. Section III.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedbayes.bayes.counts.tables import TableCache, TableOracle
from fedbayes.bayes.network import BayesianNetwork
from fedbayes.bayes.network.graph import Edges
from fedbayes.bayes.network.variable import MISSING_STATE, Variable
from fedbayes.bayes.search import scores
from fedbayes.bayes.search.structure import SearchSpace, Structure, k2, mutual_information, with_counts
from fedbayes.typing import Counts, Integers

MARK = "\x1f"
MOST_CELLS_AT_ONCE = 10_000  # of a family of two columns, to be counted with the first pairs


STRUCTURES = ("k2", "naive", "augmented")
GAPS = ("drop", "category")


@dataclass(frozen=True)
class Learning:
    """How members are learned.

    Attributes
    ----------
    structure : str or tuple of (parent, child)
        "k2", "naive", "augmented" (the label is a parent of every column, K2 adds more), or edges.
    max_parents : int
        Largest number of parents, the label included.
    score : {"k2", "bic", "bdeu"}
        Score of a family.
    order : str or tuple of str
        "information" (columns by their mutual information with the label), "columns" or every column once.
    pseudocount : float
        Added to every cell.
    missing : {"drop", "category"}
        Whether a family's records with gaps are left out, or "missing" is a state. Records without label are left out.
    """

    structure: str | Edges = "k2"
    max_parents: int = 2
    score: str = "k2"
    order: str | tuple[str, ...] = "information"
    pseudocount: float = 0.5
    missing: str = "drop"

    def __post_init__(self) -> None:
        named = self.structure if isinstance(self.structure, str) else STRUCTURES[0]
        if self.score not in scores.SCORES or named not in STRUCTURES or self.missing not in GAPS:
            raise ValueError("members are not learned so")
        if self.max_parents < 1 or not 0.0 <= self.pseudocount < np.inf:
            raise ValueError("members are not learned so")


@dataclass(frozen=True)
class Part:
    """A network over columns of one place and the label, the counts behind it and what it cost."""

    network: BayesianNetwork
    counts: dict[str, Counts]
    classes: Integers
    batches: int = 0

    @property
    def rows(self) -> int:
        """Records with a label and a further column behind the part."""
        widest = max(int(table.sum()) for table in list(self.counts.values())[1:])
        return min(widest, int(self.classes.sum()))


class Borders(SearchSpace):
    """A search space in which an edge stays within one member."""

    def allows(self, parent: str, child: str) -> bool:
        """Tell whether the edge may be added."""
        return parent.partition(MARK)[0] == child.partition(MARK)[0] and super().allows(parent, child)


class Marked:
    """A table oracle that is asked with marked columns, and answers without the states that no record has."""

    def __init__(self, oracle: TableOracle, variables: Mapping[str, Variable]) -> None:
        self._oracle, self._variables = oracle, variables

    def __call__(self, tables: Sequence[tuple[str, ...]]) -> list[Counts]:
        """Return one table per tuple of marked columns."""
        plain = [tuple(unmarked(node) for node in table) for table in tables]
        answers = self._oracle(plain)
        return [self._trim(columns, counts) for columns, counts in zip(plain, answers, strict=True)]

    def _trim(self, columns: tuple[str, ...], counts: Counts) -> Counts:
        for axis, column in enumerate(columns):
            if self._variables[column].missing and not np.take(counts, -1, axis=axis).any():
                counts = np.delete(counts, -1, axis=axis)
        return counts


def marked(part: int, column: str) -> str:
    """Return the node of a column in the member at `part`."""
    return f"{part}{MARK}{column}"


def unmarked(node: str) -> str:
    """Return the column of a node."""
    return node.partition(MARK)[2]


def learn_parts(
    learning: Learning,
    label: str,
    parts: Sequence[Sequence[str]],
    variables: Mapping[str, Variable],
    oracle: TableOracle,
    united: bool = False,
) -> list[Part]:
    """Return a network over each part's columns and the label; one batch of tables a search step for all together.

    Parameters
    ----------
    learning : Learning
        How.
    label : str
        The column that is predicted.
    parts : sequence of sequences of str
        Columns of each part, without the label.
    variables : mapping of str to Variable
        All columns.
    oracle : TableOracle
        Counts, "missing" as last state of variables with ``missing=True``.
    united : bool
        Whether "missing" may mean that a station lacks the record: then it is no state for the search, and K2 starts with the label as a
        parent of every column, so that the scores it compares are of the same records.
    """
    if united and learning.structure == "k2":
        learning = replace(learning, structure="augmented")
    nodes = tuple(marked(number, column) for number, part in enumerate(parts) for column in (label, *part))
    marked_oracle = Marked(oracle, variables)
    present = {node: len(variables[unmarked(node)].states) for node in nodes} if united else None
    cache = TableCache(marked_oracle, nodes, present)
    if learning.structure in ("k2", "augmented"):
        cache.ask(_at_once(learning, label, parts, variables))
    structure = search(learning, label, parts, nodes, cache)
    return [
        _fitted(learning, label, number, part, variables, structure, cache.batches) for number, part in enumerate(parts)
    ]


def search(
    learning: Learning, label: str, parts: Sequence[Sequence[str]], nodes: tuple[str, ...], cache: TableCache
) -> Structure:
    """Return the structure of all parts; nodes are marked."""
    score = scores.by_name(learning.score)
    root = {node: marked(int(node.partition(MARK)[0]), label) for node in nodes}
    naive = {node: [root[node]] if node != root[node] else [] for node in nodes}
    limit = max(learning.max_parents, 1)
    if learning.structure == "naive":
        return with_counts(cache, Borders(nodes, limit), naive, score)
    if not isinstance(learning.structure, str):
        parents: dict[str, list[str]] = {node: [] for node in nodes}
        for number, part in enumerate(parts):
            for parent, child in learning.structure:
                if {parent, child} <= {label, *part}:
                    parents[marked(number, child)].append(marked(number, parent))
        return with_counts(cache, Borders(nodes, max(len(nodes), 1)), parents, score)
    required: Edges = ()
    if learning.structure == "augmented":
        required = tuple((names[0], node) for node, names in naive.items() if names)
    space = Borders(nodes, limit, required)
    return k2(cache, space, ordered(learning, label, parts, cache), score)


def _at_once(
    learning: Learning, label: str, parts: Sequence[Sequence[str]], variables: Mapping[str, Variable]
) -> list[tuple[str, ...]]:
    """Return the tables of the first batch: the pairs that the order needs, and the one family that a part of two columns can end with."""
    questions: list[tuple[str, ...]] = []
    for number, part in enumerate(parts):
        cells = math.prod(len(variables[column].states) + 1 for column in (label, *part))
        if len(part) == 2 <= learning.max_parents and cells <= MOST_CELLS_AT_ONCE:
            questions.append(tuple(marked(number, column) for column in (label, *part)))
        if learning.order == "information":
            for position, column in enumerate(part):
                questions += [(marked(number, column), marked(number, other)) for other in (label, *part[:position])]
    return questions


def ordered(learning: Learning, label: str, parts: Sequence[Sequence[str]], cache: TableCache) -> list[str]:
    """Return all nodes, the label first in each part, then its columns as the learning says (by information: from tables that were asked)."""
    order = []
    for number, part in enumerate(parts):
        columns = list(part)
        if learning.order == "information":
            gain = {c: mutual_information(cache.family([marked(number, c)], marked(number, label))) for c in columns}
            columns.sort(key=lambda c: -round(gain[c], 9))
        elif isinstance(learning.order, tuple):
            columns.sort(key=learning.order.index)
        order += [marked(number, column) for column in (label, *columns)]
    return order


def _fitted(
    learning: Learning,
    label: str,
    number: int,
    part: Sequence[str],
    variables: Mapping[str, Variable],
    structure: Structure,
    batches: int,
) -> Part:
    """Return the network of one part from the counts of its families."""
    columns = (label, *part)
    states = {column: variables[column].states for column in columns}
    parents, counts = {}, {}
    for column in columns:
        node = marked(number, column)
        family = (*(unmarked(parent) for parent in structure.parents[node]), column)
        table = np.maximum(structure.counts[node], 0)
        for axis, name in enumerate(family):
            plain = len(variables[name].states)
            if table.shape[axis] > plain:
                if learning.missing == "category" and name != label:
                    states[name] = (*variables[name].states, MISSING_STATE)
                else:
                    table = np.delete(table, -1, axis=axis)
        parents[column], counts[column] = family[:-1], table
    network = BayesianNetwork.from_counts(states, parents, counts, learning.pseudocount)
    classes = counts[label].reshape(-1, len(states[label])).sum(axis=0)
    return Part(network, counts, classes, batches)


def restricted(network: BayesianNetwork, columns: Sequence[str]) -> BayesianNetwork:
    """Return the network over some of its nodes and their ancestors: what else is not observed sums to one."""
    kept = {node for node in network.nodes if node in columns}
    waiting = list(kept)
    while waiting:
        new = set(network.parents[waiting.pop()]) - kept
        kept |= new
        waiting += new
    nodes = [node for node in network.nodes if node in kept]
    return BayesianNetwork(
        {node: network.states[node] for node in nodes},
        {node: network.parents[node] for node in nodes},
        {node: network.tables[node] for node in nodes},
    )


def codes_of(
    network: BayesianNetwork, cuts: Mapping[str, Sequence[float] | None], columns: Mapping[str, Any], rows: int
) -> Integers:
    """Return the codes (rows, nodes) of records; what a node does not know, and a column that is absent, is missing."""
    codes = np.full((rows, len(network.nodes)), -1, dtype=np.int64)
    for position, node in enumerate(network.nodes):
        if node in columns:
            codes[:, position] = column_codes(columns[node], network.states[node], cuts.get(node))
    return codes


def column_codes(values: Any, states: Sequence[str], cuts: Sequence[float] | None) -> Integers:
    """Return the state of each value, (rows,); a missing or unknown one is "?" where that is a state, else -1."""
    import pandas

    from fedbayes.bayes.network.discretise import Bins
    from fedbayes.bayes.values.column_codes import distinct_values, floats_of
    from fedbayes.bayes.values.encoding import canonical_text, categories_meant

    series = pandas.Series(values)
    gap = states.index(MISSING_STATE) if MISSING_STATE in states else -1
    if cuts is not None:
        codes = Bins(tuple(cuts)).encode(floats_of(series))
    else:
        same = categories_meant(states)
        positions, distinct = distinct_values(series)
        meant = [same.get(canonical_text(value) or "") for value in distinct]
        known = [gap if state is None else states.index(state) for state in meant]
        codes = np.array([*known, gap], dtype=np.int64)[positions]
    filled: Integers = np.where(codes < 0, gap, codes).astype(np.int64)
    return filled
