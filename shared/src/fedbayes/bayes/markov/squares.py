"""The distance of a network's tables to tables that were measured with noise: squares, weighted by the inverse variances, and their derivative.

What was measured of a clique is made one matrix, where the clique is small; of a large one, of each of its tables that are small.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod

import numpy as np

from ...typing import Floats
from ..network.junction import JoinTree

Axes = tuple[int, ...]
SMALL = 200
"""Cells of a table up to which one matrix is faster than its margins one by one: Adult is slower with 1,000, Child and Alarm are as fast from 150 on."""


@dataclass(frozen=True)
class Margin:
    """A table that was measured, or linear functions of it.

    Attributes
    ----------
    axes : tuple of int
        Its variables, rising.
    counts : ndarray
        Noisy counts, one axis a variable; may be negative. With `maps`, what these make of the counts, and noise.
    deviation : float
        Standard deviation of the noise in every cell, above 0.
    maps : tuple of ndarray, optional
        For every axis the matrix, shape (functions, states), that was applied along it; none: the counts themselves were measured.
    """

    axes: Axes
    counts: Floats
    deviation: float
    maps: tuple[Floats, ...] = ()

    def of(self, table: Floats) -> Floats:
        """Return what was measured of a table, without noise."""
        return along(self.maps, table)


def along(maps: Sequence[Floats], table: Floats) -> Floats:
    """Return a table with a matrix applied along every axis; as it is where there are none."""
    for matrix in maps:  # each puts its axis last, so all are in place in the end
        rest = table.shape[1:]
        table = (table.reshape(len(table), -1).T @ matrix.T).reshape(*rest, len(matrix))
    return table


@dataclass(frozen=True)
class Term:
    """What was measured of one table of a clique, in standard deviations: the clique is summed to it, shaped and mapped; backwards it is widened."""

    home: int
    outside: Axes
    shape: Sequence[int]
    wide: Sequence[int]
    maps: Sequence[Floats]
    target: Floats


class Squares:
    """Half of the squares between the margins of a network and what was measured of them, in standard deviations.

    Parameters
    ----------
    tree : JoinTree
        The network's cliques.
    cardinalities : sequence of int
        Number of states of every variable.
    margins : sequence of Margin
        What was measured; those that no clique holds are left out.
    rows : float
        Number of records behind the counts.
    """

    def __init__(self, tree: JoinTree, cardinalities: Sequence[int], margins: Sequence[Margin], rows: float) -> None:
        self._cliques, self._states, self._rows = tree.cliques, cardinalities, rows
        tables: dict[tuple[int, Axes], list[Margin]] = {}
        for margin in sorted(margins, key=lambda margin: -self._cells(margin.axes)):
            home = tree.holding(margin.axes, cardinalities)
            if home is not None:
                wider = [tree.cliques[home], *(axes for clique, axes in tables if clique == home)]
                small = [axes for axes in wider if self._cells(axes) <= SMALL and {*margin.axes} <= {*axes}]
                tables.setdefault((home, (*small, margin.axes)[0]), []).append(margin)
        held = [margin for measured in tables.values() for margin in measured]
        self.weight = sum((rows / margin.deviation) ** 2 for margin in held) / max(len(held), 1)
        """Mean of the squares of a probability of 1."""
        self._terms = [term for (home, axes), measured in tables.items() for term in self._of(home, axes, measured)]

    def __call__(self, beliefs: Sequence[Floats]) -> tuple[float, list[Floats]]:
        """Return the sum for the probabilities of every clique, and its derivative by them."""
        value, slope = 0.0, [np.zeros_like(belief) for belief in beliefs]
        for term in self._terms:
            table = beliefs[term.home].sum(axis=term.outside).reshape(term.shape)
            residual = along(term.maps, table) - term.target
            value += 0.5 * float(np.vdot(residual, residual))
            slope[term.home] += along([matrix.T for matrix in term.maps], residual).reshape(term.wide)
        return value, slope

    def _cells(self, axes: Axes) -> int:
        return prod(self._states[v] for v in axes)

    def _of(self, home: int, axes: Axes, measured: Sequence[Margin]) -> Iterator[Term]:
        """Yield one matrix for all that was measured of a small table, the matrices of each axis for each of a large one."""
        clique = self._cliques[home]
        outside = tuple(axis for axis, v in enumerate(clique) if v not in axes)
        shape, wide = [self._states[v] for v in axes], [self._states[v] if v in axes else 1 for v in clique]
        targets = [margin.counts / margin.deviation for margin in measured]
        if self._cells(axes) <= SMALL:
            matrix = np.concatenate([reduce(_product, self._maps(axes, margin)) for margin in measured])
            target = np.concatenate([part.ravel() for part in targets])
            yield Term(home, outside, [self._cells(axes)], wide, [matrix], target)
        else:
            for margin, target in zip(measured, targets, strict=True):
                yield Term(home, outside, shape, wide, self._maps(axes, margin), target)

    def _maps(self, axes: Axes, margin: Margin) -> list[Floats]:
        """Return for every variable of a table the matrix that makes what was measured of its probabilities, in standard deviations."""
        given = dict(zip(margin.axes, margin.maps or [np.eye(self._states[v]) for v in margin.axes], strict=True))
        maps = [given.get(v, np.ones((1, self._states[v]))) for v in axes]
        return [self._rows / margin.deviation * maps[0], *maps[1:]]


def _product(first: Floats, second: Floats) -> Floats:
    return np.asarray(np.kron(first, second), dtype=np.float64)
