"""What a private fit of columns of the same records promises."""

from __future__ import annotations

from typing import Any

from ..horizontal.private.layout import PORTIONS
from ..horizontal.private.messages import STEPS
from .messages import Joint


def privacy(joint: Joint) -> dict[str, Any]:
    """Return the privacy statement."""
    asked, parts = joint.asked, ", ".join(f"{portion:g}" for portion in PORTIONS)
    return asked.noise.statement(
        asked.unit,
        composition=f"Gaussian: the square of mu, the largest that epsilon and delta allow, over an outline of the records and {STEPS} steps ({parts} of it)",
        sensitivity="what a record adds to a sum is cut at 1 (L2) by public bounds, and by cuts that each station makes alone and that are told with the "
        "question; the number of common records is taken as public",
        reveals={
            "central": "with noise: events and time at risk by time of the grid that was asked for, means and squares of the features; at "
            f"{STEPS} points the slope of the likelihood, how many events the hazard misses, one matrix of squares. Exactly: which station has which "
            "column, and the number of common records",
            "stations": "which of their records are common to all; coefficients, means and deviations of the features, and the hazard at each point, all "
            "made of noisy sums; of values uniform numbers only",
            "helper": "numbers of rows, columns and groups of times; with an identifier column, sizes of the overlaps",
            "researcher": "the model: coefficients with standard errors that hold the noise, baseline hazard, numbers of records and events, all with noise",
            "assumption": "the helper colludes with nobody, and the honest fraction of the stations adds its noise",
        },
    )
