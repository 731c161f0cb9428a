"""Linear functions of tables that are measured in place of their cells: how they are asked for, taken of shares, and what one record changes in them.

Along every axis of a table a matrix of whole numbers is applied, one a column (`fedbayes.bayes.markov.balance` makes good ones). Stations take any that have
the states of their columns (`Contrasts.check_states`): each computes from the matrices themselves how much one record can change.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import numpy.typing as npt

from ...dp.laws import Change
from ...mpc.ring import RingArray, lift
from ...typing import Floats, Integers
from ..messages.codec import Message

LARGEST = 2**12
"""Of an entry of a matrix."""
LARGEST_FACTOR = 2**20  # with scales of 64 and three columns sums stay below 2^62
MOST_FUNCTIONS = 2**16  # of one column: as many as states
MOST_COLUMNS = 3
"""Of a table: how two records may differ in it is enumerated."""
WIDEST = 10
"""Columns over which what may happen to them is enumerated at once."""
SAME, OTHER, LOST = 0, 1, 2
"""What happens to a column of a record: it stays, it gets another state, or one of the two records has none there (or one that counts as 0)."""
Columns = Sequence[str]
Weighed = tuple[tuple[str, ...], float]


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
    least, most : float
        From where to where the product of the vectors of two different states is, both not 0; meaningless without two such states.
    moves : tuple of int
        What can happen to the column of one record: `SAME`, `OTHER` and `LOST` where they can.
    """

    def __init__(self, matrix: Integers, absent: bool = False) -> None:
        products = (matrix.T @ matrix).astype(np.float64)
        squares = products.diagonal()
        self.largest = float(squares.max())
        shown = np.flatnonzero(squares > 0)
        between = products[np.ix_(shown, shown)][~np.eye(len(shown), dtype=bool)]
        self.least, self.most = (float(between.min()), float(between.max())) if len(between) else (0.0, 0.0)
        lost = [LOST] if absent or len(shown) < len(squares) else []
        self.moves = (SAME, *([OTHER] if len(between) else []), *lost)


def _apart(table: Sequence[str], moves: Sequence[int], kinds: Mapping[str, Kinds]) -> float:
    """Return a bound of the square of what a record changes in a table's functions, of whose columns so much happens.

    Its vector is the tensor product of those of its states; it is 0 before or after where a state is lost or gained. Columns that stay contribute their
    square to the square of the change; of those that get another state it is the two squares less twice the product, which is the product over the columns.
    """
    whole = math.prod(kinds[column].largest for column in table)
    if LOST in moves:
        return whole
    low, high = 1.0, 1.0
    for column, move in zip(table, moves, strict=True):
        least, most = (kinds[column].least, kinds[column].most) if move == OTHER else (kinds[column].largest,) * 2
        ends = (low * least, low * most, high * least, high * most)
        low, high = min(ends), max(ends)
    return 2.0 * (whole - low)


def _by_elimination(weighed: Sequence[Weighed], kinds: Mapping[str, Kinds]) -> float:
    """Return the largest sum over all that may happen to the columns: these are maximised out one after the other, the one with fewest neighbours first.

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
        joint = np.zeros([len(kinds[name].moves) for name in axes])
        for table, values in terms:
            if column in table:
                order = sorted(range(len(table)), key=lambda axis: axes.index(table[axis]))
                shape = [len(kinds[name].moves) if name in table else 1 for name in axes]
                joint = joint + values.transpose(order).reshape(shape)
        terms = [term for term in terms if column not in term[0]] + [(axes[1:], joint.max(axis=0))]
        left.remove(column)
    return math.fsum(float(values.max()) for _, values in terms)


def _changes(table: Sequence[str], weight: float, kinds: Mapping[str, Kinds]) -> Floats:
    """Return a bound for all that may happen to the columns: an axis for each, of the length of its moves."""
    possible = [kinds[name].moves for name in table]
    values = [weight * _apart(table, moves, kinds) for moves in product(*possible)]
    return np.array(values).reshape([len(moves) for moves in possible])


def _by_pairs(weighed: Sequence[Weighed], kinds: Mapping[str, Kinds]) -> float:
    """Return a bound for a batch of all pairs of columns, with or without single ones; infinite for others.

    A column that alone gets another state, or loses its own, changes its tables by so much. If the other column of a pair moves too, the pair changes by
    `kept` less than the sum of the two. So with so many columns of either move the square is at most the largest sums of as many columns, less the
    smallest `kept` of every pair of them.
    """
    columns = sorted({column for table, _ in weighed for column in table})
    number = len(columns)
    pairs = [(table, weight) for table, weight in weighed if len(table) == 2]
    distinct = len({frozenset(table) for table, _ in weighed}) == len(weighed)
    if number < 2 or not distinct or len(pairs) != number * (number - 1) // 2 or max(len(t) for t, _ in weighed) > 2:
        return math.inf
    alone = {move: dict.fromkeys(columns, 0.0) for move in (OTHER, LOST)}
    kept = {both: math.inf for both in product((OTHER, LOST), repeat=2)}
    for table, weight in weighed:
        if len(table) == 1:
            for move in kinds[table[0]].moves[1:]:
                alone[move][table[0]] += weight * _apart(table, (move,), kinds)
    for (a, b), weight in pairs:
        one = {move: weight * _apart((a, b), (move, SAME), kinds) for move in kinds[a].moves[1:]}
        other = {move: weight * _apart((a, b), (SAME, move), kinds) for move in kinds[b].moves[1:]}
        for first, second in product(one, other):
            spared = one[first] + other[second] - weight * _apart((a, b), (first, second), kinds)
            kept[first, second] = kept[second, first] = min(kept[first, second], spared)
        for move, value in one.items():
            alone[move][a] += value
        for move, value in other.items():
            alone[move][b] += value
    return _largest_of_moves(
        [np.cumsum([0.0, *sorted(alone[move].values(), reverse=True)]) for move in (OTHER, LOST)],
        [0.0 if math.isinf(kept[both]) else kept[both] for both in ((OTHER, OTHER), (LOST, LOST), (OTHER, LOST))],
    )


def _largest_of_moves(sums: Sequence[Floats], kept: Sequence[float]) -> float:
    """Return the largest of `sums[0][i] + sums[1][j]` less what i columns of the one move and j of the other spare one another."""
    number = len(sums[0]) - 1
    i, j = np.ogrid[: number + 1, : number + 1]
    spared = kept[0] * i * (i - 1) / 2 + kept[1] * j * (j - 1) / 2 + kept[2] * i * j
    values = sums[0][:, None] + sums[1][None, :] - spared
    return float(values[i + j <= number].max())
