"""How much of a fit's path a station tells: central chooses points and refinements, each of which has numbers of its own."""

from __future__ import annotations

from collections.abc import Sequence

from fedbayes.federation.errors import MessageError
from fedbayes.federation.guards.once import is_first

from ..messages.private import Stage
from ..shares.agreed import MOST_AGAIN, most_points, most_slopes
from ..shares.complete import NODES
from .holder import ShareHolder

MOST_TOLD = 3
"""Points of a job at which the baseline hazard is told: the last, and where predictors are seen one or two that were taken for it."""


MOST_SQUARES = 1
"""Matrices of score residuals: a fit takes one, at its end."""
MOST_LEVELS = len(NODES)
"""Numbers of which the likelihood at zero of complete records is made: a fit takes one at each point of an integral."""


def check_hazards(holder: ShareHolder, stages: Sequence[Stage]) -> None:
    """Refuse the baseline hazard at other rows than the outcome holder told, or along the path of a fit, whichever stage of a request asks for it."""
    for stage in stages:
        if stage.rows and holder.owns_outcome and list(stage.rows) != holder.station.kept("edges")["rows"].tolist():
            raise MessageError("the baseline hazard was asked for at other rows than this station told")
        if stage.rows and not any(is_first(holder.station, f"hazard|{turn}", stage.label) for turn in range(MOST_TOLD)):
            raise MessageError("the baseline hazard is told at the end of a fit, not along its path; the job stops")


def check_told(holder: ShareHolder, stages: Sequence[Stage]) -> None:
    """Refuse more gradients, matrices and slopes than a fit of so many points takes: central chooses how reciprocals are refined, and each has its own."""
    points = most_points(holder.plan) + 1
    most = {"last": points + MOST_AGAIN, "information": points, "slope": most_slopes(holder.plan)}
    most |= {"squares": MOST_SQUARES, "level": MOST_LEVELS}
    for stage in stages:
        turns = range(most.get(stage.kind, 0))
        if turns and not any(is_first(holder.station, f"told|{stage.kind}|{turn}", stage.label) for turn in turns):
            raise MessageError("more points of the likelihood are asked for than so many records allow; the job stops")
