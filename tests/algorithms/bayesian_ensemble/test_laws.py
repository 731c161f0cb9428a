"""Votes: what must hold for every ballot and combination."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from v6_bayesian_ensemble import votes

CLASSES, ROWS = 3, 4


def beliefs(members: int = 3):
    raw = arrays(np.float64, (members, ROWS, CLASSES), elements=st.floats(0.01, 1.0))
    return raw.map(lambda values: values / values.sum(axis=2, keepdims=True))


def tallied(posteriors, known, vote, dynamic=False, weights=None):
    weights = [1.0 / len(posteriors)] * len(posteriors) if weights is None else weights
    ballots = [votes.ballot(p, k, vote, w, dynamic) for p, k, w in zip(posteriors, known, weights, strict=True)]
    return sum(b[0] for b in ballots), sum(b[1] for b in ballots)


ALL = [np.ones(CLASSES, dtype=bool)] * 3


@settings(max_examples=30, deadline=None)
@given(beliefs(), st.sampled_from(votes.VOTES), st.booleans())
def test_probabilities_sum_to_one_in_any_order_of_members(posteriors, vote, dynamic) -> None:
    found = np.exp(votes.combine(*tallied(posteriors, ALL, vote, dynamic), vote))
    assert found.sum(axis=1) == pytest.approx(np.ones(ROWS))
    turned = np.exp(votes.combine(*tallied(posteriors[::-1], ALL, vote, dynamic), vote))
    assert turned == pytest.approx(found)


@settings(max_examples=30, deadline=None)
@given(beliefs())
def test_mean_and_pool_are_the_arithmetic_and_geometric_means(posteriors) -> None:
    mean = np.exp(votes.combine(*tallied(posteriors, ALL, "mean"), "mean"))
    assert mean == pytest.approx(posteriors.mean(axis=0))
    pool = np.exp(votes.combine(*tallied(posteriors, ALL, "log_pool"), "log_pool"))
    product = np.exp(np.log(posteriors).mean(axis=0))
    assert pool == pytest.approx(product / product.sum(axis=1, keepdims=True))


@settings(max_examples=30, deadline=None)
@given(beliefs(), st.sampled_from(votes.VOTES))
def test_the_ring_carries_votes_to_nine_digits(posteriors, vote) -> None:
    ballots = [votes.ballot(p, ALL[0], vote, 0.3, False) for p in posteriors]
    summed = sum((votes.encode(*ballot) for ballot in ballots), np.zeros(2 * ROWS * CLASSES, dtype=np.uint64))
    added, behind = votes.decode(summed, ROWS, CLASSES)
    assert added == pytest.approx(sum(b[0] for b in ballots), abs=1e-9)
    assert behind == pytest.approx(sum(b[1] for b in ballots), abs=1e-9)


def test_majority_counts_heads() -> None:
    one = np.array([[0.6, 0.4, 0.0]])
    other = np.array([[0.1, 0.9, 0.0]])
    found = np.exp(votes.combine(*tallied([one, one, other], ALL, "majority"), "majority"))
    assert found[0] == pytest.approx([2 / 3, 1 / 3, 0.0], abs=1e-9)


@pytest.mark.parametrize("vote", votes.VOTES)
def test_a_class_unknown_to_a_member_is_left_to_the_others(vote: str) -> None:
    known = [np.array([True, True, False]), np.array([True, True, True])]
    posteriors = [np.array([[0.5, 0.5, 0.0]]), np.array([[0.1, 0.1, 0.8]])]
    found = np.exp(votes.combine(*tallied(posteriors, known, vote), vote))[0]
    assert found[2] > found[0]
    assert found[2] > 0.5


def test_a_member_with_one_class_and_one_of_weight_zero_abstain() -> None:
    even = np.full((2, 3), 1 / 3)
    for known, weight in ((np.array([True, False, False]), 1.0), (np.ones(3, dtype=bool), 0.0)):
        added, behind = votes.ballot(even, known, "mean", weight, False)
        assert not added.any()
        assert not behind.any()


def test_nobody_voting_gives_the_uniform_distribution() -> None:
    nothing = np.zeros((2, 4))
    for vote in votes.VOTES:
        assert np.exp(votes.combine(nothing, nothing, vote)) == pytest.approx(np.full((2, 4), 0.25))


def test_dynamic_weights_follow_the_sure_member() -> None:
    sure, unsure = np.array([[0.02, 0.98, 0.0]]), np.array([[0.4, 0.3, 0.3]])
    plain = np.exp(votes.combine(*tallied([sure, unsure], ALL[:2], "mean"), "mean"))
    weighed = np.exp(votes.combine(*tallied([sure, unsure], ALL[:2], "mean", dynamic=True), "mean"))
    assert weighed[0, 1] > plain[0, 1]
    assert votes.certainty(np.array([[1.0, 0.0], [0.5, 0.5]]), 2) == pytest.approx([1.0, 0.0])


@settings(max_examples=30, deadline=None)
@given(beliefs(), st.floats(0.001, 0.5))
def test_a_bounded_vote_moves_the_pool_by_no_more_than_its_bound(posteriors, bound) -> None:
    liar = np.tile([1.0, 0.0, 0.0], (ROWS, 1))
    found = votes.ballot(liar, ALL[0], "log_pool", 1.0, False, bound)[0]
    assert (found[:, 0] - found[:, 1] <= np.log((CLASSES - (CLASSES - 1) * bound) / bound) + 1e-9).all()
    ballots = [votes.ballot(p, ALL[0], "mean", 1.0, False, bound)[0] for p in posteriors]
    assert np.sum(ballots, axis=(0, 2)) == pytest.approx(np.full(ROWS, len(posteriors)))
    ordered = np.take_along_axis(ballots[0], np.argsort(posteriors[0], axis=1), axis=1)
    assert (np.diff(ordered, axis=1) >= -1e-12).all()
