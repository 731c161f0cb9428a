"""Networks in other programs' forms: BIF, read by a parser of its own, and what pgmpy is given; queries are compared by enumeration."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np

from . import networks
from .cases import Difference, close, same

NAME = r"[A-Za-z_][A-Za-z0-9_]*"
VARIABLE = re.compile(
    rf"variable ({NAME}) \{{\s*type discrete \[ (\d+) \] \{{ ([^}}]*) \}};\s*(?:property (\".*\") ;\s*)?\}}\n"
)
TABLE = re.compile(rf"probability \( ({NAME})(?: \| ([^)]*))? \) \{{\n(.*?)\n\}}\n", re.DOTALL)


def read_bif(text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a network as a model's JSON, under the names of the text; and what its properties say of names, by node."""
    head, body = text.split("}\n", 1)
    if not re.fullmatch(rf"network {NAME} \{{\n", head):
        raise Difference(f"no network at the head: {head!r:.100}")
    nodes: dict[str, Any] = {}
    said: dict[str, Any] = {}
    for name, size, listed, meant in VARIABLE.findall(body):
        states = listed.split(", ")
        same(f"states of {name}", (len(states), len(set(states))), (int(size), int(size)))
        if name in nodes or not all(re.fullmatch(NAME, state) for state in states):
            raise Difference(f"no identifiers, or one twice: {name} {states!r:.200}")
        nodes[name] = {"states": states, "cuts": None}
        said[name] = json.loads(json.loads(meant)) if meant else {"name": name, "states": states}
    tables = {
        name: _table(name, [one for one in behind.split(", ") if one], rows, nodes)
        for name, behind, rows in TABLE.findall(body)
    }
    if TABLE.sub("", VARIABLE.sub("", body)).strip():
        raise Difference("a part of the text is neither a variable nor a table")
    return {"nodes": nodes, "tables": tables}, said


def _table(name: str, parents: list[str], rows: str, nodes: dict[str, Any]) -> dict[str, Any]:
    shape = [len(nodes[one]["states"]) for one in (*parents, name)]
    table = np.full(shape, np.nan)
    for line in rows.split("\n"):
        place, numbers = re.fullmatch(r"  (?:table|\(([^)]*)\)) ([^;]*);", line).groups()  # type: ignore[union-attr]
        given = place.split(", ") if place else []
        same(f"parents of a row of {name}", len(given), len(parents))
        at = tuple(nodes[parent]["states"].index(state) for parent, state in zip(parents, given, strict=True))
        table[at] = [float(one) for one in numbers.split(", ")]
    return {"parents": parents, "probabilities": table.tolist()}


def compare_bif(model: dict[str, Any], text: str) -> None:
    """Hold what the text says against the model: names, states, and all that is asked of it."""
    read, said = read_bif(text)
    names = dict(zip(model["nodes"], read["nodes"], strict=True))
    for name, other in names.items():
        same(f"meaning of {other}", said[other], {"name": name, "states": list(model["nodes"][name]["states"])})
    _compare(model, read, names)


def _compare(model: dict[str, Any], other: dict[str, Any], names: Mapping[str, str]) -> None:
    """Hold the distribution of each node, given any state of any other node, against the model's."""
    sizes = {name: len(node["states"]) for name, node in model["nodes"].items()}
    if not networks.is_small(model):
        return
    for given, size in sizes.items():
        seen = {name: np.full(size + 1, -1) for name in sizes} | {given: np.arange(-1, size)}
        renamed = {names[name]: codes for name, codes in seen.items()}
        for target in sizes:
            with np.errstate(invalid="ignore"):
                wanted = networks.belief(model, seen, target)
                found = networks.belief(other, renamed, names[target])
            same("impossible", np.isnan(found).tolist(), np.isnan(wanted).tolist())
            close(
                f"{target!r} given {given!r}",
                np.nan_to_num(found).tolist(),
                np.nan_to_num(wanted).tolist(),
                1e-9,
                1e-12,
            )


class _Network:
    """What pgmpy's class of networks does with what it is given."""

    def __init__(self) -> None:
        self.nodes: list[str] = []
        self.edges: list[tuple[str, str]] = []
        self.tables: list[Any] = []

    def add_nodes_from(self, nodes: Any) -> None:
        self.nodes += nodes

    def add_edges_from(self, edges: Any) -> None:
        self.edges += edges

    def add_cpds(self, *tables: Any) -> None:
        self.tables += tables


class _Table:
    """A table as pgmpy takes it: a row for every state, a column for every combination of the evidence, of which the last changes fastest."""

    def __init__(
        self,
        variable: str,
        variable_card: int,
        values: Any,
        evidence: Any = (),
        evidence_card: Any = (),
        state_names: Any = None,
    ) -> None:
        cells = np.array(values, dtype=float)
        same(f"shape of {variable!r}", cells.shape, (variable_card, math.prod(evidence_card)))
        close(f"sums of {variable!r}", cells.sum(axis=0).tolist(), [1.0] * cells.shape[1], 1e-2)
        self.variable, self.parents, self.states = variable, list(evidence), state_names
        self.cells = np.moveaxis(cells.reshape([variable_card, *evidence_card]), 0, -1)


def compare_pgmpy(model: dict[str, Any], convert: Any) -> None:
    """Hold what pgmpy is given by `convert` against the model."""
    models, factors = ModuleType("pgmpy.models"), ModuleType("pgmpy.factors.discrete")
    vars(models)["DiscreteBayesianNetwork"], vars(factors)["TabularCPD"] = _Network, _Table
    given = {"pgmpy.models": models, "pgmpy.factors.discrete": factors}
    with mock.patch.dict(sys.modules, {"pgmpy": ModuleType("pgmpy"), "pgmpy.factors": ModuleType("x"), **given}):
        network = convert()
    same("nodes", sorted(network.nodes), sorted(model["nodes"]))
    same("edges", sorted(map(list, network.edges)), sorted(map(list, model["edges"])))
    tables = {one.variable: one for one in network.tables}
    for name, one in tables.items():
        same(f"names of {name!r}", one.states, {at: list(model["nodes"][at]["states"]) for at in (name, *one.parents)})
    other = {
        "nodes": {name: {"states": model["nodes"][name]["states"]} for name in network.nodes},
        "tables": {name: {"parents": one.parents, "probabilities": one.cells.tolist()} for name, one in tables.items()},
    }
    _compare(model, other, {name: name for name in model["nodes"]})
