"""What travels between central and the stations: one request and one reply a round."""

from __future__ import annotations

import math

import numpy as np

from fedbayes.dp import promise
from fedbayes.dp.heavy_tails import NOISES
from fedbayes.dp.neighbors import NEIGHBORS
from fedbayes.federation import Message
from fedbayes.federation.gate import Exact, Released
from fedbayes.federation.horizontal import Columns
from fedbayes.federation.messages.arrays import check_array
from fedbayes.typing import Floats, Integers

SENSITIVITIES = ("smooth", "global", "published")


class Settings(Message):
    """How the statistics are released.

    Parameters
    ----------
    epsilon : float
        Budget of every row, all queries together.
    sensitivity : str
        ``smooth``, ``global`` or ``published``.
    noise : str
        ``cauchy`` or ``student_t``; for smooth sensitivity.
    degrees_of_freedom : float
        Of Student's t, at least 1.
    neighbors : str
        ``add_remove`` or ``replace_one``.
    rows : int
        Most rows of one unit of the promise: every query's noise is for one row of a budget that many times smaller.
    """

    epsilon: float
    sensitivity: str = "smooth"
    noise: str = "cauchy"
    degrees_of_freedom: float = 3.0
    neighbors: str = "add_remove"
    rows: int = 1

    def __post_init__(self) -> None:
        if not (math.isfinite(self.epsilon) and self.epsilon > 0):
            raise ValueError("epsilon must be positive")
        if self.sensitivity not in SENSITIVITIES or self.noise not in NOISES or self.neighbors not in NEIGHBORS:
            raise ValueError("sensitivity, noise or neighbors is unknown")
        if not (math.isfinite(self.degrees_of_freedom) and self.degrees_of_freedom >= 1):
            raise ValueError("degrees_of_freedom must be at least 1")
        if self.rows < 1:
            raise ValueError("rows must be at least 1")

    @property
    def noisy(self) -> bool:
        """Whether the noise is for epsilon: not as printed in the paper."""
        return self.sensitivity != "published"

    @property
    def private(self) -> bool:
        """Whether the release is differentially private."""
        return self.noisy and promise.holds(self.epsilon)


class ReleaseRequest(Message):
    """Ask a station for its noisy statistics."""

    columns: Columns
    settings: Settings

    def __post_init__(self) -> None:
        if self.settings.rows != self.columns.unit.rows:
            raise ValueError("the noise is for another unit, or another number of rows of one, than are used")


class Statistics(Message):
    """One station's noisy statistics.

    Parameters
    ----------
    counts : ndarray
        int64, shape (cells,): the tables of `queries.Release.tables` by class, then the class counts where they are a query.
    missing : ndarray
        int64, shape (features of `queries.Release.missing`, classes): rows without a value.
    first, second : ndarray
        float64, shape (numeric features, classes): mean and variance of every numeric feature in every class (``smooth``), mean and standard deviation
        (``published``), all measured from the lower bound in units of the range; or the sums of u and of u^2 - 1/2 with u in [-1, 1] (``global``).
    """

    counts: Integers
    missing: Integers
    first: Floats
    second: Floats

    def __post_init__(self) -> None:
        check_array("counts", self.counts, (None,), np.int64)
        check_array("missing", self.missing, (None, None), np.int64)
        check_array("first", self.first, (None, None))
        check_array("second", self.second, self.first.shape)


class ReleaseReply(Message):
    """One station's statistics: released under its budget, or as published without one."""

    statistics: Released[Statistics] | Exact[Statistics]
