"""The first rounds over horizontally split records: who takes part, counts of the records, and the grid that is united so that none are few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fedbayes.federation import Federation, Preflight
from fedbayes.federation.errors import ArgumentError, PlacementError, ThresholdError
from fedbayes.federation.horizontal import ROW, CountNoise, preflight, whole_sums
from fedbayes.typing import Counts, Floats

from ..cox.inference import CLUSTERS_PER_COLUMN
from ..cox.narrow import carried_by_few, few
from . import grid, isolated
from .messages import Question, TallyRequest, WeighRequest
from .partials import BITS

RECORDS_PER_COLUMN = 5  # as in a vertical fit
NARROWEST = 1e-5  # a deviation beside half of the bounds' width, below which the moments hold too few digits


def summing_stations(
    federation: Federation, organizations: Sequence[int | str] | None, opening: Preflight
) -> tuple[int, ...]:
    """Open the channel and return the stations; `PlacementError` where there is one whose sums nothing would cover."""
    stations = federation.open_channel(organizations, opening).stations
    if len(stations) < 2:
        raise PlacementError("sums over stations need two or more organizations with data; add one")
    return stations


def stations_of_exact(
    federation: Federation, organizations: Sequence[int | str] | None, question: Question, functions: Sequence[str]
) -> tuple[int, ...]:
    """Open the channel for exact sums about a question, by partial functions of these names, and return the stations; raises as `summing_stations`."""
    derived = () if question.design is None else tuple(question.design.terms.derived_from)
    opening = replace(preflight(question.columns, functions, CountNoise(), False, ROW), derived_from=derived)
    return summing_stations(federation, organizations, opening)


def tally_of(federation: Federation, stations: Sequence[int], question: Question) -> grid.Tally:
    """Return the counts and moments over all stations, as they were asked for; one round."""
    width = sum(grid.Tally.widths(question))
    return grid.Tally.read(whole_sums(federation, "partial_tally", TallyRequest(question), stations, width), question)


@dataclass(frozen=True)
class Tallied:
    """What the first sums tell of the records over all stations, by the united grid.

    Parameters
    ----------
    question : Question
        With the united grid.
    events : ndarray of int, (times,)
        By united time.
    censored : ndarray of int, (places,)
        The same of other records, with those beyond the grid of each stratum.
    weight : ndarray of float, (times,)
        Mean case weight of the events of each time.
    clusters : int or None
        How many, where there are clusters.
    centre, scale : ndarray of float, (columns,)
        Means and deviations in units of half of the bounds' width.
    """

    question: Question
    events: Counts
    censored: Counts
    weight: Floats
    clusters: int | None
    centre: Floats
    scale: Floats

    @property
    def records(self) -> int:
        """All that count."""
        return int(self.events.sum() + self.censored.sum())


def tally(federation: Federation, stations: Sequence[int], question: Question) -> Tallied:
    """Return the counts over all stations, with the grid united so that no sum to come is about few records; one round, two with case weights.

    Raises
    ------
    ThresholdError
        If there are too few events or records, or a category or what is inside a bound is too rare.
    ArgumentError
        If a column is constant, or its bounds are far too wide.
    """
    labels, least = question.labels, grid.fewest_between(len(question.labels), federation.minimum_count)
    counted = tally_of(federation, stations, question)
    check_columns(question, counted, federation.minimum_count)
    check_cases(question, counted, federation.minimum_count)
    if counted.records < RECORDS_PER_COLUMN * len(labels):
        raise ThresholdError("there are too few records for that many design columns; use fewer features")
    chosen, counts = unite(question, counted.masses(question), counted.masses(question), least)
    weight = np.ones(len(chosen.times))
    if question.weights:
        weighed = weigh(federation, stations, chosen)
        before = chosen
        chosen, counts = unite(before, weighed, counts, least)
        _, weighed = unite(before, weighed, weighed, least)
        weight = (weighed.events[0] / np.maximum(counts.events[0], 1.0))[chosen.slots.timed]
    warn_of_merging(federation, question, chosen, "", "; model.times lists them")
    centre, scale = counted.moments()
    events = counts.events[0, chosen.slots.timed].astype(np.int64)
    clusters = int(counted.clusters[0]) if question.cluster else None
    return Tallied(chosen, events, counts.censored[0].astype(np.int64), weight, clusters, centre, scale)


def warn_of_merging(
    federation: Federation, asked: Question, chosen: Question, whose: str = "", further: str = ""
) -> None:
    """Warn where times of the grid that was asked for, the same for every stratum, were merged; `whose` it is, and what `further` to look at."""
    if len(chosen.times) < len(asked.times):
        ends = sorted({min(chosen.sizes), max(chosen.sizes)})
        into = " to ".join(map(str, ends)) + (" in each stratum" if asked.strata else "")
        federation.warn(
            f"{max(asked.sizes)} times{whose} were merged into {into}, so that every interval has enough events{further}"
        )


def unite(question: Question, deciding: grid.Masses, wanted: grid.Masses, least: int) -> tuple[Question, grid.Masses]:
    """Return the question with the grid united so that `deciding` has enough everywhere, and the wanted sums by its places.

    Raises
    ------
    ThresholdError
        If too few events or records lie between the times.
    """
    kept = [grid.united(part, least) for part in deciding.by_stratum(question.slots)]
    if not all(kept) or sum(map(len, kept)) < 2:
        raise ThresholdError(
            f"times: too few events {'of a stratum ' if question.strata else ''}lie between the times of the grid, or beside too few censored or entering "
            "records; use more records or fewer features, or a grid over more of the time"
        )
    times = [float(times[index]) for times, places in zip(question.grids, kept, strict=True) for index in places]
    parts = [part.merged(places) for part, places in zip(wanted.by_stratum(question.slots), kept, strict=True)]
    return replace(question, times=times, sizes=[len(places) for places in kept]), grid.Masses.joined(parts)


def weigh(federation: Federation, stations: Sequence[int], question: Question) -> grid.Masses:
    """Return the sums of weights and of their squares by place; one round.

    Raises
    ------
    ArgumentError
        If the weights are too large.
    """
    count = question.slots.count
    values = whole_sums(federation, "partial_weigh", WeighRequest(question), stations, 6 * count + 1)
    if values[-1]:
        raise ArgumentError("weights: their sums are too large; divide them by their mean")
    return grid.Masses.read(values[:-1] / 2.0**BITS, count)


def check_cases(question: Question, counted: grid.Tally, minimum_count: int) -> None:
    """Refuse few records that enter late, and few clusters: the sum over them of products would tell of single ones, and the errors would be none."""
    late = int(counted.entering.sum() - counted.entering[question.slots.starts[:-1]].sum()) if question.entry else 0
    if 0 < late < minimum_count:
        raise ThresholdError(
            f"entry column '{question.entry}' has fewer records than a node reveals that enter after the first time of the grid; "
            "leave it out, or let the grid begin later"
        )
    if question.cluster and int(counted.clusters[0]) < max(minimum_count, CLUSTERS_PER_COLUMN * len(question.labels)):
        raise ThresholdError(
            f"cluster column '{question.cluster}' has too few clusters for that many design columns, or fewer than a node reveals; "
            "use smaller clusters, or fewer features"
        )
    sums = counted.clusters[1:] / 2.0**grid.WEIGHT_BITS
    if question.cluster and carried_by_few(sums[0], sums[1], minimum_count):
        raise ThresholdError(
            f"cluster column '{question.cluster}' has fewer records than a node reveals, or fewer that weigh much, in clusters of more than one, "
            "of which the errors would tell beside those without clusters; use another column, or robust=true without clusters"
        )


def check_deviations(labels: Sequence[str], deviation: Floats) -> None:
    """Refuse design columns of a formula that do not vary, or hardly beside their bounds."""
    for label, own in zip(labels, deviation, strict=True):
        if own < NARROWEST:
            raise ArgumentError(
                f"formula: '{label}' is constant, or the bounds of its columns are far wider than their values; leave it out, or give narrower bounds"
            )


def check_columns(question: Question, counted: grid.Tally, minimum_count: int) -> None:
    """Refuse columns that are constant, that set few records apart, or of which the bounds hide the values."""
    _, deviation = counted.moments()
    if question.design is not None:
        isolated.check(question.design, counted.isolated, minimum_count)
        check_deviations(question.labels, deviation)
        return
    for column, own, counts in counted.apart(question):
        demanded = counts if column.is_categorical else counts[:2]  # all of a number's records may be at its bounds
        if np.any(deviation[own] == 0.0) or np.any(demanded == 0):
            raise ArgumentError(
                f"features: '{column.name}' is constant within its bounds, or has a category of its domain that no record has; "
                "leave it out of features or domain"
            )
        if few(counts, minimum_count):
            raise ThresholdError(
                f"feature '{column.name}' sets fewer records apart than a node reveals; merge categories, or widen its bounds"
            )
        if np.any(deviation[own] < NARROWEST):
            raise ArgumentError(
                f"domain: the bounds of '{column.name}' are far wider than its values; give narrower ones"
            )


def widths(tallied: Tallied) -> Floats:
    """Return what one unit of each centred and scaled column is in the units of the data, (columns,)."""
    return np.asarray(tallied.scale * np.array([half for _, half in tallied.question.spans]))
