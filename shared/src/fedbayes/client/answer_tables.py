"""Results as data frames, by their kind."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..bayes.values.written import interval
from .formats import is_plain
from .kinds import extras_of
from .models.networks import networks_of
from .models.survival import baselines_of, summary_frame
from .scores import scores_of
from .sections import Predictions, Survival
from .text.counts import read_counts
from .text.cox_scores import flat_scores
from .text.description import cells

if TYPE_CHECKING:
    import pandas as pd


def _frame(data: Any, **options: Any) -> pd.DataFrame:
    import pandas as pd

    table: pd.DataFrame = pd.DataFrame(data, **options)
    return table


def cox(result: Mapping[str, Any]) -> pd.DataFrame:
    """Return the coefficients as lifelines' summary has them; as they are told where errors are missing."""
    try:
        return summary_frame(dict(result["model"]))
    except ValueError:
        entries = result["model"]["coefficients"]
        table = _frame(entries, index=[entry["feature"] for entry in entries])
        table.index.name = "feature"
        return table


def hazards(result: Mapping[str, Any]) -> pd.DataFrame:
    """Return stratum (where there are several), time, cumulative hazard and survival of a record at the mean."""
    baselines = baselines_of(result)
    rows = [
        [name, time, hazard, np.exp(-hazard)]
        for name, baseline in baselines.items()
        for time, hazard in zip(baseline.times, baseline.cumulative, strict=True)
    ]
    table = _frame(rows, columns=["stratum", "time", "cumulative_hazard", "survival"])
    return table.drop(columns="stratum") if list(baselines) == [""] else table


def naive_bayes(result: Mapping[str, Any]) -> pd.DataFrame:
    """Return feature, value and P(value | class) for every class; a numeric feature has a row for every bin."""
    from ..bayes.naive_bayes import NaiveBayes
    from .models.naive_bayes import tables_of

    model = NaiveBayes.from_dict(result["model"])
    rows = []
    for name in model.features:
        places, probabilities = tables_of(model, name)
        categories = model.schema[name].categories
        for position, shares in enumerate(probabilities.T):
            value = interval(places[position], places[position + 1]) if categories is None else categories[position]
            rows.append([name, value, *shares])
    return _frame(rows, columns=["feature", "value", *(f"P(value | {name})" for name in model.classes)])


def weighted(result: Mapping[str, Any]) -> pd.DataFrame:
    """Return feature, value, P(value | class) and its weight for every class; the plain fields where the model has no such table."""
    from .models.weighted import tables_of, values_of

    model = dict(result["model"])
    named_values = values_of(model)
    if not named_values:
        return plain(result)
    logs, weights = tables_of(model)
    classes = [str(name) for name in model["domain"][model["label"]]["categories"]]
    table = _frame(named_values, columns=["feature", "value"])
    for index, name in enumerate(classes):
        table[f"P(value | {name})"] = np.exp(logs[:, index])
    for index, name in enumerate(classes):
        table[f"weight | {name}"] = weights[:, index]
    return table


def network(result: Mapping[str, Any]) -> pd.DataFrame:
    """Return node, state, parents' states (as a text) and probability, a row for every cell."""
    return _frame(_cells(result["model"]), columns=["node", "state", "given", "probability"])


def ensemble(result: Mapping[str, Any]) -> pd.DataFrame:
    """Return the cells of every member's network that is told."""
    rows = [[name, *row] for name, member in networks_of(result["model"]).items() for row in _cells(member)]
    return _frame(rows, columns=["member", "node", "state", "given", "probability"])


def _cells(model: Mapping[str, Any]) -> list[list[Any]]:
    rows: list[list[Any]] = []
    for node, table in model["tables"].items():
        parents, states = list(table.get("parents", [])), model["nodes"][node]["states"]
        settings = itertools.product(*(model["nodes"][parent]["states"] for parent in parents))
        probabilities = np.asarray(table["probabilities"], dtype=np.float64).reshape(-1, len(states))
        for setting, row in zip(settings, probabilities, strict=True):
            condition = ", ".join(f"{parent}={state}" for parent, state in zip(parents, setting, strict=True))
            rows += [[node, state, condition, share] for state, share in zip(states, row, strict=True)]
    return rows


