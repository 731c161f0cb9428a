"""What travels when a fitted model is applied to records: predict, evaluate, baseline."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fedbayes.federation import Exact, Message, Public, Sealed

from .setup import Ordered, Question

TASKS = ("evaluate", "baseline")
SUM_BITS = 40
"""Fractional bits of the linear predictors in a masked sum."""


@dataclass(frozen=True, slots=True)
class LocateRequest(Ordered):
    """Put the rows in the common order; say which columns of the model are here."""


@dataclass(frozen=True, slots=True)
class LocateReply(Message):
    """Columns that are here."""

    features: Public[list[str]]
    outcome: Public[bool]
    rows: Exact[int]


@dataclass(frozen=True, slots=True)
class ScoreRequest(Message):
    """Coefficients of all design columns (``feature`` or ``feature=category``), the same request for everybody; who scores.

    Each scorer takes the columns that it holds, so nobody can be asked for another part of the predictor than the others suppose: the masks are
    bound to the request. `receiver` gets the masked sum sealed; 0: central gets it. Who does not score takes part in the masks over `rows`
    records. `identify` names the scorer whose identifiers central gets; 0: nobody.
    With a `formula` the columns are labels of its design, by the model's categories (`levels`).
    """

    scorers: list[int]
    receiver: int
    rows: int
    columns: list[str]
    categories: list[str | None]
    coefficients: list[float]
    identify: int
    formula: str = ""
    levels: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not len(self.columns) == len(self.categories) == len(self.coefficients):
            raise ValueError("columns and coefficients do not fit together")


@dataclass(frozen=True, slots=True)
class Curve(Message):
    """Cumulative baseline hazard of one stratum."""

    stratum: str
    times: list[float]
    hazard: list[float]

    def __post_init__(self) -> None:
        if len(self.times) != len(self.hazard) or any(b <= a for a, b in zip(self.times, self.times[1:], strict=False)):
            raise ValueError("a baseline needs increasing times and one hazard for each")


@dataclass(frozen=True, slots=True)
class AssessRequest(Message):
    """The sealed linear predictors, and the model's baseline."""

    task: str
    question: Question
    scorers: list[int]
    predictors: dict[int, Sealed]
    offset: float
    curves: list[Curve]
    times: list[float] | None
    groups: int

    def __post_init__(self) -> None:
        if self.task not in TASKS or not 2 <= self.groups <= 100:
            raise ValueError("an assessment is malformed")


@dataclass(frozen=True, slots=True)
class AssessReply(Message):
    """Aggregates over all records."""

    values: Exact[dict[str, Any]]
