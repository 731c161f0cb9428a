"""What travels when a fitted model is applied to records: predict, evaluate, baseline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fedbayes.federation import Exact, Message, Public, Sealed
from fedbayes.federation.questions.factor_info import check_records
from fedbayes.typing import Booleans, Floats, Integers

from ..cox.baseline import check_step
from .setup import Ordered

TASKS = ("evaluate", "baseline")
SUM_BITS = 40
"""Fractional bits of the linear predictors in a masked sum."""


class LocateRequest(Ordered):
    """Put the rows in the common order; say which columns of the model are here."""


class LocateReply(Message):
    """Columns that are here."""

    features: Public[list[str]]
    outcome: Public[bool]
    rows: Exact[int]


def read_sum(words: Integers, marked: bool) -> tuple[Floats, Booleans]:
    """Return the linear predictors of a sum over the stations, (records,), and which records have no gap at any of them.

    Parameters
    ----------
    words : ndarray of int64, (records,) or (2 records,)
        Predictors in units of 2^-`SUM_BITS`; with `marked` then one word a record, 0 where no station has a gap.
    marked : bool
        Whether records with gaps are left out; their predictors are zeros.
    """
    values, marks = np.split(words, [len(words) // 2]) if marked else (words, np.zeros_like(words))
    present = marks == 0
    return np.where(present, values / 2.0**SUM_BITS, 0.0), present


def split_name(features: Sequence[str], name: str) -> tuple[str, str | None]:
    """Return the feature, and the category if there is one, of a coefficient's name: ``feature`` or ``feature=category``."""
    if name in features:
        return name, None
    fitting = [feature for feature in features if name.startswith(f"{feature}=")]
    feature = max(fitting, key=len, default=name)
    return feature, name[len(feature) + 1 :]


class ScoreRequest(Message):
    """The outline of the model that the researcher gave (`manifest.outline_of`), the same for everybody: coefficients, formula,
    levels and references; who scores.

    Stations compare it with the manifest and take the coefficients from it, each those of the columns that it holds. Nobody can be asked for another
    part of the predictor than the others suppose: the masks are bound to the request. `receiver` gets the masked sum sealed; 0: central gets it. Who
    does not score takes part in the masks over `rows` records. `identify` names the scorer whose identifiers central gets; 0: nobody.
    """

    scorers: list[int]
    receiver: int
    rows: int
    model: dict[str, Any]
    identify: int

    def __post_init__(self) -> None:
        """Check that the outline has what scoring takes of it."""
        check_records(self.rows)
        try:
            _ = self.columns, self.formula, self.levels, self.references
        except (KeyError, TypeError, AttributeError):
            raise ValueError("the model of the request is no linear predictor") from None

    @property
    def formula(self) -> str:
        """The formula of the model's design; empty where columns are taken as they are."""
        return str(self.model.get("formula") or "")

    @property
    def complete(self) -> bool:
        """Whether the model was fitted on the records without gaps, so that others get no prediction."""
        return self.model.get("missing") == "complete"

    @property
    def levels(self) -> dict[str, list[str]]:
        """The categories of the formula's columns."""
        levels = self.model.get("levels") or {} if self.formula else {}
        return {str(name): [str(level) for level in categories] for name, categories in levels.items()}

    @property
    def references(self) -> dict[str, str]:
        """The category without a coefficient of every column of text; of a formula `levels` tell it."""
        references = {} if self.formula else self.model.get("references") or {}
        return {str(name): str(category) for name, category in references.items()}

    def categories(self, column: str) -> list[str]:
        """Return the categories that the model knows of a column of text, the reference first."""
        others = [category for name, category, _ in self.columns if name == column and category is not None]
        return [self.references[column], *others] if column in self.references else others

    @property
    def columns(self) -> list[tuple[str, str | None, float]]:
        """Column, category and coefficient; with a formula the label of a column of its design, no category, and the coefficient."""
        named = [(str(entry["feature"]), float(entry["coefficient"])) for entry in self.model["coefficients"]]
        if self.formula:
            return [(name, None, coefficient) for name, coefficient in named]
        features = [str(feature) for feature in self.model["features"]]
        return [(*split_name(features, name), coefficient) for name, coefficient in named]


class Curve(Message):
    """Cumulative baseline hazard of one stratum, which does not fall: predicted survival is between 0 and 1."""

    stratum: str
    times: list[float]
    hazard: list[float]

    def __post_init__(self) -> None:
        check_step(self.times, self.hazard)


class AssessRequest(Message):
    """The sealed linear predictors, and the model: its outline with the baseline (`manifest.outline_of`).

    The outcome holder compares it with the manifest, and takes time, event, strata, offset and baseline from it.
    """

    task: str
    model: dict[str, Any]
    scorers: list[int]
    predictors: dict[int, Sealed]
    times: list[float] | None
    groups: int

    def __post_init__(self) -> None:
        """Check that the outline has what an assessment takes of it."""
        if self.task not in TASKS or not 2 <= self.groups <= 100 or self.times == []:
            raise ValueError("an assessment is malformed")
        try:
            _ = self.offset, self.columns
        except (KeyError, TypeError):
            raise ValueError("the model of the request has no outcome or offset") from None

    @property
    def offset(self) -> float:
        """Linear predictor of a record at the mean."""
        return float(self.model["offset"])

    @property
    def complete(self) -> bool:
        """Whether the model was fitted on the records without gaps."""
        return self.model.get("missing") == "complete"

    @property
    def strata(self) -> str | None:
        """Column of the strata, if there are any."""
        return None if self.model.get("strata") is None else str(self.model["strata"])

    def case(self, role: str) -> str | None:
        """Return the column of "weights" or "entry" that a new baseline counts records by, None without one."""
        name = self.model.get(role) if self.task == "baseline" else None
        return None if name is None else str(name)

    @property
    def columns(self) -> list[str]:
        """Time, event and strata; of a new baseline also weights and times of entry."""
        beside = [self.strata, self.case("weights"), self.case("entry")]
        return [str(self.model["time"]), str(self.model["event"]), *(name for name in beside if name)]


class AssessReply(Message):
    """Aggregates over all records."""

    values: Exact[dict[str, Any]]
