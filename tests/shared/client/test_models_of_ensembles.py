"""Models that are used on this machine: the classes of an ensemble, and numbers that are written as texts."""

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess

import fedbayes
from fedbayes.client.exits import UsageProblem

ROWS = 240
EDGE = 42.989259461536584
"""A cut point with all its digits: `pandas.to_numeric` reads the number below it from them."""


def fitted(method, classes=("n", "y"), **more):
    """Return a network, or an ensemble of them, of three hospitals with a number that is cut at `EDGE`, on which the label hangs, and the records."""
    random = np.random.default_rng(3)
    frame = pd.DataFrame({"x": random.normal(43.0, 5.0, ROWS), "c": random.choice(["u", "v"], ROWS)})
    frame.loc[::6, "x"] = EDGE
    frame["y"] = np.where((frame["x"] >= EDGE) != (random.random(ROWS) < 0.1), "y", "n")
    domain = {"x": {"bounds": [0, 100]}, "c": {"categories": ["u", "v"]}, "y": {"categories": list(classes)}}
    asked = {"label": "y", "domain": domain, "bins": {"x": [EDGE]}, "split": "horizontal", "structure": "naive", **more}
    asked |= {"columns": list(frame)} if method == "vertibayes" else {"features": ["x", "c"]}
    with OneProcess({name: frame.iloc[start::3] for start, name in enumerate("abc")}) as federation:
        return federation.run(method, "fit", asked), frame


@pytest.mark.parametrize("method", ["vertibayes", "bayesian_ensemble"])
@pytest.mark.parametrize("kind", [object, "string", "category"])
def test_a_text_on_a_cut_point_is_on_the_side_of_its_number(method, kind):
    result, frame = fitted(method)
    features = frame[["x", "c"]]
    texts = features.assign(x=features["x"].map(repr).astype(kind))
    assert pd.to_numeric(texts["x"].astype(object)).lt(EDGE).sum() > features["x"].lt(EDGE).sum(), "a control"
    pd.testing.assert_frame_equal(result.predict(texts), result.predict(features))
    found = result.to_sklearn().predict_proba(texts)
    np.testing.assert_array_equal(found, result.to_sklearn().predict_proba(features))


@pytest.mark.parametrize("classes", [("n", "y", "nobody has this"), ("y", "n")], ids=["unseen", "in another order"])
@pytest.mark.parametrize("method", ["vertibayes", "bayesian_ensemble"])
def test_a_classifier_has_the_classes_that_predictions_have(method, classes):
    """A class of the domain that no member has seen is none of an ensemble."""
    result, frame = fitted(method, classes)
    told = result.predict(frame[["x", "c"]]).drop(columns="prediction")
    classifier = result.to_sklearn()
    assert [f"P({name})" for name in classifier.classes_] == told.columns.tolist()
    np.testing.assert_array_equal(classifier.predict_proba(frame[["x", "c"]]), told)


def test_a_classifier_of_a_column_with_cut_points_predicts_its_bins():
    result, frame = fitted("bayesian_ensemble", vote="mean")
    classifier = result.to_sklearn(label="x")
    assert classifier.classes_.tolist() == ["(-inf, 42.9892594615)", "[42.9892594615, inf)"]
    right = (classifier.predict(frame[["c", "y"]]) == classifier.classes_[(frame["x"] >= EDGE).astype(int)]).mean()
    assert right > 0.8


def test_members_that_vote_otherwise_predict_no_other_column():
    result, frame = fitted("bayesian_ensemble", vote="log_pool")
    with pytest.raises(UsageProblem, match=r"^label: the members of this ensemble vote on its own label alone"):
        result.predict(frame, label="x")


def test_a_column_that_no_model_has_is_named(tmp_path):
    result, _ = fitted("bayesian_ensemble")
    with pytest.raises(ValueError, match=r"^label: the model has no column 'age'; it has: "):
        fedbayes.load(result.save(tmp_path / "r.json")).to_sklearn(label="age")
