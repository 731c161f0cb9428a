"""The private solver's roles in one process."""

from __future__ import annotations

from typing import Any

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
