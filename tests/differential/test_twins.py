"""The pooled twins themselves, against published libraries."""

import numpy as np
import pandas as pd
import pytest
from harness import cox, networks
from harness.cases import Difference
from harness.rows import weighted_area
from harness.told import check_hazards_test, dynamic_area
from sklearn.metrics import roc_auc_score


@pytest.mark.parametrize("penalty", [0.0, 0.1])
def test_cox_equals_lifelines(penalty: float) -> None:
    from lifelines import CoxPHFitter

    draw = np.random.default_rng(4)
    x = draw.normal(size=(90, 3))
    time = np.ceil(draw.exponential(np.exp(-x[:, 0])) * 5)
    event = (draw.random(90) < 0.7).astype(int)
    frame = pd.DataFrame({"t": time, "e": event, "a": x[:, 0], "b": x[:, 1], "c": x[:, 2]})
    wanted = CoxPHFitter().fit(frame, "t", "e")
    found = cox.fit(time, event, np.array(["all"] * 90), x, "efron")
    assert found.converged
    assert found.coefficients == pytest.approx(wanted.params_.to_numpy(), abs=1e-4)
    assert found.log_likelihood == pytest.approx(wanted.log_likelihood_, abs=1e-5)
    errors = np.sqrt(np.diag(np.linalg.inv(found.information)))
    assert errors == pytest.approx(wanted.standard_errors_.to_numpy(), rel=1e-4)


def test_breslow_equals_statsmodels() -> None:
    from statsmodels.duration.hazard_regression import PHReg

    draw = np.random.default_rng(5)
    x = draw.normal(size=(80, 2))
    time = np.ceil(draw.exponential(np.exp(-x[:, 0])) * 4)
    event = (draw.random(80) < 0.8).astype(int)
    strata = draw.integers(0, 2, 80)
    wanted = PHReg(time, x, status=event, strata=strata, ties="breslow").fit()
    found = cox.fit(time, event, strata, x, "breslow")
    assert found.coefficients == pytest.approx(wanted.params, abs=1e-5)


def test_area_equals_scikit_learn() -> None:
    draw = np.random.default_rng(6)
    logs = np.log(draw.dirichlet([1, 1, 1], 200))
    truth = draw.integers(0, 3, 200)
    found, doubt = weighted_area(logs, truth)
    wanted = roc_auc_score(truth, np.exp(logs), multi_class="ovr", average="weighted")
    assert found == pytest.approx(wanted, abs=1e-9)
    assert doubt < 0.05


def test_search_finds_the_network_of_cooper_and_herskovits() -> None:
    """Their table 1 and the answer x1 -> x2 -> x3."""
    rows = ["100", "111", "001", "111", "000", "011", "111", "000", "111", "000"]
    x1, x2, x3 = ([int(row[place]) for row in rows] for place in range(3))
    codes = {"x1": np.array(x1), "x2": np.array(x2), "x3": np.array(x3)}
    search = networks.Search(codes, dict.fromkeys(codes, 2), "k2", 1.0)
    found = search.k2(["x1", "x2", "x3"], 2, {name: [] for name in codes}, lambda *_: True)
    assert found == {"x1": [], "x2": ["x1"], "x3": ["x2"]}


@pytest.mark.parametrize("kind", ["km", "identity", "log"])
def test_the_check_of_proportional_hazards_is_that_of_lifelines(kind: str) -> None:
    from lifelines import CoxPHFitter
    from lifelines.datasets import load_rossi
    from lifelines.statistics import proportional_hazard_test

    frame, names = load_rossi()[["week", "arrest", "age", "prio"]], ["age", "prio"]
    wanted = proportional_hazard_test(CoxPHFitter().fit(frame, "week", "arrest"), frame, time_transform=kind).summary
    told = [
        {"feature": name, "statistic": wanted["test_statistic"][name], "degrees_of_freedom": 1, "p": wanted["p"][name]}
        for name in names
    ]
    time, event, x = frame["week"].to_numpy(float), frame["arrest"].to_numpy(), frame[names].to_numpy(float)
    strata = np.zeros(len(frame))
    data, fit = (time, event, strata, x), cox.fit(time, event, strata, x, "efron")
    found = {"features": told, "global": told[0]}
    with pytest.raises(
        Difference, match="degrees of freedom, proportional hazards: "
    ):  # of all features; each is right
        check_hazards_test(found, names, kind, data, fit, "efron", 1e-7)
    told[1]["statistic"] *= 1.001
    with pytest.raises(Difference, match="proportional hazards of 'prio'"):
        check_hazards_test(found, names, kind, data, fit, "efron", 1e-7)


def test_area_at_a_time_without_censoring_is_that_of_scikit_learn() -> None:
    draw = np.random.default_rng(8)
    risk, time = draw.normal(size=150).round(1), draw.exponential(5.0, 150)
    found = dynamic_area(time, np.ones(150), risk, np.zeros(150), 4.0)
    assert found == pytest.approx(roc_auc_score(time <= 4.0, risk))
