"""Scoring records split over stations equals scoring them pooled, and shows no more than it says."""

import numpy as np
import pytest
from exact_kit import row_log_likelihood
from limits_kit import predicting
from one_process import OneProcess

from fedbayes.bayes.network import BayesianNetwork
from fedbayes.bayes.network.discretise import Bins
from fedbayes.bayes.network.inference import posteriors
from fedbayes.bayes.network.record_scores import log_posteriors
from fedbayes.federation.errors import ArgumentError, PolicyError
from v6_vertibayes.evaluation import chosen_method
from v6_vertibayes.prediction import Model, classifier_of
from v6_vertibayes.validation import assess, blanket

EDGES = [["smoke", "ill"], ["age", "ill"], ["ill", "xray"], ["ill", "cough"], ["smoke", "cough"]]


@pytest.fixture(scope="module")
def model(federation, given):
    return federation.run("vertibayes", "fit", {**given, "structure": EDGES, "label": "ill"})["model"]


def encode(model, table) -> np.ndarray:
    network = BayesianNetwork.from_dict(model)
    records = {}
    for name in network.nodes:
        cuts = model["nodes"][name]["cuts"]
        values = table[name].tolist()
        if cuts:
            bins = Bins(tuple(cuts))
            codes = bins.encode(table[name].astype(float))
            values = [bins.labels[code] if code >= 0 else None for code in codes]
        records[name] = values
    return network.encode(records)


def test_classify_equals_pooled_posteriors(federation, model, table) -> None:
    result = federation.run("vertibayes", "classify", {"model": model, "id_column": "id"})
    content = result["model"]
    ordered = table.set_index("id").loc[content["identifiers"]]
    expected = posteriors(BayesianNetwork.from_dict(model), encode(model, ordered), "ill")
    np.testing.assert_allclose(content["probabilities"], expected, atol=1e-4)
    assert content["states"] == ["no", "yes"]
    assert sorted(content["identifiers"]) == sorted(table["id"])
    assert result["federation"]["rounds"] <= 6


@pytest.mark.audit
def test_three_stations_need_no_helper(federation, model, table, given) -> None:
    arguments = {"model": model, "id_column": "id", "helper": "none"}
    content = federation.run("vertibayes", "classify", arguments)["model"]
    ordered = table.set_index("id").loc[content["identifiers"]]
    expected = posteriors(BayesianNetwork.from_dict(model), encode(model, ordered), "ill")
    np.testing.assert_allclose(content["probabilities"], expected, atol=1e-4)
    again = federation.run("vertibayes", "fit", {**given, "structure": EDGES, "label": "ill", "helper": "none"})
    assert again["model"] == model


def test_both_evaluations_equal_the_pooled_one(federation, model, table) -> None:
    expected = assess(BayesianNetwork.from_dict(model), encode(model, table), "ill")
    arguments = {"model": model, "id_column": "id"}
    counted = federation.run("vertibayes", "evaluate", arguments)["model"]
    scored = federation.run("vertibayes", "evaluate", {**arguments, "method": "records"})["model"]
    assert counted["auc"] == pytest.approx(expected["auc"])
    assert scored["auc"] == pytest.approx(expected["auc"], abs=2e-3)
    np.testing.assert_array_equal(counted["confusion"], expected["confusion"])
    np.testing.assert_array_equal(scored["confusion"], expected["confusion"])
    assert counted["log_loss"] == pytest.approx(expected["log_loss"])
    network = BayesianNetwork.from_dict(model)
    rows = row_log_likelihood(network, encode(model, table))
    assert counted["criteria"]["log_likelihood"] == pytest.approx(rows.sum())


def test_records_with_gaps_are_scored_and_counted(holed_federation, model) -> None:
    arguments = {"model": model, "id_column": "id"}
    result = holed_federation.run("vertibayes", "evaluate", {**arguments, "method": "records"})
    assert result["model"]["auc"] > 0.7
    assert result["model"]["unlabelled"] > 0
    counted = holed_federation.run("vertibayes", "evaluate", arguments)["model"]
    assert counted["auc"] > 0.7


def test_sample_draws_from_the_model(federation, model) -> None:
    records = federation.run("vertibayes", "sample", {"model": model, "rows": 3000})["model"]["records"]
    assert set(records) == {"smoke", "age", "cough", "xray", "ill"}
    marginal = BayesianNetwork.from_dict(model).tables["smoke"][1]
    assert np.mean([state == "yes" for state in records["smoke"]]) == pytest.approx(marginal, abs=0.06)


def test_predictions_need_every_nodes_consent(kit, table, model) -> None:
    limits = predicting({"*": {"minimum_rows": 5}, "station1": {"allow_predictions": False}})
    parties = kit.spread(table, extra=12)
    with (
        OneProcess(parties=parties, helpers=["helper"], policies=limits) as embedded,
        pytest.raises(PolicyError, match=r"station1.*predict"),
    ):
        embedded.run("vertibayes", "classify", {"model": model, "id_column": "id"})


def test_sum_of_tables_is_the_posterior_up_to_a_constant(model, table) -> None:
    network = BayesianNetwork.from_dict(model)
    codes = encode(model, table)[:50]
    classifier = classifier_of(network, "ill")
    logs = np.tile(classifier.prior, (len(codes), 1))
    for group, part in zip(classifier.groups, classifier.tables, strict=True):
        logs += part[tuple(codes[:, network.nodes.index(name)] for name in group)]
    expected = posteriors(network, codes, "ill")
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    np.testing.assert_allclose(shares / shares.sum(axis=1, keepdims=True), expected, atol=1e-9)
    assert set(blanket(network, "ill")) == {name for group in classifier.groups for name in group}


def test_summed_shares_are_read_as_signed_fixed_point() -> None:
    scores = np.array([-(3 << 16), -(1 << 16)], dtype=np.int64).astype(np.uint32).astype(np.uint64)
    high = np.array([7, 9], dtype=np.uint64) << np.uint64(32)
    logs = log_posteriors(scores + high, np.zeros(2), 1)
    np.testing.assert_allclose(np.exp(logs[0]), [1 / (1 + np.e**2), np.e**2 / (1 + np.e**2)])


def test_models_and_labels_are_checked(model) -> None:
    with pytest.raises(ArgumentError, match="model must be"):
        Model.read({"nodes": 3})
    with pytest.raises(ArgumentError, match="model must be"):
        Model.read([1])
    read = Model.read({"model": model})
    with pytest.raises(ArgumentError, match="label must name a node"):
        read.target("nothing")
    with pytest.raises(ArgumentError, match="counts"):
        chosen_method(read, "ill", "records", "horizontal")
    with pytest.raises(ArgumentError, match=r"epsilon: .* use counts"):
        chosen_method(read, "ill", "records", "vertical", private=True)
    alone = BayesianNetwork({"a": ("x", "y"), "b": ("x", "y")}, {"a": (), "b": ()}, {n: np.full(2, 0.5) for n in "ab"})
    with pytest.raises(ArgumentError, match="connected to no other"):
        classifier_of(alone, "a")
