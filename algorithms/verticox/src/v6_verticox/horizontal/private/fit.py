"""A private fit as a task: asked once, debited once, told with its promise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fedbayes.federation import Federation
from fedbayes.federation.errors import PlacementError
from fedbayes.federation.horizontal import preflight

from ..messages import Question
from . import report
from .declared import Private
from .fitting import PrivateFit
from .messages import STEPS, Asked

LARGEST_PENALTY = 1e12
"""Of a column from -1 to 1: a larger one makes no smaller coefficient that a number of events could tell, and matrices that cannot be solved."""
SUMMING = ("partial_outline", "partial_slope")


def private_by_rows(
    federation: Federation,
    organizations: Sequence[int | str] | None,
    question: Question,
    budget: Private,
    penalty: float,
) -> dict[str, Any]:
    """Fit to whole records of different people with noise inside the secure sums: 2 + `STEPS` rounds.

    **Reveals** to central noisy sums over all stations only. **Assumes** that the honest fraction of the stations adds its share of the noise.
    """
    noise, unit = budget.added, budget.whom
    asked = Asked(question, noise, unit)
    parties = federation.open_channel(organizations, preflight(question.columns, SUMMING, noise, noise.promises, unit))
    if len(parties.stations) < 2:
        raise PlacementError("sums over stations need two or more organizations with data; add one")
    _, units = report.spans(asked)
    ridge = np.minimum(penalty / units**2, LARGEST_PENALTY)
    outline, solution = PrivateFit(federation, parties.stations, asked, ridge).run()
    for warning in report.warnings(asked, outline, solution):
        federation.warn(warning)
    return federation.result(
        model=report.model_json(asked, outline, solution, penalty),
        privacy=report.privacy(asked),
        diagnostics={"steps": STEPS, "times_asked": len(question.times), "clips": solution.clips},
    )
