"""Cox fits that tests share: a small exact one, and points of private ones at which what a record adds is longest."""

from functools import partial

import numpy as np
import pandas as pd
from mock_kit import NO_DATA, run_mocked

from v6_verticox.horizontal.private.messages import SlopeRequest


def point_far_out(whom, step, random, hazard, spread, least):
    """Return a point at which contributions are longest: mean hazard of a cell, deviation of the coefficients, and the smallest clip."""
    return SlopeRequest(
        whom,
        step,
        np.array([2.0, 9.0]),
        np.cumsum(random.exponential(hazard, 2)),
        np.array([0, 1]),
        np.array([0, 1]),
        random.uniform(-1, 1, 4),
        random.normal(0, spread, 4),
        np.diag(random.exponential(3, 4)) + random.normal(0, 1, (4, 4)),
        float(random.exponential(2.0) + least),
        step > 1,
    )


def fit_three_stations(**more):
    """Return the result of an exact fit to 60 aligned records over three stations, the last with the outcome, and a helper."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["x", "y", "z"])
    frame["time"], frame["event"] = rng.exponential(np.exp(-frame["x"])), (rng.random(60) < 0.8).astype(int)
    frame["family"] = rng.permutation(60) // 3
    frames = [frame[["x"]], frame[["y", "family"]], frame[["z", "time", "event"]], NO_DATA]
    task = {"time": "time", "event": "event", "features": ["x", "y", "z"], "rows_aligned": True, "time_transform": None}
    return run_mocked("verticox", "fit", [part.copy() for part in frames], **task, **more)


fit_clustered = partial(fit_three_stations, cluster="family")
"""The same with errors robust by the twenty families that the second station knows."""
