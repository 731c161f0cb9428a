"""`Result`: what a task returned, as an object that stays the dict it was.

Nothing is computed here. What a result can be turned into depends on the kind of its model, which `fedbayes.client` knows; it is looked up when it is
asked for, as images and stations need neither figures nor tables.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

CLIENT = "fedbayes.client.answers"


class Section(dict[str, Any]):
    """A part of a result: a dict whose entries are attributes too. What an attribute names and the result lacks is None."""

    def __getattr__(self, name: str) -> Any:
        """Return an entry, or None where a documented one is absent."""
        if name in self:
            return self[name]
        if name in type(self).__annotations__:
            return None
        raise AttributeError(f"{type(self).__name__} has no '{name}'; it has: {', '.join(map(str, self))}")


class Promise(Section):
    """What is private, and for whom: a result's `privacy`."""

    differentially_private: bool
    reason: str | None
    unit: str
    neighbors: str | None
    epsilon: float | None
    delta: float | None
    mechanism: str | None
    composition: str | None
    sensitivity: str | None
    reveals: dict[str, str]

    def __str__(self) -> str:
        """Return the promise in one sentence."""
        return str(import_module("fedbayes.client.formats").promise(self))


class Cost(Section):
    """What a result took: a result's `federation`."""

    rounds: int
    bytes: int
    seconds: float
    organizations: list[str]
    aggregator: str
    debits: dict[str, Any]
    per_round: list[dict[str, Any]]

    def __str__(self) -> str:
        """Return rounds, bytes, seconds and organizations in one line."""
        return str(import_module("fedbayes.client.formats").cost(self))


class Provenance(Section):
    """When and what was computed, with which arguments and versions, and among whom."""

    date: str
    algorithm: str
    function: str
    arguments: dict[str, Any]
    versions: dict[str, str]
    parties: list[str]


class Scores(Section):
    """How well a model predicts: what `evaluate` returned."""

    accuracy: float | None
    auc: float | None
    log_loss: float | None
    calibration: dict[str, Any] | None
    n: int | None


class Counts(Section):
    """A table of counts: its columns, the values along each of them, and the counts, nested; null where one is hidden."""

    columns: list[str]
    values_along: list[list[Any]]
    counts: list[Any]


class Predictions(Section):
    """Class probabilities of records: those of record i are ``probabilities[i]``, in the order of `states`."""

    label: str | None
    states: list[str]
    identifiers: list[str] | None
    stations: list[str] | None
    predicted: list[str]
    probabilities: list[list[float]]


class Survival(Section):
    """What a Cox model says of records: survival of record i at the times is ``survival[i]``."""

    identifiers: list[str] | None
    linear_predictor: list[float] | None
    partial_hazard: list[float] | None
    times: list[float] | None
    survival: list[list[float]] | None


class ConversionError(TypeError):
    """The result holds no model of the kind that was asked for; the message says what it has."""


