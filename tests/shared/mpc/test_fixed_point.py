"""Laws of the fixed point encoding: bounded error, tracked scale, no silent wrap, exact sharing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbayes.mpc.fixed_point import Encoded, HeadroomError, Shares, decode, encode, reconstruct, share

REALS = st.lists(st.floats(-100, 100), min_size=4, max_size=4).map(np.array)


@given(values=REALS, frac_bits=st.integers(0, 40))
def test_decoding_is_within_half_a_unit_of_the_last_bit(values, frac_bits):
    error = np.abs(decode(encode(values, frac_bits, 100.0)) - values)
    assert error.max() <= 2.0 ** -(frac_bits + 1)


@given(left=REALS, right=REALS)
def test_sums_keep_the_fraction_bits(left, right):
    total = encode(left, 20, 100.0) + encode(right, 20, 100.0)
    assert total.frac_bits == 20
    assert total.bound == 200.0
    assert np.abs(decode(total) - (left + right)).max() <= 2.0**-20
    assert np.abs(decode(encode(left, 20, 100.0) - encode(right, 20, 100.0)) - (left - right)).max() <= 2.0**-20


@given(left=REALS, right=REALS)
def test_products_add_the_fraction_bits(left, right):
    product = encode(left, 20, 100.0) * encode(right, 16, 100.0)
    assert product.frac_bits == 36
    assert np.abs(decode(product) - left * right).max() <= 100 * (2.0**-21 + 2.0**-17) + 2.0**-30


@given(left=REALS, right=REALS)
def test_inner_products(left, right):
    product = encode(left[None], 16, 100.0) @ encode(right[:, None], 16, 100.0)
    assert np.abs(decode(product)[0, 0] - left @ right) <= 4 * 200 * 2.0**-17 + 2.0**-20
    assert np.abs(decode(encode(left, 16, 100.0).sum()) - left.sum()) <= 4 * 2.0**-17


def test_headroom_is_judged_by_the_bound_before_anything_wraps():
    encoded = encode([1.0], 30, 1000.0)
    with pytest.raises(HeadroomError):
        encode([1.0], 60, 1000.0)
    with pytest.raises(HeadroomError):
        encoded * encoded
    with pytest.raises(HeadroomError):
        encode(np.ones((1, 4096)), 24, 4.0) @ encode(np.ones((4096, 1)), 24, 4.0)
    with pytest.raises(HeadroomError):
        encode([1.0], 20, 3000.0, np.uint32)


@pytest.mark.parametrize("value", [np.nan, np.inf, 11.0, -11.0])
def test_what_exceeds_the_bound_is_refused_without_showing_it(value):
    with pytest.raises(ValueError, match="public bound") as refused:
        encode([value], 10, 10.0)
    assert "11" not in str(refused.value)


def test_terms_that_do_not_match_are_refused():
    with pytest.raises(ValueError, match="fraction bits"):
        encode([1.0], 10, 1.0) + encode([1.0], 11, 1.0)
    with pytest.raises(ValueError, match="ring"):
        encode([1.0], 10, 1.0) * encode([1.0], 10, 1.0, np.uint32)
    with pytest.raises(ValueError, match="negative"):
        Encoded(np.zeros(1, np.uint64), -1, 1.0)


@given(values=REALS, parties=st.integers(2, 5))
def test_reconstruction_undoes_sharing(values, parties):
    encoded = encode(values, 20, 100.0)
    shares = share(encoded, parties)
    assert shares.values.shape == (parties, 4)
    assert np.array_equal(reconstruct(shares).values, encoded.values)


@given(left=REALS, right=REALS)
def test_shares_add_and_scale(left, right):
    total = share(encode(left, 10, 100.0), 3) + share(encode(right, 10, 100.0), 3)
    assert np.abs(decode(reconstruct(total)) - (left + right)).max() <= 2.0**-10
    doubled = share(encode(left, 10, 100.0), 3).scaled(encode(2.0, 5, 2.0))
    assert np.abs(decode(reconstruct(doubled)) - 2 * left).max() <= 2.0**-9


def test_strict_subsets_of_shares_are_uniform():
    shares = share(encode(np.zeros(100_000), 10, 1.0), 3)
    for held in ((0,), (2,), (0, 1), (1, 2)):
        view = shares.values[list(held)].sum(axis=0, dtype=np.uint64).view(np.uint8)
        counts = np.bincount(view, minlength=256)
        assert ((counts - counts.mean()) ** 2 / counts.mean()).sum() < 420


def test_shares_need_two_parties():
    with pytest.raises(ValueError, match="two parties"):
        share(encode([1.0], 10, 1.0), 1)
    with pytest.raises(ValueError, match="two parties"):
        Shares(np.zeros((1, 3), np.uint64), 10, 1.0)
