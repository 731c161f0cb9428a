"""The Bayesian networks that models are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..kinds import NETWORK
from ..view import view_of


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


def states_of(networks: Iterable[Mapping[str, Any]], node: str) -> list[str]:
    """Return the states that networks know of a node, each once; none where no network has it."""
    of_each = (network["nodes"][node]["states"] for network in networks if node in network["nodes"])
    return list(dict.fromkeys(str(state) for states in of_each for state in states))


def to_pgmpy(model: Mapping[str, Any]) -> Any:
    """Return a network as a pgmpy model, of an ensemble member -> model for the members that are told.

    Raises
    ------
    ImportError
        pgmpy is not installed.
    """
    from ...bayes.exchange import pgmpy as conversion
    from ...bayes.network import BayesianNetwork

    try:
        if view_of(model).kind == NETWORK:
            return conversion.to_pgmpy(BayesianNetwork.from_dict(model))
        members = networks_of(model).items()
        return {name: conversion.to_pgmpy(BayesianNetwork.from_dict(network)) for name, network in members}
    except ImportError:
        raise ImportError("to_pgmpy() needs the package pgmpy: pip install pgmpy") from None
