"""Suppression: no small cell is visible, and no line gives one back by subtraction."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

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
