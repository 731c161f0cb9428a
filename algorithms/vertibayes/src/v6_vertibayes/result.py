"""What the researcher gets: the network, its criteria, its scores, and what was revealed to whom."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fedbayes.bayes.evaluation.coarse import COARSE
from fedbayes.bayes.network import BayesianNetwork
from fedbayes.bayes.network.probability_tables import log_likelihood_of
from fedbayes.bayes.schema import NEARLY_ALL
from fedbayes.bayes.search.scores import by_name
from fedbayes.bayes.search.structure import Structure
from fedbayes.dp.laws import law_of
from fedbayes.dp.neighbors import OF_RECORDS
from fedbayes.federation import Federation, results
from fedbayes.federation.jobs.loudness import loud_cells
from fedbayes.federation.vertical.accounting import REPLACE_ONE
from fedbayes.typing import Counts

from .arguments import Fit
from .budget import Budget
from .guards import observed, pooled, pooled_tables
from .measuring import HEAVY
from .model import Learned, Variable
from .scoring import RecordScores
from .sources import Source

EXACT = "central learns exact counts, and the published probabilities are computed from them"
PUBLIC = "; which records are common, and their number, are taken as public"
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


def least_count(options: Fit, source: Source) -> float:
    """Return the smallest count behind a configuration that is published: of the task, or of a node."""
    return max(options.minimum_count, float(source.minimum_count))


def fitted(
    federation: Federation,
    options: Fit,
    learned: Learned,
    network: BayesianNetwork,
    source: Source,
    scores: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Return the result of `fit`, whose model is `network`."""
    minimum = least_count(options, source)
    guard = 0.0 if source.budget.covered else minimum
    missing = missing_shares(learned, source, guard)
    structure = learned.structure
    result = federation.result(
        model=network_json(network, source.variables, options.label),
        privacy=privacy(source.budget, source, bool(learned.measured)),
        diagnostics={
            "records": source.records,
            "structure": {
                "score": total_score(options, structure, guard),
                "tables": structure.tables,
                "batches": structure.batches,
            },
            "criteria": criteria(network, observed(structure.counts, network), records_of(learned), guard),
            "em": {name: value for name, value in learned.em.items() if not guard or name != "log_likelihood"} or None,
            "minimum_count": minimum,
            "missing": missing,
            "measured": [batch.to_dict() for batch in learned.measured] or None,
            "validation": scores,
        },
    )
    all_warnings = [
        *of_missing(missing),
        *of_unseen(learned, source, guard),
        *of_noise(learned, source),
        *result["warnings"],
    ]
    return {**result, "warnings": all_warnings}


def counted(
    federation: Federation, scores: dict[str, Any], errors: dict[str, float], budget: Budget, source: Source
) -> dict[str, Any]:
    """Return the result of `evaluate` from tables."""
    statement = privacy(budget, source)
    if errors:
        statement["reason"] += f"; scores{COARSE}"
    return federation.result(scores, statement, {"records": source.records, **errors})


def tallied(
    federation: Federation, scores: dict[str, Any], errors: dict[str, float], records: RecordScores
) -> dict[str, Any]:
    """Return the result of `evaluate` record by record."""
    reveals = {**records.tables.reveals(), **TALLIED}
    statement = results.not_private(SUMS + (COARSE if errors else ""), reveals)
    return federation.result(scores, statement, {"records": records.rows, **errors})


def classified(federation: Federation, predictions: dict[str, Any], records: RecordScores) -> dict[str, Any]:
    """Return the result of `classify`."""
    reveals = {**records.tables.reveals(), **PREDICTED}
    return federation.result(predictions, results.not_private(PREDICTIONS, reveals), {"records": records.rows})


def sampled(federation: Federation, records: dict[str, Any]) -> dict[str, Any]:
    """Return the result of `sample`."""
    return federation.result({"records": records}, results.not_private(SYNTHETIC))


def of_noise(learned: Learned, source: Source) -> list[str]:
    """Return the warning of a network in whose tables noise is a large part."""
    remedy = (
        f"the network says little; what would help: a larger epsilon (now {source.budget.epsilon or 0.0:g}), "
        "fewer columns, coarser bins or a smaller max_parents"
    )
    if learned.measured:
        part = learned.measured[-1].variation
        warning = (
            f"noise alone moves about {part:.0%} of the records in a table that the network was fitted to: {remedy}"
        )
        return [warning] if part >= HEAVY else []
    if source.budget.exact or not learned.counts:
        return []
    loud = loud_cells(list(learned.structure.counts.values()), max(source.deviations))
    return [f"{loud}, so the network is hardly known: {remedy}"] if loud else []


def total_score(options: Fit, structure: Structure, minimum: float) -> float:
    """Return the structure's score; hidden configurations of a node count as one."""
    if not minimum:
        return structure.score
    score = by_name(options.score, options.equivalent_sample_size)
    return sum(score(table) for table in pooled(structure.parents, structure.counts, minimum).values())


def records_of(learned: Learned) -> float:
    """Return how many records there are, with those that tables without "missing" leave out: what an evaluation takes for them, too."""
    return max([learned.rows, *(total for _, total in learned.missing.values())])


