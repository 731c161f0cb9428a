"""What kind of result a JSON file is: decided by its content (`view`), so that results of any version of an algorithm can be read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .commands.exits import UsageProblem
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
HAZARD = "baseline hazard"
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


def kind_of(model: Any) -> str:
    """Return the kind of a result's `model`."""
    from .view import view_of

    return view_of(model).kind


def whole_kind(result: Mapping[str, Any]) -> str:
    """Return the kind of a result: that of its model, or of what it tells beside one."""
    from .view import view_of_result

    return view_of_result(result).kind


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
    networks: dict[str, Mapping[str, Any]] = {}
    for position, entry in entries:
        if not isinstance(entry, Mapping):
            continue
        name = str(entry.get("name") or entry.get("organization") or position)
        candidates = [entry, *(entry.get(key) for key in ("network", "model"))]
        network = next((value for value in candidates if kind_of(value) == NETWORK), None)
        if network is not None:
            networks[name] = network
    return networks


def alone(model: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return a network as the networks that it is made of."""
    return [model]


def told_members(model: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the networks of an ensemble that are told."""
    return list(networks_of(model).values())