def counts(result: Mapping[str, Any]) -> pd.DataFrame:
    """Return a row for every cell: its values and its count, NaN where it is hidden; a line of "missing" that is 0 throughout is left out."""
    axes, counted = read_counts(result["model"])
    cells = counted.reshape(-1)
    rows = [[*values, count] for values, count in zip(itertools.product(*(v for _, v in axes)), cells, strict=True)]
    table = _frame(rows, columns=[*(name for name, _ in axes), "count"])
    whole = bool(np.all(np.isnan(cells) | (cells == np.floor(cells))))
    return table.astype({"count": "Int64"}) if whole else table


def description(result: Mapping[str, Any]) -> pd.DataFrame:
    """Return a row for every cell of every column: its value or bin and its count, NaN where it is hidden."""
    return _frame(list(cells(result["model"])), columns=["column", "value", "count"])


def predictions(result: Mapping[str, Any]) -> pd.DataFrame:
    """Return a row for every record: its identifier where it is told, what is predicted, with which probability or when."""
    classes, outlook = Predictions.of(result.get("model")), Survival.of(result.get("predictions"))
    columns: dict[str, Any] = {}
    named = classes.identifiers if classes else outlook.identifiers
    if named is not None:
        columns["record"] = [str(name) for name in named]
    if classes:
        columns["prediction"] = classes.predicted
        shares = np.asarray(classes.probabilities, dtype=np.float64).reshape(len(classes.predicted), -1)
        if shares.shape[1] != len(classes.states):
            raise ValueError("states and probabilities do not agree")
        columns.update({f"P({state})": shares[:, index] for index, state in enumerate(classes.states)})
        return _frame(columns)
    plain = {"linear_predictor": outlook.linear_predictor, "partial_hazard": outlook.partial_hazard}
    columns.update({name: values for name, values in plain.items() if values is not None})
    if outlook.survival is not None:
        shares = np.asarray(outlook.survival, dtype=np.float64).reshape(-1, len(outlook.times or []))
        columns.update({f"S({float(time):g})": shares[:, index] for index, time in enumerate(outlook.times or [])})
    return _frame(columns)


def sample(result: Mapping[str, Any]) -> pd.DataFrame:
    """Return the synthetic records."""
    return _frame(result["model"]["records"])


def scores(result: Mapping[str, Any]) -> pd.DataFrame:
    """Return score and value; of a survival model the scores by time and group too."""
    model = result.get("model")
    criteria = model.get("criteria") if isinstance(model, Mapping) else None
    named_scores = {**scores_of(result), **(criteria or {}), **flat_scores(result.get("metrics"))}
    plain = {name: value for name, value in named_scores.items() if is_plain(value)}
    return named(plain, "score", "value")


def gains(result: Mapping[str, Any]) -> dict[str, float]:
    """Return the information of every column about the target."""
    bits: Any = result.get("information_gain") or (result.get("model") or {}).get("information_gain")
    return {str(name): float(value or 0.0) for name, value in dict(bits).items()}


def null_levels(result: Mapping[str, Any]) -> Mapping[str, float | None] | None:
    """Return the information that chance reaches once in twenty, by column; None where it is not told."""
    null: Any = result.get("null_level") or (result.get("model") or {}).get("null_level")
    return null if isinstance(null, Mapping) else None


def gain(result: Mapping[str, Any]) -> pd.DataFrame:
    """Return column, information and, where it is told, the level that chance reaches."""
    table = named(gains(result), "column", "information_gain")
    null = null_levels(result)
    if null is not None:
        table["null_level"] = [null.get(name) for name in table.index]
    return table


def named(values: Mapping[str, Any], index: str, column: str) -> pd.DataFrame:
    """Return one column of values by name."""
    table = _frame({column: list(values.values())}, index=list(values))
    table.index.name = index
    return table


def plain(result: Mapping[str, Any]) -> pd.DataFrame:
    """Return the plain fields of a result of no known kind, and of its model."""
    model = result.get("model")
    content = {**extras_of(result), **(model if isinstance(model, Mapping) else {})}
    return named({name: value for name, value in content.items() if is_plain(value)}, "name", "value")
