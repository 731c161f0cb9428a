"""What a description of columns says in words: warnings, and what is revealed to whom."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..horizontal.noise import CountNoise
from ..horizontal.units import Unit
from ..questions.shown import Shown
from ..results import not_private
from ..rounds import Federation

LOUD = 5
"""Deviations of noise above which a noisy count is taken for more than noise."""
MUCH = 0.05
"""Of a column's records: so many outside its domain are more than slips."""


def warn(federation: Federation, name: str, shown: Shown, noise: float) -> None:
    """Warn of a column of which nearly nothing, or much, is not understood, as far as its counts are more than noise; only what is shown is looked at."""
    if shown.records <= LOUD * noise * np.sqrt(len(shown.counts)):
        federation.warn(
            f"column '{name}': the noise is larger than all counts together; give a larger epsilon or fewer columns"
        )
    elif shown.nearly_all == "outside":
        federation.warn(
            f"column '{name}': nearly all its values are outside its domain; correct the domain or the column's name"
        )
    elif shown.nearly_all:
        federation.warn(f"column '{name}' is nearly empty")
    elif (outside := shown.counts[-2] or 0) - LOUD * noise > MUCH * shown.records:
        federation.warn(
            f"column '{name}': {outside / shown.records:.0%} of its values are outside its domain (another category, no number, or beyond "
            "the bounds), perhaps all of one station; `fedbayes domain check` shows it in a station's own file"
        )


def statement(noise: CountNoise, whom: Unit, columns: int) -> dict[str, Any]:
    """Return what describing that many columns reveals to whom, and what the noise promises."""
    reveals = {
        "researcher": "the counts of every column over the stations, and who has which column",
        "central": "the same, of columns that several stations have before small counts are hidden",
        "stations": "which columns are asked for",
        "helper": "which columns are asked for",
    }
    if not noise.private:
        return not_private("the counts are exact; give epsilon for noisy ones", reveals)
    return noise.statement(
        whom,
        composition=f"{columns} queries, one a column; an even split of the budget",
        sensitivity="1 count a column; a row is one of a station's table, so whoever has rows of the same column at several stations has as many",
        reveals=reveals,
    )
