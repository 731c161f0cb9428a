"""Evaluation on vertically split records: every station scores its own features, one of them grades the sum.

The scores of a row are logarithms of probabilities, so the features' parts add up. Each station masks its part over the
ring and seals it for the grader, who adds them, compares the best class with its label, and tells the tallies.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fedbayes.bayes import metrics
from fedbayes.bayes.naive_bayes import NaiveBayes
from fedbayes.bayes.schema import SchemaError
from fedbayes.federation import Federation, Station, arguments, results
from fedbayes.federation.errors import ArgumentError, DataProblem, MessageError, ThresholdError
from fedbayes.federation.horizontal import load_model, schema_errors
from fedbayes.mpc.ring import lift
from fedbayes.mpc.secure_sum import reconstruct

from .messages import FeaturesReply, FeaturesRequest, GradesReply, GradesRequest, ScoresReply, ScoresRequest

FRACTION_BITS = 24
LOWEST_SCORE = -1e4
LEAST_STATIONS = 3
TOPIC = "masked scores"


def _model(data: Any) -> NaiveBayes:
    try:
        return NaiveBayes.from_dict(data)
    except SchemaError:
        raise MessageError("the model of the request is malformed") from None


def score(station: Station, request: ScoresRequest) -> ScoresReply:
    """Score this station's rows by its own features, mask the scores and seal them for the grader.

    Notes
    -----
    **Reveals** to the grader the sum over all stations of the rows' scores, from which it may subtract its own.
    **Assumes** that the rows are the same in the same order everywhere, and that two stations besides the grader do not
    collude with it.
    """
    station.require_predictions()
    station.require_private(False)
    if len(station.participants) < LEAST_STATIONS:
        raise ThresholdError("scores of single rows are added over at least three stations; include more of them")
    model = _model(request.model)
    chosen = model.schema.select(request.features)
    with schema_errors(DataProblem):
        encoded = chosen.encode(station.data(list(request.features)))
    totals = model.positive_counts
    rows = len(next(iter(encoded.values())))
    joint = np.tile(model.log_prior if request.prior else np.zeros(len(totals)), (rows, 1))
    for name in request.features:
        joint = joint + model.features[name].log_likelihood(encoded[name], totals)
    fixed = np.rint(np.maximum(joint, LOWEST_SCORE) * 2.0**FRACTION_BITS).astype(np.int64)
    masked = station.channel.mask(fixed, station.participants)
    return ScoresReply(_sealed(station, request.grader, masked))


def _sealed(station: Station, grader: int, masked: npt.NDArray[Any]) -> bytes:
    """Seal for the grader; the grader itself keeps its part until the next round."""
    if grader == station.organization:
        station.keep(TOPIC, masked=masked)
        return b""
    return station.channel.seal(grader, masked.astype("<u8").tobytes(), TOPIC)


def grade(station: Station, request: GradesRequest) -> GradesReply:
    """Add the masked scores and compare them with this station's label.

    Notes
    -----
    **Reveals** the exact tallies (accuracy, histograms of scores, confusion) to central.
    """
    station.require_predictions()
    station.require_private(False)
    model = _model(request.model)
    own = station.kept(TOPIC)["masked"]
    parts = [own]
    for member, sealed in sorted(request.sealed.items()):
        part = np.frombuffer(station.channel.unseal(member, sealed, TOPIC), dtype="<u8").astype(np.uint64)
        if part.size != own.size:
            raise DataProblem("the stations do not hold the same number of rows; align them first")
        parts.append(part.reshape(own.shape))
    joint = np.ldexp(lift(reconstruct(parts)).astype(np.float64), -FRACTION_BITS)
    logs = joint - joint.max(axis=1, keepdims=True)
    logs = logs - np.log(np.exp(logs).sum(axis=1, keepdims=True))
    with schema_errors(DataProblem):
        truth = model.schema[model.label].encode(station.data([request.label])[request.label])
    known = truth >= 0
    counts, loss = metrics.tally(truth[known].astype(np.int64), logs[known]).flat()
    return GradesReply(counts.astype(np.float64), loss)


def evaluate(federation: Federation, data: Any, label: Any, organizations: Any) -> dict[str, Any]:
    """Evaluate a model on vertically split records: four rounds with the channel.

    Raises
    ------
    ArgumentError
        When fewer than three stations hold features, or a column is missing or twice there.
    """
    model = load_model(NaiveBayes.from_dict, data)
    column = model.label if label is None else arguments.check_name("label", label)
    if column in model.features:
        raise ArgumentError(f"label {column!r} is a feature of the model; name the column of the true classes")
    parties = federation.open_channel(organizations)
    names = [*model.features, column]
    held = federation.round("partial_features", FeaturesRequest(names), parties.stations, FeaturesReply)
    owners: dict[int, list[str]] = {}
    for feature in model.features:
        holders = [member for member, reply in held.items() if feature in reply.names]
        if len(holders) != 1:
            what = "at no station that lets it be used" if not holders else "at more than one station"
            raise ArgumentError(
                f"organizations: the model's column '{feature[:100]}' is {what}; include exactly one with it"
            )
        owners.setdefault(holders[0], []).append(feature)
    stations = tuple(sorted(owners))
    graders = [member for member in stations if column in held[member].names]
    if len(stations) < LEAST_STATIONS:
        raise ArgumentError(
            f"organizations: at least three stations must hold features of the model, {len(stations)} do: scores of single rows are added"
        )
    if not graders:
        raise ArgumentError(f"label: no station with a feature of the model holds '{column}'; one of them must")
    return _graded(federation, data, column, owners, graders[0])


def _graded(
    federation: Federation, data: dict[str, Any], column: str, owners: dict[int, list[str]], grader: int
) -> dict[str, Any]:
    stations = tuple(sorted(owners))
    requests = {member: ScoresRequest(data, owners[member], member == grader, grader) for member in stations}
    scores = federation.round("partial_scores", requests, stations, ScoresReply)
    sealed = {member: reply.sealed for member, reply in scores.items() if member != grader}
    request = GradesRequest(data, column, sealed)
    reply = federation.round("partial_grades", request, (grader,), GradesReply, last=True)[grader]
    classes = len(data["class_counts"])
    try:
        tallies = metrics.Tallies.from_flat(reply.tallies, reply.loss, classes)
    except ValueError:
        raise MessageError("the tallies do not fit the model; use one version everywhere") from None
    found = metrics.scores_of(tallies)
    found["n"] = round(found["n"])
    if found["n"] <= 0:
        raise DataProblem("no row has a known label; check the label's column and domain")
    reveals = {
        "researcher": "the exact scores and the confusion table",
        "central": "the same",
        "label_holder": f"every row's sum of the other stations' scores, at {federation.name(grader)}",
        "stations": "the model",
    }
    return federation.result(
        model=None,
        privacy=results.not_private("the scores are exact", reveals),
        diagnostics={
            "confusion": tallies.confusion,
            "classes": data["domain"][data["label"]]["categories"],
            "grader": federation.name(grader),
        },
        **found,
    )
