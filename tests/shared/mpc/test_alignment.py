"""Alignment: laws of matching, sizes only in errors, nothing of an identifier in what travels."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbayes.mpc import alignment

people = st.sets(st.integers(0, 40), max_size=30)


def pair_key(first: int, second: int) -> bytes:
    return bytes([min(first, second), max(first, second)] * 16)


def lists_of(rows: dict[int, list[str]]) -> dict[tuple[int, int], np.ndarray]:
    return {
        (a, b): alignment.under_key(alignment.digests(rows[a]), pair_key(a, b))
        for a, b in itertools.permutations(rows, 2)
    }


@settings(max_examples=60, deadline=None)
@given(st.lists(people, min_size=2, max_size=4))
def test_intersection_is_the_common_people_in_one_order(sets):
    rows = {party: [f"id{p}" for p in sorted(group, reverse=party % 2 == 0)] for party, group in enumerate(sets)}
    places = alignment.intersect(list(rows), lists_of(rows))
    ordered = [[rows[party][place] for place in places[party]] for party in rows]
    assert all(order == ordered[0] for order in ordered)
    assert set(ordered[0]) == {f"id{p}" for p in set.intersection(*sets)}


@settings(max_examples=60, deadline=None)
@given(st.lists(people, min_size=2, max_size=4))
def test_union_gives_every_person_one_place(sets):
    rows = {party: [f"id{p}" for p in group] for party, group in enumerate(sets)}
    slots, size = alignment.unite(list(rows), lists_of(rows), bytes(32))
    assert size == len(set.union(*sets))
    where = {}
    for party, names in rows.items():
        for row, name in enumerate(names):
            assert where.setdefault(name, slots[party][row]) == slots[party][row]
    assert sorted(where.values()) == list(range(size))


def test_union_order_does_not_tell_who_brought_a_row():
    rows = {1: [f"a{i}" for i in range(500)], 2: [f"b{i}" for i in range(500)]}
    slots, size = alignment.unite([1, 2], lists_of(rows), bytes(range(32)))
    assert size == 1000
    assert 150 < np.mean(slots[1] < 500) * 500 < 350


def test_hashes_of_two_keys_share_nothing_and_look_uniform():
    names = [str(i) for i in range(4000)]
    first, second = (alignment.under_key(alignment.digests(names), bytes([k]) * 32) for k in (1, 2))
    assert first.shape == (4000,)
    assert len(alignment.match(first, second)[0]) == 0
    bits = np.unpackbits(first.view(np.uint8))
    assert abs(bits.mean() - 0.5) < 0.01


@pytest.mark.parametrize(
    ("identifiers", "words"),
    [(["a", None, ""], "some rows have no identifier"), (["secret", "secret", "b"], "some rows repeat")],
)
def test_gaps_and_repeats_are_counted_and_never_shown(identifiers, words):
    with pytest.raises(alignment.AlignmentError, match=words) as caught:
        alignment.check_identifiers(identifiers)
    assert "secret" not in str(caught.value)


def test_scatter_puts_zero_where_a_party_has_no_row():
    spread = alignment.scatter(np.array([[5], [7]]), np.array([3, 0]), 4)
    assert spread[:, 0].tolist() == [7, 0, 0, 5]


def test_shuffle_is_a_permutation_that_follows_from_the_key():
    order = alignment.shuffled(1000, bytes(32))
    assert np.array_equal(np.sort(order), np.arange(1000))
    assert np.array_equal(order, alignment.shuffled(1000, bytes(32)))
    assert not np.array_equal(order, alignment.shuffled(1000, bytes([1]) * 32))


def test_a_row_of_two_parties_that_are_kept_apart_is_left_out_at_the_later_one():
    draw = np.random.default_rng(4)
    for _ in range(50):
        rows = {p: [f"id{n}" for n in draw.permutation(12)[: draw.integers(1, 12)]] for p in (1, 2, 3)}
        order = draw.permutation([1, 2, 3]).tolist()
        slots, size = alignment.unite(order, lists_of(rows), bytes(32), [[1, 2]])
        earlier, later = (p for p in order if p != 3)
        gone = {person for person, slot in zip(rows[later], slots[later], strict=True) if slot == alignment.LEFT_OUT}
        assert gone == set(rows[earlier]) & set(rows[later])
        held = [(p, s) for party in order for p, s in zip(rows[party], slots[party], strict=True) if s >= 0]
        place = dict(held)
        assert all(place[person] == slot for person, slot in held)
        assert set(place) == {person for found in rows.values() for person in found}
        assert sorted(place.values()) == list(range(size))
        assert not set(slots[earlier].tolist()) & (set(slots[later].tolist()) - {alignment.LEFT_OUT})
        spread = alignment.scatter(np.ones((len(rows[later]), 1)), slots[later], size)
        assert spread.sum() == len(rows[later]) - len(gone)


# -- without a helper ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parties", range(3, 9))
def test_without_a_helper_every_pair_with_the_first_is_matched_once_by_one_of_three_that_is_not_of_it(parties):
    names = list(range(10, 10 + parties))
    matched = {party: alignment.matcher_of(names, party) for party in names[1:]}
    assert all(matcher not in (names[0], party) and matcher in names[:3] for party, matcher in matched.items())
    assert sorted(party for matcher in names for party in alignment.matched_by(names, matcher)) == names[1:]
    for parties_too_few in (names[:2], names[:1]):
        with pytest.raises(ValueError, match="three"):
            alignment.matcher_of(parties_too_few, names[1])
    with pytest.raises(ValueError, match="three"):
        alignment.matcher_of(names, names[0])


@settings(max_examples=60, deadline=None)
@given(st.lists(people, min_size=3, max_size=5))
def test_places_found_by_pairs_make_the_same_common_order(sets):
    rows = {party: [f"id{p}" for p in sorted(group, reverse=party % 2 == 0)] for party, group in enumerate(sets)}
    lists = lists_of(rows)
    places = {party: alignment.places_in(lists[0, party], lists[party, 0]) for party in list(rows)[1:]}
    found = alignment.common_to_all(0, places)
    assert set(found) == set(rows)
    assert all(np.array_equal(found[party], order) for party, order in alignment.intersect(list(rows), lists).items())


def test_a_matcher_tests_no_guess_with_any_key_that_it_has():
    """Of four parties who match: neither their own keys nor what they see under them fits a list that they match."""
    names = [f"id{i}" for i in range(300)]
    rows = dict.fromkeys(range(4), names)
    lists = lists_of(rows)
    for matcher in (1, 2):
        guesses = [alignment.under_key(alignment.digests(names), pair_key(matcher, other)) for other in range(4)]
        for party in alignment.matched_by(range(4), matcher):
            assert len(alignment.match(lists[0, party], lists[party, 0])[0]) == 300
            for guess in guesses:
                assert len(alignment.match(lists[0, party], guess)[0]) == 0


def test_no_bit_of_a_hash_follows_from_the_identifier_alone():
    """Under many keys every bit of one identifier's hash is as often 0 as 1: nothing of it survives the key."""
    digest = alignment.digests(["patient-1"])
    hashes = np.array([alignment.under_key(digest, k.to_bytes(32, "big"))[0] for k in range(4000)], dtype=np.uint64)
    ones = np.array([int(np.sum((hashes >> np.uint64(bit)) & np.uint64(1))) for bit in range(64)])
    assert np.abs(ones - 2000).max() < 5.5 * 1000**0.5
