"""Algorithm 1 keeps its invariant under any sequence of joins and leaves, and the printed one does not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from v6_secure_naive_bayes.membership import Membership, initial_uses


def check_invariant(state: Membership) -> None:
    assert all(2 * used > state.size >= used for used in state.uses.values())
    assert sorted(state.uses.values()) == initial_uses(state.size)


@pytest.mark.parametrize(
    ("size", "uses"), [(1, [1]), (2, [2, 2]), (3, [2, 3, 3]), (4, [3, 3, 4, 4]), (5, [3, 4, 4, 5, 5])]
)
def test_initial_numbers_are_those_of_the_paper(size, uses):
    assert initial_uses(size) == uses


@given(size=st.integers(1, 12), steps=st.lists(st.tuples(st.booleans(), st.integers(0, 10**6)), max_size=60))
def test_the_invariant_holds_after_any_sequence_of_joins_and_leaves(size, steps):
    state = Membership.create(range(1, size + 1))
    check_invariant(state)
    newest = size
    for number, (joins, pick) in enumerate(steps, start=1):
        before = state
        if joins or state.size == 1:
            newest += 1
            state = state.joined(newest)
            assert newest in state.changed(before)
        else:
            state = state.left(sorted(state.uses)[pick % state.size])
        check_invariant(state)
        assert len(state.changed(before)) <= 2
        assert state.epoch == number


@given(size=st.integers(2, 12), fraction=st.sampled_from([1.0, 0.8, 0.5]))
def test_the_honest_noise_is_at_least_one_term_and_below_about_two(size, fraction):
    # u_k <= n: gamma n honest parties bring at least one term; u_k > n/2: all together bring less than 2/gamma
    uses = initial_uses(size)
    honest = sorted(uses, reverse=True)[: max(1, int(fraction * size))]
    terms = [1.0 / max(1, int(fraction * used)) for used in honest]
    assert sum(terms) >= 1 - 1e-9
    assert sum(1.0 / used for used in uses) < 2


def printed_leave(uses: dict[int, int], gone: int) -> dict[int, int]:
    """Lines 16 to 24 as printed: without a second holder of the largest number nothing changes."""
    freed = uses[gone]
    left = {member: used for member, used in uses.items() if member != gone}
    largest = max(left.values())
    holders = [member for member, used in left.items() if used == largest]
    if len(holders) > 1:
        left[holders[1]] = freed
        left[holders[0]] = len(left) // 2 + 1
    return left


def test_the_printed_leave_breaks_the_invariant_and_ours_does_not():
    state = Membership.create([1, 2, 3, 4])
    left = printed_leave(state.uses, 4)
    assert max(left.values()) > len(left), "a party sizes its noise by more parties than there are"
    check_invariant(state.left(4))


def test_json_round_trip():
    state = Membership.create([3, 5, 9]).joined(11).left(5)
    assert Membership.from_dict(state.to_dict()) == state


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"format": "other", "epoch": 0, "uses": {"1": 1}},
        {"format": "fedbayes.membership/1", "epoch": True, "uses": {"1": 1}},
        {"format": "fedbayes.membership/1", "epoch": 0, "uses": {"x": 1}},
        {"format": "fedbayes.membership/1", "epoch": 0, "uses": {"²": 1}},
        {"format": "fedbayes.membership/1", "epoch": 0, "uses": {"1": 2, "01": 2, "2": 2}},
        {"format": "fedbayes.membership/1", "epoch": 0, "uses": {"0": 1}},
        {"format": "fedbayes.membership/1", "epoch": 0, "uses": {"1": 1, "2": 1}},
        {"format": "fedbayes.membership/1", "epoch": 0, "uses": {"1": 3, "2": 3}},
        {"format": "fedbayes.membership/1", "epoch": -1, "uses": {"1": 1}},
    ],
)
def test_malformed_memberships_are_refused(data):
    with pytest.raises(ValueError, match=r".+"):
        Membership.from_dict(data)


def test_impossible_changes_are_refused():
    state = Membership.create([1])
    with pytest.raises(ValueError, match="last one"):
        state.left(1)
    with pytest.raises(ValueError, match="does not take part"):
        Membership.create([1, 2]).left(7)
    with pytest.raises(ValueError, match="already"):
        state.joined(1)
