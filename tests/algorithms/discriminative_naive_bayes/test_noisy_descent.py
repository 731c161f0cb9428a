"""Learning from noisy gradients: it learns where they say something, and stays at plain naive Bayes where they do not."""

import numpy as np
import pytest
from descent_kit import PARTIES, ROWS, SHAPE, NoisySums, loss, settings

from v6_discriminative_naive_bayes.adam import trust
from v6_discriminative_naive_bayes.model import Layout, count, tables_from_counts, without_noise
from v6_discriminative_naive_bayes.training import Training


def fitted(epsilon, silent=False, **change):
    chosen = settings(**{"epsilon": epsilon, "rounds": 40, **change})
    training = Training(NoisySums(silent), range(PARTIES), SHAPE, chosen)
    training.count_tables()
    return training.learn().weights, training.federation.warnings


def learned(epsilon, silent=False, **change):
    return fitted(epsilon, silent, **change)[0]


def test_it_learns_from_gradients_that_stand_out_of_the_noise():
    plain = np.ones(SHAPE.layout.parameters)
    assert loss(learned(50.0)) < loss(plain) - 0.005


def test_noise_alone_moves_the_weights_little():
    away = learned(1.0, silent=True) - 1.0
    assert float(np.sqrt(np.mean(away**2))) < 0.7


@pytest.mark.parametrize("strength", [1e3, 1e6])
def test_a_strong_pull_keeps_plain_naive_bayes(strength):
    np.testing.assert_allclose(learned(1.0, regularization=strength), 1.0, atol=1e-3)
    assert strength > 0


def test_the_variance_of_the_noise_is_that_of_all_shares():
    chosen = settings(epsilon=1.0, rounds=300)
    training = Training(NoisySums(), range(PARTIES), SHAPE, chosen)
    training.count_tables()
    found = training._noise_variance(np.ones(SHAPE.layout.parameters), 3000)
    sums = [training._ask(np.ones((1, SHAPE.layout.parameters))) for _ in range(300)]
    assert 0.9 < found * 2.0**32 / np.var(np.array(sums), axis=0).mean() < 1.1


@pytest.mark.parametrize("optimizer", ["secure_gradient", "fedavg"])
def test_a_budget_that_can_teach_nothing_is_told(optimizer):
    weights, warnings = fitted(1e-3, optimizer=optimizer)
    assert ["epsilon" in text for text in warnings] == [True]
    assert np.all(np.isfinite(weights))


def test_a_budget_that_teaches_is_not_told_of():
    assert fitted(2.0)[1] == []


def test_numbers_are_trusted_as_far_as_they_stand_out():
    trusted = trust(np.array([0.0, 1.0, 100.0]), 1.0)
    assert trusted[0] == 0.0
    assert trusted[1] == pytest.approx(1 / 6)
    assert trusted[2] > 0.99
    assert trust(np.zeros(2), 0.0).tolist() == [0.0, 0.0]
    assert trust(np.ones(2), 0.0).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_improvements_that_drown_in_noise_leave_plain_naive_bayes(epsilon):
    weights, warnings = fitted(epsilon, optimizer="fedavg")
    assert np.abs(weights - 1.0).max() < 0.5
    assert len(warnings) == 1


def noisy(counts, deviation, seed):
    return counts + np.rint(np.random.default_rng(seed).normal(0.0, deviation, len(counts))).astype(np.int64)


@pytest.mark.parametrize("structure", ["naive", "a1de"])
def test_counts_without_noise_are_possible_ones(structure):
    layout = Layout(SHAPE.layout.cardinalities, 2, structure)
    exact = count(layout, *ROWS)
    cleaned = without_noise(layout, noisy(exact, 40.0, 1), 40.0)
    assert cleaned.shape == exact.shape
    assert cleaned.dtype == np.int64
    assert cleaned.min() >= 0
    values = cleaned[2 : 2 * (1 + layout.values)].reshape(-1, 2)
    sums = np.add.reduceat(values, layout.starts, axis=0)
    assert (sums <= cleaned[:2] + layout.values).all()
    assert np.abs(cleaned[:2] - exact[:2]).max() < 200


def test_a_value_that_noise_alone_makes_is_little_evidence():
    layout = Layout((4,), 2)
    exact = np.array([1000, 1000, 500, 900, 500, 100, 0, 0, 0, 0])
    told = exact + np.array([0, 0, 0, 0, 0, 0, 90, -90, -60, 60])
    says = [
        np.diff(tables_from_counts(layout, cells).single, axis=1)[:, 0]
        for cells in (told, without_noise(layout, told, 60.0))
    ]
    assert np.abs(says[0][2:]).min() > 4.0
    assert np.abs(says[1][2:]).max() < 2.0
    np.testing.assert_allclose(says[1][:2], np.log([900 / 500, 100 / 500]), atol=0.35)


def test_tables_of_counts_without_noise_are_nearer_to_the_exact_ones():
    exact = count(SHAPE.layout, *ROWS)
    truth = tables_from_counts(SHAPE.layout, exact).single
    away = []
    for seed in range(20):
        told = noisy(exact, 150.0, seed)
        found = [
            tables_from_counts(SHAPE.layout, cells).single for cells in (told, without_noise(SHAPE.layout, told, 150.0))
        ]
        away.append([np.abs(one - truth).mean() for one in found])
    raw, cleaned = np.mean(away, axis=0)
    assert cleaned < 0.8 * raw


def test_missing_values_stay_missing_where_they_stand_out_of_the_noise():
    layout = Layout((2,), 2)
    cleaned = without_noise(layout, np.array([1000, 1000, 200, 300, 200, 300]), 10.0)
    assert np.abs(cleaned[2:].reshape(2, 2).sum(axis=0) - [400, 600]).max() <= 2
