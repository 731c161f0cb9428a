"""Exact answers over single rows, which no deployed function needs: what sums and message passing are compared with."""

from typing import Any

import numpy as np

from fedbayes.bayes.evaluation.metrics import mean_auc, sides
from fedbayes.bayes.network import BayesianNetwork


def weighted_auc(truth: np.ndarray, scores: np.ndarray) -> float:
    """Return the mean of the one-against-the-rest areas, weighted by class size, of scores (rows, classes)."""
    ones = np.ones(len(truth))
    return mean_auc([sides(truth == label, scores[:, label], ones) for label in range(scores.shape[1])])


def row_log_likelihood(network: BayesianNetwork, codes: np.ndarray) -> np.ndarray[Any, Any]:
    """Return log P(row) of complete rows of codes (rows, nodes), shape (rows,)."""
    with np.errstate(divide="ignore"):
        terms = [
            np.log(network.tables[node][tuple(codes[:, position] for position in network.family(node))])
            for node in network.states
        ]
    return np.sum(terms, axis=0)
