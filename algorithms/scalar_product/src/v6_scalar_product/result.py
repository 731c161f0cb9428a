"""What the researcher gets: the answer, the noise in it, what is promised, and who learns what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fedbayes.dp import promise
from fedbayes.federation import Federation, results
from fedbayes.federation.errors import ThresholdError
from fedbayes.federation.guards.installments import Installment
from fedbayes.federation.jobs.loudness import loud_cells
from fedbayes.federation.vertical import ColumnStates, SecureTables
from fedbayes.federation.vertical.accounting import change_of, noise_parties
from fedbayes.federation.vertical.engine import Engine
from fedbayes.federation.vertical.messages import Setup
from fedbayes.federation.vertical.roles import reveals_of
from fedbayes.typing import Integers

from .arguments import Contingency, Count, InformationGain
from .association import association, null_level
from .model import decoded, error_bound, information_gains, is_coarse, is_shown, published

EXACT_CODE = 2  # in `SubmitReply.scales`: few values, none of them rounded
MOVES = {
    "replace_one": "other values of one record change",
    "zero_out": "erasing the values of one record changes",
}
NOT_PRIVATE = (
    "an exact answer about the records is released; it does not protect a record from somebody who knows the others"
)
WITHOUT_ONE = "for each station, how many records count without what it says"
"""What central learns of an exact count to judge it (`model.guarded_count`)."""
OF_FACTORS = (
    "how many records count in the product, and for each station the power of two above its largest value, whether its values are few, "
    "and whether few ones are exact"
)


def counted(
    federation: Federation, engine: Engine, asked: Count, told: Mapping[str, Any], count: int, sums: int
) -> dict[str, Any]:
    """Return the result of `count`; `told` are its diagnostics, `sums` how many were opened for it."""
    statement = _privacy(engine.setup, sums, asked.epsilon, [WITHOUT_ONE] if sums > 1 else [])
    return _result(federation, {"count": count, "records": engine.rows}, {}, statement, told)


def tabled(federation: Federation, tables: SecureTables, asked: Contingency, counts: Integers) -> dict[str, Any]:
    """Return the result of `contingency`: its small cells hidden, or all of them noisy."""
    epsilon = asked.epsilon
    noise = noise_diagnostics(federation, tables.engine.setup, [counts], epsilon, asked.honest_fraction)
    states = [tables.columns[name] for name in asked.columns]
    shown, hidden = published(counts, 0 if promise.covers(epsilon) else tables.minimum_count, states)
    if hidden > sum(cell is not None and cell > 0 for cell in np.array(shown, dtype=object).flat):
        federation.warn(
            f"{hidden} of {counts.size} cells are hidden: small counts could be worked out from the others; "
            "take fewer columns, or fewer states or bins, or give an epsilon"
        )
    judged = len(states) == 2 and epsilon is None and not hidden
    answer = {
        "axes": axes(states),
        "counts": shown,
        "records": tables.rows,
        "association": association(counts, states) if judged else None,
    }
    statement = _privacy(tables.engine.setup, tables.sensitivity([asked.columns]), epsilon)
    return _result(federation, answer, {}, statement, {"hidden_cells": hidden, **noise})


def gained(
    federation: Federation,
    tables: SecureTables,
    asked: InformationGain,
    questions: list[tuple[str, str]],
    counts: list[Integers],
) -> dict[str, Any]:
    """Return the result of `information_gain` from the tables of the target and each column."""
    epsilon, names = asked.epsilon, asked.columns
    noise = noise_diagnostics(federation, tables.engine.setup, counts, epsilon, asked.honest_fraction)
    gains: dict[str, float | None] = dict(zip(names, information_gains(counts), strict=True))
    if not promise.covers(epsilon):
        gains = _safe_gains(federation, tables, questions, counts, gains)
    scale = tables.sensitivity(questions) / epsilon if epsilon else 0.0
    levels = {
        name: None if gains[name] is None else null_level(table, lambda drawn: information_gains([drawn])[0], scale)
        for name, table in zip(names, counts, strict=True)
    }
    answer = {"information_gain": gains, "null_level": levels, "records": tables.rows}
    statement = _privacy(tables.engine.setup, tables.sensitivity(questions), epsilon)
    return _result(federation, answer, {"label": asked.label}, statement, noise)


def multiplied(
    federation: Federation, engine: Engine, product: int, scales: Sequence[Sequence[int]], guards: int
) -> dict[str, Any]:
    """Return the result of `scalar_product`: `scales` are those of the factors (`SubmitReply`), `guards` how many counts judged it."""
    precisions = [(scale, fraction) for scale, fraction, _ in scales]
    rounded = [code < EXACT_CODE for _, _, code in scales]
    statement = _privacy(engine.setup, 1, None, [OF_FACTORS, *([WITHOUT_ONE] if guards > 1 else [])])
    answer = {"scalar_product": decoded(product, precisions), "records": engine.rows}
    error = error_bound(engine.rows, precisions, rounded)
    if is_coarse(error, answer["scalar_product"], engine.rows, precisions):
        federation.warn(
            f"columns: the product is only sure to within {error:.1g}, as {len(precisions)} stations leave {precisions[0][1]} bits for a value; "
            "multiply columns of fewer stations, or transform columns of which a few values are far larger than the others (by their log or rank)"
        )
    return _result(federation, answer, {}, statement, {"largest_error": error, "factors": len(precisions)})


def _result(
    federation: Federation,
    answer: dict[str, Any],
    beside: dict[str, Any],
    privacy: dict[str, Any],
    diagnostics: Mapping[str, Any],
) -> dict[str, Any]:
    """Return a result whose answer stands at the top, and with what stands `beside` it in the model."""
    return federation.result({**beside, **answer}, privacy, dict(diagnostics), **answer)


def _privacy(setup: Setup, sensitivity: int, epsilon: float | None, further: Sequence[str] = ()) -> dict[str, Any]:
    """Return the privacy statement of a batch of such sensitivity; `further` is what central learns besides."""
    reveals = reveals_of(setup)
    reveals["central"] = "; ".join([reveals["central"], *further])
    if epsilon is None:
        return results.not_private(NOT_PRIVATE, reveals=reveals)
    return results.privacy(
        True,
        unit="row",
        neighbors=setup.neighbors,
        epsilon=epsilon,
        delta=0.0,
        mechanism="discrete Laplace noise made of the stations' Polya shares",
        composition=f"one batch: {MOVES[setup.neighbors]} its counts by at most the sensitivity in all; "
        "which records are common, and their number, are not protected",
        sensitivity=str(sensitivity),
        reveals=reveals,
    )


def _safe_gains(
    federation: Federation,
    tables: SecureTables,
    questions: list[tuple[str, str]],
    counts: list[Any],
    gains: dict[str, float | None],
) -> dict[str, float | None]:
    """Return exact gains, None where their table has cells that may not be shown: with both margins a gain gives them back."""
    safe: dict[str, float | None] = {}
    for (target, name), table in zip(questions, counts, strict=True):
        states = [tables.columns[target], tables.columns[name]]
        safe[name] = gains[name] if is_shown(table, tables.minimum_count, states) else None
    hidden = [name for name, gain in safe.items() if gain is None]
    if len(hidden) == len(safe):
        raise ThresholdError(
            "every table of the target and a column has a cell below the smallest count that a node reveals; "
            "give fewer states or bins, or an epsilon"
        )
    if hidden:
        federation.warn(
            f"no information gain for {', '.join(hidden)}: a cell of its table is below the smallest count that a node reveals; "
            "give fewer states or bins, or an epsilon"
        )
    return safe


def noise_diagnostics(
    federation: Federation, setup: Setup, counts: Sequence[Integers], epsilon: float | None, honest_fraction: float
) -> dict[str, float]:
    """Return the standard deviation of the noise in a cell for the result's diagnostics, and warn where it dominates; nothing for exact answers.

    Parameters
    ----------
    federation : Federation
        Whose warnings tell of it.
    setup : Setup
        Of the question.
    counts : sequence of int64 array
        The noisy tables of one batch, one axis a column; a count is a table of one cell.
    epsilon : float or None
        The budget of the batch.
    honest_fraction : float
        Part of the stations whose noise must suffice.
    """
    if epsilon is None:
        return {}
    change = change_of([table.shape for table in counts], setup.neighbors)
    parties = noise_parties(len(setup.stations), bool(setup.helper), honest_fraction)
    noise = Installment(epsilon).deviation(change, parties, honest_fraction)
    if loud := loud_cells(counts, noise, min):
        remedy = f"a larger epsilon (now {epsilon:g}), fewer columns or states, or more records"
        federation.warn(f"{loud}; what would help: {remedy}")
    return {"noise": noise}


def axes(columns: Sequence[ColumnStates]) -> list[dict[str, Any]]:
    """Return the axes of a table for the result; the label None is "missing"."""
    return [
        {
            "column": states.name,
            "labels": list(states.labels),
            "cuts": None if states.cuts is None else list(states.cuts),
            "public": states.public,
        }
        for states in columns
    ]
