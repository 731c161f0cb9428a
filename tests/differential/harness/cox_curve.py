"""Baselines of Cox fits: the curve that a model tells, against the cumulative hazard of the pooled records."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import cox
from .cases import Difference, close

Step = tuple[str, list[float], list[float]]
CUT_AT_GAPS = 4.0
"""Steps of a fit to complete records beside those of as many records: they follow from the share that is expected to be complete."""


def steps_of(model: Any) -> list[Step]:
    """Return a model's baseline by stratum: (stratum, times, cumulative hazards)."""
    baseline = model["baseline"]
    parts = baseline.get("strata") or [{"stratum": "all", **baseline}]
    return [(part["stratum"], part["time"], part["cumulative_hazard"]) for part in parts]


def half_step(time: Any, event: Any, entry: Any, moment: float, tied: bool = False) -> float:
    """Return half of the largest step in which a hazard may be told: of 16 to 32 times 1 / n^2, at most two of 1 / n, with n records at risk.

    With `tied` at the last of tied events.
    """
    last = time[(event == 1) & (time <= moment)].max()
    left = float(np.sum(time >= last))
    left -= float(np.sum((time == last) & (event == 1))) - 1.0 if tied else 0.0
    if np.any(
        np.isfinite(entry)
    ):  # a record with a time of entry has two rows, each of which counts half; before few have entered few are at risk
        left = min((left + float(np.sum(entry >= last))) / 2.0, float(np.sum(time < last) + np.sum(entry < last)))
        left = max(left, 1.0)
    return float(min(16.0 / left**2, 1.0 / left))


def compare_curve(
    model: Any, time: Any, event: Any, strata: Any, risk: Any, weight: Any, entry: Any, stations: int
) -> None:
    """Hold the curve of every stratum against that of the records, by the model's ties; `risk`: at the centre of the features.

    Shares of so many stations are cut each by itself, so that a hazard is half a step off for each.
    """
    most = stations * (CUT_AT_GAPS if model["missing"] == "complete" else 1.0)
    for stratum, times, hazards in steps_of(model):
        own = strata == stratum
        survival = np.exp(-np.array(hazards))
        shown = next((p for p in model["baseline"].get("strata", []) if p["stratum"] == stratum), model["baseline"])
        if "survival" in shown:
            close(f"survival of {stratum!r}", shown["survival"], survival.tolist(), 1e-9, 1e-12)
        if np.any(np.diff(times) <= 0) or np.any(np.diff([0.0, *hazards]) < 0):
            raise Difference(f"the baseline of {stratum!r} falls, or has times that do not increase")
        for moment, hazard in zip(times, hazards, strict=True):
            if not np.any(own & (event == 1) & (time <= moment)):
                raise Difference(f"the baseline of {stratum!r} has a point at {moment}, before any event")
            parts = (one[own] for one in (time, event, risk))
            wanted = cox.hazard_by_ties(*parts, weight[own], entry[own], moment, model["ties"])
            margin = half_step(time[own], event[own], entry[own], moment, tied=True)
            close(f"hazard of {stratum!r} at {moment}", hazard, wanted, 2e-3, 1e-6 + most * margin)
        if model["missing"] == "complete":
            continue  # points follow from the events that are known where the outcome is
        _check_times(stratum, times, time, event, own)


def _check_times(stratum: str, times: list[float], time: Any, event: Any, own: Any) -> None:
    """See that no told time lies between an event and the next time in the file in such a way that it says which of these it is."""
    for before, moment in zip([-np.inf, *times[:-1]], times, strict=True):
        if not np.any((event == 1) & own & (time > before) & (time <= moment)):
            raise Difference(f"the baseline of {stratum!r} has a point at {moment} without an event since the last one")


def compare_grid(model: Any, seen: Any, risk: Any, ties: str) -> None:
    """Hold the curves of a fit to whole records against those of the rounded records; `risk`: at the centre of the features."""
    for place, (stratum, times, hazards) in enumerate(steps_of(model)):
        own = seen.stratum == place
        parts = [one[own] for one in (seen.time, seen.event, risk, seen.weight, seen.entry)]
        for moment, hazard in zip(times, hazards, strict=True):
            wanted = cox.hazard_by_ties(*parts, moment, ties)
            close(f"hazard of {stratum!r} at {moment}", hazard, wanted, 1e-5, 1e-7)
