"""Where a task that is planned would run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .expected import SIGNAL


@dataclass(frozen=True)
class Setting:
    """Where a task would run: how many organizations, with how many records in all (0: unknown), under which limits; how much a feature tells
    (`expected`), and how often the task is run on made-up records (`rehearsal`; 0: never).
    """

    stations: int = 3
    rows: int = 0
    limits: Mapping[str, Any] | None = None
    signal: float = SIGNAL
    rehearsals: int = 0
