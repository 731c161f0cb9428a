"""Suppression: no small cell is visible, no line gives one back by subtraction, and neither margins nor the rule determine one."""

import collections
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog

from fedbayes.federation.errors import ThresholdError
from fedbayes.federation.vertical import suppress
from fedbayes.federation.vertical.suppression import check_count, hidden_cells

tables = arrays(
    np.int64, st.tuples(st.integers(1, 5), st.integers(1, 4), st.integers(1, 3)), elements=st.integers(0, 40)
)


@settings(max_examples=150, deadline=None)
@given(tables, st.integers(2, 12))
def test_small_cells_are_hidden_and_lines_hide_none_or_two(counts, minimum):
    hidden = suppress(counts, minimum)
    assert hidden[counts < minimum].all()
    for axis in range(counts.ndim):
        alone = (hidden.sum(axis=axis) == 1) & (counts.shape[axis] > 1)
        assert not alone.any()
    if hidden.any():
        assert counts[hidden].sum() >= minimum or hidden.all()


def test_nothing_is_hidden_without_a_minimum():
    assert not suppress(np.zeros((3, 3), dtype=np.int64), 0).any()


def test_large_cells_stay():
    assert not suppress(np.full((4, 4), 9, dtype=np.int64), 5).any()


def span(counts, hidden, cell):
    """The least and largest value of a hidden cell for who knows all margins (sums along one axis) and the visible cells."""
    rows = []
    for axis in range(counts.ndim):
        for line in itertools.product(*(range(size) for place, size in enumerate(counts.shape) if place != axis)):
            row = np.zeros(counts.shape)
            row[(*line[:axis], slice(None), *line[axis:])] = 1.0
            rows.append(row.ravel())
    equalities = np.array(rows)
    bounds = [(0, None) if hide else (value, value) for value, hide in zip(counts.ravel(), hidden.ravel(), strict=True)]
    aim = np.zeros(counts.size)
    aim[np.ravel_multi_index(cell, counts.shape)] = 1.0
    ends = [
        linprog(sign * aim, A_eq=equalities, b_eq=equalities @ counts.ravel(), bounds=bounds).fun for sign in (1, -1)
    ]
    return ends[0], -ends[1]


@pytest.mark.parametrize("shape", [(2, 3), (3, 4), (4, 6), (2, 2, 3), (3, 3, 2)])
def test_a_linear_program_leaves_every_small_cell_open(shape):
    """As far as anything hides it: where the margins alone determine a cell, the whole table is hidden."""
    shown = 0
    for seed in range(25):
        draw = np.random.default_rng([seed, *shape])
        counts = draw.poisson(draw.gamma(2.0, 7.0, shape)).astype(np.int64)
        hidden = suppress(counts, 5)
        shown += int((~hidden).sum())
        for cell in np.argwhere(counts < 5):
            low, high = span(counts, hidden, tuple(cell))
            assert hidden.all() or (high >= 5 - 1e-6 and high - low >= 2 - 1e-6), (seed, shape, cell)
    assert shown > 0


@pytest.mark.few(1)
@pytest.mark.parametrize("shape", [(2, 2), (2, 3)])
def test_who_knows_margins_and_rule_cannot_tell_a_small_cell(shape):
    """All tables of random margins are tried: those that are published alike must differ in every small cell."""
    draw = np.random.default_rng(shape)
    told = tried = 0
    for _ in range(40):
        example = draw.integers(0, 9, shape) + draw.integers(0, 2, (1, shape[1])) * 6
        if min(example.sum(axis=0).min(), example.sum(axis=1).min()) < 3:
            continue
        alike = collections.defaultdict(list)
        for first in itertools.product(*(range(total + 1) for total in example.sum(axis=0))):
            table = np.array([first, example.sum(axis=0) - first], dtype=np.int64)
            hidden = suppress(table, 3)
            if sum(first) == example[0].sum() and hidden.any():
                alike[hidden.tobytes(), tuple(table[~hidden])].append(table)
        for group in alike.values():
            same = (np.stack(group) == group[0]).all(axis=0)
            told += sum(bool((same & (table < 3)).any()) for table in group)
            tried += len(group)
    assert tried > 200
    assert told <= tried // 200


def test_an_empty_state_for_missing_values_hides_nothing():
    counts = np.array([[20, 30, 0], [25, 15, 0], [0, 0, 0]], dtype=np.int64)
    assert not hidden_cells(counts, 5, [True, True]).any()
    assert hidden_cells(counts, 5, [False, False]).any()
    few = counts + np.array([[0, 0, 1], [0, 0, 0], [0, 0, 0]])
    assert hidden_cells(few, 5, [True, True])[0, 2]


@pytest.mark.parametrize("count", [0, 4, 96, 100])
def test_a_small_count_and_a_small_complement_are_refused_alike(count):
    with pytest.raises(ThresholdError, match="answer or its complement"):
        check_count(count, 100, 5)
    check_count(50, 100, 5)
