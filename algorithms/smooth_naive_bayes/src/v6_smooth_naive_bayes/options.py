"""What central and every station check of a release before data are read."""

from __future__ import annotations

import sys

from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.horizontal import Columns, cells
from fedbayes.federation.horizontal.counts import MOST_CELLS

from .messages import Settings
from .model import noise_factor
from .queries import ONE_BIN, Release

SMALLEST_EPSILON = 1e-6  # of one query
MOST_GROUPS = 20_000  # of rows of one class with a value of one feature: about 2 ms each
SMALLEST_RANGE, LARGEST_RANGE = 1e-60, 1e60  # squares and their noise must be floats too


def check_release(columns: Columns, settings: Settings) -> None:
    """Check that the release can be computed and its noise drawn: at central, and again at every station, before data are read.

    Raises
    ------
    ArgumentError
        Naming the argument or the column and the remedy.
    """
    release = Release(columns.schema, columns.label, settings)
    if columns.outside != "clip":
        raise ArgumentError("outside must be 'clip' here: a refusal would reveal something about the data")
    for name in release.numeric:
        low, high = columns.schema[name].bounds or (0.0, 1.0)
        if not SMALLEST_RANGE <= high - low <= LARGEST_RANGE:
            raise ArgumentError(
                f"domain: column {name!r}: bounds must be between {SMALLEST_RANGE:g} and {LARGEST_RANGE:g} apart; "
                "change its unit"
            )
    if cells(columns, dict.fromkeys(release.numeric, ONE_BIN)) > MOST_CELLS:
        raise ArgumentError(f"domain: the categories make more than {MOST_CELLS} cells; give fewer")
    if columns.classes * len(release.numeric) > MOST_GROUPS:
        raise ArgumentError(f"domain: classes times numeric features are more than {MOST_GROUPS}; give fewer")
    share = release.query_epsilon
    if share < SMALLEST_EPSILON:
        least = SMALLEST_EPSILON * settings.epsilon / max(share, sys.float_info.min)
        raise ArgumentError(
            f"epsilon is too small to be split over this many queries; give at least {least:.2g}, or fewer features"
        )
    try:
        noise_factor(share, settings)
    except ValueError:
        raise ArgumentError(
            "degrees_of_freedom is too large for this epsilon; give fewer (3 is usual) or a larger epsilon"
        ) from None
