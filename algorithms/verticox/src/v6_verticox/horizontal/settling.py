"""What central and every station work out alike of the tally over all stations: whether a fit may go on, and on which united grid.

Central does so to ask, a station to see that it is asked for nothing else: none of these functions knows who calls it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fedbayes.federation.errors import ArgumentError, ThresholdError
from fedbayes.typing import Floats

from ..cox.inference import CLUSTERS_PER_COLUMN
from ..cox.narrow import carried_by_few, few
from . import grid, isolated
from .messages import Question

RECORDS_PER_COLUMN = 5  # as in a vertical fit
NARROWEST = 1e-5  # a deviation beside half of the bounds' width, below which the moments hold too few digits


def settled(question: Question, counted: grid.Tally, minimum_count: int) -> tuple[Question, grid.Masses]:
    """Return the question of a fit with the grid united by a tally on the grid that was asked for, and the counts by its places.

    Raises
    ------
    ThresholdError
        If there are too few events or records, or a category or what is inside a bound is too rare.
    ArgumentError
        If a column is constant, or its bounds are far too wide.
    """
    labels = question.labels
    check_columns(question, counted, minimum_count)
    check_cases(question, counted, minimum_count)
    if counted.records < RECORDS_PER_COLUMN * len(labels):
        raise ThresholdError("there are too few records for that many design columns; use fewer features")
    counts = counted.masses(question)
    return unite(question, counts, counts, grid.fewest_between(len(labels), minimum_count))


def by_weights(
    question: Question, weighed: grid.Masses, counts: grid.Masses, minimum_count: int
) -> tuple[Question, grid.Masses, Floats]:
    """Return the question of `settled` with its grid united again, so that no sum is carried by few weights; counts by its places, and events' mean weight.

    Raises as `unite`.
    """
    least = grid.fewest_between(len(question.labels), minimum_count)
    united, counts = unite(question, weighed, counts, least)
    _, weighed = unite(question, weighed, weighed, least)
    return united, counts, (weighed.events[0] / np.maximum(counts.events[0], 1.0))[united.slots.timed]


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
