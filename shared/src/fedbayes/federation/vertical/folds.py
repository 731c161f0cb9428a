"""Folds of records that all stations have, as the station that draws them knows and nobody else can compute."""

from __future__ import annotations

import numpy as np

from ...mpc.prg import KEY_BYTES, expand
from ...randomness import secret_bytes
from ...typing import Indices
from ..station import Station

MOST_FOLDS = 100
"""Of a cross-validation: of more, a fold would be a few records."""


def drawn_secret(station: Station) -> bytes:
    """Return this station's secret of the job's folds, drawn at the first call."""
    station.keep("fold secret", secret=np.frombuffer(secret_bytes(KEY_BYTES), dtype=np.uint8))
    return bytes(station.kept("fold secret")["secret"].tobytes())


def fold_of(secret: bytes, records: int, folds: int) -> Indices:
    """Return the fold of every record in the common order, (records,): sizes differ by one at most."""
    places = np.argsort(expand(secret, "folds", records), kind="stable")
    result = np.empty(records, dtype=np.intp)
    result[places] = np.arange(records) % folds
    return result
