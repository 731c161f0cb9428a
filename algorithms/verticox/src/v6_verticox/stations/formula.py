"""A station's own terms of a formula as design columns, in a fit and where a model is applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fedbayes.bayes.formulae.formula import as_texts
from fedbayes.bayes.formulae.model_matrix import Codes, Numbers, arithmetic, columns_at, matrix, spline_numbers
from fedbayes.bayes.formulae.terms import Factor, Terms
from fedbayes.federation.errors import DataProblem, schema_errors
from fedbayes.typing import Floats

from .columns import Design, categories, known, numbers, standardised
from .isolation import check_arithmetic, check_products, check_spline


def design_of_terms(frame: Any, terms: Terms, minimum_count: int) -> Design:
    """Return the design columns of a station's terms.

    Besides what holds for a feature, nothing that the caller chooses may set few records apart (`isolation`): products, knots, bounds.

    Raises
    ------
    DataProblem
        Naming the factor or the term.
    """
    with schema_errors(DataProblem):
        factors = {name: one_factor(frame, factor, minimum_count) for name, factor in terms.factors.items()}
        with np.errstate(over="ignore", invalid="ignore"):  # `standardised` refuses what is out of range
            matrices = matrix(terms, factors, len(frame))
            check_products(frame, terms, factors, minimum_count)
    names = {name: list(part.labels) for name, part in matrices.items()}
    levels = {name: part.levels for name, part in factors.items() if isinstance(part, Codes)}
    references = {name: labels[0] for name, labels in levels.items()}
    own = standardised(len(frame), names, [part.values for part in matrices.values()], references)
    own.levels.update(levels)
    return own


def one_factor(frame: Any, factor: Factor, minimum_count: int) -> Numbers | Codes:
    """Return a factor's numbers or categories, checked as a feature's; `DataProblem` naming it."""
    if factor.formula is not None:
        made = arithmetic(factor, frame, len(frame))
        check_arithmetic(made.values[:, 0], factor.name, minimum_count)
        return made
    column = known(frame[factor.columns[0]], factor.columns[0])
    if factor.spline is not None:
        values = _numeric(column, factor, minimum_count)
        check_spline(values, factor, minimum_count)
        return spline_numbers(factor, values)
    if factor.categorical or column.dtype.kind not in "biuf":
        return categories(np.asarray(as_texts(column), dtype=str), factor.name, minimum_count, factor.reference)
    return Numbers(numbers(column, factor.name, minimum_count)[:, None], (factor.name,))


def _numeric(column: Any, factor: Factor, minimum_count: int) -> Floats:
    if column.dtype.kind not in "biuf":
        raise DataProblem(f"feature '{factor.name}' takes numbers, but its column holds text; use C(...)")
    return numbers(column, factor.name, minimum_count)


def columns_of(frame: Any, terms: Terms, levels: Mapping[str, Sequence[str]]) -> dict[str, Floats]:
    """Return the design columns of terms by their labels, (rows,) each, with the categories that a model was fitted on.

    Raises
    ------
    DataProblem
        Naming a factor with missing values, or with a category that the model does not know.
    """
    with schema_errors(DataProblem):
        return columns_at(terms, levels, frame, len(frame))
