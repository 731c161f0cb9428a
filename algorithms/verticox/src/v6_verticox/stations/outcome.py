"""What the outcome holder may tell central: the likelihood at zero and where to read the baseline hazard."""

from __future__ import annotations

import numpy as np

from ..cox.likelihood import RiskSets, evaluate_predictor
from ..messages.setup import Outcome
from ..shares.sorting import OutcomeHolder
from .columns import Survival

SPARSER = 3  # nobody knows how many of the events between two points are complete: with a third of them it is still `minimum_count`


def describe(
    outcome: Survival, per_edge: int, ties: str = "breslow", flat: bool = False, residuals: bool = False
) -> Outcome:
    """Summarise the outcome.

    Parameters
    ----------
    outcome : Survival
        The checked columns.
    per_edge : int
        Events between two points of the baseline hazard, at least: a step of the hazard is then no single event. Also the fewest events of a
        tie that is told.
    ties : str
        How the likelihood treats them.
    flat : bool
        Whether nobody will know which records are complete: tied events are rows of their own then (`sorting.OutcomeHolder`), points of the
        baseline are three times as far apart, and the likelihood is not told.
    residuals : bool
        Whether score residuals are wanted with Breslow's ties, for which tied events are rows of their own too.

    **Reveals** to central: number of events (with case weights their sum too), sizes of the strata, the log partial likelihood at zero, and about
    events / `per_edge` times with the number of rows at risk there, as a life table does; with Efron's ties, and for score residuals, also the
    sizes of ties of at least `per_edge` events and how many rows lie between these, rounded up to multiples of `per_edge`, and the size of the largest
    other tie; with Breslow's whether there are ties.
    """
    own = flat or residuals
    limit = per_edge if own or ties == "efron" else 0
    weights = outcome.weights
    holder = OutcomeHolder(bytes(32), outcome.time, outcome.event, outcome.stratum, limit, flat=own, weights=weights)
    risk = RiskSets.of(outcome.time, outcome.event, outcome.stratum, ties)
    null = 0.0 if flat else evaluate_predictor(risk, np.zeros(len(outcome.time)))[0]
    if weights is not None:
        null = -float(holder.tied @ np.log(np.where(holder.tied > 0.0, holder.at_risk(), 1.0)))
    edges, rows, strata = _edges(holder, SPARSER * per_edge if flat else per_edge)
    return Outcome(
        events=int(outcome.event.sum()),
        strata=[int(size) for size in holder.sizes],
        strata_names=outcome.strata_names,
        log_likelihood=null,
        edges=edges,
        edge_strata=strata,
        edge_rows=rows,
        ties=[[first, size] for first, size in holder.rows.large],
        band=holder.rows.band,
        single=holder.single,
        weight=0.0 if weights is None else float(weights @ outcome.event),
    )


def _edges(holder: OutcomeHolder, per_edge: int) -> tuple[list[float], list[int], list[int]]:
    """Return times, rows and strata of the baseline's points: after every `per_edge` events, where all ties are in."""
    time, stratum = holder.when, holder.code
    begins = np.flatnonzero(holder.tied)
    edges: list[float] = []
    rows: list[int] = []
    strata: list[int] = []
    seen, squares = 0.0, 0.0
    for place, row in enumerate(begins):
        following = begins[place + 1] if place + 1 < len(begins) else None
        seen, squares = seen + holder.tied[row], squares + holder.squares[row]
        ends = following is None or time[following] != time[row] or stratum[following] != stratum[row]
        if seen**2 >= per_edge * squares and ends:
            edges.append(float(time[row]))
            rows.append(int(row))
            strata.append(int(stratum[row]))
            seen, squares = 0.0, 0.0
        if following is not None and stratum[following] != stratum[row]:
            seen, squares = 0.0, 0.0
    return edges, rows, strata
