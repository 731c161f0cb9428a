"""What the log-likelihood at zero of a Cox fit to linked records says of who had an event: without covariates it is a sum of logarithms of whole numbers."""

import contextlib
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

from v6_verticox.cox.scores import coarse_start

ROWS, DIED = 22, 13


def tables():
    draw = np.random.default_rng(3)
    died = np.isin(np.arange(ROWS), draw.choice(ROWS, DIED, replace=False)).astype(int)
    ids = {"id": [f"p{row:02d}" for row in range(ROWS)]}
    return {
        "a": pd.DataFrame({**ids, "time": np.sort(draw.exponential(100.0, ROWS)), "event": died}),
        "b": pd.DataFrame({**ids, "x": draw.normal(size=ROWS)}),
        "c": pd.DataFrame({**ids, "y": draw.normal(size=ROWS)}),
    }


def ways(told, within):
    """Return in how many ways the events may lie among the records, in the order of the times, so that the log-likelihood is as told."""
    sums, counts = np.zeros(1), np.zeros(1, dtype=int)
    for at_risk in range(ROWS, 0, -1):
        sums, counts = np.append(sums, sums - np.log(at_risk)), np.append(counts, counts + 1)
    return int(np.sum(np.abs(sums[counts == DIED] - told) <= within))


@pytest.mark.parametrize("solver", ["private_newton", "bfgs"])
def test_the_error_that_is_named_counts_the_step(solver):
    """The step was left out: of 42 records with 30 events the likelihood was off by 1e-4 where the error was 2e-6."""
    asked = {"time": "time", "event": "event", "features": ["x"], "id_column": "id", "solver": solver}
    running = OneProcess(tables(), helpers=["h"], policies={"*": {"allow_predictions": True}})
    result = running.run("verticox", "fit", asked, "b")
    at_risk = ROWS - np.flatnonzero(tables()["a"]["event"])  # times are sorted
    off = abs(result["model"]["null_log_likelihood"] + np.log(at_risk).sum())
    assert 1e-6 < off <= result["diagnostics"]["log_likelihood_error"] < 0.02


@pytest.mark.few(2)
@pytest.mark.parametrize("solver", ["private_newton", "bfgs"])
@pytest.mark.parametrize("exact", [False, True], ids=["as told", "control"])
def test_it_leaves_many_ways_in_which_events_may_lie(solver, exact):
    """Of 497,420; to all its digits it leaves some sixty."""
    asked = {"time": "time", "event": "event", "features": ["x"], "id_column": "id", "solver": solver}
    unguarded = mock.patch("v6_verticox.stations.outcome.coarse_start", lambda value, *_: value)
    running = OneProcess(tables(), helpers=["h"], policies={"*": {"allow_predictions": True}})
    with unguarded if exact else contextlib.nullcontext():
        model = running.run("verticox", "fit", asked, "b")["model"]
    gain = model["likelihood_ratio_test"]["statistic"] / 2
    for told in (model["null_log_likelihood"], model["log_likelihood"] - gain):
        assert ways(told, 1e-9) < 100 if exact else ways(told, 0.0025) > 500


def test_of_many_records_it_is_told_as_it_is():
    value = -431.123456789012345
    assert coarse_start(value, 200, 90) == value
    assert coarse_start(value, 60, 40) == pytest.approx(value, abs=1e-6)
    assert coarse_start(value, 30, 30) == value, "which records had an event is known"
    assert coarse_start(0.0, 10, 0) == 0.0
