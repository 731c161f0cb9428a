"""The last round of a fit: the linear predictor at the mean of every feature."""

from __future__ import annotations

import numpy as np

from fedbayes.federation import Federation

from ..messages.private import OFFSET_BITS, FinishReply, FinishRequest
from ..shares.agreed import places_of
from .setup import Prepared


def mean_predictor(federation: Federation, prepared: Prepared, coefficients: np.ndarray) -> tuple[float, float]:
    """Return the linear predictor at the mean, and the part of it by which complete records differ; by a secure sum, the job's last round."""
    plan, requests = prepared.plan, {}
    for index, member in enumerate(plan.holders):
        requests[member] = FinishRequest(plan, coefficients[places_of(plan, index)].tolist())
    requests[plan.helper] = FinishRequest(plan, [])
    members = [*plan.holders, plan.helper]
    total = federation.secure_sum("partial_finish", requests, members, FinishReply, last=True)
    own, shift = total.astype(np.int64) / 2.0**OFFSET_BITS
    return float(own + shift), float(shift)
