"""Predictions of new records from the model of a result, by kind of model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...bayes.formulae.model_matrix import columns_at
from ...bayes.formulae.term_reader import read_terms
from ...bayes.network.variable import MISSING_STATE
from ...bayes.values.column_codes import floats_of
from ...bayes.values.encoding import SchemaError, canonical_text, categories_meant, number_of
from ...bayes.values.written import shortest
from ...typing import Array
from ..exits import UsageProblem
from ..kinds import COX, ENSEMBLE
from ..view import view_of
from .networks import networks_of, states_of

if TYPE_CHECKING:
    import pandas as pd

FARTHEST = 700.0  # of a linear predictor: e to more is no float


def predict_table(
    model: Any, frame: pd.DataFrame, label: str | None = None, times: Sequence[float] | None = None
) -> pd.DataFrame:
    """Return the predictions for every row of a table.

    Parameters
    ----------
    model : dict
        The `model` of a result.
    frame : DataFrame of shape (n, columns)
        New records; empty cells are missing values.
    label : str, optional
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
    ValueError, TypeError, LookupError, AttributeError
        Python's own, if the model is malformed; `TooLarge` if it is more than exact inference works on.
    """
    view = view_of(model)
    if label is not None and "label" not in view.takes:
        own = "has none" if view.kind == COX else "predicts its own label"
        raise UsageProblem(f"--label is for Bayesian networks and ensembles; this model {own}: leave it out")
    if times is not None and "times" not in view.takes:
        raise UsageProblem("--times is for Cox models; leave it out")
    load = _declared(model.get("format")) if isinstance(model, Mapping) and view.kind != ENSEMBLE else None
    if load is not None:
        return _packaged(load, model, frame)
    if not view.predict:
        raise UsageProblem(
            "this result holds no model that predicts; it needs one of naive Bayes, network, ensemble, Cox"
        )
    table: pd.DataFrame = view.part("predict")(model, frame, label, times)
    return table


def _declared(name: Any) -> Any:
    """Return the loader that an installed package declares for a kind of model, or None.

    A package declares ``name = "module:load"`` in the entry point group ``fedbayes.models``. The name is the model's ``format``, and ``load(model)``
    returns an object with `features`, `classes` and ``predict_proba(frame)``; or it is ``ensemble``, and the object has `members` (with `columns`),
    `classes`, `secret` and ``predict_log_proba(columns, rows)``.
    """
    from importlib.metadata import entry_points

    points = [point for point in entry_points(group="fedbayes.models") if point.name == name]
    return points[0].load() if points else None


def _packaged(load: Callable[[Any], Any], model: Any, frame: pd.DataFrame) -> pd.DataFrame:
    classifier = load(model)
    _need(frame, [str(name) for name in classifier.features])
    return _classes(list(classifier.classes), np.asarray(classifier.predict_proba(frame)))


def _classes(names: Sequence[Any], probabilities: Array) -> pd.DataFrame:
    import pandas as pd

    labels = np.asarray([str(name) for name in names], dtype=object)
    columns: dict[str, Any] = {"prediction": labels[probabilities.argmax(axis=1)]}
    columns.update({f"P({name})": probabilities[:, k] for k, name in enumerate(labels)})
    table: pd.DataFrame = pd.DataFrame(columns)
    return table


def _need(frame: pd.DataFrame, columns: Sequence[str]) -> None:
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise UsageProblem(
            f"the table lacks the column '{missing[0]}' that the model needs; add it (cells may be empty)"
        )


def by_naive_bayes(model: Mapping[str, Any], frame: pd.DataFrame, label: str | None, times: Any) -> pd.DataFrame:
    """Return classes and probabilities."""
    from ...bayes.naive_bayes import NaiveBayes

    classifier = NaiveBayes.from_dict(model)
    _need(frame, list(classifier.features))
    return _classes(classifier.classes, classifier.predict_proba(frame))


def _posterior(model: Mapping[str, Any], frame: pd.DataFrame, label: str) -> tuple[Sequence[str], Any]:
    from ...bayes.network import BayesianNetwork
    from ...bayes.network.inference import posteriors

    network = BayesianNetwork.from_dict(model)
    if label not in network.states:
        raise UsageProblem(f"--label: the network has no node '{label[:60]}'; it has: {', '.join(network.nodes)}"[:400])
    evidence = [node for node in network.nodes if node != label and node in frame.columns]
    if not evidence:
        raise UsageProblem("the table has no column of the network; columns must be named as its nodes")
    codes = network.encode({node: _states(model["nodes"][node], frame[node]) for node in evidence})
    return network.states[label], posteriors(network, codes, label)


def _states(node: Mapping[str, Any], column: pd.Series[Any]) -> list[Any]:
    """Return a column's values as states of a node: numbers are binned where the node has cuts, gaps are a state where it has one.

    What the node does not know counts as a gap (`coverage` tells how many).
    """
    import pandas as pd

    states, cuts = list(node["states"]), node.get("cuts")
    same = categories_meant(states)
    values: list[Any] = [same.get(canonical_text(value) or "") for value in column.tolist()]
    if cuts is not None:  # numbers of any dtype, as coverage counts them; what is no number may be the name of a bin
        numbers = floats_of(column)
        bins = np.searchsorted(np.asarray(cuts, dtype=np.float64), numbers, side="right")
        coded = zip(values, bins, np.isnan(numbers), strict=True)
        values = [value if missing else states[code] for value, code, missing in coded]
    return [MISSING_STATE if MISSING_STATE in states and pd.isna(value) else value for value in values]


def by_network(model: Mapping[str, Any], frame: pd.DataFrame, label: str | None, times: Any) -> pd.DataFrame:
    """Return states and probabilities of the label."""
    wanted = label or model.get("label")
    if not isinstance(wanted, str):
        raise UsageProblem("--label is needed: name the node to predict")
    return _classes(*_posterior(model, frame, wanted))


def by_ensemble(model: Mapping[str, Any], frame: pd.DataFrame, label: str | None, times: Any) -> pd.DataFrame:
    """Vote as the package of the algorithm does; without it only plain means of the members' posteriors are possible."""
    members = networks_of(model)
    if len(members) < len(model["members"]) or not members:
        raise UsageProblem(
            "members of this ensemble stay at their stations; classify with the algorithm's own function"
        )
    load = _declared("ensemble")
    if load is not None and label in (None, model.get("label")) and "vote" in model:
        ensemble = load(model)
        used = {name for member in ensemble.members for name in member.columns if name in frame.columns}
        if not used:
            raise UsageProblem("the table has no column of the ensemble; columns must be named as its nodes")
        columns = {name: frame[name] for name in sorted(used)}
        return _classes(ensemble.classes, np.exp(ensemble.predict_log_proba(columns, len(frame))))
    if model.get("vote", "mean") != "mean" or model.get("weights", "uniform") != "uniform":
        if label not in (None, model.get("label")):
            raise UsageProblem("--label: the members of this ensemble vote on its own label alone; leave it out")
        raise UsageProblem("this ensemble's votes need the package v6-bayesian-ensemble; install it")
    return _mean_of(members, frame, label or model.get("label"))


