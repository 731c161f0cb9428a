"""The likelihood from slopes: the rule's degree, its error estimate, and the path."""

import numpy as np
import pandas as pd
import pytest

from v6_verticox import model
from v6_verticox.line_integral import FRACTIONS, Ends, Path, integrate


@pytest.mark.parametrize("degree", range(12))
def test_polynomials_are_integrated_to_degree_eleven(degree):
    """Four nodes with the weight t^2 (1 - t)^2 of Jacobi: exact to degree 2 * 4 + 4 - 1."""
    ends = Ends((float(degree == 0), 1.0), (float(degree == 1), float(degree)))
    assert integrate(ends, np.array(FRACTIONS) ** degree) == pytest.approx(1.0 / (degree + 1), rel=1e-12)


def test_nodes_are_the_roots_of_the_jacobi_polynomial():
    from scipy.special import roots_jacobi

    np.testing.assert_allclose(FRACTIONS, (roots_jacobi(4, 2, 2)[0] + 1.0) / 2.0, atol=1e-15)


def walked(risk, values, points, straight):
    path = Path()
    for place, point in enumerate(points):
        here = model.evaluate(risk, values, point)
        path.add(point, here.gradient, here.information)
        if place == straight:
            path.go_straight(
                np.array([model.evaluate(risk, values, f * point).gradient @ point for f in FRACTIONS]), 0.0
            )
    return path.gain()


@pytest.mark.parametrize("name", ["rossi", "lung", "gbsg2", "veteran", "seer_breast"])
def test_gain_on_real_data(paper_data, name):
    frame = pd.get_dummies(paper_data(name).dropna(), drop_first=True, dtype=float)
    features = [column for column in frame if column not in ("time", "event") and not column.startswith("6th")]
    values = frame[features].to_numpy(dtype=float)
    values = (values - values.mean(axis=0)) / values.std(axis=0)
    risk = model.RiskSets.of(frame["time"].to_numpy(), frame["event"].to_numpy())
    fit = model.fit(risk, values, features)
    expected = fit.log_likelihood - fit.null_log_likelihood
    points = [np.zeros(len(features)), 0.5 * fit.coefficients, 0.97 * fit.coefficients, fit.coefficients]
    gain, error = walked(risk, values, points, straight=3)
    assert abs(gain - expected) <= 1e-8 * expected
    assert abs(gain - expected) <= error <= 1e-5 * expected
    coarse, coarse_error = walked(risk, values, points, straight=None)
    assert 1e-8 * expected < abs(coarse - expected) < coarse_error
