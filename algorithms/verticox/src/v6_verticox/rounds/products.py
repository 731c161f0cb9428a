"""Products of columns at two organizations, as central plans them: how categories are coded, who enters what, what the columns are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log2

from fedbayes.bayes.formulae.model_matrix import codings
from fedbayes.bayes.formulae.term_reader import read_terms
from fedbayes.bayes.formulae.terms import Term, Terms, name_of
from fedbayes.federation import Federation
from fedbayes.federation.errors import ArgumentError

from ..cox.tails import ORDINARY
from ..messages.products import MOST_CELLS, Product, Side
from ..messages.setup import Described, Question

REACH_POWER = 0.75
"""A column that is zero but for a part p of the records has deviation root p and, of its tails, p^(1/8) of the sum of eighth powers."""
OTHERWISE = "bring both columns to one organization, or leave the term out"


@dataclass(frozen=True)
class Planned:
    """The products of a fit, and their columns.

    Parameters
    ----------
    products : list of Product
    labels : dict of str to list of str
        Term -> its design columns, in the order of the coefficients on shares.
    written : dict of str to list of str
        The same in the order in which one table would have them, whoever enters what.
    scales, reach : list
        Of these, as the stations tell them of their own columns.
    levels : dict of str to list of str
        Factor -> categories.
    """

    products: list[Product] = field(default_factory=list)
    labels: dict[str, list[str]] = field(default_factory=dict)
    written: dict[str, list[str]] = field(default_factory=dict)
    scales: list[float] = field(default_factory=list)
    reach: list[list[float]] = field(default_factory=list)
    levels: dict[str, list[str]] = field(default_factory=dict)


def across(question: Question) -> Terms:
    """Return the terms of the question's formula; none without one."""
    return read_terms(question.formula) if question.formula else Terms(())


def planned(
    federation: Federation, question: Question, replies: Mapping[int, Described], holders: Sequence[int]
) -> Planned:
    """Return the products of a formula whose columns are at two organizations.

    Raises
    ------
    ArgumentError
        Naming the term: columns at three organizations, numbers on both sides, splines, or categories without the terms in it.
    """
    terms, plan = across(question), Planned()
    sides = {member: {side.term: side for side in reply.sides} for member, reply in replies.items()}
    products = [term for term in terms.terms if any(name_of(term) in own for own in sides.values())]
    if not products:
        return plan
    for reply in replies.values():
        plan.levels.update({name: levels for side in reply.sides for name, levels in side.levels.items()})
    coded = _coded(terms, replies, {*plan.levels, *(name for reply in replies.values() for name in reply.levels)})
    for term in products:
        members = [member for member in holders if name_of(term) in sides[member]]
        where = " and ".join(federation.name(member) for member in members)
        if len(members) != 2:
            raise ArgumentError(
                f"formula: '{name_of(term)}' is of columns at three organizations or more ({where}); {OTHERWISE}"
            )
        _add(plan, term, coded[name_of(term)], [(holders.index(m), sides[m][name_of(term)]) for m in members], where)
    return plan


def check_products(question: Question, products: Sequence[Product], solver: str) -> None:
    """Raise `ArgumentError` naming a product that a solver has no arithmetic for, or that leaves records with gaps out."""
    if not products or (solver == "private_newton" and question.missing == "refuse"):
        return
    raise ArgumentError(
        f"formula: '{products[0].term}' is of columns at different organizations; such products are for solver='private_newton' with missing='refuse': "
        f"choose these, {OTHERWISE}"
    )


def _coded(terms: Terms, replies: Mapping[int, Described], categorical: set[str]) -> dict[str, dict[str, bool]]:
    """Return whether the categories of every term are coded in full, where that is one block that every station knows.

    A station codes its own terms without those of others; so where a product would change that, the terms in it must be named too.
    """
    whole, coded = codings(terms, categorical), {}
    for reply in replies.values():
        own = codings(terms.among(set(reply.columns_here)), categorical)
        other = next((name for name, blocks in own.items() if whole[name] != blocks), None)
        if other is not None:
            raise _incomplete(other)
    for term in terms.terms:
        blocks = whole[name_of(term)]
        if len(blocks) != 1 or {name for name, _ in blocks[0]} != {f.name for f in term if f.name in categorical}:
            raise _incomplete(name_of(term))
        coded[name_of(term)] = dict(blocks[0])
    return coded


