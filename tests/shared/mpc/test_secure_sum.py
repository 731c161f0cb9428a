"""Secure sums: exact for all participants, uniform for any strict subset."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbayes.mpc import ring
from fedbayes.mpc.secure_sum import pairwise_mask, reconstruct


def keys_of(parties: tuple[int, ...]) -> dict[int, dict[int, bytes]]:
    """Distinct pairwise keys, the same at both ends."""
    keys: dict[int, dict[int, bytes]] = {party: {} for party in parties}
    for first, second in itertools.combinations(parties, 2):
        key = bytes([first, second]) * 16
        keys[first][second] = keys[second][first] = key
    return keys


def masked_values(values: dict[int, np.ndarray], name: str = "round") -> dict[int, np.ndarray]:
    """What every party sends."""
    keys = keys_of(tuple(values))
    return {
        party: ring.lower(own, np.uint64) + pairwise_mask(party, keys[party], name, own.shape)
        for party, own in values.items()
    }


@given(
    parties=st.sets(st.integers(1, 100), min_size=2, max_size=6),
    data=st.data(),
)
def test_the_sum_over_all_participants_is_exact(parties, data):
    values = {
        party: np.array(data.draw(st.lists(st.integers(-(2**50), 2**50), min_size=3, max_size=3)))
        for party in sorted(parties)
    }
    total = ring.lift(reconstruct(list(masked_values(values).values())))
    assert total.tolist() == sum(values.values()).tolist()


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32, np.uint64])
def test_masks_cancel_in_every_ring(dtype):
    keys = keys_of((3, 5, 9))
    masks = [pairwise_mask(party, keys[party], "round", (2, 4), dtype) for party in keys]
    assert masks[0].dtype == dtype
    assert not reconstruct(masks).any()


@pytest.mark.parametrize("subset", [(1,), (2,), (1, 2), (2, 3), (1, 3)])
def test_any_strict_subset_is_uniform(subset):
    values = {party: np.zeros(100_000, dtype=np.int64) for party in (1, 2, 3)}
    sent = masked_values(values)
    partial = reconstruct([sent[party] for party in subset])
    counts = np.bincount(partial.view(np.uint8), minlength=256)
    expected = counts.sum() / 256
    assert ((counts - expected) ** 2 / expected).sum() < 420


def test_masks_are_bound_to_name_and_participants():
    keys = keys_of((1, 2, 3))
    mask = pairwise_mask(1, keys[1], "round", 50)
    assert not np.intersect1d(mask, pairwise_mask(1, keys[1], "round 2", 50)).size
    smaller = {2: keys[1][2]}
    larger = keys[1]
    difference = pairwise_mask(1, larger, "r", 50) - pairwise_mask(1, smaller, "r", 50)
    other = {3: keys[1][3]}
    assert not np.intersect1d(difference, pairwise_mask(1, other, "r", 50)).size


@pytest.mark.parametrize("keys", [{}, {1: bytes(32), 2: bytes(32)}])
def test_bad_key_sets_are_refused(keys):
    with pytest.raises(ValueError, match="secure sum"):
        pairwise_mask(1, keys, "round", 3)


@pytest.mark.parametrize(
    "masked",
    [[], [np.zeros(2, np.uint64), np.zeros(3, np.uint64)], [np.zeros(2, np.uint64), np.zeros(2, np.uint32)]],
)
def test_bad_vectors_are_refused(masked):
    with pytest.raises(ValueError, match="masked vectors"):
        reconstruct(masked)
