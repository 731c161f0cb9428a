"""Reading a Cox model of a result: linear predictor, baseline hazard, survival curves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Baseline:
    """Cumulative baseline hazard as a step function: `times` ascending and `cumulative` of the same shape (k,)."""

    times: Floats
    cumulative: Floats

    def at(self, moments: Floats) -> Floats:
        """Return the cumulative hazard at times, shape of `moments`; 0 before the first event."""
        padded = np.concatenate([[0.0], self.cumulative])
        return np.asarray(padded[np.searchsorted(self.times, moments, side="right")])


def baseline_of(model: Mapping[str, Any]) -> Baseline | None:
    """Return the baseline of a Cox model, or None if it has none (or one for each stratum)."""
    told = model.get("baseline")
    if not isinstance(told, Mapping):
        return None
    times = next((told[key] for key in ("times", "time") if isinstance(told.get(key), list)), None)
    names = ("cumulative_hazard", "cumulative")
    cumulative = next((told[key] for key in names if isinstance(told.get(key), list)), None)
    if cumulative is None and isinstance(told.get("hazard"), list):
        cumulative = np.cumsum(np.asarray(told["hazard"], dtype=np.float64)).tolist()
    if not times or cumulative is None or len(times) != len(cumulative):
        return None
    return Baseline(np.asarray(times, dtype=np.float64), np.asarray(cumulative, dtype=np.float64))


def linear_predictor(model: Mapping[str, Any], frame: pd.DataFrame) -> Floats:
    """Return sum of coefficient times (value - center), shape (n,); the center is 0 where the model tells none.

    Raises
    ------
    ValueError, TypeError
        If a column is not numeric.
    """
    centers = model.get("centers") or model.get("means") or {}
    total = np.zeros(len(frame))
    for entry in model["coefficients"]:
        name = str(entry["feature"])
        center = float(centers.get(name, 0.0)) if isinstance(centers, Mapping) else 0.0
        total += float(entry["coefficient"]) * (np.asarray(frame[name], dtype=np.float64) - center)
    return total
