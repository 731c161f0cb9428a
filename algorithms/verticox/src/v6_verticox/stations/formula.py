"""A station's own terms of a formula as design columns, in a fit and where a model is applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fedbayes.bayes.encoding import SchemaError
from fedbayes.bayes.formula import as_texts
from fedbayes.bayes.model_matrix import (
    Codes,
    Numbers,
    arithmetic,
    cells,
    columns_at,
    matrix,
    spline_basis,
    spline_numbers,
)
from fedbayes.bayes.terms import Factor, Terms, name_of
from fedbayes.federation.errors import DataProblem

from .columns import Design, Matrix, categories, known, numbers, standardised


def design_of_terms(frame: Any, terms: Terms, minimum_count: int) -> Design:
    """Return the design columns of a station's terms.

    Besides what holds for a feature, no combination of categories, and no column of a spline, may rest on few records: the caller chooses
    products and knots.

    Raises
    ------
    DataProblem
        Naming the factor or the term.
    """
    factors = {name: _factor(frame, factor, minimum_count) for name, factor in terms.factors.items()}
    found = matrix(terms, factors, len(frame))
    for term in terms.terms:
        counts, name = cells(term, factors), name_of(term)
        splines = any(factor.spline is not None for factor in term)
        if np.any(counts < minimum_count) or (splines and _is_narrow(found[name].values, minimum_count)):
            raise DataProblem(
                f"feature '{name}' has a combination of categories, or a column of a spline, with fewer records than this node reveals; "
                "leave it out, merge categories or take fewer knots"
            )
    names = {name: list(part.labels) for name, part in found.items()}
    levels = {name: part.levels for name, part in factors.items() if isinstance(part, Codes)}
    references = {name: labels[0] for name, labels in levels.items()}
    own = standardised(len(frame), names, [part.values for part in found.values()], references)
    own.levels.update(levels)
    return own


def _is_narrow(values: Matrix, minimum_count: int) -> bool:
    """Say whether a column is carried by few records: (sum of sizes)^2 / sum of squares is how many that is when all weigh alike."""
    sizes = np.abs(values)
    squares = np.sum(sizes**2, axis=0)
    return bool(np.any((squares > 0.0) & (np.sum(sizes, axis=0) ** 2 < minimum_count * squares)))


def _factor(frame: Any, factor: Factor, minimum_count: int) -> Numbers | Codes:
    if factor.formula is not None:
        return _arithmetic(frame, factor)
    column = known(frame[factor.columns[0]], factor.columns[0])
    if factor.spline is not None:
        values = _numeric(column, factor, minimum_count)
        if _is_narrow(spline_basis(values, factor.spline), minimum_count):  # the column that is left out, too
            raise DataProblem(
                f"feature '{factor.name}' has a column with fewer records than this node reveals; take fewer knots or a smaller df"
            )
        return spline_numbers(factor, values)
    if factor.categorical or column.dtype.kind not in "biuf":
        return categories(np.asarray(as_texts(column), dtype=str), factor.name, minimum_count, factor.reference)
    return Numbers(numbers(column, factor.name, minimum_count)[:, None], (factor.name,))


def _numeric(column: Any, factor: Factor, minimum_count: int) -> Matrix:
    if column.dtype.kind not in "biuf":
        raise DataProblem(f"feature '{factor.name}' takes numbers, but its column holds text; use C(...)")
    return numbers(column, factor.name, minimum_count)


def _arithmetic(frame: Any, factor: Factor) -> Numbers:
    try:
        return arithmetic(factor, frame, len(frame))
    except SchemaError as problem:
        raise DataProblem(str(problem)) from None


def columns_of(frame: Any, terms: Terms, levels: Mapping[str, Sequence[str]]) -> dict[str, Matrix]:
    """Return the design columns of terms by their labels, (rows,) each, with the categories that a model was fitted on.

    Raises
    ------
    DataProblem
        Naming a factor with missing values, or with a category that the model does not know.
    """
    try:
        return columns_at(terms, levels, frame, len(frame))
    except SchemaError as problem:
        raise DataProblem(str(problem)) from None
