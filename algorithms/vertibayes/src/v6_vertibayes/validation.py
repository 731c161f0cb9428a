"""How well a network predicts its label: on public rows, on synthetic ones (SCV, SVDG), or from counts alone.

References
----------
.. [1] van Daalen et al. (2024), section "Federated classification and model validation", figure 3.2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fedbayes.bayes.counts.tables import TableOracle
from fedbayes.bayes.evaluation import coarse, metrics
from fedbayes.bayes.evaluation.small_counts import grouped, shown
from fedbayes.bayes.evaluation.tallies import tenths
from fedbayes.bayes.network import BayesianNetwork
from fedbayes.bayes.network.discretise import Bins
from fedbayes.bayes.network.inference import posteriors
from fedbayes.bayes.network.model import Codes
from fedbayes.federation.errors import ArgumentError
from fedbayes.typing import Counts, Floats, Integers

from .arguments import Fit
from .guards import guarded
from .model import Learned, Variable, fit_tables, refit, synthetic

TINY = 1e-300  # in place of a probability of 0: its logarithm is beyond any loss that counts


def assess(
    network: BayesianNetwork, rows: Codes, label: str, weights: Floats | None = None, minimum: float = 0
) -> dict[str, Any]:
    """Return how well the network predicts the label of rows from their other columns.

    Parameters
    ----------
    network : BayesianNetwork
        The model.
    rows : int array, shape (rows, nodes)
        Records, -1 = missing; rows without label count in `auc_published` alone.
    label : str
        The node that is predicted.
    weights : float array, shape (rows,), optional
        How often each record occurs.
    minimum : float
        Fewest records of a group that is scored as one, see `small_counts.grouped`.

    Returns
    -------
    dict
        auc (one against the rest, weighted by class size, labelled rows), accuracy, log_loss, confusion (rows: truth),
        calibration, roc, rows, and auc_published (rows without label as negatives of every class, weighted by all rows).
    """
    weight = np.ones(len(rows)) if weights is None else weights
    probabilities = grouped(posteriors(network, rows, label), weight, minimum)
    return _assessed(rows[:, network.nodes.index(label)], probabilities, weight, network.states[label], minimum)


def _assessed(
    truth: Integers, probabilities: Floats, weight: Floats, states: Sequence[str], minimum: float
) -> dict[str, Any]:
    labelled = truth >= 0
    return {
        **_scores(truth[labelled], probabilities[labelled], weight[labelled], minimum),
        "auc_published": metrics.published_auc(_curves(truth, probabilities, weight), float(weight.sum())),
        "states": list(states),
    }


def _losses(truth: Integers, probabilities: Floats) -> Floats:
    return metrics.row_losses(truth, np.log(np.maximum(probabilities, TINY)))


def _scores(truth: Integers, probabilities: Floats, weight: Floats, minimum: float) -> dict[str, Any]:
    classes = probabilities.shape[1]
    curves = _curves(truth, probabilities, weight)
    total = float(weight.sum())
    predicted = probabilities.argmax(axis=1)
    confusion = np.zeros((classes, classes))
    np.add.at(confusion, (truth, predicted), weight)
    confidence = np.zeros((metrics.CALIBRATION_BINS, 2))
    np.add.at(confidence, (tenths(probabilities.max(axis=1)), (predicted == truth).astype(int)), weight)
    losses = _losses(truth, probabilities)
    return {
        "auc": metrics.mean_auc(curves),
        "accuracy": float(np.trace(confusion)) / total if total > 0 else float("nan"),
        "log_loss": float(losses @ weight) / total if total > 0 else float("nan"),
        "confusion": confusion,
        "calibration": metrics.calibration(confidence, minimum),
        "roc": [metrics.roc(*curve, minimum) for curve in (curves[1:] if classes == 2 else curves)],
        "rows": total,
    }


def _curves(truth: Integers, probabilities: Floats, weight: Floats) -> list[metrics.Sides]:
    """Return each class against all other records; probabilities that differ by rounding are ties."""
    scores = np.round(probabilities, 12)
    return [metrics.sides(truth == c, scores[:, c], weight) for c in range(probabilities.shape[1])]


def blanket(network: BayesianNetwork, label: str) -> tuple[str, ...]:
    """Return the label's Markov blanket in declared order: parents, children, and the children's other parents."""
    children = [node for node in network.nodes if label in network.parents[node]]
    around = {name for node in (label, *children) for name in (node, *network.parents[node])} - {label}
    return tuple(node for node in network.nodes if node in around)


def assess_counts(
    network: BayesianNetwork, columns: Sequence[str], counts: Counts, label: str, minimum: float = 0, seed: int = 0
) -> tuple[dict[str, Any], dict[str, float]]:
    """Return what `assess` returns, from the contingency table of the label and its Markov blanket, and the errors of how scores are told.

    Given its blanket the label is independent of everything else, so the table scores every complete record exactly;
    a record with gaps in the blanket is scored by what the blanket shows.

    Parameters
    ----------
    network : BayesianNetwork
        The model.
    columns : sequence of str
        Axes of `counts`: the blanket and the label.
    counts : int array
        One axis a column; an axis longer than the node's states has "missing" as its last state.
    label : str
        The node that is predicted.
    minimum : float
        Fewest labelled records of a group that is scored as one, and smallest count of the confusion table; it is hidden where smaller. Above 1 log loss
        and areas are told to about one record's part (`fedbayes.bayes.evaluation.coarse`).
    seed : int
        The stations' part of what is added to these; the scores of another model have another draw.
    """
    cells = np.argwhere(counts > 0)
    rows = np.full((len(cells), len(network.nodes)), -1, dtype=np.int64)
    for axis, column in enumerate(columns):
        states = len(network.states[column])
        rows[:, network.nodes.index(column)] = np.where(cells[:, axis] < states, cells[:, axis], -1)
    weight, truth = counts[counts > 0].astype(np.float64), rows[:, network.nodes.index(label)]
    probabilities = grouped(posteriors(network, rows, label), weight, minimum, weight * (truth >= 0))
    scores = _assessed(truth, probabilities, weight, network.states[label], minimum)
    scores["confusion"] = shown(scores["confusion"], minimum)
    if minimum <= 1 or scores["rows"] <= 0:
        return scores, {}
    blurred, errors = _blurred(scores, truth, probabilities, weight, minimum, seed)
    return {**scores, **blurred}, errors


def _blurred(
    scores: dict[str, Any], truth: Integers, probabilities: Floats, weight: Floats, minimum: float, seed: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Return log loss and areas of grouped predictions as they are told, and their errors."""
    seed += coarse.seed_of([probabilities, weight])
    labelled, rows = truth >= 0, scores["rows"]
    largest = float(_losses(truth[labelled], probabilities[labelled]).max())
    curves = coarse.tied(_curves(truth[labelled], probabilities[labelled], weight[labelled]), minimum)
    blurred, errors = coarse.as_told((scores["log_loss"] * rows, coarse.loss_part(largest)), curves, rows, seed)
    blurred["auc_published"] = blurred["auc"]
    if not labelled.all():
        curves = coarse.tied(_curves(truth, probabilities, weight), minimum)
        exact = metrics.published_auc(curves, float(weight.sum()))
        blurred["auc_published"] = coarse.coarse_area(exact, coarse.auc_part(curves), seed, "auc_published")[0]
    return blurred, errors


