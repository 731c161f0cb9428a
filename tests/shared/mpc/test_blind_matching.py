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


FIELD = 2**255 - 19


def is_on_curve(point):
    """Euler's criterion on v^2 = u^3 + 486662 u^2 + u, written anew."""
    u = int.from_bytes(point, "little") % FIELD
    return pow(u * (u * u + 486662 * u + 1) % FIELD, (FIELD - 1) // 2, FIELD) in (0, 1)


def split(listed):
    return [listed[start : start + 32] for start in range(0, len(listed), 32)]


@pytest.mark.parametrize("plain", [False, True])
def test_every_point_is_of_the_curve_and_none_of_its_twist(monkeypatch, plain):
    """Which of the two survives every blinding: a raw digest would show one bit of each identifier."""
    if plain:
        monkeypatch.setitem(__import__("sys").modules, "gmpy2", None)
        blind_matching._arithmetic.cache_clear()
    listed = blind_matching.points([f"patient-{number}" for number in range(60)])
    blinded = blind_matching.blind(listed, bytes(range(32)))
    blind_matching._arithmetic.cache_clear()
    assert all(is_on_curve(point) for point in split(listed) + split(blinded))
    assert len(set(split(listed))) == 60
    assert not all(is_on_curve(bytes([number]) * 31 + b"\0") for number in range(60))


def test_plain_integers_make_the_same_points(monkeypatch):
    names = [f"id{number}" for number in range(10)]
    with_gmpy2 = blind_matching.points(names)
    monkeypatch.setitem(__import__("sys").modules, "gmpy2", None)
    blind_matching._arithmetic.cache_clear()
    try:
        assert blind_matching.points(names) == with_gmpy2
    finally:
        monkeypatch.undo()
        blind_matching._arithmetic.cache_clear()
