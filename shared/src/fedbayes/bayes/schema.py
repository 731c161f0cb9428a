"""Public domains of columns: what is agreed before anybody looks at data.

A *domain* is public knowledge::

    {"sex": {"categories": ["female", "male"]}, "age": {"bounds": [17, 90]}}

An entry, or the domain as a whole, may say how a missing value is written: ``"missing": ["", "NA"]``.
How values are compared with it is told in :mod:`fedbayes.bayes.values.encoding`, what is missing in :mod:`fedbayes.bayes.values.missing`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..typing import Array, Floats
from .values.bin_edges import MAXIMUM_BINS, given_edges, logarithmic_edges
from .values.column_codes import categories, numbers, unknown_share, without
from .values.encoding import (
    Outside,
    SchemaError,
    canonical_text,
    check_missing,
    composed,
    equal_widths,
    with_aliases,
)
from .values.missing import MISSING, top_missing, without_top
from .values.names import nearest

__all__ = ["LARGEST_BOUND", "MAXIMUM_CATEGORIES", "Column", "Outside", "Schema", "SchemaError"]

MAXIMUM_CATEGORIES = 100_000  # of a column: codes of postcodes or diagnoses, not free text
LARGEST_BOUND = 1e100  # its square is still a finite float64
NARROWEST_RANGE = 2.0**-40  # of the larger bound: some 8,000 floats lie between
SMALLEST_RANGE = 1e-100  # so that squares of the range are floats
NEARLY_ALL = 0.9  # of a column's values: then domain and file do not mean the same


@dataclass(frozen=True)
class Column:
    """One column's public domain: categories or bounds, exactly one of the two.

    Parameters
    ----------
    name : str
    categories : tuple or None
        JSON scalars (text, number, truth value), in the order of their codes.
    bounds : (float, float) or None
        Finite, the lower one first; values outside are clipped or refused.
    missing : tuple
        Texts and numbers that stand for a missing value, besides the empty cell; what is among the categories is a value all the same.

    Raises
    ------
    SchemaError
        Naming the column and the remedy.
    """

    name: str
    categories: tuple[Any, ...] | None = None
    bounds: tuple[float, float] | None = None
    missing: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise SchemaError("a column of the domain has no name: give every column as text")
        if (self.categories is None) == (self.bounds is None):
            raise SchemaError(f"column {self.name!r}: give either categories or bounds, not both")
        if self.bounds is not None:
            low, high = self.bounds
            largest = max(abs(low), abs(high))
            if not (largest <= LARGEST_BOUND and low < high):
                raise SchemaError(
                    f"column {self.name!r}: bounds must be two finite numbers, the lower first, of at most {LARGEST_BOUND:g}"
                )
            if high - low < max(NARROWEST_RANGE * largest, SMALLEST_RANGE):
                raise SchemaError(
                    f"column {self.name!r}: bounds are so near one another that numbers between them cannot be told apart; "
                    "widen them, or measure the column from another zero"
                )
        elif not 1 <= len(self.keys) <= MAXIMUM_CATEGORIES:
            raise SchemaError(f"column {self.name!r}: give between 1 and {MAXIMUM_CATEGORIES} categories")

    @classmethod
    def from_json(cls, name: str, entry: object) -> Column:
        """Read ``{"categories": [...]}`` or ``{"bounds": [low, high]}``, with or without ``"missing": [...]``; SchemaError on anything else."""
        kinds = [key for key in entry if key != MISSING] if isinstance(entry, Mapping) else []
        if not isinstance(entry, Mapping) or kinds not in (["categories"], ["bounds"]):
            raise SchemaError(f'column {name!r}: give {{"categories": [...]}} or {{"bounds": [low, high]}}')
        key, values = kinds[0], entry[kinds[0]]
        missing = check_missing(name, entry.get(MISSING, []))
        if not isinstance(values, (list, tuple)):
            raise SchemaError(f"column {name!r}: {key} must be a list")
        if key == "categories":
            return cls(name, categories=tuple(values), missing=missing)
        if len(values) != 2 or any(isinstance(v, bool) or not isinstance(v, (int, float)) for v in values):
            raise SchemaError(f"column {name!r}: bounds must be two numbers [low, high]")
        try:
            return cls(name, bounds=(float(values[0]), float(values[1])), missing=missing)
        except OverflowError:
            raise SchemaError(f"column {name!r}: bounds must be finite numbers") from None

    def to_json(self) -> dict[str, list[Any]]:
        """Return the entry that :meth:`from_json` reads."""
        declared = {MISSING: list(self.missing)} if self.missing else {}
        if self.categories is not None:
            return {"categories": list(self.categories), **declared}
        return {"bounds": list(self.bounds or ()), **declared}

    @property
    def is_categorical(self) -> bool:
        """Whether the column has categories (else it has bounds)."""
        return self.categories is not None

    @property
    def cardinality(self) -> int:
        """Number of categories; an error for a numeric column."""
        return len(self.keys)

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Canonical texts of the categories, in the order of their codes."""
        if self.categories is None:
            raise SchemaError(f"column {self.name!r} is numeric here: give its categories in the domain")
        texts = []
        for category in self.categories:
            plain = isinstance(category, (str, int, bool)) or (isinstance(category, float) and math.isfinite(category))
            text = canonical_text(category) if plain else None
            if text is None:
                raise SchemaError(f"column {self.name!r}: categories must be text, numbers or truth values, none empty")
            texts.append(text)
        if len(set(texts)) < len(texts):
            raise SchemaError(
                f"column {self.name!r}: two of its categories are the same, or mean the same (1 and 1.0); leave one out"
            )
        return tuple(texts)

    @cached_property
    def codes(self) -> dict[str, int]:
        """Code of every accepted canonical text, aliases of truth values included."""
        return with_aliases({text: code for code, text in enumerate(self.keys)})

    def encode(self, values: Any, outside: Outside = "clip") -> Array:
        """Encode a column.

        Parameters
        ----------
        values : array or pandas.Series
            Shape (n,), any dtype.
        outside : {"clip", "refuse", "absorb"}
            What to do with a value outside the domain: ``clip`` moves a number to the nearer bound and makes
            an unknown category missing; ``refuse`` raises; ``absorb`` is ``clip`` that refuses no value whatever: what is no number
            in a column of numbers is missing too.

        Returns
        -------
        ndarray, shape (n,)
            int32 codes, -1 = missing, for categories; float64, NaN = missing, for numbers.

        Raises
        ------
        SchemaError
            Naming the column and the remedy.
        """
        if outside not in ("clip", "refuse", "absorb"):
            raise SchemaError('outside must be "clip", "refuse" or "absorb"')
        values = self.settled(values)
        if self.bounds is not None:
            return numbers(self.name, values, self.bounds, outside)
        return categories(self.name, values, self.codes, outside)

    def unknown_share(self, values: Any) -> float:
        """Return the share of a column's values, shape (n,), that are none of its categories, among those that are there; 0 for numbers."""
        return unknown_share(self.codes, self.settled(values)) if self.is_categorical else 0.0

    def settled(self, values: Any) -> Any:
        """Return a column, shape (n,), in which what the domain declares to be missing is."""
        if not self.missing:
            return values
        declared = {text for text in map(canonical_text, self.missing) if text is not None}
        return without(values, frozenset(declared.difference(self.keys if self.is_categorical else ())))

    def edges(self, bins: int | Sequence[float] | Mapping[str, float]) -> Floats:
        """Return public bin edges: ``bins`` equal widths over the bounds, the given edges and the bounds, or a logarithmic scale.

        Parameters
        ----------
        bins : int, sequence of float or mapping
            ``{"log": k}`` makes k bins of equal widths in log(1 + distance from the low bound / unit), for columns that are mostly small and seldom
            large; ``{"log": k, "unit": u}`` where one is not what small means.

        Returns
        -------
        ndarray, float64, shape (number of bins + 1,), increasing; bins are ``[low, high)``, the last closed.

        Raises
        ------
        SchemaError
            A column with categories, or bins that are no number or no increasing edges.
        """
        if self.bounds is None:
            raise SchemaError(f"column {self.name!r} has categories: bins are for numeric columns")
        if isinstance(bins, (int, np.integer)) and not isinstance(bins, bool):
            if not 1 <= bins <= MAXIMUM_BINS:
                raise SchemaError(f"column {self.name!r}: bins must be between 1 and {MAXIMUM_BINS}")
            return equal_widths(*self.bounds, int(bins))
        return given_edges(self.name, self.bounds, logarithmic_edges(self.name, self.bounds, bins))


