"""A fitted network as an argument: what it predicts, and the columns it was fitted on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fedbayes.bayes.network import BayesianNetwork
from fedbayes.bayes.network.probability_tables import cut_points
from fedbayes.bayes.network.record_scores import Classifier
from fedbayes.bayes.network.variable import MISSING_STATE
from fedbayes.federation.errors import ArgumentError, MessageError
from fedbayes.federation.questions.factor_info import check_true, names_its_columns
from fedbayes.federation.vertical.messages import Delivery
from fedbayes.federation.vertical.record_shares import WeightedFactors

from .model import Variable


@dataclass(frozen=True)
class Model:
    """A network as `fit` returned it; `given`: the argument as it was."""

    network: BayesianNetwork
    label: str | None
    variables: dict[str, Variable]
    given: Mapping[str, Any]

    @classmethod
    def read(cls, model: Any) -> Model:
        """Return the model of a result, or of its `model` entry.

        Raises
        ------
        ArgumentError
            It is no such model.
        """
        content = model.get("model", model) if isinstance(model, Mapping) else model
        if not isinstance(content, Mapping):
            raise ArgumentError("model must be the model that fit returned")
        try:
            network = BayesianNetwork.from_dict(content)
            nodes = content["nodes"]
            variables = {name: _variable(name, states, nodes[name]) for name, states in network.states.items()}
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as problem:
            raise ArgumentError(f"model must be the model that fit returned: {problem}") from None
        return cls(network, content.get("label"), variables, model)

    def target(self, label: Any) -> str:
        """Return the label that is asked for, or the model's own."""
        chosen = self.label if label is None else label
        if not isinstance(chosen, str) or chosen not in self.network.states:
            raise ArgumentError(f"label must name a node of the model; it has: {', '.join(self.network.states)}"[:400])
        return chosen

    @property
    def domain(self) -> dict[str, Any]:
        """Public states of the columns that are not binned."""
        return {name: {"categories": list(v.states)} for name, v in self.variables.items() if v.cuts is None}

    @property
    def bins(self) -> dict[str, Any]:
        """Cut points of the binned columns."""
        return {name: list(v.cuts) for name, v in self.variables.items() if v.cuts is not None}


def _variable(name: str, states: tuple[str, ...], node: Mapping[str, Any]) -> Variable:
    plain = states[:-1] if states[-1] == MISSING_STATE else states
    return Variable(name, plain, True, cut_points(plain, node.get("cuts")))


def weighted(model: Model, label: str, names: Sequence[str], delivery: Delivery) -> WeightedFactors:
    """Return what the scores of records under a model are sums of, for factors that hold the states of its columns.

    Raises
    ------
    MessageError
        If the factors are not those, or their states not the model's.
    """
    if delivery.setup.domain != model.domain or delivery.setup.bins != model.bins:
        raise MessageError("the states of the columns are not those of the model; the job stops")
    classifier, infos = classifier_of(model.network, label), {info.name: info for info in delivery.factors}
    groups = [infos[name].columns for name in names if name in infos and names_its_columns(infos[name])]
    if [sorted(group) for group in groups] != [sorted(group) for group in classifier.groups]:
        raise MessageError("the factors of a request are not those of the model; the job stops")
    try:
        check_true(delivery.factors)
    except ValueError as problem:
        raise MessageError(f"{problem}; the job stops") from None
    return WeightedFactors(list(names), classifier.weights(groups))


def classifier_of(network: BayesianNetwork, label: str) -> Classifier:
    """Return the classifier of a network; `ArgumentError` where the label is connected to nothing."""
    try:
        return Classifier.of(network, label, MISSING_STATE)
    except ValueError as problem:
        raise ArgumentError(f"label: {problem}") from None
