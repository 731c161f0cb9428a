"""The first error of a task with a model of another method, or of another split, is about the model, whatever else is missing."""

from __future__ import annotations

from typing import Any

import pytest

from fedbayes.federation.errors import ArgumentError
from v6_vertibayes.model_arguments import Classify, Sample
from v6_vertibayes.model_arguments import Evaluate as EvaluateNetwork
from v6_verticox.use.arguments import Baseline, Evaluate, Predict

NETWORK = {"nodes": {"a": {"states": ["x", "y"], "parents": [], "probabilities": [[0.5, 0.5]]}}}
COX = {"kind": "cox", "coefficients": [], "time": "t", "event": "e", "features": []}
CLASSIFIER = {"kind": "naive_bayes", "classes": ["a"], "features": {"x": {}}, "label": "y"}


@pytest.mark.parametrize("function", [Baseline, Evaluate, Predict])
@pytest.mark.parametrize("model", [NETWORK, CLASSIFIER, {}])
@pytest.mark.parametrize("others", [{}, {"split": "horizontal"}, {"id_columm": "id"}])
def test_of_cox_regression(function: Any, model: dict[str, Any], others: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=r"^model .*verticox\.fit"):
        function.read("f", {"model": model, **others})


def test_of_whole_records() -> None:
    with pytest.raises(ArgumentError, match=r"^model: it is one of whole records .*, and f is for columns"):
        Predict.read("f", {"model": {**COX, "split": "horizontal"}})


@pytest.mark.parametrize("function", [Baseline, Predict])
def test_of_linked_records(function: Any) -> None:
    with pytest.raises(ArgumentError, match=r"^id_column"):
        function.read("f", {"model": COX})


@pytest.mark.parametrize("function", [Classify, EvaluateNetwork, Sample])
@pytest.mark.parametrize("model", [COX, CLASSIFIER, {}, {"model": 3}])
def test_of_networks(function: Any, model: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=r"^model must be the model that fit returned"):
        function.read("f", {"model": model})
