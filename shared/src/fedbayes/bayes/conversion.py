"""Networks to and from pgmpy, which is optional: it is imported only when asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from fedbayes.bayes.network import BayesianNetwork


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


def from_pgmpy(model: Any) -> BayesianNetwork:
    """Return the network of a pgmpy model whose tables are all set; its states become text."""
    states: dict[str, tuple[str, ...]] = {}
    parents: dict[str, tuple[str, ...]] = {}
    tables = {}
    for node in model.nodes():
        table = model.get_cpds(node)
        variables = list(table.variables)
        states[str(node)] = tuple(str(state) for state in table.state_names[node])
        parents[str(node)] = tuple(str(variable) for variable in variables[1:])
        values = np.asarray(table.values, dtype=np.float64)
        tables[str(node)] = np.moveaxis(values.reshape(table.cardinality), 0, -1)
    return BayesianNetwork(states, parents, tables)
