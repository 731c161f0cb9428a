"""The parts of a result, as dicts whose entries are attributes too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..bayes.values.written import printable
from . import formats


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
        return printable(formats.promise(self))


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
        return printable(formats.cost(self))


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

    @classmethod
    def of(cls, result: Mapping[str, Any]) -> Scores:
        """Return the scores of a result by their common names, and what a survival model's evaluation measured; empty if it has none."""
        from .scores import scores_of

        return cls({**scores_of(result), **({"metrics": result["metrics"]} if "metrics" in result else {})})


class Counts(Section):
    """A table of counts: its columns, the values along each of them, and the counts, nested; null where one is hidden."""

    columns: list[str]
    values_along: list[list[Any]]
    counts: list[Any]

    @classmethod
    def of(cls, model: Any) -> Counts:
        """Return what a result's `model` tells; empty if it is no table."""
        if not isinstance(model, Mapping) or not {"counts", "axes"} <= set(model):
            return cls()
        axes = axes_of(model["axes"])
        return cls(
            columns=[name for name, _ in axes],
            values_along=[["missing" if value is None else value for value in values] for _, values in axes],
            counts=model["counts"],
        )


class Predictions(Section):
    """Class probabilities of records: those of record i are ``probabilities[i]``, in the order of `states`."""

    label: str | None
    states: list[str]
    identifiers: list[str] | None
    stations: list[str] | None
    predicted: list[str]
    probabilities: list[list[float]]

    @classmethod
    def of(cls, model: Any) -> Predictions:
        """Return what a result's `model` tells; empty if it is none."""
        if not isinstance(model, Mapping) or not {"predicted", "probabilities", "states"} <= set(model):
            return cls()
        return cls({name: model[name] for name in cls.__annotations__ if name in model})


class Survival(Section):
    """What a Cox model says of records: survival of record i at the times is ``survival[i]``."""

    identifiers: list[str] | None
    linear_predictor: list[float] | None
    partial_hazard: list[float] | None
    times: list[float] | None
    survival: list[list[float]] | None

    @classmethod
    def of(cls, content: Any) -> Survival:
        """Return what a result's `predictions` tell; empty if they are none."""
        return cls(
            {name: content[name] for name in cls.__annotations__ if name in content}
            if isinstance(content, Mapping)
            else {}
        )


def axes_of(axes: Any) -> list[tuple[str, list[Any]]]:
    """Return (column, values) of every axis of a table of counts; axes are told as a mapping or as a list of objects, None is "missing"."""
    if isinstance(axes, Mapping):
        return [(str(name), list(values)) for name, values in axes.items()]
    names, values = ("column", "name"), ("values", "states", "categories", "labels")
    return [
        (
            str(next(axis[key] for key in names if key in axis)),
            list(next(axis[key] for key in values if key in axis)),
        )
        for axis in axes
    ]
