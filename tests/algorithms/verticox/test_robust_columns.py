"""Robust standard errors of fits to columns of the same records: Lin and Wei's sandwich, by its definition and by lifelines."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from lifelines import CoxPHFitter
from lifelines.datasets import load_rossi
from lin_wei import lin_wei
from one_process import OneProcess
from party_kit import by_columns

COLUMNS = ["fin", "age", "race", "prio"]
SPLIT = {"a": ["fin", "age"], "b": ["race", "prio"], "c": ["week", "arrest", "wexp"]}
TASK = {"time": "week", "event": "arrest", "id_column": "id", "features": COLUMNS}


@pytest.fixture(scope="module")
def rossi() -> pd.DataFrame:
    return load_rossi().assign(id=range(432))


def fit(frame: pd.DataFrame, **task: Any) -> dict[str, Any]:
    with OneProcess(by_columns(frame, SPLIT), helpers=["h"]) as running:
        return dict(running.fit("verticox", **{**TASK, **task}))


def table(result: dict[str, Any], columns: list[str]) -> pd.DataFrame:
    return pd.DataFrame(result["model"]["coefficients"]).set_index("feature").loc[columns]


@pytest.mark.audit
def test_tied_events_have_the_sandwich_of_their_definition(rossi):
    found, plain = fit(rossi, robust=True), fit(rossi)
    own, model = table(found, COLUMNS), table(plain, COLUMNS)
    np.testing.assert_allclose(own["coefficient"], model["coefficient"], atol=1e-7)
    wanted = lin_wei(rossi, COLUMNS, own["coefficient"].to_numpy())
    np.testing.assert_allclose(own["standard_error"], np.sqrt(np.diag(wanted)), rtol=2e-5)
    assert found["model"]["log_likelihood"] == pytest.approx(plain["model"]["log_likelihood"], abs=1e-6)
    naive = np.sqrt(np.diag(found["model"]["naive_covariance"]))
    np.testing.assert_allclose(np.sort(naive), np.sort(model["standard_error"]), rtol=2e-5)
    assert (
        np.abs(own["standard_error"] / model["standard_error"] - 1.0).max() > 0.05
    )  # the control: it is not the model's
    assert 3 < found["federation"]["rounds"] - plain["federation"]["rounds"] < 9


def test_untied_events_have_the_errors_of_lifelines(rossi):
    frame = rossi.assign(week=rossi["week"] + np.random.default_rng(0).permutation(432) * 1e-4)
    own = table(fit(frame, robust=True), COLUMNS)
    wanted = CoxPHFitter().fit(
        frame[["week", "arrest", *COLUMNS]], "week", "arrest", robust=True, fit_options={"precision": 1e-12}
    )
    np.testing.assert_allclose(own["standard_error"], wanted.standard_errors_.loc[COLUMNS], rtol=2e-5)


def test_strata_and_products_over_organizations(rossi):
    own = table(
        fit(rossi, robust=True, strata="wexp", features=None, formula="~ fin + age + prio + fin:prio"),
        ["fin", "age", "prio", "fin:prio"],
    )
    frame = rossi.assign(**{"fin:prio": rossi["fin"] * rossi["prio"]})
    wanted = lin_wei(frame, list(own.index), own["coefficient"].to_numpy(), stratum=rossi["wexp"].to_numpy())
    np.testing.assert_allclose(own["standard_error"], np.sqrt(np.diag(wanted)), rtol=5e-5)