def _incomplete(name: str) -> ArgumentError:
    return ArgumentError(
        f"formula: beside a product of columns at different organizations, '{name}' needs the categories in it as terms of their own; write a*b"
    )


def _add(found: Planned, term: Term, coded: Mapping[str, bool], sides: list[tuple[int, Side]], where: str) -> None:
    """Plan one product: who chooses is who has fewer columns of 0 and 1."""
    chosen = {place: _columns(side, term, coded) for place, side in sides}
    choosers = sorted((len(chosen[place]), place) for place, side in sides if side.exclusive)
    if not choosers:
        raise ArgumentError(
            f"formula: '{name_of(term)}' multiplies numbers of different organizations ({where}); one of the columns must be categories, or 0 and 1: "
            f"give one as categories (cut it, or C(...)), or {OTHERWISE}"
        )
    (number, left), (chooser, right) = sorted(sides, key=lambda pair: pair[0] == choosers[0][1])
    if not 0 < left.supports * len(right.labels) <= MOST_CELLS:
        raise ArgumentError(
            f"formula: '{name_of(term)}' has more than {MOST_CELLS} combinations of columns; merge categories, or {OTHERWISE}"
        )
    columns, levels = chosen[number], chosen[chooser]
    powers = [round(-log2(right.scales[level])) for level in levels]
    found.products.append(
        Product(
            name_of(term),
            number,
            chooser,
            columns,
            levels,
            [left.centres[column] for column in columns],
            powers,
            left.supports,
            len(right.labels),
            max(left.limit, right.limit),
        )
    )
    parts = []
    for column in columns:
        for level, power in zip(levels, powers, strict=True):
            parts.append(_labels(term, left, column, right, level))
            found.scales.append(left.scales[column] * right.scales[level])
            wider = 2.0 ** (REACH_POWER * max(power - 1, 0))
            found.reach.append([max(ORDINARY, max(left.reach[column]) * wider)] * 2)
    found.labels[name_of(term)] = [":".join(labels) for labels in parts]
    found.written[name_of(term)] = [":".join(labels) for labels in _as_in_one_table(term, parts, left, right)]


def _factors_of(side: Side, term: Term) -> list[str]:
    """Return the names of a side's factors in the order of the term."""
    return [factor.name for factor in term if factor.name in side.factors]


def _columns(side: Side, term: Term, coded: Mapping[str, bool]) -> list[int]:
    """Return which columns of a side the coding takes: not the zeros of 0 and 1, nor references unless in full."""
    names, kept = _factors_of(side, term), []
    for place, labels in enumerate(side.labels):
        references = {n: f"{n}={side.levels[n][0]}" for n in names if n in side.levels and not coded[n]}
        if all(label and references.get(name) != label for name, label in zip(names, labels, strict=True)):
            kept.append(place)
    return kept


def _labels(term: Term, left: Side, column: int, right: Side, level: int) -> list[str]:
    """Return what a product's column is called, factor by factor, as `model_matrix` does."""
    label_of = dict(zip(_factors_of(left, term), left.labels[column], strict=True))
    label_of.update(zip(_factors_of(right, term), right.labels[level], strict=True))
    return [label_of[factor.name] for factor in term]


def _as_in_one_table(term: Term, parts: list[list[str]], *sides: Side) -> list[list[str]]:
    """Return the labels of columns in the order of `model_matrix`: those of the last factor change first."""
    labels_of = {
        name: list(labels)
        for side in sides
        for name, labels in zip(_factors_of(side, term), zip(*side.labels, strict=True), strict=True)
    }
    return sorted(parts, key=lambda labels: [labels_of[f.name].index(own) for f, own in zip(term, labels, strict=True)])
