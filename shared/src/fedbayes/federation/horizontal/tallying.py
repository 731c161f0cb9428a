"""What a station tells of a classifier's scores: the request, the form of its counts, and the reply."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from fedbayes.bayes.evaluation import metrics
from fedbayes.bayes.evaluation.coarse import seed_of
from fedbayes.bayes.evaluation.tallies import SCORE_BINS, Tallies, joint_table, scored_classes, tallies_of_joint, tally
from fedbayes.bayes.schema import Column, Schema
from fedbayes.bayes.values.frames import with_columns

from ...typing import Array, Floats, Integers
from ..errors import DataProblem, MessageError, schema_errors
from ..guards.arrival import check_claimed
from ..guards.once import asked_once
from ..messages.codec import Message
from ..station import Station
from .answers import SumReply, answer
from .noise import CountNoise, Query
from .releasing import release
from .units import ROW, Unit

LOSS_UNITS = 2**16
"""In one nat: where noise covers it, a row's loss is a whole number."""
EXACT_LOSS_UNITS = 2**28
"""In one nat: a station's exact sum of losses is a whole number; the mean is right to nine decimals, and a billion rows fit into 63 bits."""
NOISY_SCORE_BINS = 64  # of a curve under noise: with the 512 of exact ones noise would add up to more
JOINT_SCORE_BINS = 32
"""Fewer cells than 64 for the noise, and an error of the area under the curve of about .001 without noise."""
NOISY_LARGEST_LOSS = 8.0  # nats, so that noise is for 8 and not for 30; a probability of a third of a thousandth
MOST_TALLIES = 4_000_000  # numbers of a round, 32 MB
QUERIES = 4
"""Of an evaluation that is not one table: scores, confusion, confidence, loss."""
ONE_LABEL = "models are evaluated by one label and unit in a job; start another job"


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

    def predict_log_proba(self, frame: Any) -> Floats:
        """Return log P(class | row), float64, shape (n, classes), of a DataFrame with the features."""


C = TypeVar("C", bound=Classifier)
Loader = Callable[[Any], C]


class EvaluateRequest(Message):
    """Ask for the tallies of a model.

    Parameters
    ----------
    model : dict
        As in a result.
    label : str
        The column of true classes.
    noise : CountNoise
    unit : Unit
        Whom the promise is for.
    """

    model: dict[str, Any]
    label: str
    noise: CountNoise
    unit: Unit = ROW

    def __post_init__(self) -> None:
        self.noise.check_unit(self.unit)
        if self.unit.id_column is not None and self.unit.id_column == self.label:
            raise ValueError("id_column must not be the label")


@dataclass(frozen=True, slots=True)
class Form:
    """What an evaluation tallies: with noise and two classes one table, of which all scores follow; else four queries."""

    noisy: bool
    classes: int

    @property
    def joint(self) -> bool:
        """Whether it is one table of rows by true class and bin of the score."""
        return self.noisy and self.classes == 2

    @property
    def bins(self) -> int:
        """Bins of scores."""
        return (JOINT_SCORE_BINS if self.joint else NOISY_SCORE_BINS) if self.noisy else SCORE_BINS

    @property
    def largest(self) -> float:
        """Largest loss of a row."""
        return NOISY_LARGEST_LOSS if self.noisy else metrics.LARGEST_LOSS

    @property
    def loss_units(self) -> int:
        """Parts of a nat that the sum of losses counts."""
        return LOSS_UNITS if self.noisy else EXACT_LOSS_UNITS

    @property
    def numbers(self) -> int:
        """Length of the vector."""
        if self.joint:
            return 2 * self.bins
        return Tallies.size(self.classes, self.bins) + (1 if self.noisy else 2)

    def check_size(self, kind: type[Exception]) -> None:
        """Raise an error if there are too many classes."""
        if self.numbers > MOST_TALLIES:
            raise kind("model has too many classes to be scored; merge some")

    def queries(self, truth: Array, logs: Floats) -> list[Query]:
        """Return the queries with what one row changes in each, for logarithms as `metrics.bounded_logs` leaves them."""
        if self.joint:
            return [Query(joint_table(truth, logs, self.bins), nonnegative=True)]
        return _queries(truth, logs, self)

    def narrower(self, noise: CountNoise) -> CountNoise:
        """Return the noise under the law that makes less of it for these queries; see `CountNoise.narrower`."""
        queries = self.queries(np.zeros(0, dtype=np.int64), np.zeros((0, self.classes)))
        return noise.narrower(
            lambda one: [
                one.deviation(len(queries), query.l1, query.l2, query.values.size, 1, query.nonnegative)
                for query in queries
            ]
        )

    def accuracy_noise(self, noise: CountNoise, stations: int, vector: Integers) -> float:
        """Return about how much the noise moves the accuracy: the standard deviation of all rows by the noise, over their number; at most 1."""
        if self.joint:
            queries, cells, rows = 1, vector.size, vector.sum()
        else:
            before, cells = scored_classes(self.classes) * 2 * self.bins, self.classes**2
            queries, rows = QUERIES, vector[before : before + cells].sum()
        deviation = noise.deviation(queries, 1.0, 1.0, cells, stations, True) * math.sqrt(cells)
        return deviation / max(float(rows), deviation) if deviation else 0.0

    def tallies(self, vector: Integers) -> Tallies:
        """Read the sum of the stations' vectors."""
        if self.joint:
            return tallies_of_joint(vector.reshape(2, self.bins), self.largest)
        size = Tallies.size(self.classes, self.bins)
        return Tallies.from_flat(vector[:size], float(vector[size]) / self.loss_units, self.classes, self.bins)

    def seed(self, vector: Integers) -> int:
        """Return the seed of what is added to exact scores, the last number of the stations' sum (`fedbayes.bayes.evaluation.coarse`)."""
        return int(vector[-1])


