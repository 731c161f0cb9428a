"""How coarsely a baseline hazard is told: one record's risk must not follow from its digits.

Between two times that are told lie a few events. Who knows in which order records leave (as who has the outcome does) and the coefficients reads off an exact
hazard which risks left between, so which values of other organizations' columns they belong to: ten records of two risks are ten bits, of which an exact number
tells thirty. With n records at risk one that leaves changes an event's part of the hazard, 1 / n, by about 1 / n^2. So hazards are told in steps of 16 to 32 of
that, at most 2 / n: below the standard error of what five events add where few records are left, and less than a twentieth of it where 400 are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedbayes.typing import Floats, Integers

RECORDS = 16.0
"""Of a step: how many average records change an event's part of the hazard by as much, at least."""


def step_bits(sizes: Sequence[int], rows: Sequence[int], counting: float = 1.0, copies: int = 1) -> Integers:
    """Return of each row the step in which its hazard is told, as a power of two, (rows,) of int.

    Parameters
    ----------
    sizes : sequence of int
        Rows of each stratum.
    rows : sequence of int
        Those that are told, in an order by stratum and time: all that follow in the stratum are at risk.
    counting : float
        Which part of the records count.
    copies : int
        Rows of a record. With two, the first is where it enters: no more are at risk than rows before, wherever few have entered.
    """
    places, ends = np.asarray(rows, dtype=np.int64), np.cumsum(sizes)
    stratum = np.searchsorted(ends, places, side="right")
    following, before = (ends[stratum] - places) / copies, places - (ends - sizes)[stratum]
    at_risk = np.maximum((following if copies == 1 else np.minimum(following, before)) * counting, 1.0)
    return np.asarray(np.ceil(np.log2(np.minimum(RECORDS / at_risk**2, 1.0 / at_risk))), dtype=np.int64)


def coarse(hazard: Floats, sizes: Sequence[int], rows: Sequence[int], copies: int = 1) -> Floats:
    """Return hazards of some rows, (rows,), rounded to the steps in which they are told; none falls within a stratum."""
    steps = np.ldexp(1.0, step_bits(sizes, rows, copies=copies))
    return rising(np.round(hazard / steps) * steps, sizes, rows)


def rising(hazard: Floats, sizes: Sequence[int], rows: Sequence[int]) -> Floats:
    """Return hazards of which none is below zero or, in a stratum, below an earlier one, (rows,)."""
    stratum = np.searchsorted(np.cumsum(sizes), rows, side="right")
    parts = np.split(np.maximum(hazard, 0.0), np.flatnonzero(np.diff(stratum)) + 1)
    return np.concatenate([np.maximum.accumulate(part) for part in parts])
