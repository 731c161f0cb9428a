"""Terms of model formulae over the columns of a table; `term_reader.read_terms` reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from keyword import iskeyword
from typing import Any

import numpy as np

from ...typing import Counts, Floats
from ..values.encoding import SchemaError, canonical_text
from .formula import Formula

CLOSEST, SMALLEST_STEP = 1e-9, 1e-100  # between two knots: as a part of the range, and at all


@dataclass(frozen=True)
class Spline:
    """A B-spline basis without its first column, as patsy's ``bs``: `df` columns of a degree, inner knots, and bounds (None: not told yet).

    Without `knots` these are at equal distances between the bounds: they are public, never quantiles of data.
    """

    df: int
    degree: int
    knots: tuple[float, ...] | None
    low: float | None
    high: float | None

    @property
    def edges(self) -> tuple[float, ...]:
        """Lower bound, inner knots and upper bound, once the bounds are told."""
        assert self.low is not None
        assert self.high is not None
        low, high, count = self.low, self.high, self.df - self.degree
        even = tuple(low + (high - low) * index / (count + 1) for index in range(1, count + 1))
        return low, *(even if self.knots is None else self.knots), high

    def parts(self, values: Floats) -> tuple[Counts, Counts]:
        """Return how many values are below and above the bounds, (2,), and between neighbouring edges, those outside at the nearer bound."""
        low, *_, high = self.edges
        outside = np.array([np.sum(values < low), np.sum(values > high)], dtype=np.int64)
        return outside, np.histogram(np.clip(values, low, high), np.array(self.edges))[0].astype(np.int64)


@dataclass(frozen=True)
class Factor:
    """A factor of a term.

    Attributes
    ----------
    name : str
        What coefficients call it.
    columns : tuple of str
        Columns of the table that it is made of.
    categorical : bool
        Whether it was written as C(...); a plain column of text is categorical too.
    reference : str or None
        Canonical text of the category that is left out.
    spline : Spline or None
    formula : Formula or None
    """

    name: str
    columns: tuple[str, ...]
    categorical: bool = False
    reference: str | None = None
    spline: Spline | None = None
    formula: Formula | None = field(default=None, compare=False)  # the name is its text

    @property
    def text(self) -> str:
        """The factor, written so that it is read as the same again."""
        if self.formula is not None:
            return self.name
        column = in_formula(self.columns[0])
        if self.spline is not None:
            return spline_text(column, self.spline, True)
        reference = "" if self.reference is None else f", reference={self.reference!r}"
        return f"C({column}{reference})" if self.categorical else column


Term = tuple[Factor, ...]


@dataclass(frozen=True)
class Terms:
    """The terms of a formula, by the number of their factors.

    Attributes
    ----------
    terms : tuple of Term
    """

    terms: tuple[Term, ...]

    @property
    def factors(self) -> dict[str, Factor]:
        """Name -> factor, each once."""
        return {factor.name: factor for term in self.terms for factor in term}

    @property
    def columns(self) -> list[str]:
        """Columns of the table, each once."""
        return list(dict.fromkeys(name for factor in self.factors.values() for name in factor.columns))

    @property
    def names(self) -> list[str]:
        """Names of the terms."""
        return [name_of(term) for term in self.terms]

    @property
    def has_formula(self) -> bool:
        """Whether a factor is arithmetic: what a researcher could aim at single rows."""
        return bool(self.derived_from)

    @property
    def derived_from(self) -> list[str]:
        """Columns of the table that arithmetic takes, each once."""
        taken = (factor.columns for factor in self.factors.values() if factor.formula is not None)
        return list(dict.fromkeys(name for columns in taken for name in columns))

    @property
    def text(self) -> str:
        """The formula, written so that it is read as the same again."""
        return "~ " + " + ".join(":".join(factor.text for factor in term) for term in self.terms)

    def among(self, columns: set[str]) -> Terms:
        """Return the terms all of whose columns are among these."""
        return Terms(tuple(t for t in self.terms if all(set(factor.columns) <= columns for factor in t)))

    def with_dictionary(self, entries: Mapping[str, Mapping[str, Any]]) -> Terms:
        """Return the terms with the references and bounds that a dictionary (column -> entry, as JSON) tells and the formula leaves open."""
        return Terms(tuple(tuple(_completed(factor, entries) for factor in term) for term in self.terms))


def in_formula(column: str) -> str:
    """Return a column as a formula writes it: in backticks unless it is a plain word, which Python's grammar reads as it is."""
    plain = column.isidentifier() and column.isascii() and not iskeyword(column)
    return column if plain else f"`{column}`"


def name_of(term: Term) -> str:
    """Return the name of a term."""
    return ":".join(factor.name for factor in term)


def _completed(factor: Factor, entries: Mapping[str, Mapping[str, Any]]) -> Factor:
    entry = entries.get(factor.columns[0]) if factor.formula is None else None
    spline = factor.spline
    if spline is None:
        if entry is None or factor.reference is not None or entry.get("reference") is None:
            return factor
        return replace(factor, categorical=True, reference=canonical_text(entry["reference"]))
    if entry is not None and entry.get("bounds"):
        low, high = entry["bounds"]
        low = float(low) if spline.low is None else spline.low
        high = float(high) if spline.high is None else spline.high
        spline = replace(spline, low=low, high=high)
    if spline.low is None or spline.high is None:
        raise SchemaError(
            f"formula: {factor.name} needs public bounds; give them in the data dictionary, or as lower_bound= and upper_bound="
        )
    return replace(factor, spline=checked_spline(factor.name, spline))


def checked_spline(name: str, spline: Spline) -> Spline:
    """Return a spline; `SchemaError` where its bounds and knots are in no order."""
    least = max((spline.edges[-1] - spline.edges[0]) * CLOSEST, SMALLEST_STEP)
    if any(later - earlier < least for earlier, later in pairwise(spline.edges)):
        raise SchemaError(
            f"formula: {name}: the lower bound, the knots and the upper bound must increase, by steps that can be told apart; give the column in other units, "
            "or take fewer knots"
        )
    return spline


def spline_text(column: str, spline: Spline, bounds: bool) -> str:
    """Return a spline as it is written, with its bounds or without."""
    parts = [column, f"df={spline.df}"]
    parts += [f"degree={spline.degree}"] if spline.degree != 3 else []
    parts += [f"knots={list(spline.knots)}"] if spline.knots is not None else []
    if bounds and spline.low is not None and spline.high is not None:
        parts += [f"lower_bound={spline.low!r}", f"upper_bound={spline.high!r}"]
    return f"bs({', '.join(parts)})"
