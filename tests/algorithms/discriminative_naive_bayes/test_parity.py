"""The federated fit equals the fit on the pooled rows; averaging and semi-naive models run end to end."""

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from weighted_tables import DOMAIN

from fedbayes.federation.horizontal import Columns
from v6_discriminative_naive_bayes.classifier import load_model
from v6_discriminative_naive_bayes.descent import expected_curvature, minimise
from v6_discriminative_naive_bayes.likelihood import Evidence, loss_and_gradient
from v6_discriminative_naive_bayes.messages import Shape
from v6_discriminative_naive_bayes.model import count, tables_from_counts
from v6_discriminative_naive_bayes.partial import encode_rows

ALGORITHM = "discriminative_naive_bayes"


@pytest.fixture(scope="module")
def federation(parties):
    with OneProcess(parties) as running:
        yield running


def pooled(tables, rounds, **kind):
    columns = Columns("class", ["a", "b", "c", "z"], DOMAIN)
    shape = Shape(columns, {"z": 10}, **kind)
    codes, labels = encode_rows(shape, columns.schema.encode(pd.concat(tables)))
    layout = shape.layout
    made = tables_from_counts(layout, count(layout, codes, labels))

    evidence = Evidence.of(layout, made, codes)

    def objective(points):
        told = [loss_and_gradient(evidence, weights, labels) for weights in points]
        return np.array([loss for loss, _ in told]) / len(labels), np.array([move for _, move in told]) / len(labels)

    diagonal = expected_curvature(layout, made, count(layout, codes, labels))
    return minimise(objective, np.ones(layout.parameters), rounds, 1e-6, diagonal)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", [{}, {"structure": "a1de"}, {"weights": "attribute"}])
def test_the_federated_fit_equals_the_pooled_fit(federation, tables, kind):
    result = federation.run(ALGORITHM, "fit", {"label": "class", "domain": DOMAIN, "rounds": 4, **kind})
    expected = pooled(tables, 4, **kind)
    np.testing.assert_allclose(result["model"]["weights"], expected.weights, atol=1e-3)
    np.testing.assert_allclose(result["diagnostics"]["objective"], expected.objective, atol=1e-6)
    assert result["federation"]["rounds"] == 2 + 4
    assert result["privacy"]["differentially_private"] is False


def test_evaluation_equals_the_pooled_scores(federation, tables):
    fitted = federation.run(ALGORITHM, "fit", {"label": "class", "domain": DOMAIN, "rounds": 2})
    result = federation.run(ALGORITHM, "evaluate", {"model": fitted["model"], "label": "class"})
    frame = pd.concat(tables)
    predicted = load_model(fitted["model"]).predict(frame)
    assert result["accuracy"] == pytest.approx((predicted == frame["class"].to_numpy()).mean())
    assert result["n"] == len(frame)
    assert result["federation"]["rounds"] == 2


@pytest.mark.few(1)
@pytest.mark.parametrize("aggregation", ["mean", "by_rows"])
def test_averaging_with_local_tables_learns_and_keeps_tables_at_home(federation, aggregation):
    arguments = {"label": "class", "domain": DOMAIN, "rounds": 2, "tables": "local", "optimizer": "fedavg"}
    arguments |= {"aggregation": aggregation, "local_iterations": 3, "personalize": aggregation == "mean"}
    result = federation.run(ALGORITHM, "fit", arguments)
    objective = result["diagnostics"]["objective"]
    assert result["model"]["tables"] is None
    assert objective[-1] < objective[0]
    if aggregation == "mean":
        assert 0.5 < result["diagnostics"]["personalized"]["accuracy"] <= 1
        assert result["diagnostics"]["personalized"]["n"] == 350


def test_personal_scores_stand_beside_the_global_ones(federation):
    arguments = {"label": "class", "domain": DOMAIN, "rounds": 1, "tables": "local", "optimizer": "fedavg"}
    fitted = federation.run(ALGORITHM, "fit", arguments)
    result = federation.run(ALGORITHM, "evaluate", {"model": fitted["model"], "personalize": True})
    assert 0.5 < result["accuracy"] <= 1
    assert 0.5 < result["personalized"]["accuracy"] <= 1
    assert result["personalized"]["n"] == result["n"] == 350
    assert result["personalized"]["accuracy"] != result["accuracy"]


def test_all_but_the_personal_scores_are_those_of_the_model_itself(federation):
    fitted = federation.run(ALGORITHM, "fit", {"label": "class", "domain": DOMAIN, "rounds": 1})
    model = {"model": fitted["model"]}
    plain, both = (federation.run(ALGORITHM, "evaluate", {**model, "personalize": more}) for more in (False, True))
    assert both["personalized"]["accuracy"] != plain["accuracy"]
    for name in ("accuracy", "auc", "log_loss", "calibration", "roc", "n", "diagnostics"):
        assert both[name] == plain[name], name
    errors = {"log_loss_error", "auc_error"}
    assert errors < set(both["diagnostics"])
    assert errors < set(both["personalized"])
    assert both["federation"]["rounds"] == plain["federation"]["rounds"] + 1


def test_learning_beats_plain_naive_bayes_on_dependent_columns(tables):
    few, many = pooled(tables, 1), pooled(tables, 30)
    assert min(many.objective) < few.objective[0] - 0.01
