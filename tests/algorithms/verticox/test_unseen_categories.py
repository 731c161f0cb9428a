"""A fitted model on records with other categories, or the same ones written in another way: never a prediction for the wrong category."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

from fedbayes.client.result import Result
from fedbayes.federation.errors import ArgumentError, DataProblem

ROWS = 120
ALLOWED = {"*": {"allow_predictions": True, "allow_differences": True}}
TASK = {"time": "time", "event": "event", "features": ["age", "stage"], "id_column": "id"}


def records() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"id": [f"p{row}" for row in range(ROWS)], "age": rng.normal(60, 9, ROWS).round(1)})
    frame["stage"] = rng.choice(["1", "2", "IV"], ROWS)
    frame["time"], frame["event"] = rng.exponential(5.0, ROWS).round(2) + 0.01, rng.integers(0, 2, ROWS)
    return frame


def asked(frame: pd.DataFrame, function: str, **arguments: Any) -> Result:
    parties = {"b": frame[["id", "age", "stage"]], "c": frame[["id", "time", "event"]]}
    with OneProcess(parties, helpers=["notary"], policies=ALLOWED) as federation:
        return federation.run("verticox", function, arguments)  # type: ignore[no-any-return]


@pytest.fixture(scope="module", params=["refuse", "complete"])
def fitted(request: pytest.FixtureRequest) -> Result:
    return asked(records(), "fit", **TASK, missing=request.param)


@pytest.mark.few(4)
@pytest.mark.parametrize("function", ["predict", "evaluate", "baseline"])
@pytest.mark.parametrize("share", [0.05, 1.0])
def test_a_category_that_the_fit_did_not_know_is_refused_by_its_column(
    fitted: Result, function: str, share: float
) -> None:
    frame = records()
    frame.loc[: int(share * ROWS) - 1, "stage"] = "secret-III"
    with pytest.raises(DataProblem, match="feature 'stage' has categories that the model does not know") as refusal:
        asked(frame, function, model=fitted["model"], id_column="id")
    assert "III" not in str(refusal.value)


def test_the_reference_category_is_known(fitted: Result) -> None:
    assert fitted["model"]["references"] == {"stage": "1"}
    frame = records()
    found = asked(frame, "predict", model=fitted["model"], id_column="id", identifiers=True)["predictions"]
    told = pd.Series(found["linear_predictor"], index=found["identifiers"])[frame["id"]]
    np.testing.assert_allclose(told, fitted.predict(frame)["linear_predictor"], atol=1e-9)


def test_categories_are_those_of_the_fit_however_a_file_writes_them() -> None:
    """A file whose stages are all numbers, with a gap, is read as numbers: 2.0 is the category 2."""
    fitted = asked(records(), "fit", **TASK, missing="complete")
    frame = records().query("stage != 'IV'").reset_index(drop=True)
    gaps = frame.assign(stage=frame["stage"].where(frame.index > 3))
    found = asked(gaps, "predict", model=fitted["model"], id_column="id", identifiers=True)["predictions"]
    told = pd.Series(found["linear_predictor"], index=found["identifiers"], dtype=float)[frame["id"]].to_numpy()
    assert np.isnan(told[:4]).all()
    expected = fitted.predict(frame)["linear_predictor"].to_numpy()
    np.testing.assert_allclose(told[4:], expected[4:], atol=1e-9)


def test_another_reference_is_not_taken_for_the_models_where_nobody_sees_a_record() -> None:
    fitted = asked(records(), "fit", **TASK)
    frame = records()
    frame["stage"] = frame["stage"].replace({"1": "0"})
    with pytest.raises(ArgumentError, match="not the same design columns, see 'stage'"):
        asked(frame, "evaluate", model=fitted["model"], id_column="id", reveal="aggregates")
