"""Expansions are reproducible, separated by name, dtype and shape, and uniform over the whole ring."""

import numpy as np
import pytest

from fedbayes.mpc.prg import expand

KEY = bytes(range(32))
KNOWN = [236589791, 4166181441]


def chi_square_of_bytes(values: np.ndarray) -> float:
    """Pearson's statistic of all bytes against the uniform distribution (255 degrees of freedom)."""
    counts = np.bincount(values.view(np.uint8).ravel(), minlength=256)
    expected = counts.sum() / 256
    return float(((counts - expected) ** 2 / expected).sum())


def test_known_answer_never_changes():
    # both ends of a pair may run different releases: the stream is part of the protocol
    assert expand(KEY, "round", 2, np.uint32).tolist() == KNOWN


def test_the_same_name_gives_the_same_array_and_another_does_not():
    first = expand(KEY, "a", (100, 3))
    assert np.array_equal(first, expand(KEY, "a", (100, 3)))
    assert not np.intersect1d(first, expand(KEY, "b", (100, 3))).size
    assert not np.intersect1d(first, expand(bytes(32), "a", (100, 3))).size
    assert not np.intersect1d(first, expand(KEY, "a", (3, 100))).size


def test_dtypes_share_no_stream():
    wide = expand(KEY, "a", 500, np.uint64).view(np.uint32)
    assert np.intersect1d(wide, expand(KEY, "a", 1000, np.uint32)).size < 5


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
def test_all_bytes_of_all_elements_are_uniform(dtype):
    values = expand(KEY, "uniform", 200_000, dtype)
    assert values.dtype == dtype
    assert 120 < chi_square_of_bytes(values) < 420
    assert values.max() > np.iinfo(dtype).max * 0.99


def test_a_stream_longer_than_a_chunk_does_not_repeat():
    values = expand(KEY, "long", 3 << 17)
    assert np.unique(values).size == values.size
    assert chi_square_of_bytes(values) < 420


@pytest.mark.parametrize("shape", [(), 0, (0, 4), (2, 3, 4)])
def test_shapes(shape):
    assert expand(KEY, "shape", shape).shape == np.zeros(shape).shape


@pytest.mark.parametrize(("key", "dtype"), [(b"short", np.uint64), (KEY, np.int64), (KEY, np.float64)])
def test_bad_arguments_are_refused(key, dtype):
    with pytest.raises(ValueError, match="expansion"):
        expand(key, "a", 3, dtype)
