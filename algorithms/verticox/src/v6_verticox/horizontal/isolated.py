"""What a formula may not do over whole records: set few records of all stations apart by products, knots, bounds.

Stations count; central adds up and refuses before anything else is asked. The rules are those of a vertical fit (`stations.isolation`): each
category, what lies beside and between the bounds of a number, outside a spline's bounds and between its knots, each combination of categories (and of
the values of a number that has two), and no column of a product or spline may be that of few records. A product's number is judged by its distance from
zero and from both of its bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fedbayes.bayes.formulae.model_matrix import Codes, Numbers, spline_basis, whole
from fedbayes.bayes.formulae.terms import Factor, Term, name_of
from fedbayes.federation.errors import ArgumentError, ThresholdError
from fedbayes.typing import Array, Counts, Floats

from ..cox.narrow import carried_by_few, few
from .formula import Design, Factors, entry_of

SIZE_BITS = 40  # a column in units of its largest size is at most 1: sums over four million records fit
EDGE = 1e-9  # of the bounds' width: what rounding makes of a value at a bound


@dataclass(frozen=True)
class Part:
    """Counts of one factor or term.

    Attributes
    ----------
    name : str
    kind : str
        "levels": all of enough records; "apart": few or none; "knots": as levels, but for empty ends; "cells": by category and, of numbers, at the low bound,
        between, at the high one; "sizes": sums of sizes and of squares.
    counts : ndarray of int
    """

    name: str
    kind: str
    counts: Counts


def parts_of(design: Design | None, values: Mapping[str, Array], records: int) -> list[Part]:
    """Return a station's counts, none without a formula; `values` by entry of the domain, as for `Design.factors`."""
    if design is None:
        return []
    factors, own = design.factors(values), design.terms.factors
    parts = [part for n, one in own.items() for part in _of_factor(design, one, factors[n], values[entry_of(one)])]
    spanned = {name: _spanned(design, one, factors[name], values[entry_of(one)]) for name, one in own.items()}
    for term in design.terms.terms:
        if len(term) > 1:
            parts += _of_product(design, term, factors, spanned, records)
    return parts


def _of_factor(design: Design, factor: Factor, one: Numbers | Codes, own: Floats) -> list[Part]:
    if isinstance(one, Codes):
        return [Part(factor.name, "levels", np.bincount(one.codes, minlength=len(one.levels)).astype(np.int64))]
    spline = factor.spline
    if spline is None:
        states = np.bincount(_states(own, design.bounds(factor)), minlength=3)
        beside = Part(factor.name, "levels", (len(own) - states[[0, 2]]).astype(np.int64))
        return [beside, Part(factor.name, "apart", states[[1]].astype(np.int64))]
    outside, between = spline.parts(own)
    sizes = Part(factor.name, "sizes", _sizes(spline_basis(own, spline)))
    return [Part(factor.name, "apart", outside), Part(factor.name, "knots", between), sizes]


def _states(own: Floats, bounds: tuple[float, float]) -> npt.NDArray[np.int_]:
    """Return 0 at the low bound, 2 at the high one, 1 between."""
    low, high = bounds
    slack = EDGE * (high - low)
    return np.asarray(1 - (own <= low + slack).astype(np.int_) + (own >= high - slack))


def _sizes(values: Floats) -> Counts:
    """Return the sums of the columns' sizes, at most 1 each, and of the squares, (2 * columns,), in units of 2^-40."""
    size = np.abs(values)
    return np.rint(np.concatenate([size.sum(axis=0), (size**2).sum(axis=0)]) * 2.0**SIZE_BITS).astype(np.int64)


def _spanned(design: Design, factor: Factor, one: Numbers | Codes, own: Floats) -> Numbers | Codes:
    """Return a factor with all that it spans beside a constant, in units of its largest size."""
    if isinstance(one, Codes):
        return one
    if factor.spline is not None:
        values = spline_basis(own, factor.spline)
    else:
        low, high = design.bounds(factor)
        own = np.asarray(own, dtype=np.float64)
        values = np.stack([own / max(abs(low), abs(high)), (own - low) / (high - low), (high - own) / (high - low)], 1)
        values = np.where(np.abs(values) < EDGE, 0.0, values)
    return Numbers(values, tuple(str(column) for column in range(values.shape[1])))


def _of_product(design: Design, term: Term, factors: Factors, spanned: Factors, records: int) -> list[Part]:
    name, shape, places = name_of(term), [], []
    for factor in term:
        one = factors[factor.name]
        if isinstance(one, Codes):
            shape.append(len(one.levels))
            places.append(one.codes)
        elif factor.spline is None:
            shape.append(3)
            places.append(_states(one.values[:, 0], design.bounds(factor)))
    parts = []
    if shape:
        cells = np.zeros(shape, dtype=np.int64)
        np.add.at(cells, tuple(places), 1)
        parts.append(Part(name, "cells", cells))
    values = whole(term, spanned, records)
    parts.append(Part(name, "apart", np.count_nonzero(values, axis=0).astype(np.int64)))
    if any(factor.spline is not None for factor in term):
        parts.append(Part(name, "sizes", _sizes(values)))
    return parts


def joined_counts(parts: list[Part]) -> Counts:
    """Return all counts in one array, as they are summed."""
    return np.concatenate([np.zeros(0, dtype=np.int64), *(part.counts.ravel() for part in parts)])


def blank_parts(design: Design | None) -> list[Part]:
    """Return parts of one record that is nobody's, for their shapes."""
    return [] if design is None else parts_of(design, design.example(), 1)


def check(design: Design, summed: Counts, minimum_count: int) -> None:
    """Refuse a formula that sets few records of all stations apart, from the sum of the stations' `joined_counts`.

    Raises
    ------
    ThresholdError, ArgumentError
        Naming the factor or the term.
    """
    start = 0
    for part in blank_parts(design):
        counts = summed[start : start + part.counts.size].reshape(part.counts.shape)
        start += part.counts.size
        if part.kind == "levels" and np.any(counts == 0):
            raise ArgumentError(
                f"formula: '{part.name}' is constant within its bounds, or has a category of its domain that no record has; leave it out of formula or domain"
            )
        if _is_few(part, counts, minimum_count, design):
            raise ThresholdError(
                f"formula: '{part.name}' sets fewer records apart than a node reveals; leave it out, merge categories, widen its bounds or take fewer knots"
            )


def _is_few(part: Part, counts: Counts, minimum_count: int, design: Design) -> bool:
    kind = part.kind
    if kind == "sizes":
        sums, squares = counts.reshape(2, -1) / 2.0**SIZE_BITS
        return carried_by_few(sums, squares, minimum_count)
    if kind == "knots":
        return bool(np.any(np.trim_zeros(counts) < minimum_count))
    if kind == "levels":
        return bool(np.any(counts < minimum_count))
    return few(_cells(counts, design, part.name) if kind == "cells" else counts, minimum_count)


def _cells(counts: Counts, design: Design, name: str) -> Counts:
    """Return the counts by categories and by the two values of numbers that have two; of other numbers all together."""
    term = next(one for one in design.terms.terms if name_of(one) == name)
    kinds = [design.schema[entry_of(factor)].is_categorical for factor in term if factor.spline is None]
    for axis, categorical in enumerate(kinds):
        between = np.take(counts, 1, axis=axis)
        if not categorical and between.any():
            counts = counts.sum(axis=axis, keepdims=True)
    return counts
