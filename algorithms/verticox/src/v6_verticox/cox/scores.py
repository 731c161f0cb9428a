"""How coarsely it is told how well a model predicts: nobody's outcome must follow from the digits.

Whoever has the predictions of the records knows what each adds to a score if it lives, and if it does not, so an exact score says over whom it is the sum.
A score is told in steps of about one record, as an accuracy is: the least of 1, 2 and 5 times a power of ten that is 1 / records or more. All that compares
predictions with outcomes is told so: areas under curves are sums of known ranks, and what a group's curve says is a count of who lives in it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, overload

import numpy as np

from .survival import integrated

RECORDS = 1.0
"""Of a step: how many records are in one, at least."""
BY_TIME = ("concordance_by_time", "auc_by_time", "brier_scores")


def step_of(records: float) -> float:
    """Return the step in which a score over so many records is told."""
    return _round_step(RECORDS / records)


def _round_step(least: float) -> float:
    """Return the least of 1, 2 and 5 times a power of ten that is at least so much."""
    power = math.floor(math.log10(least))
    factor = next(one for one in (1, 2, 5, 10) if one >= least / 10.0**power * (1.0 - 1e-9))
    return float(f"{factor}e{power}")


def coarse_start(log_likelihood: float, records: int, events: int) -> float:
    """Return a log partial likelihood at zero as it is told, in steps of which each holds at least the root of all ways in which the events may lie.

    Without covariates it is a sum of logarithms of how many records are at risk at each event: of 40 records its digits left some 500 of a billion ways in
    which 30 events may lie among them, so nearly told which of them, in the order of the times, had one. With 110 records, of which half have an event, a
    step is below a float's digits.
    """
    step = step_of_start(log_likelihood, records, events)
    return round(round(log_likelihood / step) * step, 15) if step else log_likelihood


def step_of_start(log_likelihood: float, records: int, events: int) -> float:
    """Return the step of `coarse_start`, 0 where it is below a float's digits."""
    ways = math.lgamma(records + 1) - math.lgamma(events + 1) - math.lgamma(records - events + 1)
    spread = math.sqrt(2.0 * math.pi * math.e * events * (1.0 - events / max(records, 1)))
    least = spread * math.exp(-ways / 2.0)
    return 0.0 if least <= abs(log_likelihood) * np.finfo(np.float64).eps else _round_step(least)


@overload
def coarse_score(score: float, records: float) -> float: ...
@overload
def coarse_score(score: None, records: float) -> None: ...
@overload
def coarse_score(score: float | None, records: float) -> float | None: ...


def coarse_score(score: float | None, records: float) -> float | None:
    """Return a score over so many records, rounded to its step; None as it is."""
    if score is None:
        return None
    step = step_of(records)
    return round(round(score / step) * step, 15)


def told_in_steps(name: str, score: float | None, records: float, minimum_count: int) -> dict[str, float | None]:
    """Return a score of a fit and its step, None where nodes hide no counts and the score is told as it is."""
    if minimum_count <= 1:
        return {name: score, f"{name}_step": None}
    return {name: coarse_score(score, records), f"{name}_step": step_of(records)}


def coarse_groups(groups: list[dict[str, float]], fewest: float = math.inf) -> list[dict[str, float]]:
    """Return groups of a calibration with observed survival in steps of one of a group's records.

    `fewest`: of all groups, where how many there are is not told; then steps are those of its equal part, which no group is below.
    """
    most = fewest / max(len(groups), 1)
    return [{**group, "observed": coarse_score(group["observed"], min(group["records"], most))} for group in groups]


def without_counts(measured: Mapping[str, Any]) -> dict[str, Any]:
    """Return metrics without numbers of records, which groups add up to, and of events."""
    by_time = [{**one, "groups": _uncounted(one["groups"])} for one in measured["calibration_by_time"]]
    calibration = {**measured["calibration"], "groups": _uncounted(measured["calibration"]["groups"])}
    hidden = {"records": None, "events": None}
    return {**measured, **hidden, "calibration": calibration, "calibration_by_time": by_time}


def _uncounted(groups: list[dict[str, float]]) -> list[dict[str, float | None]]:
    return [{**group, "records": None} for group in groups]


def coarse_measures(exact: Mapping[str, Any], rows: int | None = None, limit: int = 0) -> dict[str, Any]:
    """Return the metrics of an evaluation as they are told, with their ``step``; the integrated score is that of the Brier scores that are told.

    `rows`: by which steps are laid down instead of the records, where it is not told which of these, fewer than `limit`, are left out.
    """
    records, fewest = (exact["records"], math.inf) if rows is None else (rows, rows - limit + 1)
    by_time = {name: [coarse_score(one, records) for one in exact[name]] for name in BY_TIME}
    by_group = [{**one, "groups": coarse_groups(one["groups"], fewest)} for one in exact["calibration_by_time"]]
    return {
        **exact,
        **by_time,
        "step": step_of(records),
        "concordance": coarse_score(exact["concordance"], records),
        "integrated_brier_score": integrated(np.array(by_time["brier_scores"]), np.array(exact["times"])),
        "calibration": {**exact["calibration"], "groups": coarse_groups(exact["calibration"]["groups"], fewest)},
        "calibration_by_time": by_group,
    }
