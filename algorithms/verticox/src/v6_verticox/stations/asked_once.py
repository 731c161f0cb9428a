"""What may be asked once in a job, whatever the round: a plan, a point, a stage that is dealt.

Masks follow from the names of what they hide. Two questions under one name would be hidden by the same mask, and their difference by none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbayes.federation import Station
from fedbayes.federation.errors import MessageError
from fedbayes.federation.manifest import digest_of

from ..messages.setup import Plan

TWICE = "a step of the protocol was asked for twice with other contents; start the job again"


def asked_once(station: Station, name: str, content: Any) -> str:
    """Return the digest of what is asked under a name in this job, or this fold of it.

    Raises
    ------
    MessageError
        When something else was asked under it before.
    """
    digest = digest_of(content)
    station.keep(f"asked|{name}", digest=np.array(digest))
    if str(station.kept(f"asked|{name}")["digest"]) != digest:
        raise MessageError(TWICE)
    return digest


def one_plan(station: Station, plan: Plan) -> None:
    """Refuse another plan than the job's first: who plays which part, and how many records and columns there are."""
    asked_once(station, "plan", plan)
