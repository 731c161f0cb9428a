"""Under add_remove removals make the worst tables: the inequality behind it, and the closed forms against all subsets."""

import itertools

import numpy as np
import pytest

from fedbayes.dp import smooth_removals
from fedbayes.dp.smooth_edges import Ordered


def variance_rise(rows, distance, spread):
    """Rise of the variance of `rows` rows of variance `spread` when a row at a distance from their mean joins."""
    return (rows / (rows + 1) * distance**2 - spread) / (rows + 1)


def deviation_rise(rows, distance, spread):
    return np.sqrt(rows / (rows + 1) * spread + rows / (rows + 1) ** 2 * distance**2) - np.sqrt(spread)


def slack(rise, power, rows, bound):
    """Least ratio, over tables of `rows` rows, of what is left without v and the nearest row, or without v, to the rise itself.

    In units from the row that comes: u the nearest row, v another, the others with their mean and variance, all at most 1. `bound`: at a bound, and the
    mean is at least half way; else it is an extreme row of the table, and the mean of the others at least half way to the farthest.
    """
    u = np.linspace(0, 1, 51)[:, None, None, None]
    v = np.linspace(0, 1, 41)[None, :, None, None]
    middle = u + (1 - u) * np.concatenate([np.linspace(0, 1, 61), np.logspace(-5, -2, 6)])[None, None, :, None]
    part = np.concatenate([np.linspace(0, 1, 13), np.logspace(-6, -2, 5)])[None, None, None, :]
    spread = np.maximum((1 - middle) * (middle - u), 0) * part
    squares, total = (rows - 2) * spread + (rows - 2) / (rows - 1) * (middle - u) ** 2, (rows - 2) * middle + u
    mean, once = total / (rows - 1), squares / (rows - 1)
    whole = (squares + (rows - 1) / rows * (mean - v) ** 2) / rows
    change = rise(rows, (total + v) / rows, whole)
    far = np.maximum(mean, 1 - mean) if bound else mean
    others = [
        rise(rows - 2, middle, spread),
        rise(rows - 1, far, once),
        np.abs(whole**power - once**power),
        once**power * (1 - ((rows - 1) / rows) ** power),
    ]
    asked = (total + v >= (rows if bound else rows + 1) / 2) & (change > 1e-9)
    return np.where(asked, np.maximum.reduce(np.broadcast_arrays(*others)) / np.where(asked, change, 1), np.inf).min()


@pytest.mark.parametrize("rows", [8, 10, 15, 30, 100, 1000, 10_000])
@pytest.mark.parametrize("bound", [True, False])
@pytest.mark.parametrize(
    ("rise", "power"), [(variance_rise, 1.0), (deviation_rise, 0.5)], ids=["variance", "deviation"]
)
def test_an_addition_is_never_worse_than_one_more_removal(rise, power, bound, rows):
    """With fewer than eight rows two values is not the worst spread; there all tables on grids are tried, in test_smooth.py."""
    assert slack(rise, power, rows, bound) >= 1 + 0.03 / rows


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
