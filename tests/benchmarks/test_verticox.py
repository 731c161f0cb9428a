"""Time of vertical Cox: all roles of the private solver in one process, and growth with the records, as ratios."""

import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from v6_verticox import admm, model
from v6_verticox.newton import solve

pytestmark = pytest.mark.benchmark
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "algorithms" / "verticox"))


def records(rows, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rows, 6))
    death = rng.exponential(np.exp(-values @ [0.5, -0.4, 0.3, 0.2, -0.3, 0.1]))
    censored = rng.exponential(2.0, rows)
    frame = pd.DataFrame(values, columns=[f"x{i}" for i in range(6)])
    frame["time"], frame["event"] = np.minimum(death, censored), (death <= censored).astype(int)
    return frame


def seconds(function):
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def test_ten_thousand_records_against_a_pooled_fit():
    """The published protocol took 32,359 s (65 s an iteration); a pooled fit takes well under a second."""
    from conftest import Rehearsal, standardised

    frame = records(10_000)
    features = [f"x{i}" for i in range(6)]
    values, _ = standardised(frame, features)
    surface = Rehearsal(
        [values[:, :2], values[:, 2:4], values[:, 4:]], frame["time"].to_numpy(), frame["event"].to_numpy()
    )
    private = seconds(lambda: solve(surface, np.zeros(6), 1e-7, 30))
    risk = model.RiskSets.of(frame["time"].to_numpy(), frame["event"].to_numpy())
    pooled = seconds(lambda: model.fit(risk, values, features))
    print(f"private_newton, all roles in one process: {private:.1f} s, pooled {pooled:.3f} s, {surface.rounds} rounds")
    assert private < 60.0


def test_an_admm_iteration_grows_linearly():
    times = {}
    for rows in (1_000, 10_000, 100_000):
        frame = records(rows)
        blocks = [frame[["x0", "x1", "x2"]].to_numpy(), frame[["x3", "x4", "x5"]].to_numpy()]
        risk = model.RiskSets.of(frame["time"].to_numpy(), frame["event"].to_numpy())
        times[rows] = seconds(lambda b=blocks, r=risk: admm.fit(b, r, rho=0.25, iterations=5)) / 5
    print("seconds an ADMM iteration:", times)
    assert times[100_000] / times[10_000] < 25.0
