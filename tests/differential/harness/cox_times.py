"""Times of events: in whole units, with some digits, or tied but for the ninth digit."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

NEARLY = 9
"""In the place of a number of digits: times that differ by 1e-9 alone."""


def times_of(draw: Any, observed: Any, random: np.random.Generator, digits: list[int]) -> list[str]:
    """Return times with so many digits; `NEARLY`: tied but for the ninth one."""
    chosen = draw(st.sampled_from(digits))
    if chosen == NEARLY:
        return [repr(round(float(value), 1) + 1e-9 * int(random.integers(3))) for value in observed]
    return [repr(round(float(value), chosen)) if chosen else str(int(value)) for value in observed]
