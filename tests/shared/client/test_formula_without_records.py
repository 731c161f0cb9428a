"""A Cox model by a formula on tables in which no record has all features: nothing is predicted, and nothing is wrong."""

import pandas as pd
import pytest

from fedbayes.client.models.predictions import predict_table

MODEL = {
    "kind": "cox",
    "formula": "~ age + stage + age:stage",
    "levels": {"stage": ["I", "II"]},
    "coefficients": [{"feature": name, "coefficient": 1.0} for name in ("age", "stage=II", "age:stage=II")],
    "offset": 0.5,
}


@pytest.mark.parametrize("rows", [0, 3])
def test_no_complete_record_has_no_prediction(rows):
    frame = pd.DataFrame({"age": [50.0, None, 70.0], "stage": ["I", "II", "I"]})
    told = predict_table(MODEL, frame)
    assert told["linear_predictor"].dropna().tolist() == [49.5, 69.5]
    empty = predict_table(MODEL, frame.assign(age=float("nan")).head(rows))
    assert list(empty.columns) == list(told.columns)
    assert len(empty) == rows
    assert empty.isna().to_numpy().all()
