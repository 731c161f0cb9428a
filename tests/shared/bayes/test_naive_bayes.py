"""Naive Bayes models: scikit-learn's numbers without noise, sense with noise, and lossless JSON."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.naive_bayes import CategoricalNB, GaussianNB

from fedbayes.bayes.counts.smoothing import project_on_simplex, table_probabilities
from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.bayes.naive_bayes.counting import class_counts, count_table, fit_model, gaussian_moments
from fedbayes.bayes.naive_bayes.features import CategoricalTables, Gaussian, Histogram
from fedbayes.bayes.schema import Schema, SchemaError
from fedbayes.bayes.sklearn import NaiveBayesClassifier

DOMAIN = {
    "colour": {"categories": ["red", "green", "blue"]},
    "size": {"bounds": [0, 10]},
    "class": {"categories": ["no", "yes", "maybe"]},
}


def table(rows=400, seed=0):
    random = np.random.default_rng(seed)
    label = random.integers(0, 3, rows)
    return pd.DataFrame(
        {
            "colour": np.array(["red", "green", "blue"])[(label + random.integers(0, 2, rows)) % 3],
            "size": np.clip(random.normal(3 + label, 1.0), 0, 10),
            "class": np.array(["no", "yes", "maybe"])[label],
        }
    )


def fitted(frame, **options):
    schema = Schema.from_domain(DOMAIN)
    return fit_model(schema, "class", schema.encode(frame), **options)


def test_tables_are_those_of_scikit_learn():
    frame = table()
    schema = Schema.from_domain(DOMAIN).select(["colour", "class"])
    encoded = schema.encode(frame)
    ours = fit_model(schema, "class", encoded)
    theirs = CategoricalNB(min_categories=3).fit(encoded["colour"][:, None], encoded["class"])
    assert np.allclose(ours.predict_proba(frame), theirs.predict_proba(encoded["colour"][:, None]), atol=1e-12)


def test_gaussians_are_those_of_scikit_learn():
    frame = table()
    schema = Schema.from_domain(DOMAIN).select(["size", "class"])
    encoded = schema.encode(frame)
    ours = fit_model(schema, "class", encoded, "gaussian")
    theirs = GaussianNB(var_smoothing=0).fit(frame[["size"]].to_numpy(), encoded["class"])
    mean, variance = ours.features["size"].moments()
    assert np.allclose(mean, theirs.theta_[:, 0])
    assert np.allclose(variance, theirs.var_[:, 0])
    assert np.allclose(ours.predict_proba(frame), theirs.predict_proba(frame[["size"]].to_numpy()))


@pytest.mark.parametrize("statistics", ["gaussian", "histogram"])
def test_a_model_survives_json_exactly(statistics):
    model = fitted(table(), statistics=statistics)
    again = NaiveBayes.from_dict(json.loads(json.dumps(model.to_dict())))
    assert again.to_dict() == model.to_dict()
    assert np.array_equal(again.predict_proba(table(seed=1)), model.predict_proba(table(seed=1)))


def test_missing_values_are_left_out():
    frame = table()
    model = fitted(frame, statistics="gaussian")
    alone = pd.DataFrame({"colour": [None], "size": [np.nan]})
    assert np.allclose(model.predict_log_proba(alone), model.log_prior)
    half = model.predict_proba(pd.DataFrame({"colour": ["red"], "size": [np.nan]}))
    schema = Schema.from_domain(DOMAIN).select(["colour", "class"])
    assert np.allclose(half, fit_model(schema, "class", schema.encode(frame)).predict_proba(alone.assign(colour="red")))
    assert half.shape == (1, 3)


def test_rows_without_a_label_do_not_count():
    frame = table(100)
    more = pd.concat([frame, frame.assign(**{"class": None})], ignore_index=True)
    assert fitted(more).to_dict() == fitted(frame).to_dict()


@given(st.lists(st.tuples(st.integers(-1, 2), st.integers(-1, 3)), max_size=50))
def test_tables_count_what_a_slow_loop_counts(rows):
    labels = np.array([row[0] for row in rows], dtype=np.int32)
    codes = np.array([row[1] for row in rows], dtype=np.int32)
    slow = np.zeros((3, 5), dtype=int)
    for label, code in rows:
        if label >= 0:
            slow[label, code] += 1
    assert np.array_equal(count_table(labels, codes, 3, 4), slow)
    assert np.array_equal(class_counts(labels, 3), slow.sum(axis=1))


def test_moments_by_class():
    schema = Schema.from_domain(DOMAIN)
    frame = pd.DataFrame({"colour": ["red"] * 3, "size": [0, 10, None], "class": ["no", "yes", "yes"]})
    counts, totals, squares = gaussian_moments(schema, "class", "size", schema.encode(frame))
    assert counts.tolist() == [1, 1, 0]
    assert totals.tolist() == [-1, 1, 0]
    assert squares.tolist() == [0.5, 0.5, 0]


def test_a_class_that_nobody_has_is_neutral_evidence():
    frame = table()
    model = fitted(frame[frame["class"] != "maybe"], statistics="gaussian")
    assert np.isfinite(model.predict_log_proba(frame)).all()
    assert (model.predict(frame) != "maybe").mean() > 0.99


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=12), st.floats(0.01, 1e4))
def test_the_projection_is_feasible_and_keeps_order(values, total):
    point = project_on_simplex(np.array(values), total)
    assert np.all(point >= 0)
    assert np.isclose(point.sum(), total, rtol=1e-6)
    order = np.argsort(values)
    assert np.all(np.diff(point[order]) >= -1e-9)


@given(st.lists(st.floats(-1e6, 1e6), min_size=6, max_size=6), st.floats(0, 1e5))
def test_noisy_tables_give_probabilities(cells, noise):
    counts = np.array(cells).reshape(2, 3)
    found = table_probabilities(counts, np.zeros(2), np.array([10.0, 20.0]), noise, 1.0)
    assert np.allclose(found.sum(axis=1), 1)
    assert np.all(found >= 0)


def test_noise_makes_a_table_more_careful():
    counts = np.array([[90.0, 10.0], [50.0, 50.0]])
    careful = CategoricalTables(counts, np.zeros(2), noise=100.0).probabilities(np.array([100.0, 100.0]))
    bold = CategoricalTables(counts, np.zeros(2)).probabilities(np.array([100.0, 100.0]))
    assert 0.5 < careful[0, 0] < bold[0, 0]


def test_noise_keeps_gaussians_possible():
    wild = Gaussian(np.array([5.0, -3.0]), np.array([900.0, -7.0]), np.array([-50.0, 80.0]), np.array([0.0, 4.0]), 30.0)
    mean, variance = wild.moments()
    assert np.all((mean >= 0) & (mean <= 4))
    assert np.all((variance > 0) & (variance <= 4))


def test_a_gaussian_from_parameters_has_them():
    gaussian = Gaussian.from_parameters(np.array([10.0, 20.0]), np.array([1.0, 3.0]), np.array([0.25, 1.5]), (0, 8))
    mean, variance = gaussian.moments()
    assert np.allclose(mean, [1, 3])
    assert np.allclose(variance, [0.25, 1.5])


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"format": "other"}, "format"),
        ({"label": "size"}, "categories"),
        ({"class_counts": [1, 2]}, "class_counts"),
        ({"class_counts": [1, 2, None]}, "class_counts"),
        ({"class_counts": "x"}, "numbers"),
        ({"class_noise": -1}, "class_noise"),
        ({"features": {"gone": {"kind": "categorical"}}}, "gone"),
        ({"features": {"colour": {"kind": "spline"}}}, "colour"),
        ({"features": []}, "features"),
        ({"extra": 1}, "exactly"),
    ],
)
def test_malformed_models_are_refused(change, what):
    with pytest.raises(SchemaError, match=what):
        NaiveBayes.from_dict({**fitted(table(50)).to_dict(), **change})


def test_malformed_features_are_refused():
    data = fitted(table(50)).to_dict()
    for change in ({"counts": [[1.0]]}, {"counts": "x"}, {"noise": -1.0}, {"extra": 0}, {"missing": [1.0]}):
        broken = {**data, "features": {"colour": {**data["features"]["colour"], **change}}}
        with pytest.raises(SchemaError, match=r"colour|missing"):
            NaiveBayes.from_dict(broken)
    with pytest.raises(SchemaError, match="increase"):
        Histogram(np.ones((2, 2)), np.zeros(2), np.array([0.0, 2.0, 1.0]))


def test_a_label_with_one_class_is_refused():
    schema = Schema.from_domain({"class": {"categories": ["only"]}})
    with pytest.raises(SchemaError, match="single class"):
        NaiveBayes(schema, "class", np.array([3.0]))


def test_scikit_learn_can_use_it():
    from sklearn.model_selection import cross_val_score

    frame = table(600)
    model = NaiveBayesClassifier(DOMAIN, "class", statistics="gaussian")
    scores = cross_val_score(model, frame[["colour", "size"]], frame["class"], cv=3)
    assert scores.mean() > 0.6
    wrapped = NaiveBayesClassifier.from_model(fitted(frame).to_dict())
    assert wrapped.score(frame[["colour", "size"]], frame["class"]) > 0.6
    assert list(wrapped.classes_) == ["no", "yes", "maybe"]


JUNK = (None, "x", -1, [], {}, [[1]], True, 1e308, float("nan"), float("inf"), 10**400, [None], {"a": 1})


def places(value, place=()):
    """Return the path of everything inside a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place] * bool(place) + [path for key, item in inner for path in places(item, (*place, key))]


@pytest.mark.parametrize("statistics", ["gaussian", "histogram"])
def test_junk_anywhere_in_a_model_is_refused_or_harmless(statistics):
    frame = table(60)
    data = fitted(frame, statistics=statistics, bins=3).to_dict()
    outcomes = {"refused": 0, "harmless": 0}
    for place in places(data):
        for junk in JUNK:
            broken = json.loads(json.dumps(data))
            target = broken
            for key in place[:-1]:
                target = target[key]
            target[place[-1]] = junk
            try:
                model = NaiveBayes.from_dict(broken)
                assert np.isfinite(model.predict_proba(frame)).all()
                outcomes["harmless"] += 1
            except SchemaError:
                outcomes["refused"] += 1
    assert outcomes["refused"] > 3 * outcomes["harmless"] > 0
