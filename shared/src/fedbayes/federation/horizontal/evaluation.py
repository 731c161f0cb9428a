"""How well a model does on the stations' tables: one round, sums only, with noise if asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fedbayes.bayes.evaluation.coarse import COARSE, coarse_scores
from fedbayes.bayes.evaluation.small_counts import shown
from fedbayes.bayes.evaluation.tallies import coarse_auc

from ...randomness import uniform_bits
from ...typing import Integers
from .. import results
from ..errors import ArgumentError, DataProblem, schema_errors
from ..rounds import Federation
from .answers import preflight, sum_answers
from .counts import signed
from .declared import Scoring
from .noise import CountNoise
from .tallying import C, Classifier, EvaluateRequest, Form, Loader
from .units import Unit

EXACT, NOISE = "the scores are exact", "; give epsilon for noisy ones"
LOUD = 0.05
"""Deviation of the accuracy by the noise that is warned of."""


def evaluate_model(federation: Federation, asked: Scoring, load: Loader[Classifier]) -> dict[str, Any]:
    """Evaluate a model on the stations' tables by the method's ``partial_evaluate``; two rounds with the channel, see `evaluate_variants`."""
    return evaluate_variants(federation, asked, load, [asked.model])[0]


def evaluate_variants(
    federation: Federation, asked: Scoring, load: Loader[Classifier], models: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Evaluate a model in several ways in one job, one round each after the channel.

    Parameters
    ----------
    federation : Federation
        Before its first round.
    asked : Scoring
        The task's arguments, checked.
    load : callable
        Makes the model a :class:`Classifier`; raises SchemaError.
    models : sequence of mapping
        The model as it is asked about, with what says how it is evaluated.

    Returns
    -------
    list of dict
        For each the result with ``accuracy``, ``auc``, ``log_loss``, ``calibration`` and ``n`` beside the usual parts.

    Raises
    ------
    ArgumentError
        Naming the argument and the remedy.
    """
    classifier = load_model(load, asked.model)
    column = classifier.label if asked.label is None else asked.label
    if column in classifier.features:
        raise ArgumentError(f"label {column!r} is a feature of the model; name the column of the true classes")
    whom = asked.whom
    if whom.id_column in (column, *classifier.features):
        raise ArgumentError("id_column must be neither a feature of the model nor the label")
    classes = classifier.schema[classifier.label].cardinality
    form = Form(asked.added.private, classes)
    form.check_size(ArgumentError)
    added = form.narrower(asked.added)
    if added != asked.added:
        federation.warn("delta is not spent: of so few classes discrete Laplace noise is narrower")
    before = preflight([column, *classifier.features], ("partial_evaluate",), added, added.promises, whom)
    parties = federation.open_channel(asked.organizations, before)
    results = []
    for number, model in enumerate(models, start=1):
        request = EvaluateRequest(dict(model), column, added, whom)
        last = number == len(models)
        summed = sum_answers(federation, "partial_evaluate", request, parties.stations, added, last=last)
        vector = signed(summed, form.numbers)
        noise = _accuracy_noise(federation, form, added, len(parties.stations), vector)
        results.append(_result(federation, classifier, form, vector, noise, added, whom))
    return results


def _result(
    federation: Federation,
    classifier: Classifier,
    form: Form,
    vector: Integers,
    noise: Mapping[str, Any],
    added: CountNoise,
    whom: Unit,
) -> dict[str, Any]:
    """Return the result of an evaluation from the sum of the stations' vectors."""
    tallies, minimum = form.tallies(vector), 0 if added.promises else federation.minimum_count
    seed = int(uniform_bits(1)[0]) if added.private else form.seed(vector)
    scores, errors = coarse_scores(tallies, minimum, seed, form.largest)
    scores["n"] = round(scores["n"])
    if scores["n"] <= 0:
        raise DataProblem(_why_nobody(added))
    if not added.private and (words := coarse_auc(tallies)):
        federation.warn(words)
    confusion = {
        "confusion": shown(tallies.confusion, minimum),
        "classes": list(classifier.schema[classifier.label].categories or ()),
    }
    return federation.result(
        model=None,
        privacy=_privacy(added, whom, classifier.schema[classifier.label].cardinality, bool(errors)),
        diagnostics={**confusion, **noise, **errors},
        **scores,
    )


def _why_nobody(noise: CountNoise) -> str:
    """Return why no row was counted: noise below zero may outweigh them all."""
    if noise.private:
        return f"the noise dominates: no row is left beside it; what would help: a larger epsilon (now {noise.epsilon:g}), or more rows"
    return "no row of the stations has a known label; check the label's column and domain"


def _accuracy_noise(
    federation: Federation, form: Form, noise: CountNoise, stations: int, vector: Integers
) -> dict[str, float]:
    """Return what the noise does to the accuracy for the result's diagnostics, and warn where that is much; nothing for exact scores."""
    if not noise.private:
        return {}
    level = form.accuracy_noise(noise, stations, vector)
    if level > LOUD:
        federation.warn(
            f"the noise dominates: it moves the accuracy by about {level:.2g}, and the other scores as much; what would help: a larger epsilon "
            f"(now {noise.epsilon:g}), or more rows"
        )
    return {"accuracy_noise": level}


def load_model(load: Loader[C], model: Any) -> C:
    """Return the classifier of a ``model`` argument; ArgumentError on a malformed one."""
    if not isinstance(model, dict):
        raise ArgumentError("model must be the `model` object of a result")
    with schema_errors(ArgumentError, "model"):
        return load(model)


def _privacy(noise: CountNoise, unit: Unit, classes: int, coarse: bool) -> dict[str, Any]:
    """Return the privacy statement of the evaluation of a model of so many classes; `coarse`: whether small counts are hidden."""
    reveals = {
        "researcher": "the scores, the confusion table, calibration and curves over all stations"
        + (f", without small counts{COARSE}" if coarse else ""),
        "central": "the sums of scores over all stations, not those of one"
        if noise.placement != "local"
        else "every station's noisy sums of scores",
        "stations": "the model",
    }
    if not noise.private:
        return results.not_private(EXACT + (COARSE if coarse else "") + NOISE, reveals)
    return noise.statement(
        unit,
        composition="1 query: rows by true class and bin of the score, of which all scores follow"
        if Form(True, classes).joint
        else "4 queries: score histograms, confusion, calibration, loss; an even split of the budget",
        sensitivity="global, for any model: counts 1 a table"
        + ("" if Form(True, classes).joint else ", the loss of one row cut at 8"),
        reveals=reveals,
    )