def synthetic_cross_validation(options: Fit, learned: Learned) -> dict[str, Any]:
    """Return the SCV scores: folds of synthetic rows of the intermediate network, each predicted by EM on the others.

    Notes
    -----
    Optimistic where the intermediate network overfits (few rows, many cells): [1]_ says so, and table 3.2 shows it.
    """
    network = learned.network
    rows = synthetic(learned.intermediate, network.states, options.synthetic_rows)
    parts = []
    for fold in range(options.folds):
        held = np.arange(len(rows)) % options.folds == fold
        parts.append(assess(refit(options, network, rows[~held]), rows[held], options.label or ""))
    return {"method": "scv", **average(parts)}


def validate(
    options: Fit, learned: Learned, published: BayesianNetwork, by_fold: TableOracle, minimum: float = 0
) -> dict[str, Any] | None:
    """Return the scores that the options ask for, or None.

    Parameters
    ----------
    options : Fit
        Which validation, how many folds.
    learned : Learned
        What was learned from all records.
    published : BayesianNetwork
        The result's model, which public records judge.
    by_fold : TableOracle
        Gives tables with the fold as first axis; asked for SVDG.
    minimum : float
        Smallest count behind a published configuration: scores are those of published networks.
    """
    if options.validation == "none":
        return None
    if options.validation == "public":
        return {"method": "public", **assess(published, public_rows(options, learned), options.label or "")}
    learned = guarded(learned, minimum)
    if options.validation == "scv":
        return synthetic_cross_validation(options, learned)
    return held_out_generation(options, learned, by_fold, minimum)