def missing_shares(learned: Learned, source: Source, minimum: float) -> dict[str, float | None]:
    """Return the share of records without a known value of each column: missing, or outside its domain.

    None where the records without, or those with, are fewer than `minimum`; a noisy share is cut to 0 and 1.
    """
    shares: dict[str, float | None] = {}
    for name, (without, total) in learned.missing.items():
        counts = (without, total - without)
        small = not source.budget.covered and any(0 < count < minimum for count in counts)
        shares[name] = None if small else round(min(max(without / max(total, 1.0), 0.0), 1.0), 4)
    return shares


def of_missing(shares: Mapping[str, float | None]) -> list[str]:
    """Return the warning, the first one, of columns of which nearly nothing is known."""
    unknown = sorted(name for name, share in shares.items() if share is not None and share > NEARLY_ALL)
    if not unknown:
        return []
    return [
        f"nearly no value was understood in: {', '.join(unknown)}; nothing can be learned from it: "
        "compare the domain, with its spelling, with the stations' files"
    ]


def of_unseen(learned: Learned, source: Source, minimum: float) -> list[str]:
    """Return the warning of families that no record, or fewer than `minimum`, has whole: how they go together is not in the data."""
    if not source.budget.exact:
        return []
    unseen = []
    for node, table in learned.structure.counts.items():
        family = [*learned.structure.parents[node], node]
        observed = tuple(slice(len(learned.network.states[name])) for name in family)
        if len(family) > 1 and np.asarray(table)[observed].sum() < max(minimum, 1.0):
            unseen.append(f"{node} ({', '.join(family[:-1])})")
    if not unseen:
        return []
    return [
        f"no record, or hardly one, has values of a column and of all its parents: {'; '.join(unseen)}; how they depend on one another cannot be learned: "
        "leave these edges out"
    ]


def network_json(network: BayesianNetwork, variables: Mapping[str, Variable], label: str | None) -> dict[str, Any]:
    """Return the model: `nodes`, `edges`, `tables`, and the cut points of binned columns."""
    model = network.to_dict()
    for name, node in model["nodes"].items():
        node["cuts"] = None if variables[name].cuts is None else list(variables[name].cuts or ())
    return {**model, "label": label}


def criteria(network: BayesianNetwork, counts: Mapping[str, Counts], rows: float, minimum: float = 0) -> dict[str, Any]:
    """Return log-likelihood, AIC and BIC of the network on counted families.

    Records with a gap in a family are left out of that family; hidden configurations of a node count as one.
    `aic_published` is VertiBayes' larger-is-better form.
    """
    positive = {node: np.maximum(table, 0) for node, table in counts.items()}
    together = pooled(network.parents, positive, minimum)
    tables = pooled_tables(network.parents, positive, network.tables, minimum)
    return criteria_of(network, log_likelihood_of(tables, together), rows)


def moved_by_one(network: BayesianNetwork) -> float:
    """Return the most that one record with another value in one column moves the log-likelihood, in nats, where no probability is 0."""
    logs = {node: np.log(table[table > 0]) for node, table in network.tables.items()}
    spans = {node: float(np.ptp(own)) if own.size else 0.0 for node, own in logs.items()}
    return max(
        sum(span for node, span in spans.items() if name in (node, *network.parents[node])) for name in network.nodes
    )


def criteria_of(network: BayesianNetwork, log_likelihood: float, rows: float) -> dict[str, Any]:
    """Return the criteria that follow from a log-likelihood."""
    return {
        "log_likelihood": log_likelihood,
        "parameters": network.parameters,
        "aic": network.aic(log_likelihood),
        "bic": network.bic(log_likelihood, max(rows, 1.0)),
        "aic_published": network.aic_published(log_likelihood),
    }


def privacy(budget: Budget, source: Source, differences: bool = False) -> dict[str, Any]:
    """Return the privacy statement; `differences`: of larger tables differences between states were measured."""
    reveals = source.reveals()
    if budget.epsilon is None:
        return results.not_private(EXACT, reveals=reveals)
    if source.found_in_data:
        return results.not_private(
            f"the tables are noisy, but the states of {', '.join(source.found_in_data)} were found in data; give a domain",
            reveals,
        )
    moved = 2 if source.neighbors == REPLACE_ONE else 1
    law = law_of(budget.epsilon, budget.delta)
    public = PUBLIC if source.neighbors in OF_RECORDS else ""
    moves = f"{f'the root of {moved}' if budget.delta and moved > 1 else moved} a table"
    if differences:
        moves += (
            " of one column; of larger ones what a record changes in the differences between states, by their matrices"
        )
    joint = "exact Gaussian accounting" if budget.delta else "basic"
    return results.privacy(
        True,
        unit="record",
        neighbors=source.neighbors,
        epsilon=budget.spent_epsilon,
        delta=budget.delta,
        mechanism=f"{law.name} noise on every cell, made of the stations' shares inside the sum",
        composition=f"{joint}, over {budget.batches} batches and all tables of a batch{public}",
        sensitivity=moves,
        reveals=reveals,
    )
