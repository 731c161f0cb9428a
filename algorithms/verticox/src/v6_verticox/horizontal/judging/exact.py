"""A model judged on exact sums over the stations: two rounds beside the opening of the channel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fedbayes.federation import Federation
from fedbayes.federation import results as common
from fedbayes.federation.errors import ConvergenceError
from fedbayes.federation.horizontal import whole_sums
from fedbayes.typing import Floats, Integers

from ...cox.scores import coarse_measures
from ..grid import Tally
from ..messages import Question
from ..partials import BITS
from ..tallies import stations_of_exact
from ..witnessed import witnessed_sums
from .messages import Judged, MeasuresRequest, PredictorsRequest
from .scores import Table, agreement, measures, pairs_together, share_of
from .settling import Measures, counts_of, ends_of, length_of, measures_of

SUMMING = ("partial_predictors", "partial_measures")
REASON = "computed from exact counts and sums over the stations, without noise"
REVEALS = {
    "researcher": "the metrics, in steps of about one record; the times at which records are compared",
    "central": "over all stations: events and other records by time of the grid; records by place of the linear predictor (a 64th) and stratum, at the "
    "bounds of each feature and with each category, means and deviations; of groups of enough records with like predictors, how many had the event or were "
    "censored at each merged time (small counts too, which it does not publish), and sums of their predicted survival; sums of squared errors; shares of pairs "
    "in one group and at one station that agree. Nothing of one station",
    "stations": "the model; what central learns of all stations by time of the grid, by place of the linear predictor and of each feature, by which each works "
    "out itself what is merged",
}


def judge(
    federation: Federation,
    organizations: Sequence[int | str] | None,
    judged: Judged,
    times: Sequence[float] | None,
    groups: int,
) -> dict[str, Any]:
    """Return the metrics of a model on the stations' whole records.

    Parameters
    ----------
    federation : Federation
        Of the task; its channel is not open yet.
    organizations : sequence of int or str, or None
        Who takes part.
    judged : Judged
        The model.
    times : sequence of float or None
        At which survival is judged, of the grid; deciles of the event times when left out.
    groups : int
        Most groups of the calibration.

    Raises
    ------
    ThresholdError
        If an answer would be about few records.
    """
    question = judged.question
    stations = stations_of_exact(federation, organizations, question, SUMMING)
    opening = PredictorsRequest(judged)
    vector, shown = witnessed_sums(federation, "partial_predictors", opening, stations, length_of(judged))
    tally, places = counts_of(judged, vector)
    ends = ends_of(judged, tally, federation.minimum_count) if times is None else _places_of(question, times)
    together = measures_of(judged, ends, tally, places, federation.minimum_count)
    request = MeasuresRequest(judged, ends, shown=shown)
    values = whole_sums(federation, "partial_measures", request, stations, sum(together.sizes) + 1, last=True)
    if values[-1]:
        raise ConvergenceError(
            "there are more records, or fewer at risk at the last time, than the sums can hold; give earlier times"
        )
    scores = measured(together, tally, values[:-1] / 2.0**BITS, groups, federation.minimum_count)
    last = [int(np.flatnonzero(together.cells == cell)[-1]) for cell in range(together.table[1] - 1)]
    return federation.result(
        metrics={**scores, "events": int(tally.events.sum())},
        concordance=scores["concordance"],
        privacy=common.privacy(False, reason=REASON, unit="row", reveals=REVEALS),
        diagnostics={"compared_at": [question.times[index] for index in last], "bins": together.table[0]},
    )


def _places_of(question: Question, times: Sequence[float]) -> Integers:
    return np.array([question.times.index(float(time)) for time in times], dtype=np.int64)


def measured(together: Measures, tally: Tally, values: Floats, groups: int, minimum_count: int) -> dict[str, Any]:
    """Return the metrics of the sums over the stations, (sum of `Measures.sizes`,), in their steps."""
    judged, moments = together.judged, len(together.ends)
    counts, survival, squares, within, same = np.split(values, np.cumsum(together.sizes)[:-1])
    strata = np.repeat(np.arange(judged.strata), np.diff(np.append(together.bins[:, 0], together.table[0])))
    table = Table(np.rint(counts).reshape(together.table), strata, [int(one) for one in together.cells[together.ends]])
    events, others = (part.reshape(judged.strata, -1).astype(np.float64) for part in (tally.events, tally.censored))
    pairs = pairs_together(events, others, together.cells, table.ends)
    known = [share_of(part.reshape(-1, 2)) for part in (within, same)]
    shares = agreement(table.pairs(together.spread, True), known[0], pairs, known[1])
    times = [judged.question.times[index] for index in together.ends]
    sums = survival.reshape(-1, moments)
    return coarse_measures(measures(table, times, shares, squares / tally.records, sums, groups, minimum_count))
