"""What the researcher calls: `fit` a network, `evaluate` and `classify` with it, and `sample` from it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from fedbayes.federation import Federation, central
from fedbayes.federation.results import predictions
from fedbayes.federation.vertical import check_alignment
from fedbayes.federation.vertical.roles import identifying

from . import result
from .arguments import Fit
from .budget import Budget
from .evaluation import by_counts, chosen_method
from .guards import check_common, check_known, complete
from .merging import merged_by_class
from .model import learn
from .model_arguments import Classify, Evaluate, Sample
from .prediction import Model
from .scoring import RecordScores
from .sources import Question, open_source
from .validation import validate


@central
def fit(federation: Federation, asked: Fit) -> dict[str, Any]:
    """Learn a Bayesian network from records whose columns (or rows) lie at several stations.

    Returns
    -------
    dict
        The result; its ``model`` has ``nodes``, ``edges`` and ``tables`` (the child on the last axis).

    Raises
    ------
    ArgumentError, PlacementError
        Naming the argument and the remedy.
    ThresholdError
        If too few records or organizations take part, few records, but not none, have a value of a column, or many of its values are those of single ones.
    """
    cut = asked.folds if asked.validation == "svdg" else 0
    question = _question(asked, tuple(asked.columns), asked.domain or {}, asked.rules, asked.batches, cut)
    source = merged_by_class(open_source(federation, question, asked.organizations), asked.bins, asked.label)
    left = partial(source.rest, kept=asked.held_out)
    variables = list(source.variables.values())
    records = source.records if asked.split == "vertical" else None
    learned = learn(asked, variables, source, left, lambda: source.deviation, source.contrasted, records)
    minimum = result.least_count(asked, source)
    least, behind = (0.0, None) if source.budget.covered else (minimum, complete(learned))
    check_known(learned.missing, least)
    if behind is not None:
        check_common(variables, behind, least)
    published = learned.network.publish(learned.counts, minimum, asked.smallest_probability, behind)
    scores = validate(asked, learned, published, source.by_fold, least)
    return result.fitted(federation, asked, learned, published, source, scores)


def _question(
    asked: Fit | Evaluate,
    nodes: tuple[str, ...],
    domain: Mapping[str, Any],
    bins: Any,
    batches: int | None = 1,
    folds: int = 0,
) -> Question:
    weights = asked.weights if isinstance(asked, Fit) else None
    budget = Budget(asked.epsilon, batches, asked.delta if isinstance(asked, Fit) else 0.0, weights)
    split, helper, aligned = asked.split, asked.helper, asked.rows_aligned
    scores = isinstance(asked, Evaluate) and budget.exact
    return Question(
        nodes, asked.id_column, domain, bins, split, budget, helper, folds, aligned, asked.neighbors, scores
    )


@central
def evaluate(federation: Federation, asked: Evaluate) -> dict[str, Any]:
    """Score a network on records of the stations.

    ``method="counts"`` (the default where the label's Markov blanket allows) asks one table over the blanket and the
    label, and the families; ``"records"`` scores every record in shares and shows the scores to the label's station.

    Returns
    -------
    dict
        The result with area under the curve, accuracy, confusion, calibration and log-loss; "counts" also log-likelihood, AIC and BIC.
    """
    read = Model.read(asked.model)
    target = read.target(asked.label)
    if chosen_method(read, target, asked.method, asked.split, asked.epsilon is not None) == "counts":
        question = _question(asked, read.network.nodes, read.domain, read.bins)
        source = open_source(federation, question, asked.organizations)
        scores, errors = by_counts(read, target, source)
        return result.counted(federation, scores, errors, question.budget, source)
    identifier = check_alignment(asked.id_column, asked.rows_aligned)
    records = RecordScores(federation, read, target, identifier, asked.helper, asked.organizations, with_label=True)
    return result.tallied(federation, *records.tallies(), records)


@central
def classify(federation: Federation, asked: Classify) -> dict[str, Any]:
    """Return class probabilities of records whose columns lie at several stations; every node must allow predictions.

    Records with missing values are scored approximately: see the README.

    Returns
    -------
    dict
        The result; its ``model`` has ``identifiers``, ``states``, ``predicted`` and ``probabilities``, shape (records, states).
    """
    read = Model.read(asked.model)
    target = read.target(asked.label)
    members = (asked.id_column, asked.helper, asked.organizations)
    records = RecordScores(federation, read, target, *members, with_label=False)
    naming = identifying(federation, records.tables.engine.setup, asked.identify)
    identifiers, probabilities = records.predictions(naming)
    states = read.network.states[target]
    told = predictions(target, states, probabilities.round(6), identifiers=identifiers)
    return result.classified(federation, told, records)


@central
def sample(federation: Federation, asked: Sample) -> dict[str, Any]:
    """Return synthetic records drawn from a network; no station is asked.

    Returns
    -------
    dict
        The result; its ``model`` has ``records``, column -> states.
    """
    read = Model.read(asked.model)
    return result.sampled(federation, read.network.decode(read.network.sample(asked.rows)))
