"""The numbers of a model formula's terms: dummy coding, products, spline bases.

Categories are coded as patsy does it: in full where the term without the factor is no part of the model, else without the reference, so that columns depend on
one another in no table by construction.

References
----------
Chambers, Hastie, Statistical Models in S, 1992, section 2.4.1 (coding of factors in products); de Boor, A Practical Guide to Splines, 1978 (basis).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import combinations, product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...typing import Floats
from ..values.encoding import SchemaError
from .formula import as_numbers, as_texts
from .terms import Factor, Spline, Term, Terms, name_of

Coding = tuple[tuple[str, bool], ...]
MOST_COLUMNS = 500  # of a table: categories of products multiply


@dataclass(frozen=True)
class Numbers:
    """A factor of numbers.

    Attributes
    ----------
    values : ndarray of float, (rows, columns)
    labels : tuple of str
    """

    values: Floats
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Codes:
    """A factor of categories.

    Attributes
    ----------
    codes : ndarray of int, (rows,)
        Places among the levels.
    levels : tuple of str
        The reference first.
    """

    codes: NDArray[np.int_]
    levels: tuple[str, ...]


def spline_basis(values: Floats, spline: Spline) -> Floats:
    """Return the whole B-spline basis, (rows, df + 1), float64; what is outside the bounds is moved to the nearer one."""
    from scipy.interpolate import BSpline

    if not len(values):
        return np.zeros((0, spline.df + 1))
    low, *_, high = spline.edges
    knots = np.array([*[low] * spline.degree, *spline.edges, *[high] * spline.degree])
    design = BSpline.design_matrix(np.clip(values, low, high), knots, spline.degree)
    return np.asarray(design.toarray(), dtype=np.float64)


def spline_numbers(factor: Factor, values: Floats) -> Numbers:
    """Return a spline's columns, the basis without its first, as patsy names them."""
    assert factor.spline is not None
    basis = spline_basis(values, factor.spline)[:, 1:]
    return Numbers(basis, tuple(f"{factor.name}[{index}]" for index in range(basis.shape[1])))


def matrix(terms: Terms, factors: Mapping[str, Numbers | Codes], rows: int) -> dict[str, Numbers]:
    """Return the columns of every term, by its name.

    Parameters
    ----------
    terms : Terms
        In their order: what an earlier term spans is no part of a later one.
    factors : mapping of str to Numbers or Codes
        Of every factor of the terms.
    rows : int
        How many rows there are.

    Raises
    ------
    SchemaError
        Naming a term, if there are too many columns.
    """
    _check_width(terms.terms, factors)
    coding_of = codings(terms, {name for name, one in factors.items() if isinstance(one, Codes)})
    numbers = {}
    for term in terms.terms:
        parts = [_block(term, dict(coding), factors, rows) for coding in coding_of[name_of(term)]]
        numbers[name_of(term)] = Numbers(
            np.concatenate([np.zeros((rows, 0)), *(part.values for part in parts)], axis=1),
            tuple(label for part in parts for label in part.labels),
        )
    return numbers


def codings(terms: Terms, categorical: Set[str]) -> dict[str, list[Coding]]:
    """Return how the categories of every term are coded, by its name: a list of blocks, each with its factors and whether in full.

    Parameters
    ----------
    terms : Terms
        In their order.
    categorical : set of str
        Names of the factors that are categories.
    """
    used: dict[frozenset[str], set[frozenset[str]]] = {frozenset(): {frozenset()}}
    coding_of = {}
    for term in terms.terms:
        categories = [factor.name for factor in term if factor.name in categorical]
        numeric = frozenset(factor.name for factor in term) - frozenset(categories)
        coding_of[name_of(term)] = _codings(categories, used.setdefault(numeric, set()))
    return coding_of


def _check_width(terms: Sequence[Term], factors: Mapping[str, Numbers | Codes]) -> None:
    """Refuse terms of too many columns, before there is one."""
    widths = {name: len(one.levels) if isinstance(one, Codes) else one.values.shape[1] for name, one in factors.items()}
    total = 0
    for term in terms:
        total += prod(widths[factor.name] for factor in term)
        if total > MOST_COLUMNS:
            raise SchemaError(
                f"formula: with '{name_of(term)}' it has more than {MOST_COLUMNS} columns; merge categories, take fewer knots or leave the term out"
            )


def whole(term: Term, factors: Mapping[str, Numbers | Codes], rows: int) -> Floats:
    """Return the products of a term's columns with every category in full, (rows, columns): what the term spans beside the terms in it."""
    _check_width([term], factors)
    full = {factor.name: True for factor in term}
    return _block(term, full, factors, rows).values


