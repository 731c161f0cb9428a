"""Bayesian networks from pooled records, in plain numpy: counts, scores, searches, tables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.special import gammaln

Codes = dict[str, Any]
MOST_CELLS = 20_000
"""Of a joint distribution that is enumerated."""


def counts(codes: Codes, sizes: dict[str, int], family: Sequence[str]) -> Any:
    """Return the table of a family; records with a code of -1 in it are left out."""
    table = np.zeros([sizes[name] for name in family])
    columns = [codes[name] for name in family]
    for row in zip(*columns, strict=True):
        if min(row) >= 0:
            table[row] += 1
    return table


def score(table: Any, kind: str, size: float = 10.0) -> float:
    """Return the score of a family's table, the child on the last axis, from the textbook formula."""
    rows, states = table.sum(axis=-1), table.shape[-1]
    if kind == "k2":
        return float((gammaln(states) - gammaln(rows + states)).sum() + gammaln(table + 1).sum())
    if kind == "bdeu":
        cell = size / table.size
        row = cell * states
        return float((gammaln(row) - gammaln(rows + row)).sum() + (gammaln(table + cell) - gammaln(cell)).sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(table > 0, table * np.log(table / rows[..., None]), 0.0)
    configurations = table.size // states
    return float(logs.sum() - 0.5 * math.log(max(table.sum(), 1.0)) * configurations * (states - 1))


class Search:
    """Scores of families over pooled records, and the greedy searches over them."""

    def __init__(self, codes: Codes, sizes: dict[str, int], kind: str, size: float) -> None:
        self.codes, self.sizes, self._kind, self._size = codes, sizes, kind, size
        self._known: dict[tuple[str, frozenset[str]], float] = {}

    def value(self, node: str, parents: Sequence[str]) -> float:
        key = (node, frozenset(parents))
        if key not in self._known:
            self._known[key] = score(counts(self.codes, self.sizes, [*parents, node]), self._kind, self._size)
        return self._known[key]

    def total(self, parents: dict[str, Sequence[str]]) -> float:
        return sum(self.value(node, names) for node, names in parents.items())

    def k2(
        self, order: Sequence[str], most: int, start: dict[str, list[str]], allowed: Callable[[str, str], bool]
    ) -> Any:
        found = {node: list(start[node]) for node in order}
        for place, node in enumerate(order):
            while len(found[node]) < most:
                options = [c for c in order[:place] if c not in found[node] and allowed(c, node)]
                best = max(options, key=lambda c: self.value(node, [*found[node], c]), default=None)
                now = self.value(node, found[node])
                if best is None or self.value(node, [*found[node], best]) <= now + 1e-9 * max(1.0, abs(now)):
                    break
                found[node].append(best)
        return found

    def k2_agrees(
        self, parents: dict[str, Sequence[str]], order: Sequence[str], most: int, start: Any, allowed: Any
    ) -> bool:
        """Whether parents are those of K2, or of another greedy walk that breaks a tie the other way."""
        place = {node: position for position, node in enumerate(order)}
        for node, names in parents.items():
            options = [c for c in order if place[c] < place[node] and allowed(c, node)]
            if not self._reachable(node, frozenset(names), list(start[node]), options, most):
                return False
        return True

    def _reachable(self, node: str, goal: frozenset[str], here: list[str], options: list[str], most: int) -> bool:
        now = self.value(node, here)
        margin = 1e-7 * max(1.0, abs(now))
        values = {c: self.value(node, [*here, c]) for c in options if c not in here} if len(here) < most else {}
        best = max(values.values(), default=-math.inf)
        if frozenset(here) == goal:
            return best <= now + margin
        if best < now - margin:
            return False
        near = [c for c in goal if c in values and values[c] >= best - margin]
        return any(self._reachable(node, goal, [*here, c], options, most) for c in near)

    def is_local_optimum(self, parents: dict[str, Sequence[str]], most: int, required: Any, allowed: Any) -> bool:
        """Whether no edge that may be added or taken away raises the score."""
        for node, names in parents.items():
            now = self.value(node, names)
            margin = 1e-7 * max(1.0, abs(now))
            for other in parents:
                if other in names and (other, node) not in required:
                    if self.value(node, [n for n in names if n != other]) > now + margin:
                        return False
                elif other not in names and other != node and allowed(other, node) and len(names) < most:
                    grown = {**parents, node: [*names, other]}
                    if is_acyclic(grown) and self.value(node, grown[node]) > now + margin:
                        return False
        return True


def is_acyclic(parents: dict[str, Sequence[str]]) -> bool:
    """Whether the edges make no cycle."""
    left = {node: set(names) for node, names in parents.items()}
    while left:
        free = [node for node, names in left.items() if not names & set(left)]
        if not free:
            return False
        for node in free:
            del left[node]
    return True


def information(first: Any, second: Any) -> float:
    """Return the mutual information of two columns of codes, in nats."""
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a >= 0 and b >= 0]
    rows = len(pairs)
    joint: dict[Any, int] = {}
    left: dict[Any, int] = {}
    right: dict[Any, int] = {}
    for a, b in pairs:
        joint[a, b] = joint.get((a, b), 0) + 1
        left[a] = left.get(a, 0) + 1
        right[b] = right.get(b, 0) + 1
    return sum(n / rows * math.log(n * rows / (left[a] * right[b])) for (a, b), n in joint.items())


