"""What the researcher calls: counts, tables, scalar products, information gain over records that several organizations hold in part."""

from __future__ import annotations

from typing import Any

from fedbayes.dp.shares import HONEST_FRACTION
from fedbayes.federation import Federation, arguments, central
from fedbayes.federation.errors import ArgumentError, ThresholdError
from fedbayes.federation.vertical import SecureTables, check_alignment, open_parties

from .chain import chain_count
from .messages import PROTOCOLS
from .model import axes, decoded, error_bound, guarded_count, guarded_product, information_gains, is_shown, published
from .questions import answer, ask_privacy, checked_conditions, open_question, preflight_of


@central
def count(
    federation: Federation,
    conditions: list[dict[str, Any]],
    id_column: str | None = None,
    epsilon: float | None = None,
    protocol: str = "masked_tables",
    helper: int | str | None = None,
    honest_fraction: float = HONEST_FRACTION,
    organizations: list[int | str] | None = None,
    rows_aligned: bool = False,
) -> dict[str, Any]:
    """Return how many records satisfy all conditions, whichever stations hold their columns.

    Parameters
    ----------
    federation : Federation
        Given by the platform.
    conditions : list of dict
        ``{"column", "op", "value"}`` each; `op` is ==, !=, in, <, <=, >, >=, between or missing.
    id_column : str, optional
        The identifier at every station, by which records are matched; demanded unless `rows_aligned`.
    epsilon : float, optional
        One discrete Laplace noise term for the federation; without it the count is exact.
    protocol : {"masked_tables", "thesis"}
        Ours, or the published one in task rounds.
    helper : int or str, optional
        The organization without data that serves as dealer; "none" does without one (three stations or more); by default the first one without data.
    honest_fraction : float
        Part of the stations whose noise alone must suffice.
    organizations : list of int or str, optional
        Who takes part, by id or name; all by default.
    rows_aligned : bool
        Whether all files hold the same records in the same order; then no identifier is needed.

    Returns
    -------
    dict
        The result with ``count`` and ``records`` (those in common).

    Raises
    ------
    ArgumentError, PlacementError
        Naming the argument and the remedy.
    ThresholdError
        If the answer or its complement is below what a node reveals, or too few records are common.
    """
    identifier = check_alignment(id_column, rows_aligned)
    tests = checked_conditions(conditions, identifier)
    arguments.check_choice("protocol", protocol, PROTOCOLS)
    if protocol == "thesis" and epsilon is not None:
        raise ArgumentError("epsilon: noise is part of protocol masked_tables only")
    privacy = ask_privacy(epsilon, honest_fraction)
    columns = [test.column for test in tests]
    private = epsilon is not None
    published_rounds = ("partial_chain_open", "partial_chain_sum") if protocol == "thesis" else ()
    preflight = preflight_of(columns, identifier, epsilon, 1, published_rounds)
    engine = open_question(
        federation, "condition", columns, identifier, helper, organizations, tests, private, preflight
    )
    if protocol == "thesis":
        found, extra = chain_count(federation, engine, tests)
    else:
        (found,), extra = answer(engine, epsilon, honest_fraction)
    if epsilon is None:
        found = guarded_count(found, engine.rows, engine.minimum_count)
    return federation.result(
        count=found,
        records=engine.rows,
        model={"count": found, "records": engine.rows},
        privacy=privacy(engine.setup, 1),
        diagnostics={"protocol": protocol, **extra},
    )


@central
def contingency(
    federation: Federation,
    columns: list[str],
    id_column: str | None = None,
    bins: Any = "quantile",
    domain: dict[str, Any] | None = None,
    missing_state: bool = True,
    epsilon: float | None = None,
    helper: int | str | None = None,
    honest_fraction: float = HONEST_FRACTION,
    organizations: list[int | str] | None = None,
    rows_aligned: bool = False,
) -> dict[str, Any]:
    """Return the table of counts over columns of any stations: its axes and its cells, small ones hidden or all of them noisy.

    Parameters
    ----------
    federation : Federation
        Given by the platform.
    columns : list of str
        One axis each.
    id_column : str, optional
        The identifier at every station; demanded unless `rows_aligned`.
    bins : str, int or dict
        Numeric columns: "quantile", "width", "published", a number of bins, or ``{column: [cut points]}``.
    domain : dict, optional
        Public states, ``{column: {"categories": [...]} | {"bounds": [low, high]}}``; what is not in it is found by its owner and revealed.
    missing_state : bool
        Whether "missing" is a state of every column.
    epsilon : float, optional
        Noise in every cell; without it the cells are exact and small ones hidden.
    helper : int or str, optional
        The organization without data that serves as dealer; "none" does without one (three stations or more); by default the first one without data.
    honest_fraction : float
        Part of the stations whose noise alone must suffice.
    organizations : list of int or str, optional
        Who takes part, by id or name; all by default.
    rows_aligned : bool
        Whether all files hold the same records in the same order; then no identifier is needed.

    Returns
    -------
    dict
        The result with ``axes``, ``counts`` (nested lists, null where hidden) and ``records``.

    Raises
    ------
    ArgumentError, PlacementError
        Naming the argument and the remedy.
    ThresholdError
        If too few records are common.
    """
    identifier = check_alignment(id_column, rows_aligned)
    names = arguments.check_names("columns", columns)
    privacy = ask_privacy(epsilon, honest_fraction)
    tables = _tables(federation, names, identifier, bins, domain, missing_state, helper, organizations, epsilon)
    counts = tables.tables([names], epsilon, honest_fraction, last=True)[0]
    states = [tables.columns[name] for name in names]
    shown, hidden = published(counts, tables.minimum_count if epsilon is None else 0, states)
    found = axes(states)
    return federation.result(
        axes=found,
        counts=shown,
        records=tables.rows,
        model={"axes": found, "counts": shown, "records": tables.rows},
        privacy=privacy(tables.engine.setup, tables.sensitivity([names])),
        diagnostics={"hidden_cells": hidden},
    )