def _mean_of(members: Mapping[str, Mapping[str, Any]], frame: pd.DataFrame, label: Any) -> pd.DataFrame:
    if not isinstance(label, str):
        raise UsageProblem("--label is needed: name the node to predict")
    votes = [_posterior(network, frame, label) for network in members.values() if label in network["nodes"]]
    if not votes:
        raise UsageProblem(f"--label: no member has a node '{label[:60]}'")
    states = states_of(members.values(), label)
    mean = np.zeros((len(frame), len(states)))
    for names, posterior in votes:
        mean[:, [states.index(name) for name in names]] += posterior / len(votes)
    return _classes(states, mean)


def _design(model: Mapping[str, Any], frame: pd.DataFrame) -> pd.DataFrame:
    """Return the model's design columns, shape (n, coefficients): a text column gives the indicators ``column=category`` of it."""
    import pandas as pd

    if model.get("formula"):
        made: pd.DataFrame = pd.DataFrame(_of_formula(model, frame), index=frame.index)
        return made
    from .survival import as_categories, indicators

    coded = indicators(model, frame.columns)
    references = model.get("references") or {}
    categories_of: dict[str, list[str]] = {}
    for source, category in coded.values():
        categories_of.setdefault(source, [str(references[source])] if source in references else []).append(category)
    columns: dict[str, Any] = {}
    for name in (str(entry["feature"]) for entry in model["coefficients"]):
        source, category = coded.get(name, (name, ""))
        _need(frame, [source])
        columns[name] = frame[source]
        if name in coded:
            texts = as_categories(frame[source], categories_of[source])
            columns[name] = (texts == category).astype(np.float64).where(texts.notna())
    design: pd.DataFrame = pd.DataFrame(columns)
    return design


