"""What the published protocol gives away, executed; and that the same attack has no input in the private solver."""

import numpy as np

from v6_verticox.cox import likelihood
from v6_verticox.rounds.lockstep import alone
from v6_verticox.solvers.newton import solve
from verticox import pooled

FEATURES = ["fin", "age", "race", "wexp", "mar", "paro", "prio"]


def split(frame):
    values = frame[FEATURES].to_numpy(dtype=float)
    scaled = (values - values.mean(axis=0)) / values.std(axis=0)
    return [scaled[:, :3], scaled[:, 3:]], frame["time"].to_numpy(), frame["event"].to_numpy()


def test_published_aggregator_rebuilds_a_station_from_predictors_and_coefficients(paper_data):
    """Published ADMM: predictors of as many iterations as columns, and the coefficients, are a linear system."""
    blocks, time, event = split(paper_data("rossi"))
    seen = pooled.Views()
    pooled.fit(blocks, likelihood.RiskSets.of(time, event), rho=0.25, iterations=8, views=seen)
    predictors = np.stack([iteration[0] for iteration in seen.predictors], axis=1)
    coefficients = np.stack([iteration[0] for iteration in seen.coefficients], axis=1)
    rebuilt = np.linalg.lstsq(coefficients.T, predictors.T, rcond=None)[0].T
    np.testing.assert_allclose(rebuilt, blocks[0], atol=1e-5)


def test_published_aggregator_finds_binary_columns_without_coefficients(paper_data):
    """The span of the predictors is the span of the columns: a 0/1 column is found by testing candidates against it."""
    blocks, time, event = split(paper_data("rossi"))
    seen = pooled.Views()
    pooled.fit(blocks, likelihood.RiskSets.of(time, event), rho=0.25, iterations=8, views=seen)
    predictors = np.stack([iteration[0] for iteration in seen.predictors], axis=1)
    basis = np.linalg.svd(np.column_stack([predictors, np.ones(len(time))]), full_matrices=False)[0][:, :4]
    secret = paper_data("rossi")["fin"].to_numpy(dtype=float)
    guessed = np.random.default_rng(0).permutation(secret)
    assert np.linalg.norm(secret - basis @ (basis.T @ secret)) < 1e-5
    assert np.linalg.norm(guessed - basis @ (basis.T @ guessed)) > 1.0


def test_private_solver_gives_the_attack_nothing(paper_data, rehearse):
    """Whatever vectors of one element a record a role receives explain no column better than random vectors would."""
    frame = paper_data("rossi")
    surface, _ = rehearse(frame, FEATURES, 3)
    alone(solve(surface, np.zeros(7), 1e-7, 30))
    received = []
    for role in ("parties", "outcome"):
        for message in surface.views[role]:
            received += [array.decode(126) for array in message.values() if array.shape == (len(frame), 1)]
    vectors = np.concatenate(received, axis=1)[:, :40]
    secret = np.concatenate(surface.columns, axis=1)
    secret = secret[surface.holder.order] - secret.mean(axis=0)
    basis = np.linalg.qr(vectors - vectors.mean(axis=0))[0]
    explained = np.sum((basis.T @ secret) ** 2, axis=0) / np.sum(secret**2, axis=0)
    assert vectors.shape[1] >= 20
    assert np.all(explained < vectors.shape[1] / len(frame) + 0.12)
