"""The first rounds over horizontally split records: who takes part, counts of the records, and the grid that `settling` unites by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fedbayes.federation import Federation, Preflight
from fedbayes.federation.errors import PlacementError
from fedbayes.federation.horizontal import ROW, CountNoise, preflight
from fedbayes.typing import Counts, Floats

from . import grid
from .messages import Question
from .partials import weights_of
from .requests import TallyRequest, WeighRequest
from .settling import by_weights, settled
from .witnessed import Shown, witnessed_sums


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


def tally_of(federation: Federation, stations: Sequence[int], question: Question) -> tuple[grid.Tally, Shown]:
    """Return the counts and moments over all stations, as they were asked for, and what shows them to the stations; one round."""
    width = sum(grid.Tally.widths(question))
    vector, shown = witnessed_sums(federation, "partial_tally", TallyRequest(question), stations, width)
    return grid.Tally.read(vector, question), shown


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
    shown : Shown or None
        The last of these sums, for the stations.
    """

    question: Question
    events: Counts
    censored: Counts
    weight: Floats
    clusters: int | None
    centre: Floats
    scale: Floats
    shown: Shown | None = None

    @property
    def records(self) -> int:
        """All that count."""
        return int(self.events.sum() + self.censored.sum())


def tally(federation: Federation, stations: Sequence[int], question: Question) -> Tallied:
    """Return the counts over all stations, with the grid united so that no sum to come is about few records; one round, two with case weights.

    Raises as `settled` and `weigh`.
    """
    counted, shown = tally_of(federation, stations, question)
    chosen, counts = settled(question, counted, federation.minimum_count)
    weight = np.ones(len(chosen.times))
    if question.weights:
        weighed, shown = weigh(federation, stations, chosen, shown)
        chosen, counts, weight = by_weights(chosen, weighed, counts, federation.minimum_count)
    warn_of_merging(federation, question, chosen, "", "; model.times lists them")
    centre, scale = counted.moments()
    events = counts.events[0, chosen.slots.timed].astype(np.int64)
    clusters = int(counted.clusters[0]) if question.cluster else None
    return Tallied(chosen, events, counts.censored[0].astype(np.int64), weight, clusters, centre, scale, shown)


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


def weigh(
    federation: Federation, stations: Sequence[int], question: Question, shown: Shown
) -> tuple[grid.Masses, Shown]:
    """Return the sums of weights and of their squares by place, and what shows them to the stations; one round. Raises as `weights_of`."""
    request = WeighRequest(question, shown=shown)
    values, shown = witnessed_sums(federation, "partial_weigh", request, stations, 6 * question.slots.count + 1)
    return weights_of(values, question), shown


def widths(tallied: Tallied) -> Floats:
    """Return what one unit of each centred and scaled column is in the units of the data, (columns,)."""
    return np.asarray(tallied.scale * np.array([half for _, half in tallied.question.spans]))
