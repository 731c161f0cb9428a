"""Suppression: no small cell is visible, no line gives one back by subtraction, and neither margins nor the rule determine one."""

import collections
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog

from fedbayes.bayes.evaluation.small_counts import shown
from fedbayes.federation.errors import ThresholdError
from fedbayes.federation.questions.suppression import check_count, hidden_cells
from fedbayes.federation.vertical import suppress

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
    """As far as anything hides it: where the margins alone determine a cell, the whole table is hidden.

    Of a margin below the minimum, that of a state with few records, it says itself that its cells are small, and nothing tells which record is where.
    """
    shown = 0
    for seed in range(25):
        draw = np.random.default_rng([seed, *shape])
        counts = draw.poisson(draw.gamma(2.0, 7.0, shape)).astype(np.int64)
        hidden = suppress(counts, 5)
        shown += int((~hidden).sum())
        for cell in np.argwhere(counts < 5):
            low, high = span(counts, hidden, tuple(cell))
            records = min(int(counts.sum(axis=axis)[tuple(np.delete(cell, axis))]) for axis in range(counts.ndim))
            width, largest = (2, 5) if records >= 5 else (min(records, 1), 0)
            assert hidden.all() or (high >= largest - 1e-6 and high - low >= width - 1e-6), (seed, shape, cell)
    assert shown > 0


def fiber(example):
    """All tables with the margins of one of them: reached by steps on rectangles, or boxes of more axes."""
    steps = []
    pairs = [list(itertools.combinations(range(size), 2)) for size in example.shape]
    for corners in itertools.product(*pairs):
        step = np.zeros(example.shape, dtype=np.int64)
        for sides in itertools.product((0, 1), repeat=example.ndim):
            step[tuple(corner[side] for corner, side in zip(corners, sides, strict=True))] = (-1) ** sum(sides)
        steps += [step, -step]
    found, waiting = {example.tobytes(): example}, [example]
    while waiting:
        table = waiting.pop()
        for step in steps:
            other = table + step
            if other.min() >= 0 and other.tobytes() not in found:
                found[other.tobytes()] = other
                waiting.append(other)
    return list(found.values())


def told(examples, minimum, rule):
    """How many tables with hidden cells tell a small one to who knows all margins and the rule, though the margins alone do not; and how many there are."""
    number = tried = 0
    for example in examples:
        every = fiber(example)
        by_margins = (np.stack(every) == example).all(axis=0)
        alike = collections.defaultdict(list)
        for table in every:
            hidden = rule(table, minimum)
            if hidden.any():
                assert hidden[table < minimum].all()
                alike[hidden.tobytes(), tuple(table[~hidden])].append(table)
        for group in alike.values():
            same = (np.stack(group) == group[0]).all(axis=0) & ~by_margins
            number += sum(bool((same & (table < minimum)).any()) for table in group)
            tried += len(group)
    return number, tried


def all_tables(shape, records):
    """Every table of some shape over so many records."""
    cells = int(np.prod(shape))
    for bars in itertools.combinations(range(records + cells - 1), cells - 1):
        ends = np.array([-1, *bars, records + cells - 1])
        yield (np.diff(ends) - 1).reshape(shape)


def answers(table, minimum, asked):
    """What every table over some of the columns shows: cells and which are hidden."""
    for number in range(1, table.ndim + 1):
        for kept in itertools.combinations(range(table.ndim), number):
            part = table.sum(axis=tuple(set(range(table.ndim)) - set(kept)))
            key = part.shape, part.tobytes()
            if key not in asked:
                hidden = suppress(part, minimum)
                asked[key] = hidden.tobytes(), tuple(part[~hidden])
            yield asked[key]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("shape", "records", "minimum"),
    [
        ((2, 2), 12, 3),
        ((2, 3), 17, 4),
        ((2, 2, 2), 10, 2),
        ((2, 2), 30, 5),
        ((2, 2, 2), 13, 3),
        ((2, 3), 14, 3),
        ((3, 3), 11, 2),
    ],
)
def test_who_asks_for_all_tables_of_fewer_columns_can_tell_no_small_cell(shape, records, minimum):
    """Of two columns nothing is left out: margins are what is shown of them, and a small margin is hidden. Of three what the tables of two tell is."""
    alike, before, asked = collections.defaultdict(list), collections.defaultdict(list), {}
    for table in all_tables(shape, records):
        told = tuple(answers(table, minimum, asked))
        alike[told].append(table)
        before[told[:-1]].append(table)
    by_fewer = {told: (np.stack(group) == group[0]).all(axis=0) for told, group in before.items()}
    for told, group in alike.items():
        same = (np.stack(group) == group[0]).all(axis=0) & (group[0] < minimum)
        assert not (same & ~by_fewer[told[:-1]]).any(), group[0]
        assert len(shape) > 2 or not same.any(), group[0]
    assert len(alike) > 1


