"""What stations do when a fitted model is applied: predictors under a masked sum.

**Reveals** (evaluate, baseline) to the outcome holder: the total linear predictor of every record under one set of coefficients, less its own part
that of the other stations together; (predict) to central and the researcher: the total linear predictor of every record. A station
that lets no single record be predicted (`allow_predictions`) refuses.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbayes.bayes.formulae.term_reader import read_terms
from fedbayes.bayes.formulae.terms import Terms
from fedbayes.federation import Station, partial
from fedbayes.federation.errors import DataProblem, MessageError, ThresholdError
from fedbayes.federation.guards.announced import check_compared, check_shown
from fedbayes.federation.guards.arrival import check_claimed
from fedbayes.federation.guards.once import asked_once
from fedbayes.federation.replies import RecordsReply
from fedbayes.typing import Booleans, Floats, Indices

from ..cox.outcome import booleans_as_such
from ..messages.scoring import LocateReply, LocateRequest, ScoreRequest
from ..shares.complete import spread_out, without_gaps
from .columns import known_categories
from .formula import columns_of
from .setup import identifier_of, rows_in_order
from .sums import masked, masked_for

ANSWER = "verticox: a model applied to the records"
LARGEST_SCORE = 2.0**20  # as `seen.LARGEST`


@partial
def partial_locate(station: Station, request: LocateRequest) -> LocateReply:
    """Say which of the model's columns are here; keep the common order.

    **Reveals** to central which columns are here and the number of common records. **Assumes** nothing beyond what the matching of the records did.
    """
    question = request.question
    present = set(station.columns)
    terms = _own_terms(station, question.formula) if question.formula else None
    features = [name for name in question.features if name in present] if terms is None else terms.names
    columns = features if terms is None else terms.columns
    outcome = question.time in present and question.event in present
    named = identifier_of(question, present) or ([*columns, question.time][:1] if features or outcome else [])
    rows = len(station.data(columns=named)) if named else 0
    places = rows_in_order(station, question, request.rows, request.order, rows)
    _check_gaps(station, question.missing == "complete", columns, places)
    station.keep("places", places=places, identifier=np.array(question.id_column or ""))
    records = station.exact(len(places), ANSWER, queries=1 if named else 0, summed=False)
    return LocateReply(station.public(features), station.public(outcome), records)


def _check_gaps(station: Station, complete: bool, columns: list[str], places: Indices) -> None:
    """Refuse gaps of a model whose fit had none, and where gaps are left out a station with too few records, before this station debits anything."""
    if not columns:
        return
    frame = station.data(columns=columns).iloc[places]
    present = without_gaps(frame, columns)
    if not complete and not present.all():
        name = next(name for name in columns if frame[name].isna().any())
        raise DataProblem(
            f"feature '{name}' has missing values; fill them in or leave these records out, or predict by a model that was fitted with missing='complete'"
        )
    if complete and present.sum() < max(station.policy.minimum_rows, 1):
        raise ThresholdError("fewer records without a gap than this node demands; leave out columns with many gaps")


@partial
def partial_score(station: Station, request: ScoreRequest) -> RecordsReply:
    """Return this station's part of the linear predictor inside a masked sum over the scorers.

    **Reveals** to the receiver (without one: to central) the total linear predictor of every record, with one scorer that station's own; to
    central the identifiers, where they are asked for. By a model of complete records a record with a gap at some station has no predictor, and who gets
    the sum sees which these are. Every scorer must allow predictions. Central chooses no coefficients: they are those of the model
    that the manifest names. **Assumes** that who gets the sum does not pool it with all scorers but one.
    """
    check_claimed(station, request.model)
    _check_asked(station, request)
    if station.organization not in request.scorers:
        return _scored(station, request, np.zeros(request.rows), np.ones(request.rows, dtype=np.bool_), [])
    station.require_private(False, bool(request.formula) and _own_terms(station, request.formula).has_formula)
    station.require_predictions()
    places = station.kept("places")["places"]
    present = _present(station, request, places)
    part = _of_formula if request.formula else _of_columns
    total = spread_out(part(station, request, places[present]), present)
    if np.max(np.abs(total), initial=0.0) >= LARGEST_SCORE:
        raise DataProblem("the linear predictor of this station's features is out of range; check their units")
    if len(total) != request.rows:
        raise MessageError("this station has another number of records than the request says; the job stops")
    identifiers = _identifiers(station, places) if request.identify == station.organization else []
    return _scored(station, request, total, present, identifiers)


def _check_asked(station: Station, request: ScoreRequest) -> None:
    """Refuse a sum that this station's part is left out of, or another one in the same job: from two the part of one station would follow."""
    station.require_asked()
    asked = [request.scorers, request.receiver, request.rows, request.identify]
    asked_once(station, "scores", asked, "records are scored once in a job; start the job again")
    if not request.receiver or request.identify:
        check_shown(station)
    if request.receiver:
        check_compared(station, [request.receiver], [request.model["time"], request.model["event"]])
    if station.organization not in request.scorers and station.has_data and _own(station, request):
        raise MessageError("records are not scored by all stations that have columns of the model; the job stops")


