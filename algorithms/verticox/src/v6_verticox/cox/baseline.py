"""The baseline of a fitted model, as its result tells it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Step = tuple[str, list[float], list[float]]
"""A stratum, its times, and the cumulative hazard of a record at the mean from each on."""


def steps_of(model: Mapping[str, Any]) -> list[Step]:
    """Return a model's baseline by stratum.

    Raises
    ------
    ValueError
        If it is none: of a cumulative hazard that falls, or is below zero, predicted survival would be above one and tell of one record alone.
    """
    try:
        baseline = model["baseline"]
        parts = baseline.get("strata") or [{"stratum": "all", **baseline}]
        steps = [(str(p["stratum"]), _numbers(p["time"]), _numbers(p["cumulative_hazard"])) for p in parts]
    except (KeyError, TypeError, AttributeError):
        raise ValueError("the model has no baseline") from None
    for _, times, hazard in steps:
        check_step(times, hazard)
    return steps


def _numbers(values: Sequence[Any]) -> list[float]:
    return [float(value) for value in values]


def check_step(times: Sequence[float], hazard: Sequence[float]) -> None:
    """Raise `ValueError` unless times increase, with a cumulative hazard for each that does not fall."""
    falls = np.any(np.diff(times) <= 0.0) or np.any(np.diff([0.0, *hazard]) < 0.0)
    if len(times) != len(hazard) or falls or not np.all(np.isfinite([*times, *hazard])):
        raise ValueError("a baseline needs increasing times and one hazard for each, which does not fall")