def test_control_margins_that_are_told_though_they_are_small():
    """An empty state tells its cells: the test above sees it where margins are shown as they are."""
    alike = collections.defaultdict(list)
    for table in all_tables((2, 2), 12):
        hidden = suppress(table, 3)
        alike[tuple(table.sum(axis=0)), tuple(table.sum(axis=1)), hidden.tobytes(), tuple(table[~hidden])].append(table)
    assert any(((np.stack(group) == group[0]).all(axis=0) & (group[0] < 3)).any() for group in alike.values())


def small_block(counts, minimum):
    """The rule of old: the states in which small cells lie, of every axis."""
    block = [(counts < minimum).any(axis=tuple(o for o in range(counts.ndim) if o != a)) for a in range(counts.ndim)]
    hidden = np.zeros(counts.shape, dtype=np.bool_)
    hidden[np.ix_(*block)] = True
    return hidden


SHAPES = {(2, 2): (30, 12), (2, 3): (15, 12), (2, 4): (3, 7), (3, 3): (2, 5), (2, 2, 3): (8, 9)}
"""Shape -> how many sets of margins are tried, and the largest cell of the tables that they are taken from."""


def examples(shape):
    """Tables of some shape, a state of theirs now and then with few records or none."""
    draw = np.random.default_rng(shape)
    number, largest = SHAPES[shape]
    made = [draw.integers(0, largest, shape) + draw.integers(0, 2, shape[-1]) * 5 for _ in range(number)]
    return [table * (draw.random(shape[0]) > 0.1).reshape(-1, *[1] * (len(shape) - 1)) for table in made]


@pytest.mark.few(2)
@pytest.mark.parametrize("minimum", [2, 3, 5])
@pytest.mark.parametrize("shape", SHAPES)
def test_who_knows_margins_and_rule_cannot_tell_a_small_cell(shape, minimum):
    """All tables of random margins are tried: those that are shown alike differ in every small cell, but for what the margins alone tell."""
    number, tried = told(examples(shape), minimum, suppress)
    assert tried > 10
    assert number == 0


def test_control_a_block_around_the_small_cells_tells_some():
    number, tried = told(examples((2, 3)), 3, small_block)
    assert number > tried // 50


def told_by_lists(length, minimum, empty, rule):
    """How many small counts follow for who knows the sum and the rule, and sees the list with each number of further states that nobody has."""
    alike = collections.defaultdict(list)
    for counts in itertools.product(range({2: 25, 3: 16, 4: 9}[length]), repeat=length):
        table = np.array(counts, dtype=np.int64)
        shown = [(more, rule(more, minimum)) for more in (np.pad(table, (0, number)) for number in empty)]
        if table.sum() >= minimum and shown[0][1].any():
            assert all(hidden[more < minimum].all() or not hidden.any() for more, hidden in shown)
            lists = tuple((hidden.tobytes(), tuple(more[~hidden])) for more, hidden in shown)
            alike[int(table.sum()), lists].append(table)
    groups = [np.stack(group) for group in alike.values()]
    return sum(int(((group == group[0]).all(axis=0) & (group[0] < minimum)).any()) for group in groups)


@pytest.mark.few(3)
@pytest.mark.parametrize("empty", [(0,), (2,), (0, 1, 2)])
@pytest.mark.parametrize("minimum", [2, 3, 5])
@pytest.mark.parametrize("length", [2, 3, 4])
def test_who_knows_the_sum_of_a_list_and_the_rule_cannot_tell_a_small_count(length, minimum, empty):
    """Nor can who lists states that nobody can have, in one task or in several."""
    assert told_by_lists(length, minimum, empty, suppress) == 0


def room_for_empty_states(counts, minimum):
    """The rule of old of lists: a state that nobody has counts as one that may hold some of the records."""
    small = counts < minimum
    others = int(small.sum()) - 1
    if small.all() or (others > 0 and minimum <= counts[small].sum() <= others * (minimum - 1) + minimum - 2):
        return small
    return np.asarray(counts <= counts[~small].min())


