"""Linear functions of tables that are measured in place of their cells: how they are asked for, taken of shares, and what one record changes in them.

Along every axis of a table a matrix of whole numbers is applied, one a column (`fedbayes.bayes.balance` makes good ones). Stations take any that have
the states of their columns (`Contrasts.check_states`): each computes from the matrices themselves how much one record can change.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from ..dp.laws import Change
from ..mpc.ring import RingArray, lift
from .codec import Message

LARGEST = 2**12
"""Of an entry of a matrix."""
LARGEST_FACTOR = 2**20  # with scales of 64 and three columns sums stay below 2^62
MOST_FUNCTIONS = 2**16  # of one column: as many as states
MOST_COLUMNS = 3
"""Of a table: how two records may differ in it is enumerated."""
WIDEST = 12
"""Columns over which sets are enumerated at once."""
Integers = npt.NDArray[np.int64]
Columns = Sequence[str]
Weighed = tuple[tuple[str, ...], float]


@dataclass(frozen=True, slots=True)
class Contrasts(Message):
    """Asks for functions of the tables of a batch.

    Parameters
    ----------
    maps : dict of str to ndarray of int64
        For every column a matrix, shape (functions, states).
    factors : list of int
        What the functions of every table are multiplied by, in the order of the tables: a larger one makes the noise weigh less.
    """

    maps: dict[str, np.ndarray]
    factors: list[int]

    def __post_init__(self) -> None:
        """Check that there are functions, and that they cannot overflow."""
        for matrix in self.maps.values():
            if matrix.dtype != np.int64 or matrix.ndim != 2 or not 0 < matrix.shape[0] <= MOST_FUNCTIONS:
                raise ValueError("a map is a matrix of whole numbers, one row a function")
            if not matrix.any() or np.abs(matrix).max() > LARGEST:
                raise ValueError("a map is 0, or has entries that are too large")
        if not all(0 < factor <= LARGEST_FACTOR for factor in self.factors):
            raise ValueError("the factors of tables must be positive and not too large")

    def check(self, tables: Sequence[Columns]) -> None:
        """Raise `ValueError` unless there is a factor a table, and a map a column, of few enough different ones."""
        if len(self.factors) != len(tables) or any(not set(table) <= set(self.maps) for table in tables):
            raise ValueError("the contrasts do not fit the tables asked for")
        if any(len(set(table)) != len(table) or len(table) > MOST_COLUMNS for table in tables):
            raise ValueError("contrasts are taken of tables over one to three different columns")

    def check_states(self, tables: Sequence[Columns], states: Mapping[str, int]) -> None:
        """Raise `ValueError` unless the maps of all tables have the states of their columns, by name.

        Of cells that are cut where no table ends one record would be in two of one table, and change more than `change` says.
        """
        if any(self.maps[column].shape[1] != states[column] for table in tables for column in table):
            raise ValueError("the contrasts do not have the states of their columns")

    def shape(self, table: Columns) -> tuple[int, ...]:
        """Return how many functions there are along each axis of a table."""
        return tuple(self.maps[column].shape[0] for column in table)

    def states(self, table: Columns) -> tuple[int, ...]:
        """Return the states along each axis of a table."""
        return tuple(self.maps[column].shape[1] for column in table)

    def functions(self, tables: Sequence[Columns]) -> int:
        """Return how many functions all tables have together."""
        return sum(math.prod(self.shape(table)) for table in tables)

    def of(self, tables: Sequence[Columns], cells: npt.NDArray[np.integer]) -> npt.NDArray[np.integer]:
        """Return the functions of all tables, flat, in the type (and so the ring) of the cells.

        Parameters
        ----------
        tables : sequence of sequences of str
            Columns of each.
        cells : ndarray of a type of whole numbers
            Of all tables, flat; they may be shares.

        Raises
        ------
        ValueError
            If there are more or fewer cells than the maps have states.
        """
        if len(cells) != sum(math.prod(self.states(table)) for table in tables):
            raise ValueError("the contrasts do not fit the cells of the tables")
        functions, start = [], 0
        for table, factor in zip(tables, self.factors, strict=True):
            states = self.states(table)
            end = start + math.prod(states)
            values = cells[start:end].reshape(states) * np.array(factor).astype(cells.dtype)
            for column in table:  # each map puts its axis last, so all are in place in the end
                values = np.tensordot(values, self.maps[column].astype(cells.dtype), axes=(0, 1))
            functions.append(values.reshape(-1))
            start = end
        return np.concatenate(functions)

    def split(self, tables: Sequence[Columns], functions: RingArray) -> list[Integers]:
        """Return the answer of every table, one axis a column, from all of them, flat and in a ring."""
        shapes = [self.shape(table) for table in tables]
        cuts = np.cumsum([math.prod(shape) for shape in shapes])[:-1]
        pieces = np.split(lift(functions), cuts)
        return [piece.reshape(shape) for piece, shape in zip(pieces, shapes, strict=True)]

    def change(self, tables: Sequence[Columns], replaced: bool, absent: bool = False) -> Change:
        """Return what one record changes in all functions together.

        Parameters
        ----------
        tables : sequence of sequences of str
            Columns of each.
        replaced : bool
            Whether a record gets other values; else there is one more or less.
        absent : bool
            Whether a record may be in no state of a column, as in united records.
        """
        kinds = {column: Kinds(matrix, absent) for column, matrix in self.maps.items()}
        weighed = [(tuple(table), float(factor) ** 2) for table, factor in zip(tables, self.factors, strict=True)]
        if replaced:
            square = min(_by_elimination(weighed, kinds), _by_pairs(weighed, kinds))
        else:
            square = math.fsum(weight * math.prod(kinds[c].largest for c in table) for table, weight in weighed)
        square = max(square, 1.0)  # whole numbers change by 1, or not at all
        cells = self.functions(tables)
        return Change(math.sqrt(square * cells), math.sqrt(square), cells)


class Kinds:
    """What the vectors of two states of a column can be to one another.

    Parameters
    ----------
    matrix : ndarray, shape (functions, states)
        A column of it is a state's vector.
    absent : bool
        Whether a record may be in no state.

    Attributes
    ----------
    largest : float
        Largest square of a state's vector.
    differ : list of (float, float, float, float)
        For two different states: bounds of the squares of the two vectors, and from where to where their product is.
    """

    def __init__(self, matrix: Integers, absent: bool = False) -> None:
        products = (matrix.T @ matrix).astype(np.float64)
        squares = products.diagonal()
        self.largest = float(squares.max())
        shown = np.flatnonzero(squares > 0)
        between = products[np.ix_(shown, shown)][~np.eye(len(shown), dtype=bool)]
        self.differ: list[tuple[float, float, float, float]] = []
        if len(between):
            self.differ.append((self.largest, self.largest, float(between.min()), float(between.max())))
        if absent or len(shown) < len(squares):
            self.differ += [(self.largest, 0.0, 0.0, 0.0), (0.0, self.largest, 0.0, 0.0)]
        self.differ = self.differ or [(0.0, 0.0, 0.0, 0.0)]


def _apart(table: Sequence[str], differing: frozenset[str], kinds: Mapping[str, Kinds]) -> float:
    """Return a bound of the square of what a record changes in a table's functions that gets other values in some columns.

    Its vector is the tensor product of those of its states. Columns that stay contribute their square to the square of the change; of the others
    it is the two squares less twice the product, which is the product over the columns.
    """
    moved = [kinds[column].differ for column in table if column in differing]
    if not moved:
        return 0.0
    largest = 0.0
    for chosen in product(*moved):
        before, after, low, high = 1.0, 1.0, 1.0, 1.0
        for first, second, least, most in chosen:
            before, after = before * first, after * second
            ends = (low * least, low * most, high * least, high * most)
            low, high = min(ends), max(ends)
        largest = max(largest, before + after - 2.0 * low)
    return largest * math.prod(kinds[column].largest for column in table if column not in differing)


def _by_elimination(weighed: Sequence[Weighed], kinds: Mapping[str, Kinds]) -> float:
    """Return the largest sum over all sets of columns that may change: columns are maximised out one after the other, the one with fewest neighbours first.

    Exact where tables are small and form a tree of cliques; once a column has more than `WIDEST` neighbours, the sum of the largest of each term.
    """
    terms = [(table, _changes(table, weight, kinds)) for table, weight in weighed]
    left = {column for table, _ in terms for column in table}
    while left:
        around = {column: set().union(*(table for table, _ in terms if column in table)) for column in left}
        column = min(left, key=lambda name: (len(around[name]), name))
        if len(around[column]) > WIDEST:
            break
        axes = (column, *sorted(around[column] - {column}))
        joint = np.zeros([2] * len(axes))
        for table, values in terms:
            if column in table:
                order = sorted(range(len(table)), key=lambda axis: axes.index(table[axis]))
                shape = [2 if name in table else 1 for name in axes]
                joint = joint + values.transpose(order).reshape(shape)
        terms = [term for term in terms if column not in term[0]] + [(axes[1:], joint.max(axis=0))]
        left.remove(column)
    return math.fsum(float(values.max()) for _, values in terms)


def _changes(table: Sequence[str], weight: float, kinds: Mapping[str, Kinds]) -> npt.NDArray[np.float64]:
    """Return a bound for every set of columns that change: an axis of length 2 for each column."""
    changes = np.zeros([2] * len(table))
    for changed in np.ndindex(changes.shape):
        differing = frozenset(name for name, moved in zip(table, changed, strict=True) if moved)
        changes[changed] = weight * _apart(table, differing, kinds)
    return changes


def _by_pairs(weighed: Sequence[Weighed], kinds: Mapping[str, Kinds]) -> float:
    """Return a bound for a batch of all pairs of columns; infinite for others.

    Of a pair of which both columns change, the change is by `kept` less than the sum of those of which one does. With m changed columns there are m (m - 1) / 2
    such pairs, so the square is at most the m largest sums over a column's pairs less that many times the smallest `kept`.
    """
    columns = sorted({column for table, _ in weighed for column in table})
    number = len(columns)
    pairs = {frozenset(table) for table, _ in weighed if len(table) == 2}
    if len(pairs) != len(weighed) or len(pairs) != number * (number - 1) // 2 or number < 2:
        return math.inf
    alone, kept = dict.fromkeys(columns, 0.0), math.inf
    for (a, b), weight in weighed:
        one = weight * _apart((a, b), frozenset({a}), kinds)
        other = weight * _apart((a, b), frozenset({b}), kinds)
        both = weight * _apart((a, b), frozenset({a, b}), kinds)
        alone[a] += one
        alone[b] += other
        kept = min(kept, one + other - both)
    sums = np.cumsum(sorted(alone.values(), reverse=True))
    changed = np.arange(1, number + 1)
    return float((sums - kept * changed * (changed - 1) / 2).max())