@dataclass(frozen=True)
class Schema:
    """The public domains of a table's columns, in a fixed order."""

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.columns):
            raise SchemaError("the domain names a column twice")

    @classmethod
    def from_domain(cls, domain: object) -> Schema:
        """Read a domain ``{column: {"categories": [...]} | {"bounds": [low, high]}}``, with or without ``"missing": [...]`` at its top.

        Raises
        ------
        SchemaError
            Naming the column and the remedy.
        """
        if not isinstance(domain, Mapping) or not domain:
            raise SchemaError(
                'domain must name columns: {"column": {"categories": [...]} or {"bounds": [low, high]}, ...}'
            )
        check_missing(MISSING, top_missing(domain))
        return cls(tuple(Column.from_json(name, entry) for name, entry in without_top(domain).items()))

    def to_domain(self) -> dict[str, dict[str, list[Any]]]:
        """Return the domain that :meth:`from_domain` reads; JSON."""
        return {column.name: column.to_json() for column in self.columns}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise SchemaError(
            f"column {name!r} is not in the domain{nearest(name, self.names)}: add its categories or bounds"
        )

    def select(self, names: Iterable[str]) -> Schema:
        """Return the schema of these columns, in this order; SchemaError names one that is unknown."""
        return Schema(tuple(self[name] for name in names))

    def refuse_unknown(self, frame: Any) -> None:
        """Raise SchemaError, naming the column, where nine in ten of a column's values, or all, are none of its categories.

        Other spellings of the categories, or another column's, would else pass as missing values without a word.
        """
        for column in self.columns:
            if column.name in frame and column.unknown_share(frame[column.name]) >= NEARLY_ALL:
                raise SchemaError(
                    f"column {column.name!r} holds hardly any of the categories of its domain: correct the categories as the "
                    "table writes them, or the column's name"
                )

    def encode(self, frame: Any, outside: Outside = "clip") -> dict[str, Array]:
        """Encode every column of the schema (see :meth:`Column.encode`); other columns are left alone."""
        own = {composed(name): name for name in frame if isinstance(name, str)}
        written = {name: name if name in frame else own.get(composed(name)) for name in self.names}
        for name, there in written.items():
            if there is None:
                raise SchemaError(f"column {name!r} is not in the table: correct the name or the file")
        return {column.name: column.encode(frame[written[column.name]], outside) for column in self.columns}
