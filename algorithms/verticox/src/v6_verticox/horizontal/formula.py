"""Design columns of a formula over whole records: their names and public bounds, and a station's values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from fedbayes.bayes.formulae.model_matrix import Codes, Numbers, matrix, spline_numbers
from fedbayes.bayes.formulae.terms import Factor, Term, Terms
from fedbayes.bayes.schema import Schema
from fedbayes.bayes.values.encoding import SchemaError
from fedbayes.typing import Array, Floats

Factors = dict[str, Numbers | Codes]


def entry_of(factor: Factor) -> str:
    """Return under which name the domain tells of a factor: its column, or the text of an expression."""
    return factor.name if factor.formula is not None else factor.columns[0]


def check_expressions(terms: Terms, domain: Schema) -> None:
    """Raise `SchemaError` for an expression, such as ``log(crp)``, of which the domain does not tell the bounds."""
    for factor in terms.factors.values():
        if factor.formula is not None and factor.name not in domain:
            example = json.dumps({factor.name: {"bounds": ["low", "high"]}}).replace('"low", "high"', "low, high")
            raise SchemaError(f"formula: give the bounds of '{factor.name}' in the domain, under its text: {example}")


@dataclass(frozen=True)
class Design:
    """A formula over public domains.

    Parameters
    ----------
    terms : Terms
    schema : Schema
        Of every column, and of every expression under its text.
    references : mapping of str to str
        Column with categories -> the one that is left out.
    """

    terms: Terms
    schema: Schema
    references: Mapping[str, str]

    def check(self) -> None:
        """Raise `SchemaError` where a factor and its entry of the domain contradict one another."""
        for factor in self.terms.factors.values():
            column = self.schema[entry_of(factor)]
            numeric = factor.spline is not None or factor.formula is not None
            if numeric and column.is_categorical:
                raise SchemaError(
                    f"formula: '{factor.name}' takes numbers; give the bounds of '{column.name}' in the domain"
                )
            if (factor.categorical or factor.reference) and not column.is_categorical:
                raise SchemaError(f"formula: '{factor.name}' needs the categories of '{column.name}' in the domain")
            if column.is_categorical and factor.reference not in (None, *column.keys):
                raise SchemaError(f"formula: the reference of '{factor.name}' is none of the categories in the domain")
        if len(set(self.labels)) < len(self.labels):
            raise SchemaError("formula: two design columns have one name; rename a column")

    def factors(self, values: Mapping[str, Any]) -> Factors:
        """Return the factors of `values`, (records,) by entry of the domain: codes of categories, numbers within their bounds; no gaps."""
        codes_of: Factors = {}
        for name, factor in self.terms.factors.items():
            column, own = self.schema[entry_of(factor)], values[entry_of(factor)]
            if factor.spline is not None:
                codes_of[name] = spline_numbers(factor, own)
            elif column.is_categorical:
                levels = self.levels(column.name)
                level_codes = np.array([levels.index(key) for key in column.keys], dtype=np.int_)
                codes_of[name] = Codes(level_codes[own], tuple(levels))
            else:
                codes_of[name] = Numbers(np.asarray(own, dtype=np.float64)[:, None], (name,))
        return codes_of

    def levels(self, column: str) -> list[str]:
        """Return the categories of a column, the reference first."""
        first = self.references[column]
        return [first, *(key for key in self.schema[column].keys if key != first)]

    def example(self) -> dict[str, Array]:
        """Return the columns of one record that is nobody's, of which names and shapes follow."""
        return {one.name: np.zeros(1, dtype=np.int_ if one.is_categorical else np.float64) for one in self.schema}

    @property
    def by_term(self) -> dict[str, list[str]]:
        """Names of each term's design columns."""
        columns = matrix(self.terms, self.factors(self.example()), 1)
        return {name: list(part.labels) for name, part in columns.items()}

    @property
    def labels(self) -> list[str]:
        """Names of the design columns."""
        return [label for part in self.by_term.values() for label in part]

    @property
    def spans(self) -> list[tuple[float, float]]:
        """(middle, half width) of every design column: a number's are those of its bounds, products lie around 0."""
        widths = zip(self.terms.terms, self.by_term.values(), strict=True)
        return [span for term, names in widths for span in [self._span(term)] * len(names)]

    def _span(self, term: Term) -> tuple[float, float]:
        bounds = [self.bounds(factor) for factor in term]
        if len(term) == 1 and self._is_number(term[0]):
            low, high = bounds[0]
            return (low + high) / 2.0, (high - low) / 2.0
        return 0.0, prod(max(abs(low), abs(high)) for low, high in bounds)

    def _is_number(self, factor: Factor) -> bool:
        return factor.spline is None and not self.schema[entry_of(factor)].is_categorical

    def bounds(self, factor: Factor) -> tuple[float, float]:
        """Return the public bounds of a factor's columns; 0 and 1 of indicators and of splines."""
        bounds = self.schema[entry_of(factor)].bounds
        return bounds if bounds is not None and self._is_number(factor) else (0.0, 1.0)

    def columns(self, values: Mapping[str, Any], records: int) -> Floats:
        """Return the design columns in units of half of their bounds' width, (records, columns)."""
        parts = matrix(self.terms, self.factors(values), records).values()
        middle, half = np.array(self.spans).T
        return np.asarray((np.concatenate([part.values for part in parts], axis=1) - middle) / half)
