"""Requests and replies of the rounds."""

from __future__ import annotations

import numpy as np

from fedbayes.federation import Message
from fedbayes.federation.gate import Exact, Masked, Released, Sealed

from .model import Plan


class StatisticsRequest(Message):
    """Ask for a station's statistics, masked unless they carry local noise."""

    plan: Plan

    def __post_init__(self) -> None:
        if self.plan.published and self.plan.noise.placement != "local":
            raise ValueError("published statistics are not whole numbers and cannot be masked")


class StatisticsReply(Message):
    """A station's vector: masked (uint64), noisy (int64) or as published (float64)."""

    vector: Masked | Released[np.ndarray] | Exact[np.ndarray]

    def __post_init__(self) -> None:
        value = self.vector.value
        if value.dtype not in (np.uint64, np.int64, np.float64) or value.ndim != 1:
            raise ValueError("vector must be a one-dimensional array of numbers")
        if not bool(np.all(np.isfinite(value))):
            raise ValueError("vector must be finite")


class GossipRequest(Message):
    """One step of gossip at one station.

    Parameters
    ----------
    step : int
        0 makes the noisy statistics; later steps use what step - 1 left. Who sends to whom follows from it and the stations of the job.
    plan : Plan
    received : dict
        Sender -> its sealed vector of the step before.
    """

    step: int
    plan: Plan
    received: dict[int, Sealed]

    def __post_init__(self) -> None:
        if not 0 <= self.step <= 64 or self.plan.noise.placement != "local" or self.plan.published:
            raise ValueError("gossip needs local noise and a step between 0 and 64")
        if len(self.received) > 1 or (self.step == 0 and self.received):
            raise ValueError("a station receives at most one vector a step")


class GossipReply(Message):
    """A sealed vector for a peer (or none), the digest of the own one, and at the end the vector itself."""

    sealed: Sealed | None
    digest: Released[bytes]
    vector: Released[np.ndarray] | None
