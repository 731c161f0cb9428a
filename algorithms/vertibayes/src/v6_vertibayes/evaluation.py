"""Scores of a network from counts alone: families for the likelihood, the label's Markov blanket for predictions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fedbayes.bayes.evaluation import coarse
from fedbayes.federation.errors import ArgumentError
from fedbayes.randomness import uniform_bits

from . import guards, result
from .prediction import Model
from .sources import Source
from .validation import assess_counts, blanket

MOST_BLANKET_CELLS = 100_000  # of the table over the label and its blanket: 800 kB in a round
MOST_BLANKET_COLUMNS = 8  # of that table: more take more than three rounds of products


def chosen_method(model: Model, label: str, method: str | None, split: str, private: bool = False) -> str:
    """Return "counts" or "records": as asked, or counts where the table over the blanket is small enough, and with an epsilon."""
    if method is not None:
        chosen = method
    else:
        around = blanket(model.network, label)
        cells = float(np.prod([len(model.variables[name].all_states()) for name in (*around, label)]))
        fits = cells <= MOST_BLANKET_CELLS and len(around) < MOST_BLANKET_COLUMNS
        chosen = "counts" if fits or private or split != "vertical" else "records"
    if chosen == "records" and split != "vertical":
        raise ArgumentError('method="records" needs split="vertical"; use counts')
    if chosen == "records" and private:
        raise ArgumentError('epsilon: method="records" scores exactly; use counts, or leave epsilon out')
    return chosen


def by_counts(model: Model, label: str, source: Source) -> tuple[dict[str, Any], dict[str, float]]:
    """Return scores and criteria of a network from one batch of tables, and the errors of scores; small counts do not show where tables are exact."""
    network = model.network
    around = (*blanket(network, label), label)
    families = [(*network.parents[node], node) for node in network.nodes]
    *counted, table = source([*families, around])
    minimum = 0 if source.budget.covered else source.minimum_count
    seed = source.seed if source.budget.exact else int(uniform_bits(1)[0])
    scores, errors = assess_counts(network, around, np.maximum(table, 0), label, minimum, seed)
    rows = float(max(part.sum() for part in counted))
    observed = guards.observed(dict(zip(network.nodes, counted, strict=True)), network)
    criteria = result.criteria(network, observed, rows, minimum)
    if minimum > 1 and math.isfinite(total := criteria["log_likelihood"]):
        # beside the counts of the curve its digits would tell of one record in a family
        part, own = coarse.loss_part(result.moved_by_one(network)), coarse.seed_of(list(network.tables.values()))
        total, error = coarse.blurred(total, part, seed + own, "log_likelihood")
        criteria = result.criteria_of(network, coarse.decimals(total, error), rows)
        errors["log_likelihood_error"] = error
    return {**scores, "criteria": criteria}, errors
