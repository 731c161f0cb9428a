"""The mean of the records at risk, as a normal law predicts it, beside that of simulated records."""

import numpy as np
import pytest

from v6_verticox.horizontal.private.drift import drifted, predicted
from v6_verticox.horizontal.private.matrix import Information
from v6_verticox.horizontal.private.outline import Outline

COVARIANCE = np.array([[1.0, 0.3], [0.3, 0.5]])
TRUTH = np.array([0.8, -0.6])
EDGES = np.linspace(0.0, 1.5, 16)


def simulated(rows: int) -> tuple[Outline, np.ndarray, np.ndarray]:
    """Return the outline of records without noise, their columns and times."""
    rng = np.random.default_rng(5)
    x = rng.multivariate_normal(np.zeros(2), COVARIANCE, rows)
    died = rng.exponential(1.0, rows) / np.exp(x @ TRUTH)
    time = np.minimum(died, rng.exponential(3.0, rows))
    events = np.histogram(time[died <= time], EDGES)[0].astype(float)
    width = np.diff(EDGES)
    at_risk = np.array([np.clip(time - low, 0.0, step).sum() / step for low, step in zip(EDGES, width, strict=False)])
    outline = Outline(EDGES[1:], events, at_risk, np.zeros(2), np.diag(COVARIANCE), rows, 0.0, 0.0, False)
    return outline, x, time


@pytest.mark.parametrize("weights", [np.zeros(2), 0.5 * TRUTH, TRUTH])
def test_the_drift_is_that_of_simulated_records(weights: np.ndarray) -> None:
    outline, x, time = simulated(200_000)
    centre = COVARIANCE @ weights
    told = predicted(outline, TRUTH, weights, COVARIANCE, centre)
    for cell, middle in enumerate((EDGES[:-1] + EDGES[1:]) / 2.0):
        left = time > middle
        risk = np.exp(x[left] @ weights)
        seen = (risk[:, None] * x[left]).sum(axis=0) / risk.sum() - centre
        np.testing.assert_allclose(told[:, cell], seen, atol=0.03)
    assert np.abs(told[:, -1]).max() > 0.3, "control: there is something to predict"


def test_without_effects_nothing_drifts() -> None:
    outline, _, _ = simulated(1_000)
    np.testing.assert_array_equal(predicted(outline, np.zeros(2), np.zeros(2), COVARIANCE, np.zeros(2)), 0.0)


class Periods:
    """What `drifted` reads of a request."""

    periods = np.array([2, 5])
    groups = np.array([0, 2, 3, 5])


def test_a_noisy_mean_is_drawn_to_the_predicted_one_and_a_clear_one_is_kept() -> None:
    events, expected = np.full(6, 10.0), np.tile([[0.5], [-0.2]], (1, 6))
    sums = np.array([[30.0, 0.0], [0.0, 30.0]])
    counts, clear, within = drifted(events, Periods, sums, 1e-6, expected)
    np.testing.assert_allclose(clear, sums / 30.0, atol=1e-6)
    _, lost, _ = drifted(events, Periods, sums, 1e6, expected)
    np.testing.assert_allclose(lost, expected[:, :2], atol=1e-6)
    np.testing.assert_array_equal(counts, 30.0)
    np.testing.assert_array_equal(within, [0, 0, 1, 1])


def test_matrices_that_cuts_make_smaller_share_their_shape() -> None:
    shape = np.array([[1.3, 0.2], [0.2, 0.7]])
    information = Information(2, 1.0)
    information.learn(np.eye(2), shape, 1e-3, False)
    last = information.learn(np.eye(2), 0.6 * shape, 1e-3, True)
    assert information.scale == pytest.approx(0.6, abs=0.01)
    np.testing.assert_allclose(last, shape, atol=0.02)
