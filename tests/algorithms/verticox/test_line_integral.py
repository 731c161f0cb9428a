"""The likelihood from slopes: the rule's degree, its error estimate, and the path."""

import numpy as np
import pandas as pd
import pytest

from v6_verticox.cox import likelihood
from v6_verticox.cox.line_integral import FURTHEST, Ends, Path, fractions, integrate, nodes_for


@pytest.mark.parametrize(("nodes", "degree"), [(n, degree) for n in (2, 3, 4, 6) for degree in range(2 * n + 4)])
def test_polynomials_are_integrated(nodes, degree):
    """Nodes with the weight t^2 (1 - t)^2 of Jacobi: exact to degree 2 n + 4 - 1."""
    ends = Ends((float(degree == 0), 1.0), (float(degree == 1), float(degree)))
    assert integrate(ends, np.array(fractions(nodes)) ** degree) == pytest.approx(1.0 / (degree + 1), rel=1e-12)


def test_nodes_are_the_roots_of_the_jacobi_polynomial():
    from scipy.special import roots_jacobi

    for nodes in (2, 3, 4, 6):
        np.testing.assert_allclose(fractions(nodes), (roots_jacobi(nodes, 2, 2)[0] + 1.0) / 2.0, atol=1e-15)


def test_the_curvature_after_a_last_step_is_carried_along_the_one_before():
    path, slope, first = Path(), np.array([[0.2, 0.1], [0.1, -0.3]]), np.diag([2.0, 3.0])
    for share in (0.0, 0.9):
        path.add(share * np.array([1.0, 2.0]), np.zeros(2), first + share * slope)
    np.testing.assert_allclose(path.information_after(np.array([0.1, 0.2])), first + slope)
    np.testing.assert_allclose(path.information_after(np.zeros(2)), first + 0.9 * slope)
    far = path.information_after(np.array([10.0, 20.0]))
    np.testing.assert_allclose(far, first + 0.9 * (1.0 + FURTHEST) * slope)


@pytest.mark.parametrize("strength", [0.1, 0.4, 0.7, 1.0, 1.5, 2.5])
@pytest.mark.parametrize("seed", range(3))
def test_as_many_nodes_as_the_effects_need(strength, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(400, 4))
    values[:, 3] = values[:, 3] > 0.8
    values -= values.mean(axis=0)
    death = rng.exponential(np.exp(-values @ (strength * np.array([0.7, -0.5, 0.3, 0.6]))))
    censored = rng.exponential(2.0, 400)
    risk = likelihood.RiskSets.of(np.minimum(death, censored), (death <= censored).astype(int))
    fit = likelihood.fit(risk, values, list("abcd"))
    spread = float(np.sqrt(fit.coefficients @ fit.information @ fit.coefficients / risk.event.sum()))
    nodes = nodes_for(spread, False)
    gain, _ = walked(risk, values, [np.zeros(4), fit.coefficients], 1, nodes)
    expected = fit.log_likelihood - fit.null_log_likelihood
    assert abs(gain - expected) <= 3e-8 * expected
    assert nodes == (2 if spread <= 0.4 else 3 if spread <= 1.0 else 4)


def walked(risk, values, points, straight, nodes=4):
    path = Path()
    for place, point in enumerate(points):
        here = likelihood.evaluate(risk, values, point)
        path.add(point, here.gradient, here.information)
        if place == straight:
            path.go_straight(
                np.array([likelihood.evaluate(risk, values, f * point).gradient @ point for f in fractions(nodes)]), 0.0
            )
    return path.gain()


@pytest.mark.parametrize("name", ["rossi", "lung", "gbsg2", "veteran", "seer_breast"])
def test_gain_on_real_data(paper_data, name):
    frame = pd.get_dummies(paper_data(name).dropna(), drop_first=True, dtype=float)
    features = [column for column in frame if column not in ("time", "event") and not column.startswith("6th")]
    values = frame[features].to_numpy(dtype=float)
    values = (values - values.mean(axis=0)) / values.std(axis=0)
    risk = likelihood.RiskSets.of(frame["time"].to_numpy(), frame["event"].to_numpy())
    fit = likelihood.fit(risk, values, features)
    expected = fit.log_likelihood - fit.null_log_likelihood
    points = [np.zeros(len(features)), 0.5 * fit.coefficients, 0.97 * fit.coefficients, fit.coefficients]
    gain, error = walked(risk, values, points, straight=3)
    assert abs(gain - expected) <= 1e-8 * expected
    assert abs(gain - expected) <= error <= 1e-5 * expected
    coarse, coarse_error = walked(risk, values, points, straight=None)
    assert 1e-8 * expected < abs(coarse - expected) < coarse_error
