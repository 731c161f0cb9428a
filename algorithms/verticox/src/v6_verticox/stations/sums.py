"""Sums over stations that one of them, or central, learns: the only place where this method masks.

Every organization that is asked in the round takes part, with zeros where it has nothing to add: so each node's `minimum_organizations` counts
all of them, and the sum hides a station's part from whoever does not pool what all others see.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fedbayes.federation import Masked, Sealed, Station
from fedbayes.federation.vertical.sealed_sums import sealed_part, total_of
from fedbayes.randomness import uniform_bits
from fedbayes.typing import Booleans, Floats

from ..messages.scoring import SUM_BITS, read_sum
from ..messages.setup import Plan

RESOLUTION = 2.0**-30
"""Sums that lie no farther apart may be equal: every part is rounded to 2^-40, and a part near 2^20 carries errors of 2^-32."""


def masked(station: Station, values: Floats, topic: str, common: Any = None, present: Booleans | None = None) -> Masked:
    """Return real numbers, below 2^22, inside a sum over the round's participants; `common` as in `Station.mask`. With a plan all its share holders take part.

    With `present` a second row marks the records that have a gap here by uniform words, and so are their numbers: of a record with gaps the sum tells
    that it has one, neither at how many stations nor what the others have (0, no gap, with probability 2^-64).

    **Reveals** the sum to whoever gets all parts, and nothing else.
    """
    if isinstance(common, Plan):
        station.require_asked(common.holders)
    encoded = np.rint(values * 2.0**SUM_BITS).astype(np.int64)
    if present is not None:
        encoded = np.stack([encoded, np.zeros_like(encoded)])
        encoded[:, ~present] = uniform_bits((2, int(np.sum(~present)))).view(np.int64)
        encoded = encoded.ravel()
    return station.mask(station.further(encoded), topic, common)


def masked_for(
    station: Station,
    receiver: int,
    values: Floats,
    topic: str,
    common: Any = None,
    present: Booleans | None = None,
) -> Sealed | None:
    """Return the same, sealed for the member that learns the sum; the receiver keeps its own part instead."""
    return sealed_part(station, receiver, masked(station, values, topic, common, present), topic)


def received(station: Station, parts: Mapping[int, Sealed], rows: int, topic: str) -> Floats:
    """Return the sum, (rows,), of the others' parts and the own one that `masked_for` kept; `MessageError` as `sealed_sums.total_of`."""
    return read_sum(total_of(station, parts, topic, rows).astype(np.int64), False)[0]


def received_complete(station: Station, parts: Mapping[int, Sealed], rows: int, topic: str) -> tuple[Floats, Booleans]:
    """Return the same where parts mark gaps, and which records have none at any station, (rows,) each."""
    return read_sum(total_of(station, parts, topic, 2 * rows).astype(np.int64), True)
