"""What the researcher gets: the network, its criteria, its scores, and what was revealed to whom."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fedbayes.bayes.network import BayesianNetwork
from fedbayes.bayes.tables import Counts
from fedbayes.federation import Federation, results

from .model import Learned, Variable
from .options import Options
from .sources import Source

EXACT = "exact counts are learned by central and stand behind the published probabilities"
SUMS = "exact sums over records are released"
PREDICTIONS = "probabilities of single records are released"
SYNTHETIC = "the records are synthetic, but drawn from a network whose own promise decides; see its privacy statement"
TALLIED = {
    "central": "sums over records: confusion, histograms of scores, log-loss; the number of records",
    "label_holder": "the class probabilities of the common records, from which values of other stations may be inferred",
}
PREDICTED = {
    "central": "the class probabilities of the common records, from which values may be inferred, and their identifiers",
}


def fitted(
    federation: Federation,
    options: Options,
    learned: Learned,
    source: Source,
    scores: Mapping[str, Any] | None,
    batches: int,
) -> dict[str, Any]:
    """Return the result of `fit`; `batches`: how many parts the epsilon was divided into."""
    minimum = max(options.minimum_count, float(source.minimum_count))
    network = learned.network.publish(learned.counts, minimum, options.smallest_probability)
    return federation.result(
        model=network_json(network, source.variables, options.label),
        privacy=privacy(options.epsilon, batches, source),
        diagnostics={
            "records": source.records,
            "structure": {
                "score": learned.structure.score,
                "tables": learned.structure.tables,
                "batches": learned.structure.batches,
            },
            "criteria": criteria(network, observed(learned.structure.counts, network), learned.rows),
            "em": learned.em or None,
            "minimum_count": minimum,
            "validation": scores,
        },
    )


def network_json(network: BayesianNetwork, variables: Mapping[str, Variable], label: str | None) -> dict[str, Any]:
    """Return the model: `nodes`, `edges`, `tables`, and the cut points of binned columns."""
    model = network.to_dict()
    for name, node in model["nodes"].items():
        node["cuts"] = None if variables[name].cuts is None else list(variables[name].cuts or ())
    return {**model, "label": label}


def observed(counts: Mapping[str, Counts], network: BayesianNetwork) -> dict[str, Counts]:
    """Return family counts without states that the network does not have: records with a gap in the family."""
    return {node: counts[node][tuple(slice(0, size) for size in network.shape(node))] for node in network.nodes}


def criteria(network: BayesianNetwork, counts: Mapping[str, Counts], rows: float) -> dict[str, Any]:
    """Return log-likelihood, AIC and BIC of the network on counted families.

    Records with a gap in a family are left out of that family. `aic_as_published` is VertiBayes' larger-is-better form.
    """
    log_likelihood = network.log_likelihood({node: np.maximum(table, 0) for node, table in counts.items()})
    return {
        "log_likelihood": log_likelihood,
        "parameters": network.parameters,
        "aic": network.aic(log_likelihood),
        "bic": network.bic(log_likelihood, max(rows, 1.0)),
        "aic_as_published": network.aic_as_published(log_likelihood),
    }


def privacy(epsilon: float | None, batches: int, source: Source) -> dict[str, Any]:
    """Return the privacy statement."""
    reveals = source.reveals()
    if epsilon is None:
        return results.not_private(EXACT, reveals=reveals)
    if source.found:
        return results.not_private(
            f"the tables are noisy, but the states of {', '.join(source.found)} were found in data; give a domain",
            reveals,
        )
    return results.privacy(
        True,
        unit="record",
        neighbors="add_remove",
        epsilon=epsilon,
        mechanism="discrete Laplace noise on every cell, made of the stations' shares inside the sum",
        composition=f"basic, over {batches} batches and all tables of a batch; the number of common records is taken as public",
        sensitivity="1 a table",
        reveals=reveals,
    )
