"""Predictions in groups: the same whatever the order of classes, and no other class than without groups."""

import numpy as np
import pytest

from fedbayes.bayes.evaluation.small_counts import grouped

LEAST = 7


def drawn(seed):
    """Return predictions with ties and even odds, (rows, classes), and weights."""
    draw = np.random.default_rng(seed)
    classes, rows = int(draw.integers(2, 5)), int(draw.integers(5, 80))
    parts = draw.integers(1, 6, (rows, classes)).astype(float)
    return parts / parts.sum(axis=1, keepdims=True), draw.integers(1, 4, rows).astype(float), draw


def test_the_order_of_classes_and_rows_decides_nothing() -> None:
    for seed in range(200):
        found, weight, draw = drawn(seed)
        rows, turn = draw.permutation(len(weight)), draw.permutation(found.shape[1])
        plain = grouped(found, weight, LEAST)
        turned = grouped(found[rows][:, turn], weight[rows], LEAST)
        np.testing.assert_allclose(turned, plain[rows][:, turn], atol=1e-12, err_msg=str(seed))


def test_groups_are_large_enough() -> None:
    for seed in range(200):
        found, weight, _ = drawn(seed)
        told = grouped(found, weight, LEAST)
        _, place = np.unique(told.round(12), axis=0, return_inverse=True)
        assert np.bincount(place.ravel(), weights=weight).min() >= min(LEAST, weight.sum())


def test_a_class_that_enough_records_are_predicted_stays_theirs() -> None:
    """What is left over of a class was in one group with the next class: an accuracy was one record below that of the same model elsewhere."""
    for seed in range(200):
        draw = np.random.default_rng(seed)
        found = draw.dirichlet(np.ones(3), 100)
        predicted = found.argmax(axis=1)
        assert np.bincount(predicted, minlength=3).min() >= LEAST
        assert (grouped(found, np.ones(100), LEAST).argmax(axis=1) == predicted).all(), seed


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_a_rare_class_is_with_the_least_certain(order) -> None:
    found = np.array([[0.9, 0.1]] * 20 + [[0.6, 0.4]] * 8 + [[0.2, 0.8]] * 2)[:, order]
    told = grouped(found, np.ones(30), LEAST)
    assert len(np.unique(told.round(12), axis=0)) == 2
    assert told[-1] == pytest.approx(np.array([0.52, 0.48])[order])
