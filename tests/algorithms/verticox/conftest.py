"""The private solver's roles in one process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from cox_rehearsal import Rehearsal, standardised


@pytest.fixture
def rehearse() -> Any:
    """Return a function that splits the columns over parties and plays all roles."""

    def play(frame: pd.DataFrame, features: list[str], parties: int, **options: Any) -> tuple[Rehearsal, np.ndarray]:
        values, scale = standardised(frame, features)
        blocks = [values[:, part] for part in np.array_split(np.arange(len(features)), parties)]
        surface = Rehearsal(blocks, frame["time"].to_numpy(dtype=float), frame["event"].to_numpy(dtype=int), **options)
        return surface, scale

    return play


@pytest.fixture
def fine_hazards() -> Iterator[None]:
    """Tell hazards to all their digits, for tests of what is computed; how coarsely they are told is `tests/privacy/test_hazards_decoded.py`'s to show."""
    with mock.patch("v6_verticox.cox.coarse.RECORDS", 1e-12):
        yield
