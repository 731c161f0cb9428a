"""Columns of one table that say the same of all its rows but few, so that two answers, one about each, differ by these rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...typing import Booleans, Floats, Integers

MOST_STATES = 50
"""Of a column of which it is asked what follows from it, as many as categories in a Cox model; of more it is asked which rows have the same value."""
LOOKED_AT = 256
"""Rows by which most pairs of columns are told apart, before all rows of the others are compared."""
MOST_WORK = 1e11
"""Rows times states of one side times states of the other: some five seconds of a processor, as for 600 columns of 10,000 rows. Where new columns are more,
they are compared with those of earlier answers alone."""
ROUNDING = 1e-9
"""Of a weight, or of the range of a column: smaller changes are those of how numbers are written, and move no coefficient by a digit that is told."""
FEWEST_ROWS = 10_000
"""So many rows are counted in that work at least, so that tables of states by states take 80 MB at most."""
CELLS_AT_ONCE = 2**24
"""Of the indicators of states, 64 MB of 32-bit floats, in which counts of as many rows are exact."""


FEW_VALUES = 10
"""Of a number whose units are not looked at: with so few each is of many rows, so `alike_but_for_few` sees what belongs together. Of more, whole years of 60
people, too many may be of few rows."""
TRIPLES = 64
"""Of rows, by whose distances columns of numbers are told apart, whatever their units (far more than a quarter are without the few that may differ), and twos
of rows by which other columns are."""
MIXERS = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9], dtype=np.uint64)
"""Of SplitMix64 (Steele, Lea and Flood, Fast splittable pseudorandom number generators, 2014)."""
TRIED = 4
"""Units by which two columns of numbers are compared in all rows; each is right but by chance."""


def alike_but_for_few(fresh: Sequence[Integers], others: Sequence[Integers], minimum: int) -> Booleans:
    """Return which columns say the same of all rows but fewer than `minimum`, and not of all.

    They do where their values differ in so few cells, where the one follows from the other but for so few rows (a group of values of the one is a group of
    the other's), or where both make the same groups of rows, however small these and however many. A column that has one value in all rows but few follows
    from everything, and says nothing here.

    Parameters
    ----------
    fresh, others : sequence of int64 array, shape (rows,)
        Numbers of values from 0 on, the same for the same value in all columns.
    minimum : int
        Rows.

    Returns
    -------
    ndarray of bool, shape (fresh, fresh and others)
    """
    together = [*fresh, *others]
    alike = np.zeros((len(fresh), len(together)), dtype=np.bool_)
    if minimum <= 1 or not fresh or not len(together[0]):
        return alike
    coded = [np.unique(one, return_inverse=True)[1] for one in together]
    states = np.array([int(one.max()) + 1 for one in coded])
    coarse = np.flatnonzero(states <= MOST_STATES)
    own = coarse[coarse < len(fresh)]
    work = max(len(together[0]), FEWEST_ROWS) * float(states[own].sum()) * float(states[coarse].sum())
    parts, first = int(work // MOST_WORK) + 1, len(fresh) if work > MOST_WORK else 0
    looked_at = np.stack([one[:LOOKED_AT] for one in together])
    for new, one in enumerate(fresh):
        near = np.flatnonzero(np.count_nonzero(looked_at[first:] != looked_at[new], axis=1) < minimum) + first
        alike[new, near] = [0 < np.count_nonzero(together[other] != one) < minimum for other in near]
    beside = coarse[coarse >= first]
    for part in np.array_split(own, parts):
        if len(part) and len(beside):
            sides = [[coded[one] for one in side] for side in (part, beside)]
            alike[np.ix_(part, beside)] |= _following(sides[0], sides[1], minimum)
    alike |= _grouped_alike(coded, len(fresh), minimum)
    alike[np.arange(len(fresh)), np.arange(len(fresh))] = False
    return alike


def _grouped_alike(coded: Sequence[Integers], fresh: int, minimum: int) -> Booleans:
    """Return which columns, given by their states, make the same groups of all rows but few as others do, whatever the names of these, (fresh, columns)."""
    alike = np.zeros((fresh, len(coded)), dtype=np.bool_)
    sizes = [np.sort(np.bincount(one))[::-1] for one in coded]
    wide = [number for number, one in enumerate(sizes) if one[one > 1].sum() >= 2 * minimum]
    for new in (number for number in wide if number < fresh):
        first, second = _neighbours(coded[new])
        for other in wide:
            kept = 2 * np.count_nonzero(coded[other][first] == coded[other][second]) >= len(first)
            if kept and other != new and _sized_alike(sizes[new], sizes[other], minimum):
                alike[new, other] = _same_groups(coded[new], coded[other], minimum)
    return alike


def _neighbours(one: Integers) -> tuple[Integers, Integers]:
    """Return places of rows, two by two, of which each two are in one group."""
    order = np.argsort(one, kind="stable")
    beside = np.flatnonzero(one[order[1:]] == one[order[:-1]])
    chosen = beside[scattered(len(beside))[:TRIPLES]]
    return order[chosen], order[chosen + 1]


def _sized_alike(one: Integers, other: Integers, minimum: int) -> bool:
    """Return whether groups of these sizes, the largest first, can be the same but for few rows, each of which is one less here and one more there."""
    if abs(len(one) - len(other)) >= minimum:
        return False
    shared = min(len(one), len(other))
    apart = np.abs(one[:shared] - other[:shared]).sum() + one[shared:].sum() + other[shared:].sum()
    return bool(apart <= 2 * (minimum - 1))


def _same_groups(one: Integers, other: Integers, minimum: int) -> bool:
    """Return whether two columns make the same groups of all rows but few, and not of all; groups of one row, and the largest, say nothing."""
    width = int(other.max()) + 1
    cells, rows = np.unique(one * width + other, return_counts=True)
    sides, held = np.divmod(cells, width), []
    largest = [np.zeros(int(side.max()) + 1, dtype=np.int64) for side in sides]
    for most, side in zip(largest, sides, strict=True):
        np.maximum.at(most, side, rows)
    both = (rows == largest[0][sides[0]]) & (rows == largest[1][sides[1]])
    for side in sides:
        kept = np.zeros(int(side.max()) + 1, dtype=np.int64)
        np.maximum.at(kept, side[both], rows[both])
        held.append(int(kept.sum()))
    shared = rows[both & (rows > 1)]
    return 0 < len(one) - min(held) < minimum and int(shared.sum() - shared.max(initial=0)) >= minimum


def in_one_unit_but_for_few(fresh: Sequence[Floats], others: Sequence[Floats], minimum: int) -> Booleans:
    """Return which columns of numbers are another one in other units, or from another zero, in all rows but fewer than `minimum`, and not in all.

    As an age at admission and one five years later, or pounds and kilograms. Columns of at most `FEW_VALUES` are `alike_but_for_few`'s to compare.

    Parameters
    ----------
    fresh, others : sequence of ndarray of float, shape (rows,)
        NaN where a cell is no number.
    minimum : int
        Rows.

    Returns
    -------
    ndarray of bool, shape (fresh, fresh and others)
    """
    together = [*fresh, *others]
    alike = np.zeros((len(fresh), len(together)), dtype=np.bool_)
    many = [number for number, one in enumerate(together) if len(np.unique(one[~np.isnan(one)])) > FEW_VALUES]
    if minimum <= 1 or not set(many) & set(range(len(fresh))):
        return alike
    rows = scattered(len(fresh[0]))[np.arange(3 * TRIPLES) % len(fresh[0])].reshape(TRIPLES, 3)
    with np.errstate(all="ignore"):
        shapes = np.stack([_distances(together[one][rows]) for one in many])
    for own, new in enumerate(many):
        if new >= len(fresh):
            break
        same = np.abs(shapes - shapes[own]) <= np.sqrt(ROUNDING) * np.abs(shapes[own])
        compared = np.count_nonzero(~np.isnan(shapes[own]))
        for near in np.flatnonzero(4 * same.sum(axis=1) >= max(compared, 1)):
            apart = [_apart(together[new], together[many[near]], rows[k]) for k in np.flatnonzero(same[near])[:TRIED]]
            alike[new, many[near]] = 0 < min(apart) < minimum
    alike[np.arange(len(fresh)), np.arange(len(fresh))] = False
    return alike


def cut_alike_but_for_few(one: Floats, other: Floats, minimum: int) -> bool:
    """Return whether two columns of numbers, cut at one point each, say the same of all rows but fewer than `minimum`, and not of all.

    Parameters
    ----------
    one, other : ndarray of float, shape (rows,)
        The bin of every row, from 0 on, NaN where it has none; each border of bins is such a point.
    minimum : int
        Rows.
    """
    bins = [np.nan_to_num(part, nan=-1.0).astype(np.int64) + 1 for part in (one, other)]
    widths = [int(part.max(initial=0)) + 1 for part in bins]
    cells = np.bincount(bins[0] * widths[1] + bins[1], minlength=widths[0] * widths[1]).reshape(widths)
    inner = cells[1:, 1:]
    for both in (inner, inner[:, ::-1]):  # a number may fall where the other one rises
        below = both.cumsum(axis=0).cumsum(axis=1)[:-1, :-1]
        above = both[::-1, ::-1].cumsum(axis=0).cumsum(axis=1)[::-1, ::-1][1:, 1:]
        apart = len(one) - cells[0, 0] - below - above
        if bool(((apart > 0) & (apart < minimum) & (np.minimum(below, above) >= minimum)).any()):
            return True
    return False


def scattered(count: int) -> Integers:
    """Return the whole numbers below `count` in an order that looks random and is always the same."""
    mixed = np.arange(1, count + 1, dtype=np.uint64) * MIXERS[0]
    mixed = (mixed ^ (mixed >> np.uint64(30))) * MIXERS[1]
    return np.argsort(mixed ^ (mixed >> np.uint64(27)), kind="stable")


def _distances(values: Floats) -> Floats:
    """Return the quotient of the distances of values, (triples, 3), which is the same in any unit and from any zero; NaN where two are the same."""
    first, second = values[:, 1] - values[:, 0], values[:, 2] - values[:, 0]
    quotients = first / second
    return np.where((first != second) & (quotients != 0.0) & np.isfinite(quotients), quotients, np.nan)


def _apart(one: Floats, other: Floats, rows: Integers) -> int:
    """Return in how many rows one column is not the other, in the unit and from the zero in which they are the same at two of some rows."""
    unit = (one[rows[1]] - one[rows[0]]) / (other[rows[1]] - other[rows[0]])
    with np.errstate(over="ignore", invalid="ignore"):
        change = one - one[rows[0]] - unit * (other - other[rows[0]])
    held = np.abs(change) <= ROUNDING * np.nanmax(np.abs(one))
    return int(np.sum(~held & ~(np.isnan(one) & np.isnan(other))))


def _following(fresh: Sequence[Integers], others: Sequence[Integers], minimum: int) -> Booleans:
    """Return of which columns, by the states of every row, one follows from the other but for few rows, shape (fresh, others)."""
    tables = _tables(fresh, others)
    starts, ends = (_starts(columns) for columns in (fresh, others))
    either: Booleans = _follows(tables, starts, ends, minimum) | _follows(tables.T, ends, starts, minimum).T
    return either


def _follows(tables: Floats, starts: Integers, ends: Integers, minimum: int) -> Booleans:
    """Return which columns of the second side, whose states begin at `ends`, follow from those of the first but for few rows, (first, second)."""
    large = np.where(tables >= minimum, tables, 0.0)
    held = np.add.reduceat(np.maximum.reduceat(large, ends, axis=1), starts, axis=0)
    sizes = np.add.reduceat(tables, starts[:1], axis=0)[0] / len(starts)  # every row is in one state of each column
    most, rows = np.maximum.reduceat(sizes, ends), np.add.reduceat(sizes, ends)
    apart = rows - held
    return np.asarray((apart > 0) & (apart < minimum) & (rows - most >= minimum), dtype=np.bool_)


def _starts(columns: Sequence[Integers]) -> Integers:
    """Return where the states of each column begin among those of all."""
    sizes = [int(one.max()) + 1 for one in columns]
    return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)


def _tables(fresh: Sequence[Integers], others: Sequence[Integers]) -> Floats:
    """Return how many rows have each state of a column of the one side and of the other, (states, states)."""
    sides = [(np.stack(columns) + _starts(columns)[:, None]).T for columns in (fresh, others)]
    widths = [int(side.max()) + 1 for side in sides]
    tables = np.zeros((widths[0], widths[1]), dtype=np.float64)
    step = max(CELLS_AT_ONCE // sum(widths), 1)
    for first in range(0, len(sides[0]), step):
        shown = [_indicators(side[first : first + step], width) for side, width in zip(sides, widths, strict=True)]
        tables += shown[0].T @ shown[1]
    return tables


def _indicators(states: Integers, width: int) -> Floats:
    shown = np.zeros((len(states), width), dtype=np.float32)
    np.put_along_axis(shown, states, 1.0, axis=1)
    return shown  # type: ignore[return-value]


def change_is_carried_by_few(weights: Floats, others: Floats, minimum: int) -> bool:
    """Return whether fewer than `minimum` rows carry nearly all of what changes between two columns of case weights.

    Weights that are multiples of one another are the same, so the others are scaled by what most rows are. Counted are rows by the squares of their changes,
    of which the noise is made that hides one row's part.

    Parameters
    ----------
    weights, others : ndarray of float, shape (rows,)
        Positive; NaN in rows without one.
    minimum : int
        Rows.
    """
    both = ~(np.isnan(weights) | np.isnan(others))
    ratios = weights[both] / others[both]
    scale = np.median(ratios) if len(ratios) else 1.0
    apart = np.abs(ratios - scale) > ROUNDING * scale
    change = np.where(apart, others[both] * (ratios - scale), 0.0) ** 2
    change /= max(float(change.max(initial=0.0)), np.finfo(np.float64).tiny)
    return bool(change.sum() ** 2 < minimum * (change**2).sum())
