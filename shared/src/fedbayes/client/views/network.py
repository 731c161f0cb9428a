"""Bayesian networks and ensembles of them in a report."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import html
from ..figures import bayesian_network
from ..figures.style import to_svg
from ..formats import counted, number
from ..models.networks import networks_of

MOST_ROWS = 200  # of a node's table
NAMES = ("name", "organization")
FIELDS = (*NAMES, "weight", "score", "rows")


def pieces(model: Mapping[str, Any], label: str | None = None) -> list[str]:
    """Return the drawn graph, with the label in another colour, and the table of every node."""
    edges = [f"{parent} to {child}" for parent, child in model["edges"]]
    marked = label or (model["label"] if isinstance(model.get("label"), str) else None)
    nodes, arrows = counted(len(model["nodes"]), "node"), counted(len(edges), "edge")
    description = f"Graph with {nodes} and {arrows}" + (f": {', '.join(edges)}." if edges else ".")
    caption = f"{nodes}, {arrows}; arrows run from parent to child."
    return [
        html.picture(to_svg(bayesian_network(model, highlight=marked)), description, caption, wide=True),
        html.subheading("Probability tables"),
        *(html.fold(_summary(model, node), _table(model, node)) for node in model["nodes"]),
    ]


def _parents(model: Mapping[str, Any], node: str) -> list[str]:
    return [str(parent) for parent in model["tables"][node].get("parents", [])]


def _summary(model: Mapping[str, Any], node: str) -> str:
    parents = _parents(model, node)
    return f"{node}" + (f"  given {', '.join(parents)}" if parents else "")


def _table(model: Mapping[str, Any], node: str) -> str:
    parents = _parents(model, node)
    states = [str(state) for state in model["nodes"][node]["states"]]
    probabilities = np.asarray(model["tables"][node]["probabilities"], dtype=np.float64).reshape(-1, len(states))
    settings = itertools.product(*(model["nodes"][parent]["states"] for parent in parents))
    rows = [
        (*(str(value) for value in setting), *(f"{value:.4f}" for value in row))
        for setting, row in itertools.islice(zip(settings, probabilities, strict=True), MOST_ROWS)
    ]
    cut = "" if len(probabilities) <= MOST_ROWS else f"The first {MOST_ROWS} of {len(probabilities)} rows."
    numeric = range(len(parents), len(parents) + len(states))
    return html.table(cut, (*parents, *states), rows, numeric=tuple(numeric))


def ensemble_pieces(model: Mapping[str, Any]) -> list[str]:
    """Return the members of an ensemble, and the network of each that is told."""
    members = model["members"]
    entries = list(members.values()) if isinstance(members, Mapping) else list(members)
    fields = [name for name in FIELDS if any(isinstance(entry, Mapping) and name in entry for entry in entries)]
    rows = [[number(entry.get(name)) for name in fields] for entry in entries if isinstance(entry, Mapping)]
    networks = networks_of(model)
    content = [html.paragraph(f"Ensemble of {len(entries)} members.")]
    if fields and rows:
        numeric = [position for position, name in enumerate(fields) if name not in NAMES]
        content.append(html.table("Members", [name.capitalize() for name in fields], rows, numeric))
    if not networks:
        content.append(html.paragraph("The members' networks stay at their stations."))
    for name, network in networks.items():
        content += [html.subheading(f"Member {name}"), *pieces(network, model.get("label"))]
    return content
