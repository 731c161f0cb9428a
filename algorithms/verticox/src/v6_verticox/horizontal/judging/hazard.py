"""The baseline hazard of a given model on whole records: two rounds beside the opening of the channel.

References
----------
Breslow, JRSS B 34, 1972 (discussion of Cox); Efron, JASA 72, 1977, section 6 (ties).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fedbayes.federation import Federation
from fedbayes.federation import results as common
from fedbayes.federation.errors import ConvergenceError, ThresholdError
from fedbayes.federation.horizontal import whole_sums

from ...cox.survival import curve_json
from ..grid import NEGLIGIBLE, Masses, fewest_between
from ..likelihood import RiskSums
from ..messages import Question
from ..partials import BITS
from ..settling import unite
from ..tallies import stations_of_exact, tally_of, warn_of_merging
from .messages import HazardRequest
from .settling import settled

REASON = "computed from exact sums over the stations, without noise"
SUMMING = ("partial_tally", "partial_hazard")
REVEALS = {
    "researcher": "the baseline hazard at times with several events between them",
    "central": "over all stations: events, other records and those that enter by time of the grid; records at the bounds of each feature and with each "
    "category, means and deviations; by time of the merged grid, over the events, the others and those that enter, the sums of case weights, of relative "
    "risks under the model, and of their squares. Nothing of one station",
    "stations": "the model; what central learns of all stations by time of the grid and of each feature, by which each works out itself which times are merged",
}


def hazard_of(
    federation: Federation, organizations: Sequence[int | str] | None, asked: HazardRequest
) -> dict[str, Any]:
    """Return the cumulative baseline hazard of a model on the stations' records, by stratum and time of the united grid.

    Parameters
    ----------
    federation : Federation
        Of the task; its channel is not open yet.
    organizations : sequence of int or str, or None
        Who takes part.
    asked : HazardRequest
        The model, on the public grid.

    Raises
    ------
    ThresholdError
        If an answer would be about few records, or of records of which few have most of the risk.
    """
    question = asked.question
    stations = stations_of_exact(federation, organizations, question, SUMMING)
    counted, shown = tally_of(federation, stations, question)
    chosen, counts = settled(question, counted, federation.minimum_count)
    chosen, *masses = risks_of(federation, stations, replace(asked, question=chosen, shown=shown), counts)
    warn_of_merging(federation, question, chosen, " of the model's grid")
    return federation.result(
        baseline=baseline_json(chosen, *masses),
        privacy=common.privacy(False, reason=REASON, unit="row", reveals=REVEALS),
    )


def risks_of(
    federation: Federation, stations: Sequence[int], request: HazardRequest, counts: Masses
) -> tuple[Question, Masses, Masses, Masses]:
    """Return the question with the grid united again, so that no sum is carried by few records; then counts, case weights and relative risks by place."""
    question, places, least = request.question, request.question.slots.count, federation.minimum_count
    values = whole_sums(federation, "partial_hazard", request, stations, 12 * places + 1, last=True)
    if values[-1]:
        raise ConvergenceError("model: the risks of some records are far above those of others; transform its features")
    masses = [counts, *(Masses.read(part, places) for part in np.split(values[:-1] / 2.0**BITS, 2))]
    for name in ("events", "censored", "entering"):
        if np.any((getattr(counts, name)[0] > 0.0) & (getattr(masses[2], name)[-1] <= NEGLIGIBLE)):
            raise ThresholdError(
                "model: the risks of some records are next to nothing beside a record at the mean; transform its features"
            )
    for deciding, demanded in ((1, fewest_between(len(question.labels), least)), (2, least)):
        united = [unite(question, masses[deciding], one, demanded) for one in masses]
        question, masses = united[0][0], [one for _, one in united]
    return question, masses[0], masses[1], masses[2]


def baseline_json(question: Question, counts: Masses, weights: Masses, risks: Masses) -> dict[str, Any]:
    """Return what a result tells: a point for each stratum and time of the united grid, with the model's own treatment of ties."""
    slots = question.slots
    deaths, died, tied = (one.events[0, slots.timed] for one in (counts, weights, risks))
    efron = (question.ties == "efron") * tied
    sums = RiskSums(deaths, np.zeros((len(deaths), 0)), risks.at_risk(slots)[:, None], efron[:, None], died / deaths)
    parts = np.split(sums.hazard_increments()[0], np.cumsum(question.sizes)[:-1])
    hazard = np.concatenate([np.cumsum(part) for part in parts])
    strata = [[level or "all"] * size for level, size in zip(question.levels, question.sizes, strict=True)]
    return {
        "strata": [level for part in strata for level in part],
        **curve_json(np.array(question.times), hazard),
    }
