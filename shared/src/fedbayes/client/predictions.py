"""Predictions of new records from the model of a result, by kind of model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .exits import UsageProblem
from .kinds import COX, ENSEMBLE, NAIVE_BAYES, NETWORK, kind_of, networks_of

if TYPE_CHECKING:
    import pandas as pd


def predict_table(
    model: Any, frame: pd.DataFrame, target: str | None = None, times: Sequence[float] | None = None
) -> pd.DataFrame:
    """Return the predictions for every row of a table.

    Parameters
    ----------
    model : dict
        The `model` of a result.
    frame : DataFrame of shape (n, columns)
        New records; empty cells are missing values.
    target : str, optional
        The node of a Bayesian network or ensemble that is predicted.
    times : sequence of float, optional
        Where a Cox model tells survival probabilities.

    Returns
    -------
    DataFrame of shape (n, ...)
        ``prediction`` and ``P(class)`` for classifiers; ``linear_predictor``, ``partial_hazard`` and ``S(time)`` for Cox.

    Raises
    ------
    UsageProblem
        If the model cannot predict, or columns are missing.
    """
    predictors: dict[str, Callable[[], pd.DataFrame]] = {
        NAIVE_BAYES: lambda: _naive_bayes(model, frame),
        NETWORK: lambda: _network(model, frame, target),
        ENSEMBLE: lambda: _ensemble(model, frame, target),
        COX: lambda: _cox(model, frame, times),
    }
    kind = kind_of(model)
    if kind not in predictors:
        raise UsageProblem(
            "this result holds no model that predicts; it needs one of naive Bayes, network, ensemble, Cox"
        )
    return predictors[kind]()


def _classes(names: Sequence[Any], probabilities: np.ndarray[Any, Any]) -> pd.DataFrame:
    import pandas as pd

    labels = np.asarray([str(name) for name in names], dtype=object)
    columns: dict[str, Any] = {"prediction": labels[probabilities.argmax(axis=1)]}
    columns.update({f"P({name})": np.round(probabilities[:, k], 6) for k, name in enumerate(labels)})
    table: pd.DataFrame = pd.DataFrame(columns)
    return table


def _need(frame: pd.DataFrame, columns: Sequence[str]) -> None:
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise UsageProblem(
            f"the table lacks the column '{missing[0]}' that the model needs; add it (cells may be empty)"
        )


def _naive_bayes(model: Mapping[str, Any], frame: pd.DataFrame) -> pd.DataFrame:
    from ..bayes.naive_bayes import NaiveBayes

    classifier = NaiveBayes.from_dict(model)
    _need(frame, list(classifier.features))
    return _classes(classifier.classes, classifier.predict_proba(frame))


def _posterior(model: Mapping[str, Any], frame: pd.DataFrame, target: str) -> tuple[Sequence[str], Any]:
    from ..bayes.inference import posteriors
    from ..bayes.network import BayesianNetwork

    try:
        network = BayesianNetwork.from_dict(model)
    except ValueError as problem:
        raise UsageProblem(f"the model cannot be read: {problem}") from None
    if target not in network.states:
        raise UsageProblem(
            f"--target: the network has no node '{target[:60]}'; it has: {', '.join(network.nodes)}"[:400]
        )
    known = [node for node in network.nodes if node != target and node in frame.columns]
    if not known:
        raise UsageProblem("the table has no column of the network; columns must be named as its nodes")
    try:
        codes = network.encode({node: frame[node].tolist() for node in known})
    except ValueError as problem:
        raise UsageProblem(f"the table does not fit the network: {problem}") from None
    return network.states[target], posteriors(network, codes, target)


def _network(model: Mapping[str, Any], frame: pd.DataFrame, target: str | None) -> pd.DataFrame:
    wanted = target or model.get("target")
    if not isinstance(wanted, str):
        raise UsageProblem("--target is needed: name the node to predict")
    return _classes(*_posterior(model, frame, wanted))


def _ensemble(model: Mapping[str, Any], frame: pd.DataFrame, target: str | None) -> pd.DataFrame:
    members = networks_of(model)
    wanted = target or model.get("target")
    if not members:
        raise UsageProblem(
            "the members of this ensemble stay at their stations; classify with the algorithm's own function"
        )
    if not isinstance(wanted, str):
        raise UsageProblem("--target is needed: name the node to predict")
    states: list[str] = []
    votes = []
    for network in members.values():
        if wanted in network["nodes"]:
            names, posterior = _posterior(network, frame, wanted)
            states += [name for name in names if name not in states]
            votes.append((names, posterior))
    if not votes:
        raise UsageProblem(f"--target: no member has a node '{wanted[:60]}'")
    mean = np.zeros((len(frame), len(states)))
    for names, posterior in votes:
        mean[:, [states.index(name) for name in names]] += posterior / len(votes)
    return _classes(states, mean)


def _cox(model: Mapping[str, Any], frame: pd.DataFrame, times: Sequence[float] | None) -> pd.DataFrame:
    import pandas as pd

    from .survival import baseline_of, linear_predictor

    entries = model["coefficients"]
    _need(frame, [str(entry["feature"]) for entry in entries])
    try:
        predictor = linear_predictor(model, frame)
    except (TypeError, ValueError):
        raise UsageProblem("the columns of a Cox model must be numbers; correct the table") from None
    columns: dict[str, Any] = {"linear_predictor": predictor, "partial_hazard": np.exp(predictor)}
    if times is not None:
        baseline = baseline_of(model)
        if baseline is None:
            raise UsageProblem("--times: the model has no baseline hazard; leave --times out")
        for moment in times:
            columns[f"S({moment:g})"] = np.exp(-baseline.at(np.array([moment]))[0] * np.exp(predictor))
    table: pd.DataFrame = pd.DataFrame(columns)
    return table