def _codings(categories: list[str], used: set[frozenset[str]]) -> list[Coding]:
    """Return the blocks of a term as (factor, whether in full) each: what its categories span and earlier terms do not."""
    subsets = [part for size in range(len(categories) + 1) for part in combinations(categories, size)]
    parts: list[Coding] = [tuple((name, False) for name in part) for part in subsets if frozenset(part) not in used]
    used.update(frozenset(part) for part in subsets)
    while True:
        pair = next((pair for pair in product(parts, parts) if _joined(*pair) is not None), None)
        if pair is None:
            return parts
        whole = _joined(*pair)
        assert whole is not None
        parts = [whole if part == pair[1] else part for part in parts if part != pair[0]]


def _joined(short: Coding, long: Coding) -> Coding | None:
    """Return one block for two of which the longer has one reduced factor more: that factor in full."""
    more = set(long) - set(short)
    if len(long) != len(short) + 1 or len(more) != 1:
        return None
    name, full = more.pop()
    return None if full else tuple((one, True if one == name else whole) for one, whole in long)


def _block(term: Term, coding: Mapping[str, bool], factors: Mapping[str, Any], rows: int) -> Numbers:
    """Return the products of the columns of a term's factors; categories that the coding leaves out have none."""
    values, labels = np.ones((rows, 1)), [""]
    for factor in term:
        one = factors[factor.name]
        if isinstance(one, Codes):
            if factor.name not in coding:
                continue
            one = indicators(factor.name, one, coding[factor.name])
        values = (values[:, :, None] * one.values[:, None, :]).reshape(rows, values.shape[1] * one.values.shape[1])
        labels = [":".join(filter(None, (left, right))) for left in labels for right in one.labels]
    return Numbers(values, tuple(labels))


def indicators(name: str, one: Codes, full: bool) -> Numbers:
    """Return one column of 0 and 1 a category, the reference among them only in full coding."""
    levels = range(0 if full else 1, len(one.levels))
    values = (one.codes[:, None] == np.array(list(levels), dtype=np.int_)[None, :]).astype(np.float64)
    return Numbers(values, tuple(f"{name}={one.levels[level]}" for level in levels))


def cells(term: Term, factors: Mapping[str, Numbers | Codes]) -> NDArray[np.int_]:
    """Return how many records have each combination of a term's categories that occurs, (combinations,); empty without categories."""
    parts = [one.codes for one in (factors[factor.name] for factor in term) if isinstance(one, Codes)]
    if not parts:
        return np.zeros(0, dtype=np.int_)
    return np.asarray(np.unique(np.stack(parts), axis=1, return_counts=True)[1], dtype=np.int_)


def arithmetic(factor: Factor, table: Mapping[str, Any], rows: int) -> Numbers:
    """Return the values of a factor that is arithmetic; `SchemaError` where one is missing or no number."""
    assert factor.formula is not None
    values = factor.formula.values({name: table[name] for name in factor.columns}, rows)
    return _all_known(factor, values)


def _all_known(factor: Factor, values: Floats) -> Numbers:
    if not np.all(np.isfinite(values)):
        raise SchemaError(
            f"feature '{factor.name}' is missing or no number in some records; fill in what is missing, or leave these records out"
        )
    return Numbers(values[:, None], (factor.name,))


def columns_at(
    terms: Terms, levels: Mapping[str, Sequence[str]], table: Mapping[str, Any], rows: int
) -> dict[str, Floats]:
    """Return the columns of a fitted model's terms by their labels, (rows,) each.

    Parameters
    ----------
    terms : Terms
        With all bounds told.
    levels : mapping of str to sequence of str
        Factor -> the categories that the model was fitted on, the reference first.
    table : mapping of str to array
        The terms' columns, (rows,) each, any dtype.
    rows : int
        How many rows there are.

    Raises
    ------
    SchemaError
        Naming a factor with a missing value, with text in the place of numbers, or with a category that is not among the levels; or a product that
        is too large to be a number.
    """
    factors = {name: _at(factor, levels.get(name), table, rows) for name, factor in terms.factors.items()}
    with np.errstate(over="ignore", invalid="ignore"):
        numbers = matrix(terms, factors, rows)
    endless = next((name for name, part in numbers.items() if not np.all(np.isfinite(part.values))), None)
    if endless is not None:
        raise SchemaError(f"feature '{endless}' is out of range in some records; check the units of its columns")
    parts = numbers.values()
    return {label: part.values[:, column] for part in parts for column, label in enumerate(part.labels)}


def _at(factor: Factor, levels: Sequence[str] | None, table: Mapping[str, Any], rows: int) -> Numbers | Codes:
    if factor.formula is not None:
        return arithmetic(factor, table, rows)
    column = table[factor.columns[0]]
    if levels is None:
        numbers = _all_known(factor, as_numbers(column))
        return numbers if factor.spline is None else spline_numbers(factor, numbers.values[:, 0])
    places = {level: code for code, level in enumerate(levels)}
    codes = np.array([places.get(text, -1) for text in as_texts(column)], dtype=np.int_)
    if np.any(codes < 0):
        raise SchemaError(
            f"feature '{factor.name}' is missing, or has a category that the model was not fitted on, in some records; leave them out"
        )
    return Codes(codes, tuple(levels))
