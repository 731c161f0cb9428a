"""The pooled Cox model against lifelines and statsmodels."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fedbayes.federation.errors import ArgumentError, ConvergenceError
from v6_verticox.cox import inference, likelihood, survival
from v6_verticox.horizontal.judging import scores
from v6_verticox.messages.scoring import SUM_BITS, Curve
from v6_verticox.stations import assessing, judging
from v6_verticox.stations.columns import Survival


def prepared(paper_data, name):
    frame = paper_data(name)
    if name == "lung":
        frame = frame.drop(columns=["inst"]).dropna()
    frame = pd.get_dummies(frame, drop_first=True, dtype=float)
    if name == "seer_breast":
        frame = frame[[column for column in frame if not column.startswith("6th")]]
    return frame, [column for column in frame if column not in ("time", "event")]


@pytest.mark.parametrize("ties", ["breslow", "efron"])
@pytest.mark.parametrize("name", ["rossi", "lung", "gbsg2", "veteran", "seer_breast"])
def test_parity_with_statsmodels(paper_data, name, ties):
    from statsmodels.duration.hazard_regression import PHReg

    frame, features = prepared(paper_data, name)
    values = frame[features].to_numpy(dtype=float)
    risk = likelihood.RiskSets.of(frame["time"].to_numpy(), frame["event"].to_numpy(), ties=ties)
    found = likelihood.fit(risk, values, features)
    centred = values - values.mean(axis=0)
    oracle = PHReg(frame["time"], centred, status=frame["event"], ties=ties).fit(
        start_params=found.coefficients, disp=0
    )
    np.testing.assert_allclose(found.coefficients, oracle.params, atol=1e-6)
    assert found.log_likelihood == pytest.approx(oracle.llf, abs=1e-6)
    table = inference.coefficient_table(features, found.coefficients, inference.inverse(found.information))
    np.testing.assert_allclose([row["standard_error"] for row in table], oracle.bse, rtol=1e-5)
    np.testing.assert_allclose([row["p"] for row in table], oracle.pvalues, atol=1e-6)


def test_parity_with_lifelines(paper_data):
    from lifelines import CoxPHFitter
    from lifelines.utils import concordance_index

    frame, features = prepared(paper_data, "rossi")
    oracle = CoxPHFitter().fit(frame, "time", "event", fit_options={"precision": 1e-12})
    risk = likelihood.RiskSets.of(frame["time"].to_numpy(), frame["event"].to_numpy(), ties="efron")
    values = frame[features].to_numpy(dtype=float)
    found = likelihood.fit(risk, values, features)
    np.testing.assert_allclose(found.coefficients, oracle.params_[features], atol=1e-6)
    predictor = values @ found.coefficients
    index = survival.concordance(frame["time"].to_numpy(), frame["event"].to_numpy(), predictor)
    assert index == pytest.approx(concordance_index(frame["time"], -predictor, frame["event"]), abs=1e-12)
    breslow = likelihood.RiskSets.of(frame["time"].to_numpy(), frame["event"].to_numpy())
    hazard = likelihood.evaluate_predictor(breslow, predictor - predictor.mean())[2]
    expected = oracle.baseline_cumulative_hazard_["baseline cumulative hazard"].loc[
        frame["time"].to_numpy()[breslow.order]
    ]
    np.testing.assert_allclose(hazard, expected, rtol=1e-4)


def test_strata(paper_data):
    from lifelines import CoxPHFitter

    frame, _ = prepared(paper_data, "rossi")
    features = ["fin", "age", "mar", "paro", "prio"]
    oracle = CoxPHFitter().fit(
        frame[[*features, "race", "time", "event"]], "time", "event", strata=["race"], fit_options={"precision": 1e-12}
    )
    risk = likelihood.RiskSets.of(
        frame["time"].to_numpy(), frame["event"].to_numpy(), frame["race"].to_numpy(), "efron"
    )
    found = likelihood.fit(risk, frame[features].to_numpy(dtype=float), features)
    np.testing.assert_allclose(found.coefficients, oracle.params_[features], atol=1e-6)


@pytest.mark.parametrize("ties", ["breslow", "efron"])
def test_derivatives_by_differences(ties):
    rng = np.random.default_rng(1)
    x, time, event = rng.normal(size=(40, 3)), rng.integers(1, 9, 40).astype(float), rng.integers(0, 2, 40)
    risk, beta, step = likelihood.RiskSets.of(time, event, ties=ties), np.array([0.3, -0.2, 0.5]), 1e-5
    here = likelihood.evaluate(risk, x, beta)
    for column in range(3):
        shift = step * np.eye(3)[column]
        above, below = likelihood.evaluate(risk, x, beta + shift), likelihood.evaluate(risk, x, beta - shift)
        assert here.gradient[column] == pytest.approx(
            (above.log_likelihood - below.log_likelihood) / (2 * step), rel=1e-5
        )
        np.testing.assert_allclose(-here.information[column], (above.gradient - below.gradient) / (2 * step), atol=1e-5)
    np.testing.assert_allclose(x.T @ likelihood.evaluate_predictor(risk, x @ beta)[1], here.gradient, atol=1e-9)


def test_collinear_features_are_named(paper_data):
    frame = pd.get_dummies(paper_data("seer_breast"), drop_first=True, dtype=float)
    features = [column for column in frame if column.startswith(("6th", "T Stage", "N Stage", "Age"))]
    risk = likelihood.RiskSets.of(frame["time"].to_numpy(), frame["event"].to_numpy())
    with pytest.raises(ArgumentError, match="6th Stage") as refusal:
        likelihood.fit(risk, frame[features].to_numpy(), features)
    assert "Age" not in str(refusal.value)
    penalised = likelihood.fit(risk, frame[features].to_numpy(), features, penalty=1.0)
    assert np.all(np.isfinite(penalised.coefficients))


def test_separation_is_named():
    time, event = np.arange(1.0, 41.0), np.ones(40, dtype=int)
    separating = (np.arange(40) < 20).astype(float)
    risk = likelihood.RiskSets.of(time, event)
    with pytest.raises(ConvergenceError, match="early"):
        likelihood.fit(risk, separating[:, None], ["early"])


def test_constant_column_is_named():
    risk = likelihood.RiskSets.of(np.arange(1.0, 9.0), np.ones(8, dtype=int))
    with pytest.raises(ArgumentError, match="flat"):
        likelihood.fit(risk, np.ones((8, 1)), ["flat"])


def slow_concordance(time, event, risk, resolution=0.0):
    pairs = agreeing = 0.0
    for i in range(len(time)):
        for j in range(len(time)):
            if event[i] and (time[i] < time[j] or (time[i] == time[j] and not event[j])):
                pairs += 1
                agreeing += 0.5 if abs(risk[i] - risk[j]) <= resolution else 1.0 if risk[i] > risk[j] else 0.0
    return agreeing / pairs


def test_concordance_against_the_slow_definition():
    rng = np.random.default_rng(2)
    time, event, risk = (
        rng.integers(1, 8, 60).astype(float),
        rng.integers(0, 2, 60),
        rng.integers(0, 5, 60).astype(float),
    )
    assert survival.concordance(time, event, risk) == pytest.approx(slow_concordance(time, event, risk), abs=1e-12)
    with pytest.raises(ValueError, match="compared"):
        survival.concordance(time, np.zeros(60), risk)


@pytest.mark.parametrize("seed", range(5))
def test_risks_within_the_resolution_are_ties(seed):
    rng = np.random.default_rng(seed)
    time, event = rng.integers(1, 8, 60).astype(float), rng.integers(0, 2, 60)
    levels = rng.integers(0, 5, 60).astype(float)
    near = levels + rng.uniform(-0.4e-9, 0.4e-9, 60)
    expected = slow_concordance(time, event, levels)
    assert survival.concordance(time, event, near, resolution=1e-9) == pytest.approx(expected, abs=1e-12)
    assert survival.concordance(time, event, near) != pytest.approx(expected, abs=1e-6)
    chain = rng.uniform(0.0, 5e-9, 60)
    expected = slow_concordance(time, event, chain, 1e-9)
    assert survival.concordance(time, event, chain, resolution=1e-9) == pytest.approx(expected, abs=1e-12)


@pytest.mark.usefixtures("fine_scores")
def test_equal_predictors_are_ties_in_an_assessment_however_the_parts_were_rounded():
    rng = np.random.default_rng(4)
    rows, first = 200, rng.integers(0, 4, 200)
    second = rng.integers(0, 4, rows)
    time, event = rng.exponential(size=rows), np.arange(rows) % 4 > 0
    parts = [np.rint(0.1 * values * 2.0**SUM_BITS) for values in (first, second)]
    predictor = sum(parts) / 2.0**SUM_BITS
    assert len(np.unique(predictor)) > len(np.unique(first + second)), "rounding breaks ties here"
    outcome = Survival(time, event.astype(int), np.zeros(rows, dtype=int), ["all"])
    curves, baseline = [Curve("all", [1.0], [1.0])], {"time": [1.0], "cumulative_hazard": [1.0]}
    request = SimpleNamespace(times=None, model={"baseline": baseline}, groups=2)
    found = assessing._measures(outcome, predictor - 0.3, request, 1, time[event])["concordance"]
    assert found == pytest.approx(slow_concordance(time, event, first + second), abs=1e-12)
    baselines = [SimpleNamespace(curves=curves)] * 2
    fold = np.arange(rows) % 2
    held_out = judging.judged(outcome, predictor, fold, SimpleNamespace(**vars(request), baselines=baselines), 1)
    for number, entry in enumerate(held_out["folds"]):
        own = fold == number
        expected = slow_concordance(time[own], event[own], (first + second)[own])
        assert entry["concordance"] == pytest.approx(expected, abs=1e-12)


def test_brier_without_censoring_is_the_mean_square():
    time, event = np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4, dtype=int)
    predicted = np.full((4, 1), 0.5)
    np.testing.assert_allclose(survival.brier_scores(time, event, predicted, np.array([2.5])), [0.25])
    assert survival.integrated_brier(time, event, np.full((4, 2), 0.5), np.array([1.5, 3.5])) == pytest.approx(0.25)


def test_censoring_weights_make_up_for_what_censoring_hides_where_times_are_tied():
    """Every event time with every censoring time: the weighted scores are those of the event times themselves."""
    lasting, leaving = (grid.ravel() for grid in np.meshgrid([1.0, 2.0, 2.0, 3.0, 5.0], [1.0, 2.0, 3.0, 3.0, 4.0, 6.0]))
    time, event = np.minimum(lasting, leaving), (lasting <= leaving).astype(int)
    moments = np.array([1.0, 2.0, 2.5, 3.0])
    predicted = np.tile([0.9, 0.6, 0.5, 0.2], (len(time), 1))
    wanted = np.mean(((lasting[:, None] > moments) - predicted) ** 2, axis=0)
    np.testing.assert_allclose(survival.brier_scores(time, event, predicted, moments), wanted, rtol=1e-12)
    cells = np.arange(1.0, 7.0)
    events, others = (np.array([np.sum((time == t) & (event == e)) for t in cells], dtype=float) for e in (1, 0))
    before, beyond = scores.observed_until(events[:-1], others)
    np.testing.assert_allclose(1.0 / before[:3], [1.0, np.mean(leaving > 1), np.mean(leaving > 2)], rtol=1e-12)
    np.testing.assert_allclose(1.0 / beyond[:3], [np.mean(leaving > t) for t in (1, 2, 3)], rtol=1e-12)


def test_calibration_groups_cover_everybody():
    rng = np.random.default_rng(3)
    time, event = rng.exponential(size=100), np.ones(100, dtype=int)
    groups = survival.calibration(time, event, rng.uniform(size=100), 0.7, 5)
    assert sum(group["records"] for group in groups) == 100
    assert all(group["predicted"] <= later["predicted"] for group, later in pairwise(groups))


def test_calibration_keeps_equal_predictions_together_whatever_rounding_and_order():
    rng = np.random.default_rng(4)
    for _ in range(30):
        levels = rng.uniform(size=rng.integers(1, 12))
        predicted = rng.choice(levels, 80)
        time, event = rng.exponential(size=80), rng.random(80) < 0.6
        wanted = survival.calibration(time, event, predicted, 0.7, 5, 2.0**-30)
        order = rng.permutation(80)
        rounded = (predicted + rng.uniform(-(2.0**-32), 2.0**-32, 80))[order]
        found = survival.calibration(time[order], event[order], rounded, 0.7, 5, 2.0**-30)
        assert [group["records"] for group in found] == [group["records"] for group in wanted]
        for group, other in zip(found, wanted, strict=True):
            assert group["predicted"] == pytest.approx(other["predicted"], abs=1e-9)
            assert group["observed"] == other["observed"]
        members = survival.prediction_groups(predicted, 5, 2.0**-30)
        assert len(members) <= min(5, len(levels))
        assert all(predicted[rows].max() < predicted[later].min() for rows, later in pairwise(members))
