"""How well a model does on the stations' tables: one round, sums only, with noise if asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from fedbayes.bayes import metrics
from fedbayes.bayes.schema import Schema, SchemaError

from .. import arguments, results
from ..codec import Message
from ..errors import ArgumentError, DataProblem, MessageError
from ..rounds import Federation
from ..station import Station
from .columns import schema_errors
from .counts import VectorReply, signed
from .noise import CountNoise, Query, check_noise, noise_without_effect, release

LOSS_UNITS = 2**16
NOISY_SCORE_BINS = 64
NOISY_LARGEST_LOSS = 8.0


class Classifier(Protocol):
    """What a model must offer to be evaluated; ``fedbayes.bayes.naive_bayes.NaiveBayes`` does."""

    @property
    def schema(self) -> Schema:
        """Domains of the label and the features."""

    @property
    def label(self) -> str:
        """The label's column."""

    @property
    def features(self) -> Any:
        """The features' names (anything that iterates over them)."""

    def predict_log_proba(self, frame: Any) -> NDArray[np.float64]:
        """Return log P(class | row), float64, shape (n, classes), of a DataFrame with the features."""


C = TypeVar("C", bound=Classifier)
Loader = Callable[[Any], C]


@dataclass(frozen=True, slots=True)
class EvaluateRequest(Message):
    """Ask for the tallies of a model.

    Parameters
    ----------
    model : dict
        As in a result.
    label : str
        The column of true classes.
    noise : CountNoise
    """

    model: dict[str, Any]
    label: str
    noise: CountNoise


def _load(load: Loader[C], model: Any, kind: type[Exception]) -> C:
    with schema_errors(kind):
        return load(model)


def _settings(noise: CountNoise) -> tuple[int, float]:
    return (NOISY_SCORE_BINS, NOISY_LARGEST_LOSS) if noise.private else (metrics.SCORE_BINS, metrics.LARGEST_LOSS)


def tally_station(station: Station, request: EvaluateRequest, load: Loader[Classifier]) -> VectorReply:
    """Score the station's rows and return their tallies, noisy as asked and masked.

    Parameters
    ----------
    station : Station
        With its table.
    request : EvaluateRequest
        Model, label and noise.
    load : callable
        Makes the model from its JSON; raises SchemaError on a malformed one.

    Notes
    -----
    **Reveals** to central the sum of the tallies over the stations only (``local`` noise: the noisy tallies).
    **Assumes** that at least two stations do not collude with central.
    """
    model = _load(load, request.model, MessageError)
    frame = station.data([*model.features, request.label], domain=model.schema.to_domain())
    with schema_errors(DataProblem):
        truth = model.schema[model.label].encode(frame[request.label])
        known = truth >= 0
        logs = model.predict_log_proba(frame[known])
    bins, largest = _settings(request.noise)
    queries = _queries(truth[known].astype(np.int64), logs, bins, largest)
    vector = release(station, queries, request.noise, "evaluation").astype(np.uint64)
    if request.noise.placement != "local":
        vector = station.channel.mask(vector, station.participants)
    return VectorReply(vector)


def _queries(truth: NDArray[Any], logs: NDArray[np.float64], bins: int, largest: float) -> list[Query]:
    """Return the four queries of an evaluation with what one row changes in each."""
    tallies = metrics.tally(truth, logs, bins, largest)
    losses = np.rint(metrics.row_losses(truth, logs, largest) * LOSS_UNITS).astype(np.int64)
    curves = metrics.scored_classes(logs.shape[1])
    counts = (tallies.scores, tallies.confusion, tallies.confidence)
    scores, confusion, confidence = (np.rint(part).astype(np.int64) for part in counts)
    loss = np.array([losses.sum()], dtype=np.int64)
    return [
        Query(scores, curves, float(np.sqrt(curves))),
        Query(confusion),
        Query(confidence),
        Query(loss, largest * LOSS_UNITS, largest * LOSS_UNITS),
    ]


