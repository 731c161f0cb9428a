"""The published solver: its linear-time auxiliary step against the dense one, and its accuracy by iterations."""

import numpy as np
import pytest

from v6_verticox import admm, model


def problem(rows=60, seed=0):
    rng = np.random.default_rng(seed)
    time, event = rng.integers(1, 20, rows).astype(float), rng.integers(0, 2, rows)
    return model.RiskSets.of(time, event), time, event, rng.normal(size=rows)


def dense_gradient(time, event, z, target, parties, rho):
    weight = np.exp(parties * z)
    hazard = np.array(
        [sum(1.0 / weight[time >= t].sum() for t, d in zip(time, event, strict=True) if d and t <= own) for own in time]
    )
    return weight * hazard + rho * (z - target)


@pytest.mark.parametrize("rho", [0.05, 0.25, 2.0])
def test_auxiliary_step_is_the_minimiser(rho):
    risk, time, event, target = problem()
    z = admm.auxiliary(risk, target, np.zeros(len(target)), 3, rho)
    np.testing.assert_allclose(dense_gradient(time, event, z, target, 3, rho), 0.0, atol=1e-9)


def test_banded_solution_is_the_dense_one():
    rng = np.random.default_rng(1)
    weight, kernel, right = rng.uniform(0.5, 2, 30), rng.uniform(0, 0.01, 30), rng.normal(size=30)
    diagonal = rng.uniform(5, 9, 30)
    suffix = np.triu(np.ones((30, 30)))
    dense = np.diag(diagonal) - np.diag(weight) @ suffix.T @ np.diag(kernel) @ suffix @ np.diag(weight)
    np.testing.assert_allclose(admm._solved(diagonal, weight, kernel, right), np.linalg.solve(dense, right), rtol=1e-9)


@pytest.mark.parametrize("parties", [2, 3])
def test_table_of_the_paper(paper_data, parties):
    """SEER, 100 records, numeric columns: published largest errors 8e-4 to 2e-3 (100 iterations) and 2.7e-6 to 4.3e-6 (500)."""
    frame = paper_data("seer_breast").sample(n=100, random_state=3)
    columns = ["Age", "Tumor Size", "Regional Node Examined", "Reginol Node Positive"]
    values = frame[columns].to_numpy(dtype=float)
    values = (values - values.mean(axis=0)) / values.std(axis=0)
    risk = model.RiskSets.of(frame["time"].to_numpy(), frame["event"].to_numpy())
    expected = model.fit(risk, values, columns).coefficients
    blocks = np.split(values, [2] if parties == 2 else [1, 3], axis=1)
    errors = {}
    for iterations in (100, 500, 1500):
        found = np.concatenate(admm.fit(blocks, risk, rho=0.25, iterations=iterations).coefficients)
        errors[iterations] = np.max(np.abs(found - expected))
    assert errors[100] < 2e-3
    assert errors[500] < 4e-6
    assert errors[1500] < 4e-6
    assert errors[500] <= errors[100] + 1e-12


def test_it_stops_by_the_residuals(paper_data):
    frame = paper_data("rossi")
    values = frame[["fin", "age", "prio"]].to_numpy(dtype=float)
    values = (values - values.mean(axis=0)) / values.std(axis=0)
    risk = model.RiskSets.of(frame["time"].to_numpy(), frame["event"].to_numpy())
    found = admm.fit([values[:, :1], values[:, 1:]], risk, rho=0.25, iterations=1000, tolerance=1e-5)
    assert found.iterations < 1000
    assert max(found.primal, found.dual) <= 1e-5
    np.testing.assert_allclose(
        np.concatenate(found.coefficients), model.fit(risk, values, list("abc")).coefficients, atol=1e-3
    )
