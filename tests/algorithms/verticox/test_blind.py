"""A given model judged on new records with nobody seeing a number of one of them."""

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

from fedbayes.federation.errors import ArgumentError
from v6_verticox.cox import inference, likelihood

COEFFICIENTS = {"age": 0.9, "dose": -0.3}
ROWS = 150


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"age": rng.normal(1.0, 1.0, ROWS), "dose": rng.normal(size=ROWS)})
    death = rng.exponential(np.exp(-0.5 * frame["age"] + 0.4 * frame["dose"]))
    censored = rng.exponential(2.0, ROWS)
    frame["time"], frame["event"] = np.minimum(death, censored), (death <= censored).astype(int)
    return frame


@pytest.fixture(scope="module")
def federation(records):
    parties = {"a": records[["age"]], "b": records[["dose", "time", "event"]]}
    with OneProcess(parties=parties, helpers=["helper"], policies={"*": {"allow_predictions": False}}) as running:
        yield running


def given(**more):
    return {
        "time": "time",
        "event": "event",
        "features": ["age", "dose"],
        "coefficients": [{"feature": name, "coefficient": value} for name, value in COEFFICIENTS.items()],
        "offset": 0.25,
        "baseline": {"time": [0.1, 0.5], "cumulative_hazard": [0.2, 0.9]},
        **more,
    }


@pytest.mark.usefixtures("fine_hazards")
def test_parity_with_pooled_records(federation, records):
    found = federation.run("verticox", "evaluate", {"model": given(), "reveal": "aggregates", "rows_aligned": True})
    metrics = found["metrics"]
    values, beta = records[["age", "dose"]].to_numpy(), np.array(list(COEFFICIENTS.values()))
    risk = likelihood.RiskSets.of(records["time"].to_numpy(), records["event"].to_numpy())
    here = likelihood.evaluate(risk, values, beta)
    steepness = beta @ here.information @ beta
    error = steepness**-0.5  # numbers are told to three digits of it
    assert metrics["calibration_slope"] == pytest.approx(1.0 + beta @ here.gradient / steepness, abs=0.006 * error)
    assert metrics["calibration_slope_standard_error"] == pytest.approx(error, rel=0.006)
    statistic = here.gradient @ np.linalg.solve(here.information, here.gradient)
    assert metrics["fit_test"]["statistic"] == pytest.approx(statistic, rel=0.006)
    assert_baselines(metrics["baseline"][0], risk, values, beta)
    assert found["federation"]["rounds"] <= 60
    assert "nobody" in found["diagnostics"]["concordance"]
    assert found["concordance"] is None


def assert_baselines(told, risk, values, beta):
    """Both cumulative hazards are those of a record at the mean of these records."""
    mean = values.mean(axis=0) @ beta
    hazard = likelihood.evaluate_predictor(risk, values @ beta - mean)[2]
    near = np.abs(np.array(told["cumulative_hazard"])[:, None] - hazard[None, :]).min(axis=1)
    assert np.all(near <= 0.006 * np.array(told["cumulative_hazard"]))
    expected = np.where(np.array(told["time"]) >= 0.5, 0.9, np.where(np.array(told["time"]) >= 0.1, 0.2, 0.0))
    np.testing.assert_allclose(told["model_cumulative_hazard"], expected * np.exp(mean - 0.25), rtol=1e-6)


def test_bad_input(federation):
    for change, text in (({"reveal": "all"}, "reveal"), ({"reveal": "aggregates", "folds": 5}, "leave folds out")):
        with pytest.raises(ArgumentError, match=text):
            federation.run("verticox", "evaluate", {"model": given(), "rows_aligned": True, **change})
    more = [{"feature": "age", "coefficient": 1.0}]
    with pytest.raises(ArgumentError, match="'dose'"):
        federation.run(
            "verticox", "evaluate", {"model": given(coefficients=more), "reveal": "aggregates", "rows_aligned": True}
        )


def test_the_score_test_counts_columns_that_say_something():
    rng = np.random.default_rng(3)
    columns = rng.normal(size=(40, 2))
    score = columns.T @ rng.normal(size=40)
    expected = score @ np.linalg.solve(columns.T @ columns, score)
    more = np.column_stack([columns[:, 0], np.full(40, 0.0), columns[:, 1], columns[:, 0]])
    statistic, degrees = inference.score_test(np.array([score[0], 0.0, score[1], score[0]]), more.T @ more)
    assert degrees == 2
    assert statistic == pytest.approx(expected, rel=1e-9)
