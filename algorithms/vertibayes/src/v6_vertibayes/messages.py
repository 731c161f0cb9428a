"""Requests and replies of the rounds that are VertiBayes' own; those on vertical tables are the library's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fedbayes.federation import Message


@dataclass(frozen=True, slots=True)
class CountsRequest(Message):
    """Asks a horizontal party for its masked tables: one axis a column, "missing" as the last state."""

    domain: dict[str, Any]
    bins: Any
    tables: list[list[str]]
    epsilon: float | None
    honest_fraction: float

    def __post_init__(self) -> None:
        """Check that there are questions and a positive epsilon."""
        if not self.tables or any(not table for table in self.tables):
            raise ValueError("a batch holds one or more tables over one or more columns")
        if self.epsilon is not None and not self.epsilon > 0.0:
            raise ValueError("epsilon must be positive")


@dataclass(frozen=True, slots=True)
class CountsReply(Message):
    """All tables, flat, masked over Z/2^64."""

    masked: np.ndarray

    def __post_init__(self) -> None:
        """Check dtype and shape."""
        if self.masked.dtype != np.uint64 or self.masked.ndim != 1:
            raise ValueError("masked must be a vector of the ring")
