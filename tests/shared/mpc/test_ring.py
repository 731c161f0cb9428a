"""Laws of the rings: lift and lower are inverse, the fast matrix product is the exact one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fedbayes.mpc import ring

DTYPES = [np.uint16, np.uint32, np.uint64]


def exact_product(left, right):
    """The slow, obvious product over Python integers."""
    modulus = 1 << ring.bits(left.dtype)
    wide = left.astype(object) @ right.astype(object)
    return np.array([[int(value) % modulus for value in row] for row in wide], dtype=left.dtype).reshape(wide.shape)


@pytest.mark.parametrize("dtype", DTYPES)
@given(data=st.data())
def test_lift_undoes_lower(dtype, data):
    half = 1 << (ring.bits(dtype) - 1)
    values = data.draw(st.lists(st.integers(-half, half - 1), max_size=20))
    array = np.array(values, dtype=np.int64)
    assert ring.lift(ring.lower(array, dtype)).tolist() == values
    assert ring.lower(array, dtype).dtype == dtype


@pytest.mark.parametrize("dtype", DTYPES)
@given(data=st.data())
def test_matrix_product_is_exact(dtype, data):
    rows, inner, columns = (data.draw(st.integers(1, 6)) for _ in range(3))
    left = data.draw(hnp.arrays(dtype, (rows, inner)))
    right = data.draw(hnp.arrays(dtype, (inner, columns)))
    assert np.array_equal(ring.matmul(left, right), exact_product(left, right))


@pytest.mark.parametrize("dtype", DTYPES)
def test_matrix_product_is_exact_at_the_largest_values_over_several_blocks(dtype):
    rows = 2 * ring.BLOCK_ROWS + 3
    largest = np.iinfo(dtype).max
    left = np.full((2, rows), largest, dtype=dtype)
    right = np.full((rows, 1), largest, dtype=dtype)
    expected = (rows * int(largest) ** 2) % (1 << ring.bits(dtype))
    assert ring.BLOCK_ROWS <= 1 << (53 - 2 * ring.LIMB_BITS)
    assert ring.matmul(left, right).tolist() == [[expected], [expected]]


def test_matrix_product_of_no_rows_is_zero():
    product = ring.matmul(np.zeros((2, 0), dtype=np.uint32), np.zeros((0, 3), dtype=np.uint32))
    assert product.tolist() == [[0, 0, 0], [0, 0, 0]]


@given(values=hnp.arrays(np.uint32, 7))
def test_a_value_and_its_inverse_cancel(values):
    assert not (values + ring.negate(values)).any()


def test_lift_keeps_the_shape_of_a_view():
    values = ring.lower(np.arange(-6, 6).reshape(3, 4), np.uint32).T
    assert np.array_equal(ring.lift(values), np.arange(-6, 6).reshape(3, 4).T)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1 << 15], np.uint16),
        ([-(1 << 31) - 1], np.uint32),
        ([1 << 63], np.uint64),
        ([0.5], np.uint32),
        ([1], np.int32),
    ],
)
def test_what_does_not_fit_is_refused(values, dtype):
    with pytest.raises(ValueError, match=r"ring|fit"):
        ring.lower(np.array(values), dtype)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (np.zeros((2, 3), np.uint32), np.zeros((2, 3), np.uint32)),
        (np.zeros((2, 3), np.uint32), np.zeros((3, 2), np.uint64)),
        (np.zeros(3, np.uint32), np.zeros((3, 2), np.uint32)),
    ],
)
def test_factors_that_do_not_match_are_refused(left, right):
    with pytest.raises(ValueError, match=r"factors|shapes"):
        ring.matmul(left, right)
