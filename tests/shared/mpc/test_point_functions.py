"""Shared point functions: right at every place, and one key alone says nothing."""

import numpy as np
import pytest

from fedbayes.mpc import point_functions
from fedbayes.mpc.point_functions import PointKeys, deal_points, histogram


def whole(keys):
    return np.concatenate([shares for _, shares in keys.expanded()])


@pytest.mark.parametrize("bits", [3, 4, 9])
def test_two_expansions_add_up_to_unit_vectors_at_every_place(bits):
    places = np.arange(1 << bits, dtype=np.uint64)
    first, second = deal_points(places, bits)
    assert np.array_equal(whole(first) + whole(second), np.eye(1 << bits, dtype=np.uint32))


def test_keys_travel_as_bytes_and_wrong_lengths_are_refused():
    places = np.array([5, 0, 31], dtype=np.uint64)
    pair = deal_points(places, 5)
    read = [PointKeys.from_bytes(keys.to_bytes(), 5, bool(party), 3) for party, keys in enumerate(pair)]
    assert np.array_equal(whole(read[0]) + whole(read[1]), np.eye(32, dtype=np.uint32)[[5, 0, 31]])
    for bits, points in ((5, 4), (6, 3), (2, 3), (25, 3)):
        with pytest.raises(ValueError, match="length"):
            PointKeys.from_bytes(pair[0].to_bytes(), bits, False, points)


@pytest.mark.parametrize("places", [[8], [2**40]])
def test_places_outside_the_domain_are_refused(places):
    with pytest.raises(ValueError, match="below"):
        deal_points(np.array(places, dtype=np.uint64), 3)


def test_numbers_are_counted_although_only_their_masked_form_is_shown():
    rng = np.random.default_rng(3)
    numbers, masks = rng.integers(0, 300, 2000), rng.integers(0, 512, 2000)
    pair = deal_points((-masks % 512).astype(np.uint64), 9)
    shown = ((numbers + masks) % 512).astype(np.uint64)
    shares = [histogram(keys, shown) for keys in pair]
    assert np.array_equal(shares[0] + shares[1], np.bincount(numbers, minlength=512).astype(np.uint32))
    with pytest.raises(ValueError, match="one opened number"):
        histogram(pair[0], shown[1:])


def test_the_children_of_a_seed_differ():
    seeds = np.arange(64, dtype=np.uint64).reshape(32, 2)
    parts = [point_functions._expanded(seeds, which) for which in range(3)]
    assert not any(np.array_equal(parts[a], parts[b]) for a, b in ((0, 1), (0, 2), (1, 2)))


@pytest.mark.parametrize("party", [0, 1])
def test_one_key_alone_is_uniform_and_tells_nothing_of_the_place(party):
    """At the place itself and elsewhere a single expansion has the same law, bit by bit; so have the keys' own bytes."""
    points = 20_000
    places = np.zeros(points, dtype=np.uint64)
    places[points // 2 :] = 7
    keys = deal_points(places, 4)[party]
    shares = whole(keys)
    assert abs((shares.astype(np.float64) / 2**32).mean() - 0.5) < 0.005
    for part in (
        shares,
        keys.leaves,
        keys.seeds >> np.uint64(2),
        keys.corrections.transpose(1, 0, 2).reshape(points, -1),
    ):
        left, right = part[: points // 2].astype(np.uint64), part[points // 2 :].astype(np.uint64)
        for bit in range(0, 32, 3):
            one = np.array([((half >> np.uint64(bit)) & np.uint64(1)).mean(axis=0) for half in (left, right)])
            assert np.abs(one[0] - one[1]).max() < 6 * 0.5 * np.sqrt(4 / points)
