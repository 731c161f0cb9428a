"""Requests and replies of the rounds that are VertiBayes' own; those on vertical tables are the library's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fedbayes.dp.laws import Change
from fedbayes.federation import Message, Relation
from fedbayes.federation.gate import Exact, Masked, Public, Sealed
from fedbayes.federation.guards.installments import Installment
from fedbayes.federation.questions.contrasts import Contrasts
from fedbayes.federation.vertical.messages import Delivery, Setup

BY_ROWS = Relation("add_remove")
"""Whom noise in the tables of whole records is for."""


def change_of(tables: int, cells: int) -> Change:
    """Return what one record more or less changes in a batch of tables of so many cells in all: it is in one cell of each."""
    return Change(float(tables), math.sqrt(tables), cells)


class CountsRequest(Message):
    """Asks a horizontal party for its masked tables: one axis a column, "missing" as the last state."""

    domain: dict[str, Any]
    bins: Any
    tables: list[list[str]]
    noise: Installment | None
    honest_fraction: float
    contrasts: Contrasts | None = None
    seeded: bool = False

    def __post_init__(self) -> None:
        if self.seeded and self.noise is not None:
            raise ValueError("noise needs no seed of the stations")
        if not self.tables or any(not table for table in self.tables):
            raise ValueError("a batch holds one or more tables over one or more columns")
        if self.contrasts is not None:
            if self.noise is None:
                raise ValueError("functions of tables are answered with noise only")
            self.contrasts.check(self.tables)
        if not 0.0 < self.honest_fraction <= 1.0:
            raise ValueError("the honest fraction is malformed")

    def change(self, cells: int) -> Change:
        """Return what one record more or less changes in the answer, whose tables have so many cells."""
        return (
            self.contrasts.change(self.tables, replaced=False) if self.contrasts else change_of(len(self.tables), cells)
        )


class CountsReply(Message):
    """All tables, flat, masked over Z/2^64, where asked (`seeded`) with a seed behind them; and the smallest count that this node allows to be published."""

    masked: Masked
    minimum_count: Public[int]


class ScoresRequest(Message):
    """Asks for shares of every record's log-scores under a model that the researcher gave, of which every station makes the factors' weights.

    `names`: the factors, in the order of the groups of columns of the model's classifier (`record_scores.Classifier`).
    With a `holder` the shares are sealed for that station, else they go to central under masks. `identify` is the station whose identifiers name
    the records.
    """

    model: dict[str, Any]
    label: str
    names: list[str]
    delivery: Delivery
    holder: int | None
    identify: int | None


class TallyRequest(Message):
    """Asks the label's station to add up the sealed scores and to compare them with its labels; label and prior are those of the round before.

    All others are sent none.
    """

    setup: Setup
    sealed: dict[int, Sealed]
    rows: int


class TallyReply(Message):
    """Of the label's station sums over records (`fedbayes.bayes.evaluation.tallies.Tallies`); of everybody a part of what is added to the scores."""

    counts: Exact[np.ndarray] | None
    loss: Exact[float] | None
    unlabelled: Exact[int] | None
    seed: Masked
