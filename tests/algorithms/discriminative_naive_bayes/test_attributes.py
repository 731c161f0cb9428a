"""The first private rounds: one weight for each attribute, from noisy gradients and the curvature that the tables tell."""

from dataclasses import replace

import numpy as np
import pytest
from descent_kit import PARTIES, ROWS, SHAPE, NoisySums, settings

from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.horizontal import Columns
from v6_discriminative_naive_bayes import attributes, terms
from v6_discriminative_naive_bayes.likelihood import Evidence, loss_and_gradient
from v6_discriminative_naive_bayes.messages import Shape, StepRequest
from v6_discriminative_naive_bayes.model import Layout, count, tables_from_counts
from v6_discriminative_naive_bayes.training import Training

LAYOUT = replace(SHAPE.layout, weights="attribute")
COUNTS = count(LAYOUT, *ROWS)
TABLES = tables_from_counts(LAYOUT, COUNTS)


def test_the_tables_tell_the_second_derivatives_of_the_prior():
    """Of scores that are all 0, where the second derivative of a row is the variance of what is said under the prior; rows made of the tables."""
    generator = np.random.default_rng(3)
    labels = generator.choice(2, 60_000, p=COUNTS[:2] / COUNTS[:2].sum())
    cells = COUNTS[2:].reshape(-1, 2)
    codes = np.zeros((len(labels), len(LAYOUT.cardinalities)), dtype=np.int32)
    for place, (start, width) in enumerate(zip(LAYOUT.starts, LAYOUT.cardinalities, strict=True)):
        for label in (0, 1):
            chances = cells[start : start + width, label] / cells[start : start + width, label].sum()
            codes[labels == label, place] = generator.choice(width, int((labels == label).sum()), p=chances)
    evidence = Evidence.of(LAYOUT, TABLES, codes)
    weights = np.concatenate([np.ones(2), np.zeros(LAYOUT.parameters - 2)])  # the prior alone
    found = np.zeros((LAYOUT.parameters, LAYOUT.parameters))
    for place in range(LAYOUT.parameters):
        step = np.zeros(LAYOUT.parameters)
        step[place] = 1e-4
        ends = [loss_and_gradient(evidence, weights + sign * step, labels)[1] for sign in (1, -1)]
        found[place] = (ends[0] - ends[1]) / 2e-4
    told = attributes.information(LAYOUT, TABLES, COUNTS) / attributes.CERTAINTY / COUNTS[:2].sum()
    np.testing.assert_allclose(told, found / len(labels), atol=0.02 * np.abs(told).max())


def test_without_noise_the_filter_finds_the_best_weights_of_a_quadratic():
    told = np.array([[4.0, 1.0], [1.0, 2.0]])
    best = np.array([0.4, 1.3])
    found = attributes.learn(lambda weights: told @ (weights - best), told, 1e-9, 6)
    np.testing.assert_allclose(found, best, atol=1e-4)


def test_noise_that_drowns_everything_leaves_plain_naive_bayes():
    generator = np.random.default_rng(1)
    told = np.diag([4.0, 2.0])
    found = attributes.learn(lambda weights: generator.normal(0.0, 1e4, 2), told, 1e8, 6)
    np.testing.assert_allclose(found, 1.0, atol=1e-2)


COPIES = attributes.MANY
ALIKE = Shape(
    Columns(
        "class",
        [f"x{n}" for n in range(COPIES)],
        {**{f"x{n}": {"categories": [0, 1]} for n in range(COPIES)}, "class": {"categories": [0, 1]}},
    ),
    {},
    tables="dp",
)


def told_many_times():
    """Return (codes, labels) of rows of which most columns say the same thing again, so that naive Bayes is far too certain."""
    generator = np.random.default_rng(8)
    labels = generator.integers(0, 2, 4000)
    hint = labels ^ (generator.random(4000) < 0.3)
    codes = hint[:, None] ^ (generator.random((4000, COPIES)) < 0.05)
    codes[:, -1] = labels ^ (generator.random(4000) < 0.3)
    return codes.astype(np.int32), labels


def mean_loss(epsilon, **change):
    rows, found = told_many_times(), []
    exact = tables_from_counts(ALIKE.layout, count(ALIKE.layout, *rows))
    for seed in range(8):
        training = Training(
            NoisySums(rows=rows, seed=seed), range(PARTIES), ALIKE, settings(epsilon=epsilon, rounds=9, **change)
        )
        training.count_tables()
        weights = training.learn().weights
        found.append(loss_and_gradient(Evidence.of(ALIKE.layout, exact, rows[0]), weights, rows[1])[0] / len(rows[1]))
    return np.mean(found)


@pytest.mark.few(1)
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_where_attributes_say_the_same_first_rounds_by_attribute_pay_and_steps_by_terms_pay_more(monkeypatch, epsilon):
    """Mean of eight seeds of noise."""
    by_terms = mean_loss(epsilon)
    monkeypatch.setattr(terms, "MOST_WORK", 0)
    first_by_attribute = mean_loss(epsilon)
    assert first_by_attribute < mean_loss(epsilon, attribute_rounds=0) - 0.01
    assert by_terms < first_by_attribute - 0.01


class Asked(NoisySums):
    """Keeps what central asks."""

    def __init__(self):
        super().__init__()
        self.requests = []

    def secure_sum(self, function, request, *given, **named):
        if isinstance(request, StepRequest):
            self.requests.append(request)
        return super().secure_sum(function, request, *given, **named)


@pytest.mark.parametrize(
    ("given", "kinds"),
    [
        ({"attribute_rounds": 3}, ["attribute"] * 3 + ["value"] * 6),
        ({}, ["value"] * 9),
        ({"attribute_rounds": 9}, ["attribute"] * 9),
    ],
)
def test_every_step_is_asked_once_and_no_more_than_the_budget_is_for(given, kinds):
    federation = Asked()
    training = Training(federation, range(PARTIES), SHAPE, settings(epsilon=1.0, rounds=9, **given))
    training.count_tables()
    weights = training.learn().weights
    assert [request.shape.weights for request in federation.requests] == kinds
    assert [(request.step, request.steps) for request in federation.requests] == [(step, 9) for step in range(1, 10)]
    assert len(weights) == SHAPE.layout.parameters


@pytest.mark.parametrize(
    ("asked", "features", "change", "rounds"),
    [
        (None, 12, {}, 4),
        (None, 11, {}, 0),
        (None, 12, {"weights": "attribute"}, 12),
        (None, 12, {"structure": "a1de"}, 0),
        (5, 2, {}, 5),
        (0, 12, {}, 0),
    ],
)
def test_the_default_follows_from_the_plan(asked, features, change, rounds):
    assert attributes.first_rounds(asked, 12, Layout((2,) * features, 2, **change)) == rounds


def test_more_rounds_by_attribute_than_rounds_are_refused():
    with pytest.raises(ArgumentError, match="attribute_rounds"):
        settings(epsilon=1.0, rounds=3, attribute_rounds=4)
