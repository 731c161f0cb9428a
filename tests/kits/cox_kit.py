"""Points of private Cox fits at which what a record adds is longest."""

import numpy as np

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
