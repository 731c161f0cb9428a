"""Learning from noisy gradients: it learns where they say something, and stays at plain naive Bayes where they do not."""

import numpy as np
import pytest
from weighted_tables import DOMAIN, table

from fedbayes.federation.horizontal import Columns
from v6_discriminative_naive_bayes.arguments import Fit
from v6_discriminative_naive_bayes.likelihood import Evidence, loss_and_gradient
from v6_discriminative_naive_bayes.messages import Shape, StepRequest
from v6_discriminative_naive_bayes.model import count, tables_from_counts
from v6_discriminative_naive_bayes.partial import encode_rows, honest_deviation, move, prepare
from v6_discriminative_naive_bayes.training import Training, trust

SHAPE = Shape(Columns("class", ["a", "b", "c", "z"], DOMAIN), {"z": 4}, tables="dp")
ROWS = encode_rows(SHAPE, SHAPE.columns.schema.encode(table(3000, 1)))
PARTIES = 4


class NoisySums:
    """The sum of one station's rows with noise of the promised deviation; the noise has a seed, so nothing here is private."""

    def __init__(self, silent=False):
        self.generator = np.random.default_rng(5)
        self.silent = silent

        self.warnings = []

    def warn(self, text):
        self.warnings.append(text)

    def secure_sum(self, function, request, organizations, reply_type, *, field, last=False):
        if not isinstance(request, StepRequest):
            return count(SHAPE.layout, *ROWS).astype(np.uint64)
        codes, labels = ROWS
        direction = move(request, prepare(request, codes, labels), labels, request.clip)[0][1]
        wide = honest_deviation(request, PARTIES) * np.sqrt(PARTIES / request.noise.honest(PARTIES))
        noise = self.generator.normal(0.0, wide, len(direction))
        signal = np.zeros_like(noise) if self.silent else direction * 2.0**16
        return np.rint(signal + noise).astype(np.int64).astype(np.uint64)


def settings(**given):
    return Fit.read("fit", {"label": "class", "tables": "dp", **given}).settings


def fitted(epsilon, silent=False, **change):
    chosen = settings(epsilon=epsilon, rounds=40, **change)
    training = Training(NoisySums(silent), range(PARTIES), SHAPE, chosen)
    training.count_tables()
    return training.learn().weights, training.federation.warnings


def learned(epsilon, silent=False, **change):
    return fitted(epsilon, silent, **change)[0]


def loss(weights):
    codes, labels = ROWS
    tables = tables_from_counts(SHAPE.layout, count(SHAPE.layout, codes, labels))
    return loss_and_gradient(Evidence.of(SHAPE.layout, tables, codes), weights, labels)[0] / len(labels)


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
    assert trusted[1] == pytest.approx(0.25)
    assert trusted[2] > 0.99
    assert trust(np.zeros(2), 0.0).tolist() == [0.0, 0.0]
    assert trust(np.ones(2), 0.0).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_improvements_that_drown_in_noise_leave_plain_naive_bayes(epsilon):
    weights, warnings = fitted(epsilon, optimizer="fedavg")
    assert np.abs(weights - 1.0).max() < 0.5
    assert len(warnings) == 1
