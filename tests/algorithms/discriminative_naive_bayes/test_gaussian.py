"""Normally distributed features: gradient, moments, scikit-learn's model at weights of 1, the federation, refusals."""

import json

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from scipy.optimize import check_grad
from sklearn.naive_bayes import GaussianNB

from discriminative_naive_bayes.simulation import simulated
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.horizontal import Columns, check_noise
from v6_discriminative_naive_bayes.classifier import WeightedNaiveBayes, load_model
from v6_discriminative_naive_bayes.likelihood import Evidence, log_posterior, loss_and_gradient
from v6_discriminative_naive_bayes.messages import CountsRequest, Shape
from v6_discriminative_naive_bayes.model import count, tables_from_counts
from v6_discriminative_naive_bayes.partial import encode_rows

DOMAIN = {
    "x": {"bounds": [-10, 10]},
    "kind": {"categories": ["a", "b"]},
    "y": {"bounds": [0, 100]},
    "class": {"categories": ["no", "yes", "maybe"]},
}


def frame(rows, seed):
    generator = np.random.default_rng(seed)
    label = generator.integers(0, 3, rows)
    table = pd.DataFrame({"x": generator.normal(label - 1, 1 + label / 2), "kind": generator.choice(["a", "b"], rows)})
    table["y"] = 50 + 10 * label + generator.normal(0, 8, rows) + 2 * table["x"]
    table.loc[generator.random(rows) < 0.05, "y"] = None
    table["class"] = np.array(["no", "yes", "maybe"])[label]
    return table


def shape(weights="value", tables="secure_sum"):
    return Shape(
        Columns("class", ["x", "kind", "y"], DOMAIN), {"x": 10, "y": 10}, "naive", weights, "log", tables, "gaussian"
    )


def encoded(kind, table):
    return encode_rows(kind, kind.columns.schema.encode(table))


@pytest.mark.parametrize("weights", ["value", "attribute"])
def test_the_gradient_is_the_derivative_of_the_loss(weights):
    kind = shape(weights)
    layout = kind.layout
    codes, labels = encoded(kind, frame(60, 1))
    evidence = Evidence.of(layout, tables_from_counts(layout, count(layout, codes, labels)), codes)
    start = np.random.default_rng(2).normal(1.0, 0.3, layout.parameters)
    error = check_grad(
        lambda w: loss_and_gradient(evidence, w, labels)[0], lambda w: loss_and_gradient(evidence, w, labels)[1], start
    )
    assert kind.attributes == ["kind", "x", "y"]
    assert error < 1e-4


def test_weights_of_one_are_scikit_learns_model():
    table = frame(4000, 3).dropna()
    columns = Columns("class", ["x", "y"], {name: DOMAIN[name] for name in ("x", "y", "class")})
    kind = Shape(columns, {"x": 10, "y": 10}, continuous="gaussian")
    codes, labels = encoded(kind, table)
    tables = tables_from_counts(kind.layout, count(kind.layout, codes, labels))
    ours = np.exp(log_posterior(kind.layout, tables, np.ones(kind.layout.parameters), codes))
    theirs = GaussianNB().fit(table[["x", "y"]], labels).predict_proba(table[["x", "y"]])
    np.testing.assert_allclose(ours, theirs, atol=0.02)


def test_the_federation_learns_what_the_pooled_rows_say():
    tables = [frame(rows, seed) for seed, rows in enumerate((90, 120, 150))]
    task = {"label": "class", "domain": DOMAIN, "continuous": "gaussian", "rounds": 5}
    with OneProcess(dict(zip("abc", tables, strict=True))) as federation:
        result = federation.run("discriminative_naive_bayes", "fit", task)
        scores = federation.run("discriminative_naive_bayes", "evaluate", {"model": result["model"]})
    kind = shape()
    _, fit = simulated(kind, [encoded(kind, pd.concat(tables))], rounds=5)
    np.testing.assert_allclose(result["model"]["weights"], fit.weights, atol=1e-3)
    model = load_model(json.loads(json.dumps(result["model"])))
    predicted = model.predict(pd.concat(tables))
    assert scores["accuracy"] == pytest.approx((predicted == pd.concat(tables)["class"].to_numpy()).mean())


@pytest.mark.parametrize("change", [{"variances": [[0.0] * 3] * 2}, {"means": None}, {"means": [[0.5] * 3]}])
def test_malformed_moments_are_refused(change):
    kind = shape()
    codes, labels = encoded(kind, frame(60, 4))
    tables = tables_from_counts(kind.layout, count(kind.layout, codes, labels))
    plain = WeightedNaiveBayes(kind, np.ones(kind.layout.parameters), tables).to_dict()
    assert load_model(plain).to_dict() == plain
    with pytest.raises(ValueError, match="model"):
        load_model({**plain, "tables": {**plain["tables"], **change}})


@pytest.mark.parametrize("change", [{"structure": "a1de"}, {"tables": "dp", "epsilon": 1.0}])
def test_what_moments_cannot_do_is_refused(parties, change):
    task = {"label": "class", "domain": DOMAIN, "continuous": "gaussian"}
    with OneProcess(parties) as federation, pytest.raises(ArgumentError, match="continuous"):
        federation.run("discriminative_naive_bayes", "fit", {**task, **change})


def test_a_station_gives_no_noisy_counts_of_moments():
    with pytest.raises(ValueError, match="gaussian"):
        CountsRequest(shape(), check_noise("distributed", 1.0, 1e-6, "add_remove", 1.0))