def tally_station(
    station: Station, request: EvaluateRequest, load: Loader[Classifier], in_fit: bool = False, beside: str = ""
) -> SumReply:
    """Score the station's rows and return their tallies, noisy as asked and masked.

    Parameters
    ----------
    station : Station
        With its table.
    request : EvaluateRequest
        Model, label and noise.
    load : callable
        Makes the model from its JSON; raises SchemaError on a malformed one.
    in_fit : bool
        Whether a job without a model among its arguments may ask about one that it has made, once, where it announced that it will. All other models are
        those of the manifest, unless noise makes up for it.
    beside : str
        Entry of a request's model that says how it is evaluated, and that the researcher's lacks.

    Notes
    -----
    The model may be anybody's: what one row changes is bounded for any whatever, since scores that are no numbers count as the worst ones and
    every tally is cut before it becomes a whole number. With noise no value of the table is refused.

    **Reveals** to central the sum of the tallies over the stations only (``local`` noise: the noisy tallies); of exact ones the sum of a digest of every
    station's rows too, from which follows what is added to the scores. Where the node has a folder database it is keyed: no guess of rows can be tried on it.
    **Assumes** that at least two stations do not collude with central.
    """
    station.require_private(request.noise.promises)
    if not request.noise.promises:
        _check_asked(station, request, in_fit, beside)
    with schema_errors(MessageError):
        model = load(request.model)
    classes = model.schema[model.label].cardinality
    form = Form(request.noise.private, classes)
    form.check_size(MessageError)
    own = model.schema.to_domain()
    names, domain = [*model.features, request.label], {**own, request.label: own[model.label]}
    frame = request.unit.frame(station, names, domain)
    with schema_errors(DataProblem):
        truth = model.schema[model.label].encode(frame[request.label])
        schema = model.schema.select(model.features)
        if not request.noise.private:
            _refuse_unknown(schema, model.schema[model.label], frame, request.label)
        encoded = schema.encode(frame, "absorb" if request.noise.private else "clip")
        kept = request.unit.kept(station, frame, {**encoded, request.label: truth})
        used = np.zeros(len(truth), dtype=np.bool_)
        used[kept] = True
        used &= truth >= 0
        numeric = {name: encoded[name] for name in schema.names if not schema[name].is_categorical}
        logs = model.predict_log_proba(with_columns(frame, numeric)[used])
    labels, logs = truth[used].astype(np.int64), metrics.bounded_logs(logs, classes)
    queries = form.queries(labels, logs)
    if not form.noisy:
        queries.append(Query(np.array([seed_of([labels, logs], station.secret_for("exact scores"))])))
    return answer(station, release(station, queries, request.noise, "evaluation"), request.noise)


def _check_asked(station: Station, request: EvaluateRequest, in_fit: bool, beside: str) -> None:
    """Refuse an exact answer about another model than the researcher's, by another label or unit than before, or about a fit's model twice."""
    asked_once(station, "evaluation", (request.label, request.noise, request.unit), ONE_LABEL)
    if in_fit and not station.require_members().models:
        asked_once(station, "evaluation of a fit", request, "a fit's model is evaluated once in a job; call evaluate")
        return
    bare = {name: value for name, value in request.model.items() if name != beside}
    check_claimed(station, request.model, bare)


def _refuse_unknown(schema: Schema, label: Column, frame: Any, name: str) -> None:
    """Raise SchemaError where a column holds hardly any of the categories of its domain; `name` is the column of the true classes."""
    schema.refuse_unknown(frame)
    Schema((label,)).refuse_unknown({label.name: frame[name]})


def _queries(truth: Array, logs: Floats, form: Form) -> list[Query]:
    """Return the four queries of an evaluation with what one row changes in each, for logarithms as `metrics.bounded_logs` leaves them."""
    tallies = tally(truth, logs, form.bins, form.largest)
    losses = metrics.row_losses(truth, logs, form.largest) * form.loss_units
    total = np.rint(losses).sum() if form.noisy else np.rint(losses.sum())  # with noise a row changes a whole number
    curves = scored_classes(logs.shape[1])
    counts = (tallies.scores, tallies.confusion, tallies.confidence)
    scores, confusion, confidence = (np.rint(part).astype(np.int64) for part in counts)
    most = form.largest * form.loss_units
    return [
        Query(scores, curves, float(np.sqrt(curves)), nonnegative=True),
        Query(confusion, nonnegative=True),
        Query(confidence, nonnegative=True),
        Query(np.array([total], dtype=np.int64), most, most, nonnegative=True),
    ]