def public_rows(options: Fit, learned: Learned) -> Codes:
    """Return the codes of the public records, numbers of binned columns put into their bins.

    Raises
    ------
    ArgumentError
        Naming the column that does not fit.
    """
    records = dict(options.public_records or {})
    for variable in learned.variables:
        values = records.get(variable.name)
        if values is not None and variable.cuts is not None:
            records[variable.name] = [_binned(value, variable) for value in values]
    try:
        return learned.network.encode(records)
    except ValueError as problem:
        raise ArgumentError(f"public_records: {problem}") from None


def _binned(value: Any, variable: Variable) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return value
    return variable.states[int(Bins(variable.cuts or ()).encode([value])[0])]


def held_out_generation(options: Fit, learned: Learned, by_fold: TableOracle, minimum: float = 0) -> dict[str, Any]:
    """Return the SVDG scores: for every fold, train on the other folds, score on rows drawn from a network of the fold.

    Parameters
    ----------
    options : Fit
        How tables are fitted.
    learned : Learned
        Its structure is used in every fold.
    by_fold : TableOracle
        One batch: the family tables, the fold as first axis.
    minimum : float
        Smallest count behind a configuration of a fold's networks.

    Notes
    -----
    A fold with few records gives a poor generator ([1]_ says so); its scores say little.
    """
    structure = learned.structure
    families = [(*structure.parents[node], node) for node in structure.parents]
    counts = {}
    for node, table in zip(structure.parents, by_fold(families), strict=True):
        observed = tuple(slice(0, size) for size in structure.counts[node].shape)
        kept = (slice(None), *observed)
        counts[node] = table[kept]
    parts = []
    for fold in range(options.folds):
        train = replace(structure, counts={node: table.sum(axis=0) - table[fold] for node, table in counts.items()})
        held = replace(structure, counts={node: table[fold] for node, table in counts.items()})
        trained = guarded(fit_tables(options, learned.variables, train, learned.gaps), minimum).network
        generator = guarded(fit_tables(options, learned.variables, held, learned.gaps), minimum).intermediate
        rows = synthetic(generator, trained.states, options.synthetic_rows)
        parts.append(assess(trained, rows, options.label or ""))
    return {"method": "svdg", **average(parts)}


def average(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the mean of every score over the folds, the confusion summed, and the folds' areas."""
    means = {
        name: _known_mean([part[name] for part in parts]) for name in ("auc", "auc_published", "accuracy", "log_loss")
    }
    return {
        **means,
        "confusion": np.sum([part["confusion"] for part in parts], axis=0),
        "states": parts[0]["states"],
        "rows": float(np.sum([part["rows"] for part in parts])),
        "folds": [part["auc"] for part in parts],
    }


def _known_mean(scores: Sequence[float]) -> float:
    """Return the mean of the folds that have a score, NaN if none has."""
    numbers = [score for score in scores if not math.isnan(score)]
    return sum(numbers) / len(numbers) if numbers else math.nan