def _of_formula(model: Mapping[str, Any], frame: pd.DataFrame) -> dict[str, Any]:
    terms = read_terms(model["formula"])
    _need(frame, terms.columns)
    present = frame[list(terms.columns)].notna().all(axis=1).to_numpy()
    complete = frame[present]
    try:
        made = columns_at(
            terms, model.get("levels") or {}, {name: complete[name] for name in terms.columns}, len(complete)
        )
    except SchemaError as problem:
        raise UsageProblem(str(problem)) from None
    return {name: _with_gaps(values, present) for name, values in made.items()}


def _with_gaps(values: Array, present: Array) -> Array:
    """Return the values of complete records at their places, NaN at the others, shape (n,)."""
    placed = np.full(len(present), np.nan)
    placed[present] = values
    return placed


def by_cox(
    model: Mapping[str, Any], frame: pd.DataFrame, label: str | None, times: Sequence[float] | None
) -> pd.DataFrame:
    """Return linear predictors, partial hazards, and survival at times."""
    import pandas as pd

    from .survival import linear_predictor

    design = _design(model, frame)
    numbers = {}
    for name in design.columns:
        numbers[name] = _numbers(name, design[name])
    predictor = linear_predictor(model, pd.DataFrame(numbers, index=design.index))
    hazards = np.exp(np.minimum(predictor, FARTHEST))
    columns: dict[str, Any] = {"linear_predictor": predictor, "partial_hazard": hazards}
    if times is not None:
        cumulative = _cumulative_hazards(model, frame, np.asarray(times, dtype=np.float64))
        with np.errstate(over="ignore"):  # infinitely much hazard is no survival
            survival = np.exp(-cumulative * hazards[:, None])
        columns.update({f"S({shortest(moment)})": survival[:, k] for k, moment in enumerate(times)})
    table: pd.DataFrame = pd.DataFrame(columns)
    return table


def _numbers(name: str, column: pd.Series[Any]) -> Array:
    """Return a column's numbers, shape (n,): 1 and 0 for truth values, NaN where one is missing."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf":
        return column.to_numpy(dtype=np.float64)
    numbers = [number_of(value) for value in column.tolist()]
    if None in numbers:
        raise UsageProblem(f"the column '{name}' of a Cox model must hold numbers; correct the table")
    return np.array(numbers, dtype=np.float64)


def _cumulative_hazards(model: Mapping[str, Any], frame: pd.DataFrame, times: Array) -> Array:
    """Return the cumulative baseline hazard of every record's stratum, shape (n, times); NaN in an unknown stratum."""
    from .survival import as_categories, baselines_of

    baselines = baselines_of(model)
    if not baselines:
        raise UsageProblem("--times: the model has no baseline hazard; leave --times out")
    hazards = {name: baseline.at(times) for name, baseline in baselines.items()}
    if "" in hazards:
        return np.tile(hazards[""], (len(frame), 1))
    column = str(model.get("strata"))
    _need(frame, [column])
    unknown = np.full(len(times), np.nan)
    strata = as_categories(frame[column], hazards)
    return np.array([hazards.get(value, unknown) for value in strata]).reshape(len(frame), len(times))
