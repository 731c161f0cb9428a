"""VDPNB through the embedded federation: parity with pooled, missing values, refusals."""

import numpy as np
import pandas as pd
import pytest
from one_process import OneProcess
from party_kit import with_folders

from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.bayes.naive_bayes.counting import fit_model
from fedbayes.bayes.schema import Schema
from fedbayes.client.result import Result
from fedbayes.federation.errors import ArgumentError, ThresholdError

from .conftest import DOMAIN

STATIONS = ["has color", "has size", "has shape"]
TASK = {"label": "kind", "domain": DOMAIN, "bins": 5, "organizations": STATIONS}
RECORDS = [
    {"color": "red", "size": 2.0, "shape": "square"},
    {"color": "blue", "size": 9.0, "shape": "round"},
    {"size": 9.0},
    {},
]


def pooled(table):
    schema = Schema.from_domain({name: DOMAIN[name] for name in ("color", "size", "shape", "kind")})
    return fit_model(schema, "kind", schema.encode(table), bins=5)


def test_fit_releases_tables_of_every_station(vertical, table):
    result = vertical.run("secure_naive_bayes", "fit", {**TASK, "split": "vertical", "epsilon": 1e6})
    fitted, reference = NaiveBayes.from_dict(result["model"]), pooled(table)
    for name, feature in reference.features.items():
        assert np.array_equal(fitted.features[name].counts, feature.counts)
    assert fitted.predict(table).tolist() == reference.predict(table).tolist()
    assert "epsilon is above 20" in result["privacy"]["reason"]
    assert result["federation"]["rounds"] == 3
    task = {"model": result["model"], "split": "vertical", "rows_aligned": True, "organizations": STATIONS}
    scores = vertical.run("secure_naive_bayes", "evaluate", task)
    assert scores["accuracy"] == pytest.approx(np.mean(reference.predict(table) == table["kind"]))
    assert scores["n"] == 900
    assert scores["federation"]["rounds"] == 4
    narrow = {**result["model"], "features": {"color": result["model"]["features"]["color"]}}
    with pytest.raises(ArgumentError, match="three stations"):
        vertical.run("secure_naive_bayes", "evaluate", {**task, "model": narrow})


def test_classification_by_encrypted_products_follows_the_papers_rule(vertical, table):
    task = {**TASK, "records": RECORDS, "epsilon": 1e6, "modulus_bits": 2048}
    result = vertical.run("secure_naive_bayes", "classify", task)
    reference = pooled(table)
    counts = reference.class_counts
    codes = Schema.from_domain(DOMAIN).select(["color", "shape"])
    content = result["model"]
    for record, found in zip(RECORDS, content["probabilities"], strict=True):
        scores = counts.copy()
        frame = pd.DataFrame([{name: record.get(name) for name in ("color", "shape")}])
        for name, code in codes.encode(frame).items():
            if code[0] >= 0:
                scores *= np.maximum(reference.features[name].counts[:, code[0]], 1) / counts
        if "size" in record:
            scores *= np.maximum(reference.features["size"].counts[:, int(record["size"] // 2)], 1) / counts
        assert found == pytest.approx(scores / scores.sum(), rel=1e-6)
    assert content["predicted"][:2] == ["a", "b"]
    assert not {"predictions", "probabilities", "classes"} & set(result)  # one place
    answer = Result(result)
    assert answer.kind == "predictions"
    assert answer.predictions.predicted == content["predicted"]
    shares = answer.to_frame()[[f"P({name})" for name in content["states"]]].to_numpy()
    assert shares.tolist() == content["probabilities"]
    assert f"P({content['states'][0]})" in answer.summary()
    assert result["federation"]["rounds"] == 4
    assert result["privacy"]["epsilon"] == 1e6


def test_a_dealer_works_for_products_too(vertical):
    task = {**TASK, "records": RECORDS[:1], "epsilon": 50.0, "modulus_bits": 2048}
    result = vertical.run("secure_naive_bayes", "classify", {**task, "keys": "dealer", "organizations": None})
    assert result["model"]["predicted"] == ["a"]
    assert result["federation"]["rounds"] == 5
    assert result["diagnostics"]["encryption"]["modulus"] == "made by the helper, factors erased"


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"records": []}, "records"),
        ({"records": [{"color": "violet"}]}, "color"),
        ({"records": [{"kind": "a"}]}, "records"),
        ({"features": ["color", "weight"]}, "weight"),
        ({"epsilon": None}, "epsilon"),
        ({"organizations": ["has color", "nobody"]}, "organizations"),
    ],
)
def test_bad_arguments_are_refused_by_name(vertical, changes, named):
    task = {**TASK, "records": RECORDS, "epsilon": 1.0, "modulus_bits": 2048, **changes}
    with pytest.raises(ArgumentError, match=named) as refused:
        vertical.run("secure_naive_bayes", "classify", task)
    assert "violet" not in str(refused.value)
    assert "outside=" not in str(refused.value)


def test_shares_have_no_meaning_for_released_tables(vertical):
    task = {**TASK, "split": "vertical", "epsilon": 1.0, "noise": "diluted_geometric", "delta": 1e-6}
    with pytest.raises(ArgumentError, match="polya"):
        vertical.run("secure_naive_bayes", "fit", task)


def test_a_feature_at_two_stations_is_refused(horizontal):
    task = {**TASK, "organizations": ["p", "q", "r"], "split": "vertical", "epsilon": 1.0}
    with pytest.raises(ArgumentError, match="more than one station"):
        horizontal.run("secure_naive_bayes", "fit", task)


@pytest.mark.parametrize("noise", [{"noise": "none"}, {"epsilon": 1e5}])
def test_two_exact_tables_of_one_station_are_held_against_each_other(tmp_path, noise):
    rows = 120
    ill = np.where(np.arange(rows) % 2, "no", "yes")
    columns = {"a": np.arange(20, 20 + rows), "b": np.arange(rows) % 3, "c": np.arange(rows) % 4}
    tables = {name: pd.DataFrame({f"of_{name}": column, "ill": ill}) for name, column in columns.items()}
    parties = with_folders(tables, tmp_path)
    domain = {"of_a": {"bounds": [0, 200]}, "of_b": {"categories": [0, 1, 2]}, "of_c": {"categories": [0, 1, 2, 3]}}
    asked = {"label": "ill", "split": "vertical", "domain": {**domain, "ill": {"categories": ["no", "yes"]}}, **noise}
    with OneProcess(
        parties, policies={name: {"ledger": "vault", "allow_differences": False} for name in "abc"}
    ) as nodes:
        for edges in ([0, 60, 200], [0, 60, 100, 200]):
            nodes.run("secure_naive_bayes", "fit", {**asked, "bins": {"of_a": edges}})
        with pytest.raises(ThresholdError, match="set apart"):
            nodes.run("secure_naive_bayes", "fit", {**asked, "bins": {"of_a": [0, 61, 200]}})
        nodes.run(
            "secure_naive_bayes", "fit", {**asked, "bins": {"of_a": [0, 61, 200]}, "noise": "polya", "epsilon": 1.0}
        )
