"""Matching without a helper: order of the parties is irrelevant, and no party alone can test a guess."""

import numpy as np
import pytest

from fedbayes.mpc import blind_matching


def test_blinding_commutes_and_keeps_equality():
    names = [f"id{i}" for i in range(20)]
    first, second = bytes(range(32)), bytes(range(1, 33))
    listed = blind_matching.points(names)
    one = blind_matching.blind(blind_matching.blind(listed, first), second)
    other = blind_matching.blind(blind_matching.blind(listed, second), first)
    assert one == other
    assert len(np.unique(blind_matching.finished(one))) == 20


def test_one_secret_is_not_enough_to_test_a_guess():
    secrets = [bytes([k]) * 32 for k in (1, 2, 3)]
    listed = blind_matching.points(["guess"])
    finished = blind_matching.blind(
        blind_matching.blind(blind_matching.blind(listed, secrets[0]), secrets[1]), secrets[2]
    )
    assert blind_matching.blind(listed, secrets[0]) != finished


def test_a_list_that_is_no_list_of_points_is_refused():
    with pytest.raises(ValueError, match="32 bytes"):
        blind_matching.blind(bytes(31), bytes(32))
