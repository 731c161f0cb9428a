"""Records made up from a task's question alone, for rehearsals: whole tables, dealt over stations as the task has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...randomness import ResearchSampler
from ...typing import Array, Floats, Integers
from ..exits import UsageProblem
from .expected import GRID, Feature, drawn, law

if TYPE_CHECKING:
    import pandas as pd

FOLLOW_UP = 1000.0
"""Largest time of made-up records where neither a domain nor `times` bounds it."""
SLOWNESS = 1.5
"""Follow-up over the mean time to an event: with censoring from a fifth of the follow-up on, about half of the records have the event."""
FIRST_CENSORED = 0.2  # of the follow-up: who enters a study late is seen for some time
HIDDEN_CLASSES = 2  # the fewest that make columns depend on one another


@dataclass(frozen=True)
class People:
    """What made-up records look like.

    Attributes
    ----------
    domain : mapping
        Column -> its categories or bounds.
    columns : sequence of str
        Of the task, without the identifier.
    label : str or None
        Its categories are equally frequent, and every other column depends on it; without one, all depend on a hidden column.
    time, event : str or None
        Of a survival model: hazards are log-linear in the other columns.
    identifier : str or None
        A column of distinct texts.
    signal : float
        Deviation of the log-odds of a feature between classes, and of its log hazard ratio.
    """

    domain: Mapping[str, Any]
    columns: Sequence[str]
    label: str | None = None
    time: str | None = None
    event: str | None = None
    identifier: str | None = None
    signal: float = 0.5

    def draw(self, rows: int, sampler: ResearchSampler) -> pd.DataFrame:
        """Return so many records of one population.

        Raises
        ------
        UsageProblem
            If the domain of a column is not given.
        """
        import pandas as pd

        classes = self._classes()
        truth = sampler.generator.integers(0, len(classes), rows)
        table: dict[str, Any] = {}
        if self.identifier is not None:
            table[self.identifier] = [f"r{number:09d}" for number in sampler.generator.permutation(rows)]
        hazard = np.zeros(rows)
        for name in self.columns:
            if name in (self.time, self.event):
                continue
            if name == self.label:
                table[name] = np.asarray(classes)[truth]
                continue
            table[name], risk = self._column(name, truth, len(classes), sampler)
            hazard += risk
        if self.time is not None and self.event is not None:
            table[self.time], table[self.event] = self._survival(hazard, sampler)
        made: pd.DataFrame = pd.DataFrame(table)
        return made

    def _classes(self) -> list[Any]:
        if self.label is None:
            return list(range(HIDDEN_CLASSES))
        categories = list(self._entry(self.label).get("categories") or [])
        if not categories:
            raise UsageProblem(f"--rehearse: the label {self.label!r} has no categories in the domain; state them")
        return categories

    def _entry(self, name: str) -> Mapping[str, Any]:
        entry = self.domain.get(name)
        if not isinstance(entry, Mapping) or not (entry.get("categories") or entry.get("bounds")):
            raise UsageProblem(
                f"--rehearse: the domain of column {name!r} is not known; give --dictionary FILE, or the argument domain"
            )
        return entry

    def _column(self, name: str, truth: Integers, classes: int, sampler: ResearchSampler) -> tuple[Array, Floats]:
        """Return the values of a feature, shape (rows,), and what each adds to the log hazard."""
        entry = self._entry(name)
        normal = sampler.generator.normal
        categories = entry.get("categories")
        if categories:
            cells = drawn(law(Feature(len(categories), numeric=False), classes, self.signal, sampler), truth, sampler)
            return np.asarray(list(categories))[cells], self.signal * normal(size=len(categories))[cells]
        cells = drawn(law(Feature(GRID, numeric=True), classes, self.signal, sampler), truth, sampler)
        low, high = map(float, entry["bounds"])
        share = (cells + sampler.generator.random(len(cells))) / GRID
        return low + (high - low) * share, self.signal * normal() * np.sqrt(12.0) * (share - 0.5)

    def _survival(self, hazard: Floats, sampler: ResearchSampler) -> tuple[Floats, Integers]:
        """Return times and whether the event happened then, shape (rows,) each."""
        bounds = (self.domain.get(self.time or "") or {}).get("bounds") or (0.0, FOLLOW_UP)
        low, high = map(float, bounds)
        length = high - low
        happens = sampler.generator.exponential(length / SLOWNESS * np.exp(hazard.mean() - hazard))
        censored = sampler.generator.uniform(FIRST_CENSORED * length, length, len(hazard))
        grain = length / GRID  # ties, as days or months have them
        times = low + np.ceil(np.minimum(happens, censored) / grain) * grain
        return times, (happens <= censored).astype(np.int64)


FEWEST_HYBRID = 3
"""Stations of a hybrid split: columns of some records at two of them, whole ones at the last."""


def deal(table: pd.DataFrame, people: People, stations: int, split: str) -> dict[str, pd.DataFrame]:
    """Return every station's part of the records.

    Parameters
    ----------
    table : pandas.DataFrame
        Whole records.
    people : People
        What they are.
    stations : int
        Those with data.
    split : {"vertical", "horizontal", "hybrid"}
        Columns, or records, or of each: the last station has its share of records whole, the others columns of the rest.

    Raises
    ------
    UsageProblem
        If a hybrid split has too few stations to be one.
    """
    if split == "horizontal":
        return deal_rows(table, stations)
    if split == "vertical":
        return deal_columns(table, people, stations)
    if stations < FEWEST_HYBRID:
        raise UsageProblem("--rehearse: a hybrid split is made up for three stations or more; give --stations 3")
    whole = np.arange(len(table)) % stations == stations - 1
    return {
        **deal_columns(table[~whole], people, stations - 1),
        f"station-{stations - 1}": table[whole],
    }


def deal_rows(table: pd.DataFrame, stations: int) -> dict[str, pd.DataFrame]:
    """Return every station's records, whole ones."""
    return {f"station-{number}": table.iloc[number::stations] for number in range(stations)}


def deal_columns(table: pd.DataFrame, people: People, stations: int) -> dict[str, pd.DataFrame]:
    """Return every station's columns, dealt in turn, the identifier everywhere; an outcome is whole at the first station, whose turn then comes last."""
    outcome = [name for name in (people.time, people.event) if name in table.columns]
    rest = [name for name in people.columns if name not in outcome]
    identifier = [people.identifier] if people.identifier is not None else []
    first = 1 if outcome else 0
    return {
        f"station-{number}": table[
            [*identifier, *([] if number else outcome), *rest[(number - first) % stations :: stations]]
        ]
        for number in range(stations)
    }
