"""Every wrong argument is refused by its name, before or in the first rounds."""

import pytest
from weighted_tables import DOMAIN

from fedbayes.federation.embedded import EmbeddedFederation
from fedbayes.federation.errors import AlgorithmError, ArgumentError

ALGORITHM = "discriminative_naive_bayes"
BASE = {"label": "class", "domain": DOMAIN, "rounds": 1}


@pytest.fixture(scope="module")
def federation(parties):
    with EmbeddedFederation(parties) as running:
        yield running


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
        ({"epsilon": 1.0}, 'tables="dp"'),
        ({"tables": "dp"}, "epsilon is needed"),
        ({"tables": "dp", "epsilon": 1.0, "delta": 0}, "delta"),
        ({"tables": "local", "epsilon": 1.0}, "fedavg"),
        ({"personalize": "yes"}, "personalize"),
        ({"clip": 0}, "clip"),
        ({"tolerance": 1}, "tolerance"),
        ({"honest_fraction": 0, "tables": "dp", "epsilon": 1.0}, "honest_fraction"),
        ({"neighbors": "all"}, "neighbors"),
        ({"bins": 0}, "bins"),
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
