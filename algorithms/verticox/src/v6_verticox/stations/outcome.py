"""What the outcome holder may tell central: the likelihood at zero and where to read the baseline hazard."""

from __future__ import annotations

import numpy as np

from fedbayes.typing import Floats, Indices

from ..cox.likelihood import RiskSets, evaluate_predictor
from ..cox.moments import between
from ..cox.scores import coarse_start
from ..messages.setup import Outcome
from ..shares.sorting import OutcomeHolder
from .columns import Survival

SPARSER = 3  # nobody knows how many of the events between two points are complete: with a third of them it is still `minimum_count`
ENOUGH = 1.0 - 1e-9  # rounding of equal weights takes no point away


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

    **Reveals** to central: number of events (with case weights their sum too), sizes of the strata, the log partial likelihood at zero (of few records in
    steps), and about events / `per_edge` times with the number of rows at risk there, as a life table does; with Efron's ties, and for score residuals, also
    the sizes of ties of at least `per_edge` events and how many rows lie between these, rounded up to multiples of `per_edge`, and the size of the largest
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
    edges, rows, strata = _points(outcome, holder, SPARSER * per_edge if flat else per_edge)
    return Outcome(
        events=int(outcome.event.sum()),
        strata=[int(size) for size in holder.sizes],
        strata_names=outcome.strata_names,
        log_likelihood=null if per_edge <= 1 else coarse_start(null, len(outcome.time), int(outcome.event.sum())),
        edges=edges,
        edge_strata=strata,
        edge_rows=rows,
        ties=[[first, size] for first, size in holder.rows.large],
        band=holder.rows.band,
        single=holder.single,
        weight=0.0 if weights is None else float(weights @ outcome.event),
    )


def _points(outcome: Survival, holder: OutcomeHolder, per_edge: int) -> tuple[list[float], list[int], list[int]]:
    """Return times, rows and strata of the baseline's points, so that no time is one event's own and tells its stratum.

    Candidates lie as far apart as the events of all strata together ask, so they are the same whatever the strata. A stratum is told at those that have enough
    of its own events since its last one, and so many of all strata that not all of them need be its own.
    """
    died, strata = outcome.event == 1, len(outcome.strata_names)
    weights = np.ones(len(died)) if outcome.weights is None else outcome.weights
    moments, moment_of = np.unique(outcome.time[died], return_inverse=True)
    own = np.zeros((strata, len(moments), 2))
    np.add.at(own, (outcome.stratum[died], moment_of), np.stack([weights, weights**2], axis=1)[died])
    cells = _ends((own.sum(axis=0), per_edge))
    moments, own = moments[cells], np.diff(own.cumsum(axis=1)[:, cells], axis=1, prepend=0.0)
    mixed = [] if strata == 1 else [(own.sum(axis=0), 2 * per_edge - 1)]
    begins = np.flatnonzero(holder.tied)
    edges: list[float] = []
    rows: list[int] = []
    codes: list[int] = []
    for code in range(strata):
        ends = moments[_ends((own[code], per_edge), *mixed)]
        of_stratum = begins[holder.code[begins] == code]
        edges += between(ends, np.unique(outcome.time))
        rows += of_stratum[np.searchsorted(holder.when[of_stratum], ends, side="right") - 1].tolist()
        codes += [code] * len(ends)
    return edges, rows, codes


def _ends(*parts: tuple[Floats, int]) -> Indices:
    """Return the places at which every part has enough since the last: (sum of weights)^2 / sum of their squares; a part's are (places, 2)."""
    found: list[int] = []
    since = [(0.0, 0.0)] * len(parts)
    for step, added in enumerate(zip(*(sums.tolist() for sums, _ in parts), strict=True)):
        since = [(mass + more, squares + most) for (mass, squares), (more, most) in zip(since, added, strict=True)]
        if all(
            mass**2 >= ENOUGH * least * squares > 0.0 for (mass, squares), (_, least) in zip(since, parts, strict=True)
        ):
            found.append(step)
            since = [(0.0, 0.0)] * len(parts)
    return np.array(found, dtype=np.intp)


def told_likelihood(risk: RiskSets, log_likelihood: float, minimum_count: int) -> float:
    """Return a log partial likelihood as it is told: as far from what is told of that at zero as it is from that at zero."""
    if minimum_count <= 1:
        return log_likelihood
    records = len(risk.event)
    zero = evaluate_predictor(risk, np.zeros(records))[0]
    return float(log_likelihood - zero + coarse_start(zero, records, int(risk.event.sum())))
