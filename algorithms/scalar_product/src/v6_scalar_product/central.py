"""What the researcher calls: counts, tables, scalar products, information gain over records that several organizations hold in part."""

from __future__ import annotations

from typing import Any

from fedbayes.dp import promise
from fedbayes.federation import Federation, central
from fedbayes.federation.vertical import SecureTables, open_parties, setup_of

from .arguments import Contingency, Count, InformationGain, ScalarProduct, Tables
from .chain import chain_count, check_chain
from .model import guarded_count, guarded_product
from .questions import answer, check_known, open_question, preflight_of
from .result import counted, gained, multiplied, noise_diagnostics, tabled


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
    noise = noise_diagnostics(federation, engine.setup, list(counts[:, None]), epsilon, asked.honest_fraction)
    if exact:
        matching = guarded_count(counts, engine.rows, engine.minimum_count)
    if thesis:
        matching, extra = chain_count(federation, engine, list(tests))
    told = {"protocol": asked.protocol, **noise, **extra}
    return counted(federation, engine, asked, told, matching, len(counts))


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
    tables = _tables(federation, asked.columns, asked)
    counts = tables.tables([asked.columns], asked.epsilon, asked.honest_fraction, last=True)[0]
    return tabled(federation, tables, asked, counts)


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
    tables = _tables(federation, [asked.label, *asked.columns], asked, joint=False)
    questions = [(asked.label, name) for name in asked.columns]
    counts = tables.tables(questions, asked.epsilon, asked.honest_fraction, last=True)
    return gained(federation, tables, asked, questions, counts)


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
    return multiplied(federation, engine, int(products[0]), scales, len(counting))


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
        epsilon=asked.epsilon,
        neighbors=asked.neighbors,
    )
    return SecureTables.open(federation, setup, names, groups=[names] if joint else [])
