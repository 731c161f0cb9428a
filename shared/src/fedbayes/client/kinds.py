"""What kind of result a JSON file is: decided by its content, so that results of any version of an algorithm can be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .exits import UsageProblem
from .files import read_json

NAIVE_BAYES = "naive Bayes"
WEIGHTED = "weighted naive Bayes"
NETWORK = "Bayesian network"
ENSEMBLE = "ensemble"
COX = "Cox regression"
COUNTS = "counts"
PREDICTIONS = "predictions"
SAMPLE = "synthetic records"
GAIN = "information gain"
DESCRIPTION = "description"
SCORES = "scores"
OTHER = "other"

SECTIONS: dict[str, type] = {
    "privacy": dict,
    "federation": dict,
    "diagnostics": dict,
    "warnings": list,
    "versions": dict,
    "provenance": dict,
}
STANDARD = ("model", *SECTIONS)


MARKS: dict[str, Callable[[Mapping[str, Any]], bool]] = {
    NAIVE_BAYES: lambda model: str(model.get("format", "")).startswith("fedbayes.naive_bayes/"),
    WEIGHTED: lambda model: str(model.get("format", "")).startswith("fedbayes-weighted-naive-bayes-"),
    NETWORK: lambda model: {"nodes", "edges", "tables"} <= set(model) and isinstance(model["nodes"], Mapping),
    ENSEMBLE: lambda model: isinstance(model.get("members"), list | Mapping),
    COX: lambda model: isinstance(model.get("coefficients"), list),
    COUNTS: lambda model: "counts" in model and "axes" in model,
    PREDICTIONS: lambda model: {"predicted", "probabilities", "states"} <= set(model),
    SAMPLE: lambda model: isinstance(model.get("records"), Mapping),
    GAIN: lambda model: isinstance(model.get("information_gain"), Mapping),
    DESCRIPTION: lambda model: str(model.get("format", "")).startswith("fedbayes.description/"),
    SCORES: lambda model: {"accuracy", "auc"} <= set(model),
}
"""Kind -> by what its model is known; the first that fits."""


def kind_of(model: Any) -> str:
    """Return the kind of a result's `model`."""
    if not isinstance(model, Mapping):
        return OTHER
    return next((kind for kind, fits in MARKS.items() if fits(model)), OTHER)


def whole_kind(result: Mapping[str, Any]) -> str:
    """Return the kind of a result: that of its model, or of what it tells beside one."""
    kind = kind_of(result.get("model"))
    if kind != OTHER:
        return kind
    if isinstance(result.get("predictions"), Mapping):
        return PREDICTIONS
    if isinstance(result.get("metrics"), Mapping) or {"accuracy", "auc"} <= set(result):
        return SCORES
    return GAIN if isinstance(result.get("information_gain"), Mapping) else OTHER


def read_result(path: Path) -> dict[str, Any]:
    """Return the result in a file.

    Raises
    ------
    UsageProblem
        If the file holds no result.
    """
    result = read_json(path, "the result")
    if not isinstance(result, dict):
        raise UsageProblem(f"{path} holds no result: a JSON object was expected")
    for name, kind in SECTIONS.items():
        if not isinstance(result.get(name), kind | None):
            raise UsageProblem(
                f"{path} holds no result: its '{name}' is malformed; give a file that `fedbayes run` wrote"
            )
    return result


def extras_of(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a result beyond the standard ones, such as ``accuracy`` or ``count``."""
    return {name: value for name, value in result.items() if name not in STANDARD}


def networks_of(model: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return member -> network for the members of an ensemble that are told (secret models are not)."""
    members = model["members"]
    entries = members.items() if isinstance(members, Mapping) else enumerate(members, 1)
    found: dict[str, Mapping[str, Any]] = {}
    for position, entry in entries:
        if not isinstance(entry, Mapping):
            continue
        name = str(entry.get("name") or entry.get("organization") or position)
        candidates = [entry, *(entry.get(key) for key in ("network", "model"))]
        network = next((value for value in candidates if kind_of(value) == NETWORK), None)
        if network is not None:
            found[name] = network
    return found