@central
def information_gain(
    federation: Federation,
    target: str,
    columns: list[str],
    id_column: str | None = None,
    bins: Any = "quantile",
    domain: dict[str, Any] | None = None,
    missing_state: bool = True,
    epsilon: float | None = None,
    helper: int | str | None = None,
    honest_fraction: float = HONEST_FRACTION,
    organizations: list[int | str] | None = None,
    rows_aligned: bool = False,
) -> dict[str, Any]:
    """Return how many bits each column tells about the target; all tables in one round.

    Parameters
    ----------
    federation : Federation
        Given by the platform.
    target : str
        The column to know about.
    columns : list of str
        What might tell.
    id_column, bins, domain, missing_state, epsilon, helper, honest_fraction, organizations, rows_aligned
        As in `contingency`; the budget is that of all tables together.

    Returns
    -------
    dict
        The result with ``information_gain`` (column -> bits) and ``records``.

    Raises
    ------
    ArgumentError, PlacementError
        Naming the argument and the remedy.
    ThresholdError
        If too few records are common.
    """
    identifier = check_alignment(id_column, rows_aligned)
    names = arguments.check_names("columns", columns)
    if arguments.check_name("target", target) in names:
        raise ArgumentError("columns must not hold the target")
    privacy = ask_privacy(epsilon, honest_fraction)
    tables = _tables(
        federation,
        [target, *names],
        identifier,
        bins,
        domain,
        missing_state,
        helper,
        organizations,
        epsilon,
        joint=False,
    )
    questions = [(target, name) for name in names]
    counts = tables.tables(questions, epsilon, honest_fraction, last=True)
    gains = dict(zip(names, information_gains(counts), strict=True))
    if epsilon is None:
        gains = _safe_gains(federation, tables, questions, counts, gains)
    return federation.result(
        information_gain=gains,
        records=tables.rows,
        model={"target": target, "information_gain": gains, "records": tables.rows},
        privacy=privacy(tables.engine.setup, tables.sensitivity(questions)),
    )


@central
def scalar_product(
    federation: Federation,
    columns: list[str],
    id_column: str | None = None,
    helper: int | str | None = None,
    organizations: list[int | str] | None = None,
    rows_aligned: bool = False,
) -> dict[str, Any]:
    """Return the sum over the records of the product of numeric columns, in fixed point, with the largest possible rounding error.

    Parameters
    ----------
    federation : Federation
        Given by the platform.
    columns : list of str
        Numeric columns of any stations; several of one station are multiplied there.
    id_column : str, optional
        The identifier at every station; demanded unless `rows_aligned`.
    helper : int or str, optional
        The organization without data that serves as dealer; "none" does without one (three stations or more); by default the first one without data.
    organizations : list of int or str, optional
        Who takes part, by id or name; all by default.
    rows_aligned : bool
        Whether all files hold the same records in the same order; then no identifier is needed.

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
    identifier = check_alignment(id_column, rows_aligned)
    names = arguments.check_names("columns", columns)
    privacy = ask_privacy(None, 1.0)
    preflight = preflight_of(names, identifier, None, 2)
    engine = open_question(federation, "values", names, identifier, helper, organizations, preflight=preflight)
    (found, counting), _ = answer(engine, None, 1.0, bits=64)
    scales = [scale for reply in engine.replies.values() if reply.scales for scale in reply.scales.value.values()]
    guarded_product(counting, engine.rows, engine.minimum_count, any(code for _, _, code in scales))
    precisions = [(scale, fraction) for scale, fraction, _ in scales]
    value = decoded(found, precisions)
    statement = privacy(engine.setup, 1)
    statement["reveals"]["central"] += "; for each station the power of two above its largest value"
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
    gains: dict[str, float],
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


def _tables(
    federation: Federation,
    names: list[str],
    id_column: str,
    bins: Any,
    domain: dict[str, Any] | None,
    missing_state: bool,
    helper: int | str | None,
    organizations: list[int | str] | None,
    epsilon: float | None,
    joint: bool = True,
) -> SecureTables:
    arguments.check_flag("missing_state", missing_state)
    preflight = preflight_of(names, id_column, epsilon, 1 if joint else len(names) - 1)
    parties = open_parties(federation, organizations, helper, preflight)
    return SecureTables.open(
        federation,
        parties,
        id_column,
        names,
        domain=domain,
        bins=bins,
        missing_state=missing_state,
        helper=helper,
        groups=[names] if joint else [],
        private=epsilon is not None,
    )
