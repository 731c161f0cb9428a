"""A private fit as a task: asked once, debited once, told with its promise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fedbayes.federation import Federation
from fedbayes.federation.horizontal import preflight
from fedbayes.typing import Floats

from ...cox.inference import in_order
from ..messages import Question
from ..tallies import summing_stations
from . import result
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
    opening = preflight(question.columns, SUMMING, noise, noise.promises, unit)
    stations = summing_stations(federation, organizations, opening)
    fit = PrivateFit(federation, stations, asked, ridge_of(asked, penalty))
    return answer(federation, fit, question, penalty, "horizontal", result.privacy(asked))


def ridge_of(asked: Asked, penalty: float) -> Floats:
    """Return a penalty of coefficients in the units of the data as one of design columns from -1 to 1, (columns,)."""
    _, units = result.spans(asked)
    return np.asarray(np.minimum(penalty / units**2, LARGEST_PENALTY))


def answer(
    federation: Federation, fit: PrivateFit, written: Question, penalty: float, split: str, privacy: dict[str, Any]
) -> dict[str, Any]:
    """Run a private fit and return its result, the features in the order of `written`; 1 + `STEPS` rounds, or those of the sums on shares."""
    outline, solution = fit.run()
    for warning in result.warnings(fit.asked, outline, solution):
        federation.warn(warning)
    model = result.model_json(fit.asked, outline, solution, penalty, split)
    return federation.result(
        model=in_order(model, written.labels, list(written.domain)),
        privacy=privacy,
        diagnostics={"steps": STEPS, "times_asked": len(fit.question.times), "clips": solution.clips},
    )
