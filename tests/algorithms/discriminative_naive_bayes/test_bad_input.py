"""Every wrong argument is refused by its name, before or in the first rounds."""

import pytest
from one_process import OneProcess
from weighted_tables import DOMAIN

from fedbayes.federation.errors import AlgorithmError, ArgumentError

ALGORITHM = "discriminative_naive_bayes"
BASE = {"label": "class", "domain": DOMAIN, "rounds": 1}


@pytest.fixture(scope="module")
def federation(parties):
    with OneProcess(parties) as running:
        yield running


@pytest.mark.few(18)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rounds": 0}, "rounds"),
        ({"rounds": True}, "rounds"),
        ({"local_iterations": -1}, "local_iterations"),
        ({"prior": "flat"}, "prior"),
        ({"tables": "none"}, "tables"),
        ({"optimizer": "adam"}, "optimizer"),
        ({"weights": 3}, "weights"),
        ({"structure": "tree"}, "structure"),
        ({"regularization": -1}, "regularization"),
        ({"aggregation": "median"}, "aggregation"),
        ({"epsilon": 0}, "epsilon"),
        ({"tables": "secure_sum", "epsilon": 1.0}, 'tables="dp"'),
        ({"tables": "dp"}, "epsilon is needed"),
        ({"tables": "dp", "epsilon": 1.0, "delta": 0}, "delta"),
        ({"tables": "local", "epsilon": 1.0}, "fedavg"),
        ({"personalize": "yes"}, "personalize"),
        ({"clip": 0}, "clip"),
        ({"tolerance": 1}, "tolerance"),
        ({"honest_fraction": 0, "tables": "dp", "epsilon": 1.0}, "honest_fraction"),
        ({"neighbors": "all"}, "neighbors"),
        ({"bins": 0}, "bins"),
        ({"bins": {"z": [float("nan")]}}, "bins"),
        ({"delta": float("nan")}, "delta"),
        ({"delta": "small"}, "delta"),
        ({"clip": 1e7}, "clip"),
        ({"tables": "dp", "epsilon": 1e-9, "delta": 1e-300, "clip": 1e6}, "epsilon"),
        ({"structure": "a1de", "domain": {**DOMAIN, "a": {"categories": list(range(3000))}}}, "structure"),
        ({"label": "klass"}, "klass"),
        ({"features": ["a", "nothing"]}, "nothing"),
        ({"features": "a"}, "features"),
        ({"domain": {"class": {"categories": ["no", "yes"]}}}, "features"),
        ({"domain": {**DOMAIN, "class": {"categories": ["no"]}}}, "class"),
        ({"domain": None}, "domain is needed"),
        ({"organizations": ["north"]}, "organizations"),
        ({"iterations": 3}, "iterations"),
    ],
)
def test_a_wrong_argument_of_fit_is_named(federation, change, message):
    with pytest.raises(AlgorithmError, match=message):
        federation.run(ALGORITHM, "fit", {**BASE, **change})


@pytest.mark.parametrize("model", [None, {}, {"format": "x"}, "model", {"format": "fedbayes-weighted-naive-bayes-1"}])
def test_a_wrong_model_is_refused(federation, model):
    with pytest.raises(ArgumentError, match="model"):
        federation.run(ALGORITHM, "evaluate", {"model": model})


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({}, []),
        ({"local_iterations": 2, "aggregation": "by_rows"}, ["local_iterations", "aggregation"]),
        ({"optimizer": "fedavg", "local_iterations": 2, "aggregation": "by_rows"}, []),
        ({"delta": 0.1, "clip": 2, "honest_fraction": 0.5}, ["delta", "clip", "honest_fraction"]),
        ({"neighbors": "replace_one"}, ["neighbors"]),
        ({"features": ["a", "b"], "bins": 3, "continuous": "gaussian"}, ["bins", "continuous"]),
        ({"bins": 3, "continuous": "gaussian"}, ["bins"]),
        ({"tables": "dp", "epsilon": 1.0, "delta": 1e-3, "clip": 2, "tolerance": 0}, ["tolerance"]),
        ({"tables": "dp", "epsilon": 1.0, "optimizer": "fedavg", "aggregation": "by_rows"}, ["aggregation"]),
    ],
)
def test_an_argument_without_effect_is_told(federation, change, named):
    warnings = federation.run(ALGORITHM, "fit", {**BASE, **change})["warnings"]
    told = sorted(text.split()[0] for text in warnings if "no effect" in text)
    assert told == sorted(named)


def test_an_argument_of_evaluate_without_effect_is_told(federation):
    model = federation.run(ALGORITHM, "fit", BASE)["model"]
    change = {"delta": 0.1, "neighbors": "replace_one", "honest_fraction": 0.5}
    told = federation.run(ALGORITHM, "evaluate", {"model": model, **change})["warnings"]
    assert sorted(text.split()[0] for text in told) == sorted(change)
    assert federation.run(ALGORITHM, "evaluate", {"model": model})["warnings"] == []
