"""A model judged on exact sums over the stations: two rounds beside the opening of the channel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fedbayes.federation import Federation
from fedbayes.federation import results as common
from fedbayes.federation.errors import ConvergenceError, ThresholdError
from fedbayes.federation.horizontal import whole_sums
from fedbayes.typing import Counts, Floats, Integers

from ...cox.narrow import few
from ...cox.scores import coarse_measures
from .. import isolated
from ..grid import Tally, fewest_between
from ..messages import Question
from ..partials import BITS
from ..tallies import stations_of_exact
from ..witnessed import witnessed_sums
from .layout import CLOSE_TIMES, apart, bins_of, check_levels, check_survival, default_ends, united_cells
from .messages import PLACES, Judged, MeasuresRequest, PredictorsRequest
from .scores import Table, agreement, measures, observed_until, pairs_together, share_of

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
    request = replace(asked_of(judged, times, tally, places, federation.minimum_count), shown=shown)
    values = whole_sums(federation, "partial_measures", request, stations, sum(request.sizes) + 1, last=True)
    if values[-1]:
        raise ConvergenceError(
            "there are more records, or fewer at risk at the last time, than the sums can hold; give earlier times"
        )
    scores = measured(request, tally, values[:-1] / 2.0**BITS, groups, federation.minimum_count)
    last = [int(np.flatnonzero(request.cells == cell)[-1]) for cell in range(request.table[1] - 1)]
    return federation.result(
        metrics={**scores, "events": int(tally.events.sum())},
        concordance=scores["concordance"],
        privacy=common.privacy(False, reason=REASON, unit="row", reveals=REVEALS),
        diagnostics={"compared_at": [question.times[index] for index in last], "bins": request.table[0]},
    )


def length_of(judged: Judged) -> int:
    """Return how many numbers the stations count."""
    return sum(Tally.widths(judged.question)) + judged.strata * PLACES


def counts_of(judged: Judged, vector: Integers) -> tuple[Tally, Counts]:
    """Return the tally, and the records by stratum and place of the linear predictor, from the sum over the stations."""
    width = sum(Tally.widths(judged.question))
    return Tally.read(vector[:width], judged.question), vector[width:].reshape(judged.strata, PLACES)


def measured(request: MeasuresRequest, tally: Tally, values: Floats, groups: int, minimum_count: int) -> dict[str, Any]:
    """Return the metrics of the sums over the stations, (sum of `request.sizes`,), in their steps."""
    judged, moments = request.judged, len(request.ends)
    counts, survival, squares, within, same = np.split(values, np.cumsum(request.sizes)[:-1])
    strata = np.repeat(np.arange(judged.strata), np.diff(np.append(request.bins[:, 0], request.table[0])))
    table = Table(np.rint(counts).reshape(request.table), strata, [int(one) for one in request.cells[request.ends]])
    events, others = (part.reshape(judged.strata, -1).astype(np.float64) for part in (tally.events, tally.censored))
    together = pairs_together(events, others, request.cells, table.ends)
    known = [share_of(part.reshape(-1, 2)) for part in (within, same)]
    shares = agreement(table.pairs(request.spread, True), known[0], together, known[1])
    times = [judged.question.times[index] for index in request.ends]
    sums = survival.reshape(-1, moments)
    return coarse_measures(measures(table, times, shares, squares / tally.records, sums, groups, minimum_count))


def asked_of(
    judged: Judged,
    times: Sequence[float] | None,
    tally: Tally,
    places: Counts,
    minimum_count: int,
) -> MeasuresRequest:
    """Return what is asked in the second round, if it is about enough records.

    Raises
    ------
    ThresholdError
        If it is not.
    """
    question = judged.question
    check_columns(question, tally, minimum_count)
    check_levels(places.sum(axis=0), minimum_count)
    events, others = _by_time(question, tally)
    least = fewest_between(len(question.labels), minimum_count)
    known = sorted({time for _, moments, _ in judged.steps for time in moments})
    if times is None:
        ends = default_ends(events, others, np.flatnonzero(np.isin(question.grids[0], known)), least)
    else:
        ends = [question.times.index(float(time)) for time in times]
    check_survival(places, judged.hazards([question.times[index] for index in ends]), minimum_count)
    if not apart(events, others, ends, least):
        raise ThresholdError(CLOSE_TIMES)
    cells = united_cells(events, others, ends, least)
    united = int(cells[-1])
    weights, beyond = observed_until(events.astype(np.float64), others.astype(np.float64))
    died = np.bincount(cells[:-1], events, minlength=united + 1).astype(np.float64)
    left = np.bincount(cells, others, minlength=united + 1).astype(np.float64)
    left[-1] += died[-1]
    spread, _ = observed_until(died[:-1], left)
    return MeasuresRequest(
        judged,
        bins_of(places, least),
        cells,
        np.array(ends, dtype=np.int64),
        weights,
        beyond[ends],
        spread,
        tally.records,
    )


def _by_time(question: Question, tally: Tally) -> tuple[Counts, Counts]:
    """Return events, (times,), and other records, (times + 1,), over all strata."""
    times = question.sizes[0]
    return tally.events.reshape(-1, times).sum(axis=0), tally.censored.reshape(-1, times + 1).sum(axis=0)


def check_columns(question: Question, tally: Tally, minimum_count: int) -> None:
    """Refuse a domain or a formula that sets few records apart; other than in a fit, a category may have none.

    Raises
    ------
    ThresholdError
        Naming the feature.
    """
    if question.design is not None:
        isolated.check(question.design, tally.isolated, minimum_count)
        return
    for column, _, counts in tally.apart(question):
        if few(counts, minimum_count):
            raise ThresholdError(
                f"model: its domain of '{column.name}' sets fewer records apart than a node reveals; judge it on more records"
            )
