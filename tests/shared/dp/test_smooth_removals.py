"""Under add_remove removals make the worst tables: the steps of the proof in docs/smooth-sensitivity.md, and the closed forms against all subsets."""

import itertools

import numpy as np
import pytest

from fedbayes.dp import smooth_removals
from fedbayes.dp.smooth_edges import Ordered

POWERS = pytest.mark.parametrize("power", [1.0, 0.5], ids=["variance", "deviation"])


def rise(rows, distance, spread, power):
    """Rise of the variance or deviation of `rows` rows of variance `spread` when a row at a distance from their mean joins."""
    return (rows / (rows + 1) * spread + rows / (rows + 1) ** 2 * distance**2) ** power - spread**power


def fall(rows, spread, power):
    """Fall when a row joins at their mean."""
    return spread**power * (1 - (rows / (rows + 1)) ** power)


@POWERS
@pytest.mark.parametrize("rows", [2, 3, 4, 6, 7, 12, 50, 400, 10_000])
def test_a_larger_rise_is_outweighed_by_the_empty_table(rows, power):
    """(**) of docs/smooth-sensitivity.md, and the bound of the rise in it, on tables of two and more values and a row w at either end or between."""
    draw = np.random.default_rng(rows)
    for _ in range(400):
        others = draw.uniform(0, 1, rows - 1) ** draw.choice([0.05, 0.5, 1, 3])
        if draw.random() < 0.5:
            others = np.where(others < draw.random(), 0, others.max())
        w = draw.choice([0, 1, draw.random()])
        whole, mean, spread = np.append(others, w), others.mean(), others.var()
        change = rise(rows, whole.mean(), whole.var(), power)
        larger = max(rise(rows - 1, mean, spread, power), fall(rows - 1, spread, power))
        if change > larger:
            assert 4**power * change * (change / larger) ** (rows - 1) <= 0.98
        if power == 1.0:
            top = mean**2 * rows / (rows**2 - rows - 1) - spread / rows
            assert change <= (rows - 1) / (rows + 1) * top + 1e-12


def test_rise_and_falls_meet_where_the_proof_says():
    for rows in range(2, 50):
        mean, spread = 0.6, 0.36 * (rows - 1) / (2 * rows)
        with_row = (rows - 1) / rows * spread + (rows - 1) / rows**2 * mean**2
        falls = [fall(rows - 1, spread, 1.0), fall(rows, with_row, 1.0)]
        assert falls == pytest.approx([rise(rows - 1, mean, spread, 1.0)] * 2)


def test_both_end_points_are_below_one_from_seven_rows_on():
    m = np.arange(7, 10**6 + 1, dtype=float)
    middle = m * m - m - 1
    at_crossing = 8 / 9 * (1 + 2 * m / middle) ** m / m
    at_zero = 4 * m * (m - 1) / ((m + 1) * middle) * np.exp((m - 1) * (2 * m + 1) / (m**3 - 2 * m - 1))
    assert at_crossing.max() < 0.994
    assert at_zero.max() < 0.68


@pytest.mark.few(9)
@POWERS
@pytest.mark.parametrize("rows", range(3, 21))
def test_few_rows_cell_by_cell(rows, power):
    """Upper bounds of (**) on cells of R (variance of y - w over its squared mean) and x (w over that mean): no point of a cell is above."""
    low = 2 * np.linspace(0, 1, 401)[:, None] ** 2
    least, most = low[:-1], low[1:]
    row = np.linspace(0, 12, 4801)[None, :]
    first, last = row[:, :-1], row[:, 1:]
    offset = np.where((first < 1) & (last > 1), 0, np.minimum(abs(first - 1), abs(last - 1)))
    spread = (rows - 1) / rows * least + (rows - 1) / rows**2 * offset**2
    change = rise(rows, (rows - 1 + last) / rows, spread, power)
    larger = np.maximum(rise(rows - 1, 1.0, most, power), fall(rows - 1, least, power))
    mean = 1 / np.maximum(1 + least, first)
    asked = change > larger
    bound = 4**power * mean ** (2 * power) * change * np.where(asked, change / larger, 0) ** (rows - 1)
    assert bound.max() <= (0.95 if power == 1.0 else 0.6)
    assert (change[-1] <= 0).all()
    assert (change[:, -1] <= 0).all()


def table(rows):
    return np.sort(np.round(np.random.default_rng(rows).beta(0.7, 1.1, rows), 2))


@pytest.mark.parametrize("rows", [2, 3, 6, 10])
def test_a_window_in_the_middle_leaves_the_largest_spread(rows):
    values = table(rows)
    for removed in range(rows):
        left = smooth_removals.hollow(Ordered(values, 1.0), np.array([removed]))
        best = max(np.var(kept) for kept in itertools.combinations(values, rows - removed))
        assert left.spread[0] / left.rows[0] == pytest.approx(best, abs=1e-12)
        kept = np.delete(values, np.arange(left.start[0], left.start[0] + removed))
        assert left.mean[0] == pytest.approx(kept.mean())


@pytest.mark.parametrize("rows", [2, 3, 6, 9])
def test_rises_are_the_largest_over_all_subsets(rows):
    values = table(rows)
    for removed in range(rows):
        found = smooth_removals.variance_rise(Ordered(values, 1.0), np.array([removed]))[0]
        pairs = [(kept, row) for kept in itertools.combinations(values, rows - removed) for row in (0.0, 1.0)]
        for kept in itertools.combinations(range(rows), rows - removed):
            pairs += [([values[i] for i in kept if i != out], values[out]) for out in kept if len(kept) > 1]
        best = max(np.var([*kept, row]) - np.var(kept) for kept, row in pairs)
        assert found == pytest.approx(best, abs=1e-12)
