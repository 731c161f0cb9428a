"""Networks for pgmpy, which is optional: it is imported only when asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..network import BayesianNetwork


def to_pgmpy(network: BayesianNetwork) -> Any:
    """Return a pgmpy network with the same states, edges and tables.

    Raises
    ------
    ImportError
        pgmpy is not installed.
    """
    models = import_module("pgmpy.models")
    factors = import_module("pgmpy.factors.discrete")
    build = getattr(models, "DiscreteBayesianNetwork", None) or models.BayesianNetwork
    model = build()
    model.add_nodes_from(list(network.nodes))
    model.add_edges_from(network.edges)
    for node, states in network.states.items():
        parents = network.parents[node]
        values = network.tables[node].reshape(-1, len(states)).T
        tables: dict[str, Any] = {
            "variable": node,
            "variable_card": len(states),
            "values": values.tolist(),
            "state_names": {name: list(network.states[name]) for name in (node, *parents)},
        }
        if parents:
            tables["evidence"] = list(parents)
            tables["evidence_card"] = [len(network.states[parent]) for parent in parents]
        model.add_cpds(factors.TabularCPD(**tables))
    return model
