"""Questions made around one person: coefficients, times and columns of the caller's choice."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import by_columns

from fedbayes.federation.errors import BudgetError, DataProblem, ThresholdError
from v6_verticox.cox.survival import prediction_groups
from v6_verticox.stations import assessing, guards
from v6_verticox.stations.columns import Survival, design

ROWS, LIMIT = 120, 10


def survivors(time, event):
    rows = len(time)
    return Survival(np.asarray(time, float), np.asarray(event, int), np.zeros(rows, int), ["all"])


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"id": [f"p{i:03d}" for i in range(ROWS)], "x": rng.normal(size=ROWS)})
    frame["rank"] = rng.permutation(np.arange(100, 100 + ROWS))
    frame["z"], frame.loc[7, "x"] = rng.integers(0, 2, ROWS), 9.0
    frame["time"], frame["event"] = rng.exponential(100, ROWS), (rng.random(ROWS) < 0.6).astype(int)
    return frame


def cox(coefficients, baseline=None, offset=0.0):
    return {
        "kind": "cox",
        "coefficients": [{"feature": name, "coefficient": value} for name, value in coefficients.items()],
        "features": list(coefficients),
        "time": "time",
        "event": "event",
        "offset": offset,
        "baseline": baseline or {"time": [0.0, 1000.0], "cumulative_hazard": [1.0, 1.0]},
    }


@pytest.fixture(scope="module")
def federation(records):
    parties = by_columns(records, {"a": ["time", "event"], "b": ["x", "rank"], "c": ["z"]})
    policies = {"*": {"minimum_count": LIMIT, "allow_predictions": True}}
    with OneProcess(parties=parties, helpers=["helper"], policies=policies) as running:
        yield running


@pytest.mark.few(1)
@pytest.mark.parametrize("effect", [1.1, 0.4, -1.1])
def test_coefficients_around_an_outlier(federation, effect):
    """The record with x = 9 is all that a risk set at these coefficients consists of."""
    with pytest.raises(ThresholdError, match="weigh more in the answer"):
        federation.run(
            "verticox", "evaluate", {"model": cox({"x": effect, "z": 0.05}), "reveal": "aggregates", "id_column": "id"}
        )


@pytest.mark.few(3)
@pytest.mark.parametrize("place", [0, 1, 60, ROWS - 1])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_thresholds_around_one_rank(federation, records, place, sign):
    """Survival 0 above a threshold of a feature, 1 below it: two thresholds would differ by one person."""
    threshold = float(np.sort(records["rank"])[place]) + 0.5
    model = cox({"rank": sign * 100.0, "z": 0.0}, offset=sign * 100.0 * threshold)
    with pytest.raises(ThresholdError, match="weigh more"):
        federation.run("verticox", "evaluate", {"model": model, "id_column": "id"})


@pytest.mark.audit
def test_times_around_one_record(federation, records):
    last = float(records["time"].max())
    crowded = np.quantile(records["time"], [0.3, 0.301, 0.6]).tolist()
    for times in (np.arange(1.0, last, 1.0)[:900].tolist(), crowded, [10.0, last - 1e-6], [1e-6, 100.0]):
        with pytest.raises(ThresholdError, match="times"):
            federation.run(
                "verticox", "evaluate", {"model": cox({"x": 0.05, "z": 0.1}), "times": times, "id_column": "id"}
            )


@pytest.mark.audit
def test_queries_are_charged(records, tmp_path):
    parties = by_columns(records, {"a": ["time", "event"], "b": ["rank"], "c": ["z"]})
    parties["c"] = {"default": parties["c"], "ledger": tmp_path}
    policies = {
        "*": {"allow_predictions": True},
        "c": {"ledger": "ledger", "maximum_queries": 3, "allow_foreign_models": True},
    }
    model = cox({"rank": 0.001, "z": 0.1})
    asked = {"time": "time", "event": "event", "features": ["rank", "z"], "id_column": "id", "solver": "bfgs"}
    with OneProcess(parties=parties, helpers=["helper"], policies=policies, aggregator="b") as running:
        running.run("verticox", "fit", asked)
        running.run("verticox", "evaluate", {"model": model, "id_column": "id"})
        with pytest.raises(BudgetError, match="c: "):
            running.run("verticox", "evaluate", {"model": model, "folds": 2, "id_column": "id"})
        running.run("verticox", "evaluate", {"model": model, "id_column": "id"})
        for function, arguments in (("baseline", {}), ("evaluate", {"reveal": "aggregates"}), ("predict", {})):
            with pytest.raises(BudgetError, match="c: "):
                running.run("verticox", function, {"model": model, "id_column": "id", **arguments})


def test_no_record_dominates_under_ordinary_coefficients():
    rng = np.random.default_rng(3)
    for rows in (60, 200, 5000):
        for deviation in (0.1, 0.6, 1.0):
            predictor = deviation * rng.normal(size=rows)
            guards.check_effect(predictor, 5)
            guards.check_levels(predictor, 5)
    guards.check_effect(0.8 * (np.arange(100) < 10), 5)
    guards.check_levels(4.0 * (np.arange(100) < 10), 5)


@pytest.mark.parametrize("distance", [3.0, 6.0, 20.0, 700.0])
@pytest.mark.parametrize("few", [1, 2, 4])
def test_records_that_stand_apart(distance, few):
    """Above, below, or between two crowds."""
    crowd = 0.01 * np.random.default_rng(4).normal(size=100)
    for predictor in (
        np.r_[crowd, np.full(few, distance)],
        np.r_[crowd, np.full(few, -distance)],
        np.r_[crowd, np.full(few, distance), crowd + 2.0 * distance],
    ):
        with pytest.raises(ThresholdError):
            guards.check_levels(predictor, 5)
    with pytest.raises(ThresholdError):
        guards.check_effect(np.r_[crowd, np.full(1, distance)], 5)


def test_own_times_satisfy_the_rule_for_times():
    rng = np.random.default_rng(5)
    for _ in range(50):
        rows = int(rng.integers(60, 400))
        outcome = survivors(rng.integers(1, 60, rows), rng.random(rows) < 0.6)
        guards.check_times(outcome, guards.own_times(outcome, 5), 5)


def test_own_times_are_no_times_of_events():
    """Scores told, to all digits, when one event in ten was."""
    rng = np.random.default_rng(5)
    outcome = survivors(rng.exponential(100.0, 200).round(4), rng.random(200) < 0.6)
    times = guards.own_times(outcome, 5)
    assert not np.isin(times, outcome.time).any()
    died = np.sort(outcome.time[outcome.event == 1])
    reached = died[np.searchsorted(died, times, side="right") - 1]
    assert np.isin(reached, np.quantile(died, guards.DECILES, method="lower")).all(), "each is just behind a quantile"


def test_groups_hide_single_events():
    rng = np.random.default_rng(6)
    for _ in range(50):
        outcome = survivors(rng.exponential(size=90), rng.random(90) < 0.5)
        predicted = rng.uniform(size=90)
        count = guards.most_groups(outcome, predicted, 0.7, 20, 5)
        for rows in prediction_groups(predicted, count, 0.0) if count else []:
            died = int(np.sum((outcome.time[rows] <= 0.7) & (outcome.event[rows] == 1)))
            alive = int(np.sum(outcome.time[rows] > 0.7))
            assert len(rows) >= 5
            assert all(number == 0 or number >= 5 for number in (died, alive))


def test_groups_hide_single_events_between_two_times():
    rng = np.random.default_rng(8)
    hidden = 0
    for _ in range(50):
        outcome = survivors(rng.exponential(size=200), rng.random(200) < 0.7)
        predicted = rng.uniform(size=(200, 5))
        times = np.array([0.2, 0.35, 0.5, 0.7, 1.0])
        count = guards.most_groups(outcome, predicted[:, 2], 0.5, 8, 5)
        shown = assessing._calibrations(outcome, predicted, times, count, 5)
        told = [place for place, one in enumerate(shown) if one["groups"]]
        assert not count or 2 in told
        for rows in prediction_groups(predicted[:, 2], count, 0.0) if count else []:
            died = np.array([np.sum((outcome.time[rows] <= times[one]) & (outcome.event[rows] == 1)) for one in told])
            assert all(number == 0 or number >= 5 for number in np.diff(died, prepend=0))
        hidden += 5 - len(told)
    assert hidden > 0


def test_groups_of_two_tasks_differ_in_no_few_records():
    """Of 8 groups and of 9 the first ones would differ in two records: what these had by then would follow."""
    rng = np.random.default_rng(9)
    several = 0
    for rows in (150, 201, 202, 207):
        outcome = survivors(rng.exponential(size=rows), rng.random(rows) < 0.7)
        predicted = np.round(rng.uniform(size=rows), int(rng.integers(1, 4)))
        told = [guards.most_groups(outcome, predicted, 0.7, most, 5) for most in range(2, 40)]
        parts = [prediction_groups(predicted, count, guards.RESOLUTION) for count in sorted({*told} - {0})]
        several += len(parts) > 1
        ends = [set(np.cumsum(list(map(len, part))).tolist()) for part in parts]
        assert all(fewer <= more for fewer, more in pairwise(ends))
    assert several
    assert len(prediction_groups(np.arange(202.0), 9, 0.0)[0]) != len(prediction_groups(np.arange(202.0), 8, 0.0)[0])


def test_an_indicator_of_few_records():
    frame = pd.DataFrame({"one": np.arange(50) == 3, "few": (np.arange(50) < 4) * 2.5, "most": np.arange(50) < 47})
    for name in frame:
        with pytest.raises(DataProblem, match=f"'{name}' has two values"):
            design(frame, [name], 5)
    assert design(frame, ["few"], 4).values.shape == (50, 1)
