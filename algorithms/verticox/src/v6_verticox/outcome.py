"""What the outcome holder may tell central: the likelihood at zero and where to read the baseline hazard."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .columns import Survival
from .messages import Outcome
from .roles import OutcomeHolder


def describe(outcome: Survival, per_edge: int) -> Outcome:
    """Summarise the outcome.

    Parameters
    ----------
    outcome : Survival
        The checked columns.
    per_edge : int
        Events between two points of the baseline hazard, at least: a step of the hazard is then no single event.

    **Reveals** to central: number of events, sizes of the strata, -sum of log numbers at risk over the events, and about
    events / `per_edge` times with the number at risk there, as a life table does.
    """
    holder = OutcomeHolder(bytes(32), outcome.time, outcome.event, outcome.stratum)
    sizes = np.bincount(outcome.stratum)
    tied = holder.tied_events()
    at_risk = np.concatenate([np.arange(size, 0, -1) for size in sizes])
    edges, rows, strata = _edges(holder, tied, sizes, per_edge)
    return Outcome(
        events=int(outcome.event.sum()),
        strata=[int(size) for size in sizes],
        strata_names=outcome.strata_names,
        log_likelihood=float(-np.sum(tied * np.log(at_risk))),
        edges=edges,
        edge_strata=strata,
        edge_rows=rows,
    )


def _edges(
    holder: OutcomeHolder, tied: npt.NDArray[np.float64], sizes: npt.NDArray[np.int_], per_edge: int
) -> tuple[list[float], list[int], list[int]]:
    """Return times, rows and strata of the baseline's points: after every `per_edge` events, at the end of ties."""
    edges: list[float] = []
    rows: list[int] = []
    strata: list[int] = []
    time, start = holder.time[holder.order], 0
    for stratum, size in enumerate(sizes):
        seen, part = 0.0, time[start : start + size]
        for row in range(size):
            seen += tied[start + row]
            if seen >= per_edge and tied[start + row] > 0:
                edges.append(float(part[row]))
                rows.append(start + row)
                strata.append(stratum)
                seen = 0.0
        start += size
    return edges, rows, strata