def _own(station: Station, request: ScoreRequest) -> list[str]:
    """Return the model's terms, or columns, that are here."""
    if request.formula:
        return _own_terms(station, request.formula).names
    return [column for column, _, _ in request.columns if column in station.columns]


def _present(station: Station, request: ScoreRequest, places: Indices) -> Booleans:
    """Return which records get a prediction as far as this station knows, (records,): all, or of a model of complete records those without a gap."""
    if not request.complete:
        return np.ones(len(places), dtype=np.bool_)
    named = [column for column, _, _ in request.columns if column in station.columns]
    columns = _own_terms(station, request.formula).columns if request.formula else list(dict.fromkeys(named))
    return without_gaps(station.data(columns=columns).iloc[places], columns)


def _of_columns(station: Station, request: ScoreRequest, places: Indices) -> Floats:
    """Return this station's part of the linear predictor of columns, (records,)."""
    own = [part for part in request.columns if part[0] in station.columns]
    frame = station.data(columns=list(dict.fromkeys(column for column, _, _ in own))).iloc[places]
    total = np.zeros(len(frame))
    for column in frame.columns:
        total = total + _of_column(frame[column], column, request)
    return total


def _of_column(values: Any, name: str, request: ScoreRequest) -> Floats:
    """Return a column's part of the linear predictor, (records,)."""
    if values.isna().any():
        raise DataProblem(f"feature '{name}' has missing values; fill them in or leave these records out")
    own = {category: coefficient for column, category, coefficient in request.columns if column == name}
    if None in own:
        return own[None] * _numbers(values, name)
    texts = known_categories(values, name, request.categories(name))
    return np.array([own.get(text, 0.0) for text in texts.tolist()], dtype=np.float64)


def _of_formula(station: Station, request: ScoreRequest, places: Indices) -> Floats:
    """Return this station's part of the linear predictor of a formula's terms, (records,)."""
    terms = _own_terms(station, request.formula)
    frame = station.data(columns=terms.columns).iloc[places]
    known = columns_of(frame, terms, request.levels)
    coefficients = {label: coefficient for label, _, coefficient in request.columns}
    if not set(known) <= set(coefficients):
        raise DataProblem(
            "the model's coefficients are not those of its formula; give the model of a result of verticox.fit as it is"
        )
    total = np.zeros(len(frame))
    for label, values in known.items():
        total = total + coefficients[label] * values
    return total


def _own_terms(station: Station, formula: str) -> Terms:
    """Return those terms of a formula whose columns are here."""
    return read_terms(formula).among(set(station.columns))


def _scored(
    station: Station, request: ScoreRequest, total: Floats, present: Booleans, identifiers: list[str]
) -> RecordsReply:
    """Return a part of the sum, for central or the receiver."""
    named = station.further(identifiers) if identifiers else None
    marked = present if request.complete else None
    if not request.receiver:
        return RecordsReply(masked(station, total, "score", present=marked), None, named)
    return RecordsReply(None, masked_for(station, request.receiver, total, "score", present=marked), named)


def _identifiers(station: Station, places: Indices) -> list[str]:
    column = str(station.kept("places")["identifier"])
    if not column:
        return []
    texts = station.identifiers(column)
    return [texts[place] for place in places]


def _numbers(values: Any, name: str) -> Floats:
    values = booleans_as_such(values)
    if values.dtype.kind not in "biuf":
        raise DataProblem(f"feature '{name}' holds text here, but the model takes numbers")
    numbers = values.to_numpy(dtype=np.float64)
    if not np.all(np.isfinite(numbers)):
        raise DataProblem(f"feature '{name}' has values that are not finite; correct the station's file")
    return np.asarray(numbers)
