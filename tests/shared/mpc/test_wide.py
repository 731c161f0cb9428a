"""The ring Z/2^128 against Python's integers."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbayes.mpc.wide import Wide

MODULUS = 2**128
HALVES = list(itertools.product((0, 1, 2**32 - 1), repeat=4))  # of elements: none, the least and the largest
elements = st.lists(st.integers(0, MODULUS - 1), min_size=1, max_size=12)


def wide(numbers):
    words = np.array([[number % 2**64, number >> 64] for number in numbers], dtype=np.uint64)
    return Wide.from_words(words)


def integers(array):
    return [int(high) * 2**64 + int(low) for high, low in zip(array.high.ravel(), array.low.ravel(), strict=True)]


@given(elements, st.integers(0, MODULUS - 1))
def test_arithmetic_is_that_of_the_integers(numbers, other):
    left, right = wide(numbers), wide([other] * len(numbers))
    assert integers(left + right) == [(number + other) % MODULUS for number in numbers]
    assert integers(left - right) == [(number - other) % MODULUS for number in numbers]
    assert integers(left * right) == [number * other % MODULUS for number in numbers]
    assert integers(-left) == [-number % MODULUS for number in numbers]
    assert integers(Wide.from_words(left.to_words())) == numbers


def test_products_of_halves_of_ones_carry_and_leave_their_factors():
    numbers = [sum(half << 32 * place for place, half in enumerate(halves)) for halves in HALVES]
    row, column = wide(numbers), wide(numbers)[:, None]
    assert integers(column * row) == [left * right % MODULUS for left in numbers for right in numbers]
    assert integers(row) == integers(column) == numbers


@given(elements, st.integers(0, 127), st.integers(-(2**100), 2**100))
def test_shifts_and_public_multiples(numbers, bits, factor):
    array = wide(numbers)
    assert integers(array.shift_right(bits)) == [number >> bits for number in numbers]
    assert integers(array.times(factor)) == [number * factor % MODULUS for number in numbers]


def test_low_bits_are_cut_by_element():
    numbers, bits = [MODULUS - 1, 12345, 2**70 + 7, 9], [3, 0, 4, 63]
    cut = wide(numbers).cut(np.array(bits))
    assert integers(cut) == [number >> bit << bit for number, bit in zip(numbers, bits, strict=True)]


@given(elements)
def test_sums(numbers):
    array = wide(numbers)
    assert integers(array.prefix()) == [total % MODULUS for total in itertools.accumulate(numbers)]
    assert integers(array.suffix())[::-1] == [total % MODULUS for total in itertools.accumulate(numbers[::-1])]
    assert integers(array[:, None].total()) == [sum(numbers) % MODULUS]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=10), st.integers(0, 60))
def test_coding_is_exact_to_half_a_unit(values, bits):
    decoded = Wide.encode(values, bits).decode(bits)
    assert np.all(np.abs(decoded - values) <= 2.0 ** -(bits + 1) + 1e-9)


def test_matrix_product():
    rng = np.random.default_rng(0)
    left, right = rng.integers(-99, 99, (30, 2)), rng.integers(-99, 99, (30, 3))
    product = Wide.encode(left, 20).transposed_product(Wide.encode(right, 30))
    np.testing.assert_array_equal(product.decode(50), left.T @ right)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e30])
def test_headroom_is_checked(bad):
    with pytest.raises(OverflowError, match="headroom"):
        Wide.encode([1.0, bad], 40)
