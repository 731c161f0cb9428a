"""With a very large budget the federated model is the pooled one; on real data privacy costs little."""

import numpy as np
import pandas as pd
import pytest
from mock_kit import run_mocked
from one_process import OneProcess
from sklearn.naive_bayes import GaussianNB

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.bayes.naive_bayes.counting import fit_model
from fedbayes.bayes.schema import Schema
from v6_smooth_naive_bayes.messages import Settings
from v6_smooth_naive_bayes.model import combine, perturb, summarise
from v6_smooth_naive_bayes.queries import Release

NAME = "smooth_naive_bayes"
PRIVATE = [
    {"sensitivity": "smooth"},
    {"sensitivity": "smooth", "noise": "student_t", "degrees_of_freedom": 4},
    {"sensitivity": "smooth", "neighbors": "replace_one"},
    {"sensitivity": "global"},
]


def test_a_large_budget_gives_the_pooled_model_and_evaluate_takes_it(parties, domain, pooled):
    schema = Schema.from_domain(domain)
    reference = fit_model(schema, "class", schema.encode(pooled), "gaussian")
    with OneProcess(parties, helpers=["helper"]) as federation:
        for choice in PRIVATE:
            result = federation.run(NAME, "fit", {"label": "class", "domain": domain, "epsilon": 1e6, **choice})
            ours = NaiveBayes.from_dict(result["model"])
            assert np.mean(ours.predict(pooled) == reference.predict(pooled)) > 0.97
            assert result["privacy"]["differentially_private"] is False
            assert "epsilon is above 20" in result["privacy"]["reason"]
            assert result["federation"]["rounds"] == 2
        scores = federation.run(NAME, "evaluate", {"model": result["model"]})
    known = pooled["class"].notna()
    assert scores["n"] == known.sum()
    assert scores["accuracy"] == pytest.approx(np.mean(ours.predict(pooled[known]) == pooled["class"][known]))
    assert scores["auc"] > 0.7
    assert scores["log_loss"] > 0


def test_numeric_columns_agree_with_scikit_learn(parties, domain, pooled):
    numeric = {name: domain[name] for name in ("age", "pressure", "class")}
    complete = pooled.dropna()
    with OneProcess(parties) as federation:
        result = federation.run(NAME, "fit", {"label": "class", "domain": numeric, "epsilon": 1e6})
    ours = NaiveBayes.from_dict(result["model"])
    theirs = GaussianNB().fit(complete[["age", "pressure"]], complete["class"])
    agreement = np.mean(ours.predict(complete) == theirs.predict(complete[["age", "pressure"]]))
    assert agreement > 0.97
    means = np.array([ours.features[name].moments()[0] for name in ("age", "pressure")])
    assert np.allclose(means, theirs.theta_.T, rtol=0.02)


def test_mock_client_of_vantage6_gives_the_same(tables, domain, pooled):
    result = run_mocked("smooth_naive_bayes", "fit", [*tables.values()], label="class", domain=domain, epsilon=1e6)
    schema = Schema.from_domain(domain)
    reference = fit_model(schema, "class", schema.encode(pooled), "gaussian")
    agreement = np.mean(NaiveBayes.from_dict(result["model"]).predict(pooled) == reference.predict(pooled))
    assert agreement > 0.97


def accuracy(train: pd.DataFrame, test: pd.DataFrame, schema: Schema, stations: int, **chosen: object) -> float:
    settings = Settings(**chosen)
    parts = [train.iloc[number::stations] for number in range(stations)]
    replies = [
        perturb(summarise(Release(schema, "class", settings), schema.encode(part)), Release(schema, "class", settings))
        for part in parts
    ]
    return float(np.mean(combine(Release(schema, "class", settings), replies).predict(test) == test["class"]))


def test_skin_keeps_its_accuracy_at_small_budgets(paper_data):
    """245,057 rows, three features: .9225 without privacy; smooth sensitivity pays with many rows."""
    frame = paper_data("skin").sample(frac=1.0, random_state=1)
    domain = {name: {"bounds": [0, 255]} for name in frame.columns[:-1]} | {"class": {"categories": [1, 2]}}
    schema, train, test = Schema.from_domain(domain), frame[24_000:], frame[:24_000]
    found = [accuracy(train, test, schema, 3, epsilon=1.0, noise=noise) for noise in ("cauchy", "student_t") * 3]
    assert np.median(found[::2]) > 0.91
    assert np.median(found[1::2]) > 0.91
    assert np.median([accuracy(train, test, schema, 3, epsilon=1.0, sensitivity="global") for _ in range(3)]) > 0.91