@pytest.mark.parametrize("empty", [(2,), (0, 1, 2)])
def test_control_states_that_nobody_has_tell_small_counts(empty):
    assert told_by_lists(3, 3, (0,), room_for_empty_states) == 0
    assert told_by_lists(3, 3, empty, room_for_empty_states) > 0


def by_lines(counts, minimum):
    """The rule of old of confusion tables: small counts but 0, and the least of a line that has one hidden."""
    hidden = (counts > 0) & (counts < minimum)
    changed = bool(hidden.any())
    while changed:
        changed = False
        for cells, hides in (
            pair
            for axes in ((0, 1), (1, 0))
            for pair in zip(counts.transpose(axes), hidden.transpose(axes), strict=True)
        ):
            if hides.sum() == 1:
                hides[np.argmin(np.where(hides, np.inf, cells))] = changed = True
        if not changed and counts[hidden].sum() < minimum and not hidden.all():
            hidden[np.unravel_index(np.argmin(np.where(hidden, np.inf, counts)), counts.shape)] = changed = True
    return hidden


def of_confusion(counts, minimum):
    return np.array([[cell is None for cell in row] for row in shown(counts, minimum)])


KNOWN = {
    "classes": lambda table: tuple(table.sum(axis=1)),
    "classes and predictions": lambda table: (*table.sum(axis=1), *table.sum(axis=0)),
    "classes and accuracy": lambda table: (*table.sum(axis=1), np.trace(table)),
}
"""What other answers tell of a confusion table."""


def told_by_confusion(classes, records, minimum, known, rule):
    """How many tables tell a small count, but 0, to who knows the rule, and what else is known, though that alone does not."""
    alike, before = collections.defaultdict(list), collections.defaultdict(list)
    for table in all_tables((classes, classes), records):
        hidden, key = rule(table, minimum), KNOWN[known](table)
        assert hidden[(table > 0) & (table < minimum)].all()
        alike[key, hidden.tobytes(), tuple(table[~hidden])].append(table)
        before[key].append(table)
    alone = {key: (np.stack(group) == group[0]).all(axis=0) for key, group in before.items()}
    found = 0
    for (key, *_), group in alike.items():
        same = (np.stack(group) == group[0]).all(axis=0) & ~alone[key]
        found += bool((same & (group[0] > 0) & (group[0] < minimum)).any())
    return found


@pytest.mark.few(4)
@pytest.mark.parametrize("known", KNOWN)
@pytest.mark.parametrize(("classes", "records", "minimum"), [(2, 24, 5), (3, 7, 3), (2, 14, 3), (3, 8, 4)])
def test_a_confusion_table_tells_no_small_count(classes, records, minimum, known):
    assert told_by_confusion(classes, records, minimum, known, of_confusion) == 0


@pytest.mark.few(1)
@pytest.mark.parametrize("known", KNOWN)
def test_control_a_confusion_table_by_lines_tells_some(known):
    assert told_by_confusion(3, 7, 3, known, by_lines) > 100


def told_by_sums(hidden):
    """Which hidden counts of a confusion table class sizes, the accuracy and what is shown determine, shape (classes, classes)."""
    classes = len(hidden)
    cells = np.eye(classes * classes).reshape(-1, classes, classes)
    sums = np.stack([*(cells[:, line].sum(axis=1) for line in range(classes)), np.trace(cells, axis1=1, axis2=2)])
    known = np.vstack([sums, cells[:, ~hidden].T])
    return hidden & np.array(
        [np.linalg.matrix_rank(np.vstack([known, one.ravel()])) == np.linalg.matrix_rank(known) for one in cells]
    ).reshape(classes, classes)


def large_confusions():
    """Return tables of three classes with a small count, of some hundred records each."""
    draw = np.random.default_rng(5)
    tables = draw.exponential(20.0, (200, 3, 3)).astype(np.int64)
    return [table for table in tables if ((table > 0) & (table < 5)).any()]


def test_nor_does_a_large_one_by_class_sizes_and_accuracy():
    for table in large_confusions():
        assert not told_by_sums(of_confusion(table, 5)).any()


def test_control_a_block_as_of_other_tables_does():
    found = [told_by_sums(suppress(table, 5)) & (table > 0) & (table < 5) for table in large_confusions()]
    assert sum(cells.any() for cells in found) > 10


def test_a_confusion_table_without_small_counts_is_shown():
    counts = np.array([[40.0, 0.0], [0.0, 50.0]])
    assert shown(counts, 10) == counts.tolist()
    assert shown(counts + 3.0, 10) == [[None, None], [None, None]]
    assert shown(-counts, 0) == (-counts).tolist(), "noise below zero"


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