def evaluate_model(
    federation: Federation,
    model: Any,
    load: Loader[Classifier],
    label: Any = None,
    epsilon: Any = None,
    delta: Any = 0.0,
    noise: Any = None,
    neighbors: Any = "add_remove",
    honest_fraction: Any = None,
    organizations: Any = None,
    function: str = "partial_evaluate",
) -> dict[str, Any]:
    """Evaluate a model on the stations' tables; two rounds with the channel.

    Parameters
    ----------
    federation : Federation
        Before its first round.
    model : dict
        A result's ``model``.
    load : callable
        Makes it a :class:`Classifier`; raises SchemaError.
    label : str, optional
        Column of the true classes; the model's by default.
    epsilon, delta, noise, neighbors, honest_fraction
        As for fitting; without ``epsilon`` the scores are exact and not differentially private.
    organizations : list, optional
        Whose tables; all of the collaboration by default.
    function : str
        The algorithm's partial that calls :func:`tally_station`.

    Returns
    -------
    dict
        The result with ``accuracy``, ``auc``, ``log_loss``, ``calibration`` and ``n`` beside the usual parts.

    Raises
    ------
    ArgumentError
        Naming the argument and the remedy.
    """
    classifier = load_model(load, model)
    column = classifier.label if label is None else arguments.check_name("label", label)
    if column in classifier.features:
        raise ArgumentError(f"label {column!r} is a feature of the model; name the column of the true classes")
    placement = noise if noise is not None else ("none" if epsilon is None else "distributed")
    added = check_noise(placement, epsilon, delta, neighbors, honest_fraction)
    classes = classifier.schema[classifier.label].cardinality
    for text in noise_without_effect(added, epsilon, delta, neighbors, honest_fraction):
        federation.warn(text)
    bins, _ = _settings(added)
    parties = federation.open_channel(organizations)
    request = EvaluateRequest(model, column, added)
    summed = federation.secure_sum(function, request, parties.stations, VectorReply, field="vector", last=True)
    curves = metrics.scored_classes(classes)
    vector = signed(summed, curves * 2 * bins + classes**2 + 2 * metrics.CALIBRATION_BINS + 1)
    tallies = metrics.Tallies.from_flat(vector[:-1], float(vector[-1]) / LOSS_UNITS, classes, bins)
    scores = metrics.scores_of(tallies)
    scores["n"] = round(scores["n"])
    if scores["n"] <= 0:
        raise DataProblem("no row of the stations has a known label; check the label's column and domain")
    confusion = {"confusion": tallies.confusion, "classes": list(classifier.schema[classifier.label].categories or ())}
    return federation.result(model=None, privacy=evaluation_privacy(added), diagnostics=confusion, **scores)


def load_model(load: Loader[C], model: Any) -> C:
    """Return the classifier of a ``model`` argument; ArgumentError on a malformed one."""
    if not isinstance(model, dict):
        raise ArgumentError("model must be the `model` object of a result")
    try:
        return load(model)
    except SchemaError as problem:
        text = str(problem)
    raise ArgumentError(text if text.startswith("model") else f"model: {text}")


def evaluation_privacy(noise: CountNoise) -> dict[str, Any]:
    """Return the privacy statement of an evaluation."""
    reveals = {
        "researcher": "the scores, the confusion table and the calibration table over all stations",
        "central": "the sums of scores over all stations, not those of one"
        if noise.placement != "local"
        else "every station's noisy sums of scores",
        "stations": "the model",
    }
    if not noise.private:
        return results.not_private("the scores are exact; give epsilon for noisy ones", reveals)
    return results.privacy(
        True,
        neighbors=noise.neighbors,
        epsilon=noise.epsilon,
        delta=noise.delta,
        mechanism=noise.mechanism(),
        composition="4 queries: score histograms, confusion, calibration, loss; an even split of the budget",
        sensitivity="global: counts 1 a table, the loss of one row cut at 8",
        reveals=reveals,
    )
