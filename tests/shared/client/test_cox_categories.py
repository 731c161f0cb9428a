"""Predictions of Cox models: categories and strata are found as they are written in tables of other programs, and names may hold anything."""

import numpy as np
import pandas as pd
import pytest

from fedbayes.client.models.coverage import gaps
from fedbayes.client.models.predictions import predict_table

COEFFICIENTS = {"x": 0.5, "grade=who=2": -1.0, "grade=who=3": 2.0}
MODEL = {
    "coefficients": [{"feature": name, "coefficient": value} for name, value in COEFFICIENTS.items()],
    "references": {"grade=who": "1"},
    "strata": "site",
    "baseline": {
        "strata": [
            {"stratum": "1", "time": [1.0, 1234567.0, 1234568.0], "cumulative_hazard": [0.1, 0.2, 0.3]},
            {"stratum": "2", "time": [1.0], "cumulative_hazard": [0.4]},
        ]
    },
}
GRADES, SITES, X = [1, 2, 3, 2], [1, 2, 1, 1], np.array([0.0, 1.0, -1.0, 2.0])
WANTED = 0.5 * X + np.array([0.0, -1.0, 2.0, -1.0])


@pytest.mark.parametrize(
    "write",
    [int, float, str, lambda one: f" {one}", lambda one: f"0{one}", lambda one: f"{one}.0", np.float32],
    ids=["int", "float", "text", "blank", "leading zero", "decimal text", "single precision"],
)
def test_codes_are_found_however_they_are_written(write):
    table = pd.DataFrame({"x": X, "grade=who": [write(g) for g in GRADES], "site": [write(s) for s in SITES]})
    assert gaps(MODEL, table) == []
    found = predict_table(MODEL, table, times=[1.0])
    np.testing.assert_allclose(found["linear_predictor"], WANTED, rtol=1e-15)
    np.testing.assert_allclose(found["S(1)"], np.exp(-np.array([0.1, 0.4, 0.1, 0.1]) * np.exp(WANTED)), rtol=1e-14)


def test_one_gap_leaves_one_record_without_a_prediction():
    table = pd.DataFrame({"x": X, "grade=who": [1, None, 3, 2], "site": [1, 2, None, 1]})
    found = predict_table(MODEL, table, times=[1.0])
    assert found["linear_predictor"].isna().tolist() == [False, True, False, False]
    assert found["S(1)"].isna().tolist() == [False, True, True, False]
    np.testing.assert_allclose(found["linear_predictor"].to_numpy()[[0, 2, 3]], WANTED[[0, 2, 3]], rtol=1e-15)
    assert gaps(MODEL, table) == []


def test_categories_that_differ_as_text_only_are_told_apart():
    model = {
        "coefficients": [{"feature": "ward=01", "coefficient": 1.0}, {"feature": "ward=1", "coefficient": 2.0}],
        "references": {"ward": "9"},
    }
    found = predict_table(model, pd.DataFrame({"ward": ["1", "01", "9"]}))
    np.testing.assert_array_equal(found["linear_predictor"], [2.0, 1.0, 0.0])
    assert [gap.cells for gap in gaps(model, pd.DataFrame({"ward": ["1", "01", "1.0"]}))] == [1]


def test_an_unknown_category_is_told():
    table = pd.DataFrame({"x": X, "grade=who": [1, 2, 4, 2], "site": [1, 2, 3, 1]})
    assert [(gap.column, gap.cells, gap.present) for gap in gaps(MODEL, table)] == [("grade=who", 1, 4), ("site", 1, 4)]


def test_near_times_are_columns_of_their_own():
    table = pd.DataFrame({"x": [0.0], "grade=who": ["1"], "site": ["1"]})
    found = predict_table(MODEL, table, times=[0.5, 1234567.0, 1234568.0, 0.1234567])
    assert [*found.columns[2:]] == ["S(0.5)", "S(1234567)", "S(1234568)", "S(0.1234567)"]
    np.testing.assert_allclose(found.iloc[0, 2:].to_numpy(float), np.exp([-0.0, -0.2, -0.3, -0.0]))


@pytest.mark.parametrize("dtype", [object, "Float64", "string"])
def test_gaps_of_pandas_are_gaps(dtype):
    table = pd.DataFrame({"x": pd.array([0.0, 1.0, -1.0, 2.0], dtype=dtype), "grade=who": GRADES, "site": SITES})
    table.loc[1, "x"] = pd.NA
    found = predict_table(MODEL, table)
    assert found["linear_predictor"].isna().tolist() == [False, True, False, False]
    np.testing.assert_allclose(found["linear_predictor"].to_numpy()[[0, 2, 3]], WANTED[[0, 2, 3]], rtol=1e-15)


@pytest.mark.filterwarnings("error")
def test_a_predictor_beyond_what_e_can_be_raised_to_has_a_prediction():
    table = pd.DataFrame({"x": [3000.0, -3000.0], "grade=who": [1, 1], "site": [1, 1]})
    found = predict_table(MODEL, table, times=[0.5, 1.0])
    assert np.isfinite(found.to_numpy(float)).all()
    np.testing.assert_array_equal(found[["S(0.5)", "S(1)"]], [[1.0, 0.0], [1.0, 1.0]])
