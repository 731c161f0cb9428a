"""Structure search by greedy hill climbing (add, remove, reverse an edge) over a table oracle.

A step needs new tables only for the nodes whose parents changed. When the oracle must be asked at all, the
tables that every other node will need after its own best move are asked along: a few batches instead of one
per step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..counts.tables import TableCache
from .scores import Score
from .structure import Edge, SearchSpace, Structure, better, with_counts

Family = tuple[str, frozenset[str]]
Graph = dict[str, frozenset[str]]


@dataclass(frozen=True)
class _Move:
    """The families that a move changes, and the edge it is about (for ties and messages)."""

    kind: str
    edge: Edge
    changes: tuple[Family, ...]


class _Climber:
    def __init__(self, cache: TableCache, space: SearchSpace, score: Score) -> None:
        self.cache = cache
        self.space = space
        self.score = score
        self.graph: Graph = {node: frozenset(names) for node, names in space.start().items()}
        self._scores: dict[Family, float] = {}

    def value(self, family: Family) -> float:
        """Return the score of a family whose table is known."""
        if family not in self._scores:
            self._scores[family] = self.score(self.cache.family(family[1], family[0]))
        return self._scores[family]

    def gain(self, move: _Move) -> float:
        """Return by how much a move raises the score."""
        return sum(self.value(family) - self.value((family[0], self.graph[family[0]])) for family in move.changes)

    def moves(self) -> Iterator[_Move]:
        """Yield the legal moves in a fixed order: by child, by other node, add before remove before
        reverse.
        """
        reach = _reachable(self.space.columns, self.graph)
        position_of = {column: position for position, column in enumerate(self.space.columns)}
        for child in self.space.columns:
            parents = self.graph[child]
            for other in self.space.columns:
                if other in parents:
                    yield from self._change(other, child)
                elif self._addable(other, child) and not reach[position_of[child], position_of[other]]:
                    yield _Move("add", (other, child), ((child, parents | {other}),))

    def _addable(self, parent: str, child: str) -> bool:
        return len(self.graph[child]) < self.space.max_parents and self.space.allows(parent, child)

    def _change(self, parent: str, child: str) -> Iterator[_Move]:
        if (parent, child) in self.space.required:
            return
        removed = (child, self.graph[child] - {parent})
        yield _Move("remove", (parent, child), (removed,))
        grandparents = self.graph[parent]
        if len(grandparents) >= self.space.max_parents or not self.space.allows(child, parent):
            return
        without = {**self.graph, child: removed[1]}
        if not _path(without, parent, child):
            yield _Move("reverse", (parent, child), (removed, (parent, grandparents | {child})))

    def needed(self, moves: list[_Move]) -> list[tuple[str, ...]]:
        """Return the tables that must be known to judge the moves."""
        families = {family for move in moves for family in move.changes}
        families |= {(node, parents) for node, parents in self.graph.items()}
        unknown = [(node, names) for node, names in families if not self.cache.known(names | {node})]
        return sorted(self._table(node, names) for node, names in unknown)

    def _table(self, node: str, names: frozenset[str]) -> tuple[str, ...]:
        """Return the columns of a family's table, a parent that is new to the node last."""
        return (node, *self.space.sort(names & self.graph[node]), *self.space.sort(names - self.graph[node]))

    def prefetch(self, moves: list[_Move]) -> list[tuple[str, ...]]:
        """Return the tables that each node would need after the best of its moves that can be judged
        already.
        """
        best: dict[str, tuple[float, frozenset[str]]] = {}
        for move in moves:
            node, names = move.changes[0]
            if move.kind != "add" or not self.cache.known(names | {node}):
                continue
            gain = self.gain(move)
            if better(gain, best.get(node, (0.0, names))[0]):
                best[node] = (gain, names)
        return [
            (*self._table(node, names), other)
            for node, (_, names) in best.items()
            if len(names) < self.space.max_parents
            for other in self.space.columns
            if other not in names and self.space.allows(other, node)
        ]

    def step(self) -> bool:
        """Make the best move; tell whether one raised the score."""
        moves = list(self.moves())
        needed = self.needed(moves)
        if needed:
            own = all(self.cache.known(names | {node}) for node, names in self.graph.items())
            self.cache.ask(needed + (self.prefetch(moves) if own else []))
        best, best_move = 0.0, None
        for move in moves:
            gain = self.gain(move)
            if better(gain, best):
                best, best_move = gain, move
        if best_move is not None:
            self.graph.update(dict(best_move.changes))
        return best_move is not None


def hill_climb(cache: TableCache, space: SearchSpace, score: Score) -> Structure:
    """Return a local optimum of the score, climbing from the required edges alone.

    Edges stay acyclic, required edges are never removed nor turned, forbidden ones never added. The score
    rises strictly, so the search ends.

    References
    ----------
    Heckerman, Geiger and Chickering (1995), Learning Bayesian networks, section 7.
    """
    climber = _Climber(cache, space, score)
    while climber.step():
        pass
    return with_counts(cache, space, {node: tuple(names) for node, names in climber.graph.items()}, score)


def _reachable(columns: tuple[str, ...], graph: Graph) -> npt.NDArray[np.bool_]:
    """Return reach[a, b]: a directed path of any length, also none, leads from a to b."""
    position_of = {column: position for position, column in enumerate(columns)}
    reach = np.eye(len(columns), dtype=bool)
    for child, parents in graph.items():
        for parent in parents:
            reach[position_of[parent], position_of[child]] = True
    for _ in range(max(1, len(columns).bit_length())):
        reach = (reach.astype(np.float32) @ reach.astype(np.float32)) > 0
    return reach


def _path(graph: Graph, start: str, end: str) -> bool:
    """Tell whether a directed path leads from start to end."""
    waiting, seen = [end], {end}
    while waiting:
        for parent in graph[waiting.pop()]:
            if parent == start:
                return True
            if parent not in seen:
                seen.add(parent)
                waiting.append(parent)
    return False