def complete_start(codes: Codes, sizes: dict[str, int], family: Sequence[str]) -> Any:
    """Return the joint distribution of a family by the chain rule, each factor from complete records and half a count a cell."""
    whole = np.all([codes[name] >= 0 for name in family], axis=0)
    joint = np.ones([sizes[name] for name in family])
    for place in range(1, len(family) + 1):
        part = family[:place]
        there = np.all([codes[name] >= 0 for name in part], axis=0) if place < len(family) else whole
        cells = counts({name: codes[name][there] for name in part}, sizes, part)
        joint = joint * table(cells, 0.5).reshape(*cells.shape, *[1] * (len(family) - place))
    return joint


def em_family(codes: Codes, sizes: dict[str, int], family: Sequence[str], start: Any = None) -> Any:
    """Return expected counts of a family by EM over its own joint distribution (flat at first), gaps anywhere in it.

    Where few records tell what is missing the likelihood is flat along a ridge: then each start has an end of its own, equally likely.
    """
    shape = [sizes[name] for name in family]
    patterns: dict[tuple[int, ...], int] = {}
    for row in zip(*(codes[name] for name in family), strict=True):
        patterns[row] = patterns.get(row, 0) + 1
    cells = {
        row: np.array(
            list(
                itertools.product(
                    *([code] if code >= 0 else range(size) for code, size in zip(row, shape, strict=True))
                )
            )
        )
        for row in patterns
    }
    joint = np.full(shape, 1.0 / np.prod(shape)) if start is None else start
    for _ in range(3000):
        expected = np.zeros(shape)
        for row, weight in patterns.items():
            places = tuple(cells[row].T)
            share = joint[places]
            if share.sum() > 0:
                np.add.at(expected, places, weight * share / share.sum())
        after = expected / expected.sum()
        change = np.abs(after - joint).max()
        joint = after
        if change < 1e-11:
            break
    return expected


def table(cells: Any, pseudocount: float) -> Any:
    """Return probabilities of the child (last axis) given the others; a row without any count is uniform."""
    smoothed = cells + pseudocount
    sums = smoothed.sum(axis=-1, keepdims=True)
    return np.where(sums > 0, smoothed / np.where(sums > 0, sums, 1.0), 1.0 / cells.shape[-1])


def joint(model: dict[str, Any]) -> Any:
    """Return the joint distribution of a network of a few nodes, an axis a node."""
    names = list(model["nodes"])
    found = np.ones([len(model["nodes"][name]["states"]) for name in names])
    for name, entry in model["tables"].items():
        axes = [names.index(node) for node in [*entry["parents"], name]]
        turned = np.transpose(np.array(entry["probabilities"]), np.argsort(axes))
        found = found * np.expand_dims(turned, [axis for axis in range(len(names)) if axis not in axes])
    return found


def is_small(model: dict[str, Any]) -> bool:
    """Whether the joint distribution of a network can be enumerated."""
    return math.prod(len(node["states"]) for node in model["nodes"].values()) <= MOST_CELLS


def evidence(model: dict[str, Any], codes: Codes) -> Any:
    """Return P(what is known) of records, (rows,); codes of -1 are summed over."""
    whole = joint(model)
    rows = zip(*(codes[name] for name in model["nodes"]), strict=True)
    return np.array([whole[tuple(slice(None) if at < 0 else at for at in row)].sum() for row in rows])


def belief(model: dict[str, Any], codes: Codes, target: str) -> Any:
    """Return P(target | what is known of the other nodes), (rows, states); codes of -1 are summed over in the joint distribution."""
    names, whole = list(model["nodes"]), joint(model)
    found = np.empty((len(codes[names[0]]), whole.shape[names.index(target)]))
    for row in range(len(found)):
        seen = [int(codes[name][row]) for name in names]
        place = tuple(slice(None) if name == target or at < 0 else at for name, at in zip(names, seen, strict=True))
        left = [name for name, at in zip(names, seen, strict=True) if name == target or at < 0]
        part = whole[place].sum(axis=tuple(axis for axis, name in enumerate(left) if name != target))
        found[row] = part / part.sum() if part.sum() > 0 else np.nan
    return found


def margin(model: dict[str, Any], name: str) -> Any:
    """Return the distribution of one node of a network of a few nodes: the sum over all joint states."""
    names = list(model["nodes"])
    return joint(model).sum(axis=tuple(place for place in range(len(names)) if names[place] != name))
