"""What the outcome holder does when a fitted model is applied: it compares predictions with outcomes, or reads the baseline hazard.

**Reveals** to the outcome holder the total linear predictor of every record, as `scoring` says, and the model's baseline.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fedbayes.federation import Station, partial
from fedbayes.federation.errors import DataProblem, MessageError, ThresholdError
from fedbayes.federation.guards.arrival import check_claimed
from fedbayes.federation.guards.once import asked_once
from fedbayes.typing import Floats

from ..cox import survival as measures
from ..cox.baseline import steps_of
from ..cox.coarse import coarse
from ..cox.likelihood import RiskSets, evaluate_predictor
from ..cox.narrow import vanishes
from ..cox.outcome import checked, weights
from ..cox.scores import coarse_measures, without_counts
from ..messages.scoring import AssessReply, AssessRequest, Curve
from ..shares.complete import without_gaps
from ..shares.sorting import OutcomeHolder
from .columns import Survival, survival
from .guards import DOMINATED, check_effect, check_levels, check_survival, check_times, counted, most_groups, own_times
from .outcome import describe
from .setup import LARGEST_WEIGHT
from .sums import RESOLUTION, received, received_complete
from .truncation import checked_entries, doubled, truncated


@partial
def partial_assess(station: Station, request: AssessRequest) -> AssessReply:
    """Compare predictions with outcomes, or read the baseline hazard. The outcome holder only.

    **Reveals** to central: aggregates over all records, or all complete ones, groups of at least `minimum_count` of them, in steps of about one record
    (`cox.scores`); or the baseline hazard at a few times, in steps (`cox.coarse`).
    **Assumes** what `partial_score` does.
    """
    station.require_private(False)
    station.history.check_remembers(borders=bool(request.times))
    check_claimed(station, request.model)
    asked = [request.task, request.times, request.groups]
    asked_once(station, "assessment", asked, "a model is assessed once in a job; start the job again")
    places = station.kept("places")["places"]
    frame = station.data(columns=request.columns).iloc[places]
    limit = max(station.policy.minimum_count, 1)
    missing = set(request.scorers) - {station.organization} - set(request.predictors)
    if missing:
        raise MessageError("the linear predictor of a station is missing; start the job again")
    if request.complete:
        predictor, present = received_complete(station, request.predictors, len(frame), "score")
        present &= without_gaps(frame, list(frame.columns))
        if present.sum() < max(station.policy.minimum_rows, 1):
            raise ThresholdError("fewer records are complete at all stations than this node demands; use more records")
    else:
        predictor = received(station, request.predictors, len(frame), "score")
        present = np.ones(len(frame), dtype=np.bool_)
    time, event, *_ = request.columns
    station.history.entered.note_time(time)
    outcome = survival(frame[present], time, event, request.strata, limit)
    predictor = predictor[present] - request.offset
    if request.task == "baseline":
        outcome = _counted(frame[present], outcome, predictor, request, limit)
        return AssessReply(station.further(_baseline(outcome, predictor, limit)))
    exact = _measures(outcome, predictor, request, limit, _events(frame, time, event))
    note_times(station, time, exact["times"], request.times is not None)
    if 0 < np.sum(~present) < limit:
        return AssessReply(station.further(without_counts(coarse_measures(exact, len(frame), limit))))
    return AssessReply(station.further(coarse_measures(exact)))


def _events(frame: Any, time: str, event: str) -> Floats:
    """Return the times of all events, (events,): of default times those that do not hang on who has a gap in a feature."""
    times, events = checked(frame[without_gaps(frame, [time, event])], time, event)
    return np.asarray(times[events == 1])


def note_times(station: Station, column: str, times: list[float], chosen: bool) -> None:
    """Note at which times outcomes are compared: the maker of exact answers holds them against those of earlier ones, as borders of the column.

    Between two times of which each is far from the others of its task one event may lie; the difference of two scores is that record's prediction.
    """
    station.history.note_bins(column, None, np.nextafter(times, np.inf).tolist(), chosen)


def _baseline(outcome: Survival, predictor: Floats, limit: int) -> dict[str, Any]:
    """Return the baseline at its points; `predictor`, (records,), of which each has one row or, with times of entry, two."""
    described = describe(outcome, limit)
    rows = described.edge_rows
    if outcome.weights is None:
        hazard = evaluate_predictor(RiskSets.of(outcome.time, outcome.event, outcome.stratum), predictor)[2]
    else:
        hazard = _hazard_of_cases(outcome, predictor)
    return {
        "strata": [described.strata_names[code] for code in described.edge_strata],
        "time": described.edges,
        "cumulative_hazard": coarse(hazard[rows], described.strata, rows, len(outcome.time) // len(predictor)).tolist(),
    }


def _counted(frame: Any, outcome: Survival, predictor: Floats, request: AssessRequest, limit: int) -> Survival:
    """Return the outcome with the case weights and times of entry that a new baseline counts records by, of which none is that of few."""
    column, entry = request.case("weights"), request.case("entry")
    if column is not None:
        outcome = replace(outcome, weights=weights(frame, column, limit, LARGEST_WEIGHT))
    check_effect(predictor, limit, 1.0 if outcome.weights is None else outcome.weights)
    return outcome if entry is None else truncated(outcome, checked_entries(frame, entry, outcome, limit))


def _hazard_of_cases(outcome: Survival, predictor: Floats) -> Floats:
    """Return the cumulative baseline hazard by row of the secret order, (rows,), of rows with weights."""
    holder = OutcomeHolder(bytes(32), outcome.time, outcome.event, outcome.stratum, weights=outcome.weights)
    own = doubled(np.exp(predictor - predictor.max()), len(outcome.time) // len(predictor))
    at_risk = holder.at_risk(holder.weight * own[holder.rows.record])
    if not np.all(at_risk[holder.tied > 0.0] > 0.0):
        raise ThresholdError(f"model: {DOMINATED}")
    return np.asarray(holder.hazard(holder.reciprocals(at_risk)) * np.exp(-predictor.max()))


def _measures(
    outcome: Survival, predictor: Floats, request: AssessRequest, limit: int, events: Floats
) -> dict[str, Any]:
    check_levels(predictor, limit)
    times = times_of(outcome, request.times, limit, events)
    try:
        curves = [Curve(*one) for one in steps_of(request.model)]
    except ValueError:
        raise MessageError("the model of the request has no baseline; the job stops") from None
    predicted = predicted_survival(outcome, predictor, curves, times)
    check_survival(predicted, outcome.stratum, limit)
    middle = len(times) // 2
    groups = most_groups(outcome, predicted[:, middle], float(times[middle]), request.groups, limit)
    by_time = _calibrations(outcome, predicted, times, groups, limit)
    concordance = [_concordance(outcome, predictor, end) for end in (np.inf, *times)]
    return {
        "concordance": concordance[0],
        "concordance_by_time": concordance[1:],
        "auc_by_time": measures.dynamic_areas(
            outcome.time, outcome.event, predictor, outcome.stratum, times, RESOLUTION
        ),
        "times": times.tolist(),
        "brier_scores": measures.brier_scores(outcome.time, outcome.event, predicted, times).tolist(),
        "calibration": by_time[middle],
        "calibration_by_time": by_time,
        "records": len(predictor),
        "events": int(outcome.event.sum()),
    }


def _concordance(outcome: Survival, predictor: Floats, end: float) -> float | None:
    """Return the concordance of pairs with an event up to a time, None where no pair can be compared."""
    event = (outcome.event == 1) & (outcome.time <= end)
    try:
        return measures.concordance(outcome.time, event, predictor, outcome.stratum, RESOLUTION)
    except ValueError:
        return None


def _calibrations(outcome: Survival, predicted: Floats, times: Floats, groups: int, limit: int) -> list[dict[str, Any]]:
    """Return calibration at every time, of the groups of the middle one; empty where one, or two times together, would tell of few records."""
    middle = len(times) // 2
    parts = measures.prediction_groups(predicted[:, middle], groups, RESOLUTION) if groups else []
    released_times = measures.revealable_moments(*counted(outcome, parts, times), middle, limit) if parts else []
    calibrations = []
    for place, moment in enumerate(times.tolist()):
        hidden = any(vanishes(predicted[rows, place, None], limit) for rows in parts)
        own = parts if place in released_times and not hidden else []
        shown = measures.calibrated(outcome.time, outcome.event, predicted[:, place], moment, own)
        calibrations.append({"time": moment, "groups": shown})
    return calibrations


def times_of(outcome: Survival, wanted: list[float] | None, limit: int, events: Floats | None = None) -> Floats:
    """Return the times asked for, or quantiles 10 % to 90 % of the times of `events`, with enough events between them (`guards`)."""
    if wanted is None:
        return own_times(outcome, limit, events)
    times = np.array(wanted, dtype=np.float64)
    check_times(outcome, times, limit)
    return times


def predicted_survival(outcome: Survival, predictor: Floats, curves: list[Curve], times: Floats) -> Floats:
    """Return predicted survival, (records, times), by each record's stratum."""
    known = {curve.stratum: measures.Steps(np.array(curve.times), np.array(curve.hazard), 0.0) for curve in curves}
    predicted = np.ones((len(predictor), len(times)))
    for code, name in enumerate(outcome.strata_names):
        rows = outcome.stratum == code
        if not rows.any():
            continue
        if name not in known:
            raise DataProblem(
                "the outcome holder has a stratum that the model was not fitted on; leave its records out"
            )
        predicted[rows] = measures.survival_at(known[name], predictor[rows], times)
    return predicted