class Result(dict[str, Any]):
    """A result: the dict that the task returned, and what people do with it.

    ``result["model"]`` and all other entries are as before; ``json.dumps(result)`` writes the same file.
    """

    @property
    def kind(self) -> str:
        """What the model is: ``"naive Bayes"``, ``"Bayesian network"``, ``"Cox regression"``, ``"counts"``, ..."""
        return str(import_module("fedbayes.client.kinds").whole_kind(self))

    @property
    def privacy(self) -> Promise:
        """What is private, and for whom; printed, it is one sentence."""
        return Promise(self.get("privacy") or {})

    @property
    def cost(self) -> Cost:
        """Rounds, bytes, seconds, debits."""
        return Cost(self.get("federation") or {})

    @property
    def provenance(self) -> Provenance:
        """When and what was computed, with which arguments and versions, and among whom."""
        return Provenance(self.get("provenance") or {})

    @property
    def scores(self) -> Scores:
        """The scores of an evaluation; empty for other results."""
        standard = ("accuracy", "auc", "log_loss", "calibration", "n", "metrics")
        return Scores({name: self[name] for name in standard if name in self})

    @property
    def counts(self) -> Counts:
        """The table of counts; empty for other results."""
        model = self.get("model")
        if not isinstance(model, Mapping) or not {"counts", "axes"} <= set(model):
            return Counts()
        axes = _axes(model["axes"])
        return Counts(
            columns=[name for name, _ in axes], values_along=[values for _, values in axes], counts=model["counts"]
        )

    @property
    def predictions(self) -> Predictions:
        """Class probabilities of records; empty for other results."""
        model = self.get("model")
        if not isinstance(model, Mapping) or not {"predicted", "probabilities", "states"} <= set(model):
            return Predictions()
        return Predictions({name: model[name] for name in Predictions.__annotations__ if name in model})

    @property
    def survival(self) -> Survival:
        """What a Cox model says of records; empty for other results."""
        told = self.get("predictions")
        if not isinstance(told, Mapping):
            return Survival()
        return Survival({name: told[name] for name in Survival.__annotations__ if name in told})

    @property
    def warnings(self) -> list[str]:
        """What the researcher should know."""
        return list(self.get("warnings") or [])

    def summary(self) -> str:
        """Return the result as text: privacy, cost, warnings, scores and model, as ``fedbayes show`` prints it."""
        return str(self._client("summary"))

    def plot(self, **options: Any) -> Any:
        """Return the `matplotlib.figure.Figure` that shows most of the result; `options` go to the figure's function.

        Raises
        ------
        ConversionError
            If there is nothing to draw.
        """
        return self._client("plot", **options)

    def to_frame(self) -> Any:
        """Return the answer as a `pandas.DataFrame`: coefficients, counts, predictions, probability tables, scores or records."""
        return self._client("to_frame")

    def to_sklearn(self, label: str | None = None) -> Any:
        """Return a fitted scikit-learn classifier.

        Parameters
        ----------
        label : str, optional
            What a Bayesian network or an ensemble predicts, if it does not say itself.

        Raises
        ------
        ConversionError
            If the model is no classifier.
        """
        return self._client("to_sklearn", label=label)

    def to_pgmpy(self) -> Any:
        """Return the Bayesian network as a pgmpy model; ImportError without pgmpy, ConversionError for other models."""
        return self._client("to_pgmpy")

    def to_bif(self, path: str | Path | None = None) -> str:
        """Return the Bayesian network as BIF text, and write it to `path` if given; ConversionError for other models."""
        return str(self._client("to_bif", path=path))

    def to_lifelines(self) -> Any:
        """Return a fitted `lifelines.CoxPHFitter` with the model's coefficients, errors and baseline; ConversionError for other models."""
        return self._client("to_lifelines")

    def predict(self, frame: Any, label: str | None = None, times: Any = None) -> Any:
        """Return the predictions for the rows of a data frame, as ``fedbayes predict`` writes them."""
        return self._client("predict", frame=frame, label=label, times=times)

    def compare(self, smaller: Any) -> dict[str, Any]:
        """Return the likelihood-ratio test of this Cox model against a smaller one nested in it: statistic, degrees_of_freedom, p, added."""
        return dict(self._client("compare", smaller=smaller))

    def save(self, path: str | Path, force: bool = False) -> Path:
        """Write the result as JSON, whole or not at all, and return the path.

        Raises
        ------
        FileExistsError
            If the file is there and `force` is not given.
        """
        return Path(self._client("save", path=path, force=force))

    def report(self, path: str | Path) -> Path:
        """Write the result as one HTML page, and return the path."""
        return Path(self._client("report", path=path))

    def dossier(self, path: str | Path | None = None, **stated: str) -> dict[str, Any]:
        """Return a dossier for a data-protection officer, described by ``docs/dossier.schema.json``; no field of it is empty.

        Parameters
        ----------
        path : str or pathlib.Path, optional
            Where it is written: ``.html`` as a page, ``.json`` as it is.
        **stated : str
            What only people know: purpose, region, sector (of the registry's list), contact.
        """
        return dict(self._client("dossier", path=path, **stated))

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        return str(self._client("notebook_html"))

    def _client(self, name: str, **arguments: Any) -> Any:
        return getattr(import_module(CLIENT), name)(self, **arguments)


def _axes(axes: Any) -> list[tuple[str, list[Any]]]:
    """Return (column, values) of every axis of a table of counts; axes are told as a mapping or as a list of objects."""
    if isinstance(axes, Mapping):
        return [(str(name), list(values)) for name, values in axes.items()]
    names, values = ("column", "name"), ("values", "states", "categories", "labels")
    return [
        (
            str(next(axis[key] for key in names if key in axis)),
            ["missing" if value is None else value for value in next(axis[key] for key in values if key in axis)],
        )
        for axis in axes
    ]


def load(path: str | Path) -> Result:
    """Return the result in a JSON file that `Result.save`, ``fedbayes run`` or a server wrote.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it holds no result.
    """
    file = Path(path)
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        raise ValueError(f"{file} holds no result: it is not valid JSON") from None
    if not isinstance(content, dict) or not {"model", "privacy", "federation"} & set(content):
        raise ValueError(f"{file} holds no result; give a file that `fedbayes run` or `save` wrote")
    return Result(content)
