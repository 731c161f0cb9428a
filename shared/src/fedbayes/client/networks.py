"""The Bayesian networks that models are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .kinds import NETWORK
from .view import view_of


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
        network = next((value for value in candidates if view_of(value).kind == NETWORK), None)
        if network is not None:
            networks[name] = network
    return networks


def alone(model: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return a network as the networks that it is made of."""
    return [model]


def of_members(model: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the networks of an ensemble that are told."""
    return list(networks_of(model).values())
