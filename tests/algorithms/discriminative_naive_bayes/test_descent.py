"""The optimiser of several points a round: bounds, convergence, and against scipy's."""

import numpy as np
import pytest
from scipy.optimize import minimize

from v6_discriminative_naive_bayes.descent import Memory, Point, expected_curvature, minimise
from v6_discriminative_naive_bayes.likelihood import Evidence, loss_and_gradient
from v6_discriminative_naive_bayes.messages import MOST_POINTS
from v6_discriminative_naive_bayes.model import Layout, count, tables_from_counts


def quartic(points):
    away = points - 3.0
    square = np.square(away).sum(axis=1)
    return square**2, 4.0 * away * square[:, None]


def test_it_asks_no_more_often_than_allowed_and_keeps_the_best():
    asked = []

    def objective(points):
        asked.append(points)
        return quartic(points)

    fit = minimise(objective, np.zeros(4), 6, 0.0)
    assert len(asked) == len(fit.objective) == 6
    assert max(len(points) for points in asked) <= MOST_POINTS
    assert fit.objective == sorted(fit.objective, reverse=True)
    assert fit.objective[-1] == pytest.approx(quartic(fit.weights[None])[0][0])
    assert not fit.converged


@pytest.mark.parametrize("curved", [False, True])
def test_it_finds_the_least_point_of_an_ill_conditioned_bowl(curved):
    scales = 10.0 ** np.linspace(-2, 2, 12) if curved else 10.0 ** np.linspace(-1, 1, 12)

    def objective(points):
        return 0.5 * (scales * np.square(points - 1.0)).sum(axis=1), scales * (points - 1.0)

    fit = minimise(objective, np.full(12, 5.0), 60, 1e-12, scales if curved else None)
    assert fit.converged
    np.testing.assert_allclose(fit.weights, 1.0, atol=1e-3)
    assert len(fit.objective) < (10 if curved else 60)


def test_it_stops_at_once_where_there_is_nothing_to_gain():
    fit = minimise(lambda points: (np.zeros(len(points)), np.zeros_like(points)), np.ones(3), 9, 1e-6)
    assert fit.converged
    assert fit.objective == [0.0]


def test_it_needs_fewer_rounds_than_one_point_a_round():
    layout = Layout((4, 4, 3, 3, 3), 3)
    generator = np.random.default_rng(3)
    codes = np.column_stack([generator.integers(0, size, 600) for size in layout.cardinalities]).astype(np.int32)
    labels = ((codes[:, 0] + 2 * codes[:, 2] * codes[:, 3] + generator.integers(0, 2, 600)) // 3 % 3).astype(np.int64)
    counts = count(layout, codes, labels)
    tables = tables_from_counts(layout, counts)
    evidence = Evidence.of(layout, tables, codes)

    def single(weights):
        loss, gradient = loss_and_gradient(evidence, weights, labels)
        return loss / 600, gradient / 600

    def several(points):
        told = [single(weights) for weights in points]
        return np.array([value for value, _ in told]), np.array([gradient for _, gradient in told])

    start = np.ones(layout.parameters)
    least = minimize(single, start, jac=True, method="L-BFGS-B", options={"maxiter": 2000, "ftol": 1e-14}).fun
    within = minimize(single, start, jac=True, method="L-BFGS-B", options={"maxfun": 12}).fun
    fit = minimise(several, start, 12, 0.0, expected_curvature(layout, tables, counts))
    assert fit.objective[-1] - least < 0.5 * (within - least) + 1e-9


def test_pairs_without_curvature_are_left_out():
    memory = Memory(np.ones(2))
    here = Point(np.zeros(2), 1.0, np.ones(2))
    memory.learn(here, [Point(np.ones(2), 2.0, np.zeros(2)), Point(np.ones(2), 2.0, np.full(2, 3.0))])
    assert len(memory.pairs) == 1
