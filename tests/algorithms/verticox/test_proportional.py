"""The check of proportional hazards: against lifelines and against the same statistic on pooled records."""

import numpy as np
import pandas as pd
import pytest
from limits_kit import predicting
from one_process import OneProcess

from fedbayes.federation.errors import DataProblem
from v6_verticox.cox import likelihood
from v6_verticox.cox.proportional import TRANSFORMS, check, trend, unavailable
from v6_verticox.rounds.lockstep import alone
from v6_verticox.solvers.newton import solve

FEATURES = ["fin", "age", "race", "wexp", "mar", "paro", "prio"]


def pooled(frame, features, transform, ties="breslow", strata=None):
    """Schoenfeld's residuals one by one: the slow, obvious way."""
    time, event, x = frame["time"].to_numpy(), frame["event"].to_numpy(), frame[features].to_numpy(dtype=float)
    codes = np.zeros(len(frame)) if strata is None else frame[strata].to_numpy()
    found = likelihood.fit(likelihood.RiskSets.of(time, event, codes if strata else None, ties), x, features)
    weight, moved, score = np.exp(x @ found.coefficients), trend(time, event, transform), np.zeros(len(features))
    for stratum in np.unique(codes):
        for moment in np.unique(time[(event == 1) & (codes == stratum)]):
            own = (event == 1) & (time == moment) & (codes == stratum)
            at_risk, count = (time >= moment) & (codes == stratum), int(own.sum())
            for place in range(count):
                share = np.where(own, 1.0 - place / count if ties == "efron" else 1.0, 1.0) * weight * at_risk
                score -= moved[own][0] * (share @ x) / share.sum()
            score += moved[own][0] * x[own].sum(axis=0)
    return check(features, score, np.linalg.inv(found.information), transform)


def statistics(found):
    return np.array([entry["statistic"] for entry in found["features"]] + [found["global"]["statistic"]])


@pytest.mark.parametrize("transform", ["km", "identity", "log"])
def test_the_statistic_is_that_of_lifelines(paper_data, transform):
    from lifelines import CoxPHFitter
    from lifelines.statistics import proportional_hazard_test

    frame = paper_data("rossi")
    fitter = CoxPHFitter().fit(frame, "time", "event", fit_options={"precision": 1e-12})
    expected = proportional_hazard_test(fitter, frame, time_transform=transform)
    found = pooled(frame, FEATURES, transform, ties="efron")
    own = {entry["feature"]: entry for entry in found["features"]}
    assert [own[name]["statistic"] for name in expected.name] == pytest.approx(expected.test_statistic, abs=1e-6)
    assert [own[name]["p"] for name in expected.name] == pytest.approx(expected.p_value, abs=1e-6)


def test_ranks_without_ties_are_those_of_lifelines():
    rng = np.random.default_rng(1)
    time, event = rng.permutation(50) + 1.0, rng.integers(0, 2, 50)
    order = np.argsort(time)
    ranks = np.empty(50)
    ranks[order] = np.cumsum(event[order])
    own = ranks[event == 1]
    np.testing.assert_allclose(trend(time, event, "rank")[event == 1], (own - own.mean()) / own.std(), atol=1e-12)


@pytest.mark.few(4)
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("limit", [0, 3, 50])
def test_the_private_solver_finds_the_pooled_statistic(paper_data, rehearse, transform, limit):
    frame = paper_data("rossi")
    moved = trend(frame["time"].to_numpy(dtype=float), frame["event"].to_numpy(), transform)
    surface, scale = rehearse(frame, FEATURES, 3, limit=limit, baseline_rows=(10,), trend=moved)
    found = alone(solve(surface, np.zeros(7), 1e-9, 30))
    covariance = np.linalg.inv(found.information * np.outer(scale, scale))
    own = check(FEATURES, surface.score * scale, covariance, transform)
    expected = pooled(frame, FEATURES, transform, "efron" if limit else "breslow")
    np.testing.assert_allclose(statistics(own), statistics(expected), atol=2e-6, rtol=2e-6)


@pytest.mark.audit
def test_over_the_federation_with_strata():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"age": rng.normal(size=150), "dose": rng.normal(size=150), "site": np.arange(150) % 2})
    frame["time"] = np.ceil(12 * rng.exponential(np.exp(-0.5 * frame["age"])))
    frame["event"] = (rng.uniform(size=150) < 0.7).astype(int)
    parties = {"a": frame[["age"]], "b": frame[["dose", "time", "event", "site"]]}
    task = {"time": "time", "event": "event", "features": ["age", "dose"], "strata": "site", "rows_aligned": True}
    with OneProcess(parties, helpers=["helper"], policies=predicting()) as federation:
        found = federation.run("verticox", "fit", {**task, "time_transform": "km"})
        seen = federation.run("verticox", "fit", {**task, "solver": "bfgs", "time_transform": "km"}, organization="a")
    own, expected = found["model"]["proportional_hazards"], pooled(frame, ["age", "dose"], "km", strata="site")
    np.testing.assert_allclose(statistics(own), statistics(expected), atol=1e-4, rtol=1e-4)
    assert "interaction with time" in found["privacy"]["reveals"]["central"]
    assert check(["age"], np.ones(1), np.eye(1), None) is None
    np.testing.assert_allclose(
        statistics(seen["model"]["proportional_hazards"]), statistics(expected), atol=1e-4, rtol=1e-4
    )


def test_a_time_of_zero_has_no_logarithm():
    with pytest.raises(DataProblem, match="time_transform"):
        trend(np.array([0.0, 1.0]), np.array([1, 1]), "log")
    assert unavailable(None, "for a reason") is None
    assert check(["x"], np.zeros(0), np.eye(1), "km")["features"] is None
    assert np.all(trend(np.array([2.0, 2.0, 3.0]), np.array([1, 1, 0]), "identity") == 0.0)
