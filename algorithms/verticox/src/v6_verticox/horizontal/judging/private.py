"""A model judged on one table with noise: records by bin of the linear predictor, time and status. All public but the table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from fedbayes.federation import Federation
from fedbayes.federation.errors import ArgumentError
from fedbayes.federation.horizontal import CountNoise, Unit, preflight, whole_sums
from fedbayes.randomness import standard_normal
from fedbayes.typing import Floats

from ...cox.survival import SMALLEST
from ..messages import Question
from ..tallies import summing_stations
from .messages import REACH, Judged, TableRequest
from .scores import Table, agreement, measures, observed_until

NOISY_BINS = 10
"""Of the linear predictor, a tenth of a normal law each: with more, a cell has more noise; with fewer, more pairs are tied."""
NOISY_TIMES, FEWEST_TIMES = 20, 8
"""Of the grid of a table with noise, beside those that are asked for; with strata fewer, as each has such a table. Events of one time are not compared."""
NOISY_MOMENTS, FEWEST_MOMENTS = 3, 2
"""Times at which survival is judged when none are asked for; what an integral needs."""
WITHIN = 64
"""Points of each bin at which predicted survival is averaged."""
SMALLEST_SPREAD = 1e-3
"""Of the linear predictor: of a model without effects all records are in two bins, whatever the edges."""
MOST_SLOPES = 1000
"""Cells of a table whose deviations by the noise are made of slopes: twice those of the default times without strata."""
DRAWS = 200
"""Of noise for larger tables: a deviation is then known to 1 / root(2 * 200), a twentieth."""
LOUD, LOUD_EVENTS = 0.05, 0.2
"""Deviation of the concordance by the noise, and of the number of events in parts of it, above which a warning says so: models differ by less."""


def spread_of(model: dict[str, Any], coefficients: Floats) -> float:
    """Return the standard deviation of the linear predictor as the model's own covariance and events tell it: root of b' I b / events.

    Raises
    ------
    ArgumentError
        If the model tells neither.
    """
    try:
        covariance = np.array(model.get("naive_covariance") or model["covariance"], dtype=np.float64)
        square = float(coefficients @ np.linalg.solve(covariance, coefficients)) / max(float(model["events"]), 1.0)
    except (KeyError, TypeError, ValueError, np.linalg.LinAlgError):
        square = np.nan
    if not np.isfinite(square) or square < 0.0:
        raise ArgumentError(
            "model: its covariance and events, from which public bins follow, are no numbers; give the `model` of a result of verticox.fit as it is"
        )
    return float(min(max(np.sqrt(square), SMALLEST_SPREAD), REACH))


def noisy_times(grid: Sequence[float], asked: Sequence[float] | None, strata: int) -> tuple[list[float], list[int]]:
    """Return the grid of a table with noise, and the places in it at which survival is judged; of public times alone."""
    most = min(max(NOISY_TIMES // strata, FEWEST_TIMES), len(grid))
    thin = sorted({grid[int(index)] for index in np.linspace(0, len(grid) - 1, most)})
    if asked is None:
        inner = thin[:-1] if len(thin) > FEWEST_MOMENTS else thin
        parts = np.linspace(0, len(inner) - 1, NOISY_MOMENTS + 2)[1:-1]
        asked = inner if len(inner) <= NOISY_MOMENTS else [inner[round(index)] for index in parts]
    times = sorted({*thin, *asked})
    if len(set(asked)) < FEWEST_MOMENTS:
        raise ArgumentError("times are needed: the model's grid is too short to choose some of it; give two or more")
    return times, [times.index(time) for time in sorted(set(asked))]


def judge_privately(
    federation: Federation,
    organizations: Sequence[int | str] | None,
    judged: Judged,
    model: dict[str, Any],
    ends: Sequence[int],
    groups: int,
    noise: CountNoise,
    unit: Unit,
) -> dict[str, Any]:
    """Return the metrics of a model on the stations' whole records with noise inside the secure sum: one round beside the opening of the channel.

    **Reveals** to central one noisy table over all stations. **Assumes** that the honest fraction of the stations adds its share of the noise.
    """
    edges = np.asarray(spread_of(model, judged.coefficients) * ndtri(np.arange(1, NOISY_BINS) / NOISY_BINS))
    request = TableRequest(judged, edges, noise, unit)
    opening = preflight(judged.question.columns, ["partial_table"], noise, noise.promises, unit)
    stations = summing_stations(federation, organizations, opening)
    summed = whole_sums(federation, "partial_table", request, stations, int(np.prod(request.table)), last=True)
    counts = summed.reshape(request.table).astype(np.float64)
    deviation = noise.deviation(1, 1.0, 1.0, counts.size if noise.law.by_cells else 1, len(stations), True)
    times = [judged.question.times[index] for index in ends]
    risks, hazard = _risks(edges), judged.hazards(times)
    scores = _measured(counts, risks, hazard, times, ends, groups)
    numbers = ("concordance", "integrated_brier_score", "records", "events")
    spread = _spread(counts, deviation, lambda one: _measured(one, risks, hazard, times, ends, 0), numbers)
    if _is_loud(scores, spread):
        federation.warn(
            f"the noise dominates: the concordance has a deviation of more than {LOUD:g} by it, or the number of events one of more than "
            f"{LOUD_EVENTS:.0%}; what would help: a larger epsilon (now {noise.epsilon:g}), or more rows"
        )
    return federation.result(
        metrics={**scores, "noise": spread},
        concordance=scores["concordance"],
        privacy=_promise(noise, unit),
        diagnostics={"compared_at": list(judged.question.grids[0]), "bins": NOISY_BINS},
    )


def _risks(edges: Floats) -> Floats:
    """Return relative risks of each bin, (bins, points), at quantiles of the normal law of which the edges are."""
    points = (np.arange(NOISY_BINS * WITHIN) + 0.5) / (NOISY_BINS * WITHIN)
    scale = edges[-1] / ndtri((NOISY_BINS - 1) / NOISY_BINS)
    return np.asarray(np.exp(np.clip(scale * ndtri(points), -REACH, REACH)).reshape(NOISY_BINS, WITHIN))


def _measured(
    counts: Floats, risks: Floats, hazard: Floats, times: Sequence[float], ends: Sequence[int], groups: int
) -> dict[str, Any]:
    """Return the metrics of a table, (strata, bins, times + 1, 2): pairs from its numbers as they are, curves from those above zero."""
    strata, bins = counts.shape[:2]
    codes = np.repeat(np.arange(strata), bins)
    flat = counts.reshape(strata * bins, *counts.shape[2:])
    above = np.maximum(flat, 0.0)
    events, others = above[:, :-1, 1].sum(axis=0), above[:, :, 0].sum(axis=0)
    others[-1] += above[:, -1, 1].sum()
    weights, beyond = observed_until(events, others)
    survival = np.exp(-hazard[:, None, None, :] * risks[None, :, :, None])  # (strata, bins, points, moments)
    first = survival.mean(axis=2).reshape(strata * bins, -1)
    square, missed = ((part**2).mean(axis=2).reshape(strata * bins, -1) for part in (survival, 1.0 - survival))
    brier = np.zeros(len(ends))
    for moment, end in enumerate(ends):
        died = above[:, : end + 1, 1] @ weights[: end + 1]
        alive = above[:, end + 1 :].sum(axis=(1, 2)) * beyond[end]
        brier[moment] = (died @ square[:, moment] + alive @ missed[:, moment]) / max(above.sum(), SMALLEST)
    pairs = Table(flat, codes, ends).pairs(weights, False)
    shares = agreement(pairs, np.full(len(pairs), 0.5), np.zeros(1), np.zeros(1))
    table = Table(above, codes, ends)
    sizes = above.sum(axis=(1, 2))[:, None]
    scores = measures(table, times, shares, brier, first * sizes, groups, 1)
    return {**scores, "records": round(float(counts.sum())), "events": round(float(counts[..., :-1, 1].sum()))}


def _spread(
    counts: Floats, deviation: float, measure: Callable[[Floats], dict[str, Any]], names: Sequence[str]
) -> dict[str, float | None]:
    """Return the standard deviation of each measure by the noise: slopes in every cell times the noise in a cell; of large tables that of as much noise again.

    Each slope measures the whole table anew, so slopes cost the square of its cells.
    """
    if counts.size > MOST_SLOPES:
        drawn = [measure(counts + deviation * standard_normal(counts.shape)) for _ in range(DRAWS)]
        values = {name: [one[name] for one in drawn] for name in names}
        return {name: None if None in own else float(np.std(own)) for name, own in values.items()}
    base, step = measure(counts), max(deviation, 1.0)
    squares: dict[str, float | None] = dict.fromkeys(names, 0.0)
    for cell in np.ndindex(*counts.shape):
        moved = counts.copy()
        moved[cell] += step
        other = measure(moved)
        for name in names:
            known = squares[name] is not None and base[name] is not None and other[name] is not None
            squares[name] = (squares[name] or 0.0) + ((other[name] - base[name]) / step) ** 2 if known else None
    return {name: None if value is None else deviation * float(np.sqrt(value)) for name, value in squares.items()}


def _is_loud(scores: dict[str, Any], spread: dict[str, float | None]) -> bool:
    concordance, events = spread["concordance"], spread["events"]
    if concordance is None or events is None:
        return True
    return concordance > LOUD or events > LOUD_EVENTS * max(scores["events"], 0)


def _promise(noise: CountNoise, unit: Unit) -> dict[str, Any]:
    return noise.statement(
        unit,
        composition="one table; all measures are made of it",
        sensitivity="a row adds 1 to one cell of the table, or nothing: bins and times are public",
        reveals={
            "central": "over all stations, with noise: records by stratum, bin of the linear predictor, time and status",
            "stations": "the model, bins and times",
            "researcher": "the metrics, made of that table",
        },
    )


def check_noisy(question: Question) -> None:
    """Refuse a model of which a noisy table is not told.

    Raises
    ------
    ArgumentError
        Naming the remedy.
    """
    if question.design is not None and question.design.terms.has_formula:
        raise ArgumentError(
            "model: its formula has expressions, which are for exact answers; leave epsilon out, or judge another model"
        )


def on_grid(judged: Judged, times: Sequence[float]) -> Judged:
    """Return the same model on another grid."""
    question = replace(judged.question, times=list(times) * judged.strata, sizes=[len(times)] * judged.strata)
    return replace(judged, question=question)
