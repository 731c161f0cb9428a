"""What a formula may not do: set few records apart by the products, knots, bounds and expressions that its caller chooses.

A coefficient of a column that few records carry tells of these records, and what counts is what the columns of a model span, not what it names. So products are
judged with every category, every column of a spline and both values of a two-valued number, and a spline by what lies between its knots and outside its bounds:
beside its own column it spans what is outside a bound, and close knots beside an indicator span what is between two thresholds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fedbayes.bayes.formulae.model_matrix import Codes, Numbers, cells, spline_basis, whole
from fedbayes.bayes.formulae.terms import Factor, Term, Terms, name_of
from fedbayes.federation.errors import DataProblem
from fedbayes.typing import Floats

from ..cox.narrow import few, is_narrow
from .columns import check_two_values


def check_arithmetic(values: Floats, name: str, minimum_count: int) -> None:
    """Raise `DataProblem` if few records carry an expression's values, (rows,), beside their median.

    Two expressions together can still be aimed at a record, which is why a node answers with them by its administrator's leave only.
    """
    check_two_values(values, name, minimum_count)
    if is_narrow((values - np.median(values))[:, None], minimum_count):
        raise DataProblem(
            f"feature '{name}' is carried by fewer records than this node reveals; write another expression, or leave it out"
        )


def check_spline(values: Floats, factor: Factor, minimum_count: int) -> None:
    """Raise `DataProblem` if few records are below or above a spline's bounds, between two of its knots, or carry one of its columns.

    Intervals at either end without any record are as if the knots there were not.
    """
    spline = factor.spline
    assert spline is not None
    outside, between = spline.parts(values)
    if few(outside, minimum_count) or np.any(np.trim_zeros(between) < minimum_count):
        raise DataProblem(
            f"feature '{factor.name}' has fewer records than this node reveals outside a bound or between two knots; take wider bounds or fewer knots"
        )
    if is_narrow(spline_basis(values, spline), minimum_count):
        raise DataProblem(
            f"feature '{factor.name}' has a column with fewer records than this node reveals; take fewer knots or a smaller df"
        )


def check_products(frame: Any, terms: Terms, factors: Mapping[str, Numbers | Codes], minimum_count: int) -> None:
    """Raise `DataProblem` naming a product of which few records carry a column, or have a combination of categories."""
    whole_factors = {name: spanned(frame, factor, factors[name]) for name, factor in terms.factors.items()}
    for term in terms.terms:
        if len(term) > 1 and _sets_apart(term, whole_factors, len(frame), minimum_count):
            raise DataProblem(
                f"feature '{name_of(term)}' has a combination of categories, or a column, with fewer records than this node reveals; "
                "leave it out, merge categories or take fewer knots"
            )


def spanned(frame: Any, factor: Factor, one: Numbers | Codes) -> Numbers | Codes:
    """Return a factor with all that it spans beside a constant: the whole basis of a spline, both values of a number that has two."""
    if isinstance(one, Codes):
        return one
    if factor.spline is not None:
        basis = spline_basis(frame[factor.columns[0]].to_numpy(dtype=np.float64), factor.spline)
        return Numbers(basis, tuple(str(place) for place in range(basis.shape[1])))
    kinds, codes = np.unique(one.values[:, 0], return_inverse=True)
    return Codes(np.asarray(codes, dtype=np.int_), ("0", "1")) if len(kinds) == 2 else one


def _sets_apart(term: Term, spanned: Mapping[str, Numbers | Codes], rows: int, minimum_count: int) -> bool:
    if few(cells(term, spanned), minimum_count):
        return True
    values = whole(term, spanned, rows)
    if few(np.count_nonzero(values, axis=0), minimum_count):
        return True
    return any(factor.spline is not None for factor in term) and is_narrow(values, minimum_count)
