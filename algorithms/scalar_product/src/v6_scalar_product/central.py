"""What the researcher calls: counts, tables, scalar products, information gain over records that several organizations hold in part."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbayes.dp import promise
from fedbayes.federation import Federation, central
from fedbayes.federation.errors import ThresholdError
from fedbayes.federation.vertical import SecureTables, open_parties, setup_of

from .arguments import Contingency, Count, InformationGain, ScalarProduct, Tables
from .association import association, null_level
from .chain import chain_count, check_chain
from .model import axes, decoded, error_bound, guarded_count, guarded_product, information_gains, is_shown, published
from .questions import answer, ask_privacy, check_known, noise_told, open_question, preflight_of

WITHOUT_ONE = "for each station, how many records count without what it says"
"""What central learns of an exact count to judge it (`guarded_count`)."""


@central
def count(federation: Federation, asked: Count) -> dict[str, Any]:
    """Return how many records satisfy all conditions, whichever stations hold their columns.

    Returns
    -------
    dict
        The result with ``count`` and ``records`` (those in common).

    Raises
    ------
    ArgumentError, PlacementError
        Naming the argument and the remedy.
    ThresholdError
        If the answer, its complement, or what it differs by from a count with fewer conditions is below what a node reveals, or too few records are common.
    """
    epsilon, tests, thesis = asked.epsilon, asked.conditions, asked.protocol == "thesis"
    check_known(federation.dictionary, tests)
    columns = [test.column for test in tests]
    published_rounds = ("partial_chain_open", "partial_chain_sum") if thesis else ()
    preflight = preflight_of(
        columns,
        asked.identifier,
        epsilon,
        1 + thesis,
        published_rounds,
        asked.neighbors,
        asked.honest_fraction,
    )
    engine = open_question(federation, "condition", columns, asked, tests, epsilon, preflight, asked.neighbors)
    if thesis:
        check_chain(engine)
    exact = not promise.covers(epsilon)
    (counts,), extra = answer(engine, epsilon, asked.honest_fraction, exact, last=not thesis)
    matching = int(counts[0])
    noise = noise_told(federation, engine.setup, list(counts[:, None]), epsilon, asked.honest_fraction)
    if exact:
        matching = guarded_count(counts, engine.rows, engine.minimum_count)
    if thesis:
        matching, extra = chain_count(federation, engine, list(tests))
    statement = ask_privacy(epsilon)(engine.setup, len(counts))
    if len(counts) > 1:
        statement["reveals"]["central"] += f"; {WITHOUT_ONE}"
    return federation.result(
        count=matching,
        records=engine.rows,
        model={"count": matching, "records": engine.rows},
        privacy=statement,
        diagnostics={"protocol": asked.protocol, **noise, **extra},
    )


@central
def contingency(federation: Federation, asked: Contingency) -> dict[str, Any]:
    """Return the table of counts over columns of any stations: its axes and its cells, small ones hidden or all of them noisy.

    Returns
    -------
    dict
        The result with ``axes``, ``counts`` (nested lists, null where hidden), ``records`` and ``association``: chi-squared, odds ratio of two by two;
        of two columns, exact, where no cell is hidden, else None.

    Raises
    ------
    ArgumentError, PlacementError
        Naming the argument and the remedy.
    ThresholdError
        If too few records are common.
    """
    names, epsilon = asked.columns, asked.epsilon
    tables = _tables(federation, names, asked)
    counts = tables.tables([names], epsilon, asked.honest_fraction, last=True)[0]
    noise = noise_told(federation, tables.engine.setup, [counts], epsilon, asked.honest_fraction)
    states = [tables.columns[name] for name in names]
    shown, hidden = published(counts, 0 if promise.covers(epsilon) else tables.minimum_count, states)
    if hidden > sum(cell is not None and cell > 0 for cell in np.array(shown, dtype=object).flat):
        federation.warn(
            f"{hidden} of {counts.size} cells are hidden: small counts could be worked out from the others; "
            "take fewer columns, or fewer states or bins, or give an epsilon"
        )
    described_axes = axes(states)
    related = association(counts, states) if len(names) == 2 and epsilon is None and not hidden else None
    return federation.result(
        axes=described_axes,
        counts=shown,
        records=tables.rows,
        association=related,
        model={"axes": described_axes, "counts": shown, "records": tables.rows, "association": related},
        privacy=ask_privacy(epsilon)(tables.engine.setup, tables.sensitivity([names])),
        diagnostics={"hidden_cells": hidden, **noise},
    )


@central
def information_gain(federation: Federation, asked: InformationGain) -> dict[str, Any]:
    """Return how many bits each column tells about the target; all tables in one round.

    Returns
    -------
    dict
        The result with ``information_gain`` (column -> bits), ``null_level`` (column -> bits that a column without any relation exceeds once in twenty
        times, noise included) and ``records``.

    Raises
    ------
    ArgumentError, PlacementError
        Naming the argument and the remedy.
    ThresholdError
        If too few records are common.
    """
    label, names, epsilon = asked.label, asked.columns, asked.epsilon
    tables = _tables(federation, [label, *names], asked, joint=False)
    questions = [(label, name) for name in names]
    counts = tables.tables(questions, epsilon, asked.honest_fraction, last=True)
    noise = noise_told(federation, tables.engine.setup, counts, epsilon, asked.honest_fraction)
    gains: dict[str, float | None] = dict(zip(names, information_gains(counts), strict=True))
    if not promise.covers(epsilon):
        gains = _safe_gains(federation, tables, questions, counts, gains)
    scale = tables.sensitivity(questions) / epsilon if epsilon else 0.0
    levels = {
        name: None if gains[name] is None else null_level(table, lambda drawn: information_gains([drawn])[0], scale)
        for name, table in zip(names, counts, strict=True)
    }
    return federation.result(
        information_gain=gains,
        null_level=levels,
        records=tables.rows,
        model={"label": label, "information_gain": gains, "null_level": levels, "records": tables.rows},
        privacy=ask_privacy(epsilon)(tables.engine.setup, tables.sensitivity(questions)),
        diagnostics=noise,
    )


@central
def scalar_product(federation: Federation, asked: ScalarProduct) -> dict[str, Any]:
    """Return the sum over the records of the product of numeric columns, in fixed point, with the largest possible rounding error.

    Returns
    -------
    dict
        The result with ``scalar_product`` and ``records``; ``diagnostics.largest_error`` bounds the rounding.

    Raises
    ------
    ArgumentError, PlacementError
        Naming the argument and the remedy.
    ThresholdError
        If too few records are common.
    """
    preflight = preflight_of(asked.columns, asked.identifier, None, 2)
    engine = open_question(federation, "values", asked.columns, asked, preflight=preflight)
    scales = [scale for reply in engine.replies.values() if reply.scales for scale in reply.scales.value.values()]
    codes = [bool(code) for _, _, code in scales]
    (products, counting), _ = answer(engine, None, 1.0, all(codes), bits=64)
    guarded_product(counting, engine.rows, engine.minimum_count, codes)
    precisions = [(scale, fraction) for scale, fraction, _ in scales]
    value = decoded(int(products[0]), precisions)
    statement = ask_privacy()(engine.setup, 1)
    statement["reveals"]["central"] += (
        "; how many records count in the product, and for each station the power of two above its largest value and whether its values are few"
    )
    if len(counting) > 1:
        statement["reveals"]["central"] += f"; {WITHOUT_ONE}"
    return federation.result(
        scalar_product=value,
        records=engine.rows,
        model={"scalar_product": value, "records": engine.rows},
        privacy=statement,
        diagnostics={"largest_error": error_bound(engine.rows, precisions), "factors": len(precisions)},
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


def _tables(federation: Federation, names: list[str], asked: Tables, joint: bool = True) -> SecureTables:
    preflight = preflight_of(
        names,
        asked.identifier,
        asked.epsilon,
        1 if joint else len(names) - 1,
        neighbors=asked.neighbors,
        honest_fraction=asked.honest_fraction,
    )
    parties = open_parties(federation, asked.organizations, asked.helper, preflight)
    setup = setup_of(
        federation,
        parties,
        asked.identifier,
        asked.helper,
        domain=asked.domain,
        bins=asked.bins,
        missing_state=asked.missing_state,
        private=asked.epsilon is not None,
        covered=promise.covers(asked.epsilon),
        neighbors=asked.neighbors,
    )
    return SecureTables.open(federation, setup, names, groups=[names] if joint else [])
