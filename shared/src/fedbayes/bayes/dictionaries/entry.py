"""What a data dictionary says of one column, and how that is read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..formulae.formula import Formula, as_numbers, read_formula
from ..schema import Column
from ..values.bin_edges import MAXIMUM_BINS
from ..values.encoding import SchemaError, canonical_text, check_missing, is_number
from ..values.missing import MISSING, Rule

CATEGORY, NUMBER, INTEGER, IDENTIFIER = "category", "number", "integer", "identifier"
TYPES = (CATEGORY, NUMBER, INTEGER, IDENTIFIER)
LARGEST = 10_000
"""Most columns of a dictionary, and most recodes of a column."""
TEXTS = ("label", "description", "unit")
APPLIED = ("type", "categories", "bounds", MISSING, "recode", "derive", "cut", "reference")
ENTRIES = (*APPLIED, *TEXTS, "bins", "looked_at")


@dataclass(frozen=True)
class Cut:
    """A category for every interval of a number: below the first point, from it to below the next, ..."""

    column: str
    at: tuple[float, ...]
    categories: tuple[Any, ...]


@dataclass(frozen=True)
class Entry:
    """What a dictionary says of one column.

    Attributes
    ----------
    name, type : str
        Its name, and one of `TYPES`.
    categories : tuple or None
        Values in their order.
    labels : dict of str to str
        Canonical text of a category -> what people read.
    bounds : (float, float) or None
    missing : tuple
        Codes that stand for a missing value.
    recode : dict of str to object
        Canonical text of what a table may hold -> the value meant.
    reference : object
        The category that others are compared with.
    bins : int, tuple of float or None
    formula : Formula or None
        By which the column is derived.
    cut : Cut or None
        By which its categories are derived.
    looked_at : bool
        Whether somebody looked at data for it: then it is not public.
    texts : dict of str to str
        ``label``, ``description``, ``unit``.
    """

    name: str
    type: str
    categories: tuple[Any, ...] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    bounds: tuple[float, float] | None = None
    missing: tuple[Any, ...] = ()
    recode: Mapping[str, Any] = field(default_factory=dict)
    reference: Any = None
    bins: int | tuple[float, ...] | None = None
    formula: Formula | None = None
    cut: Cut | None = None
    looked_at: bool = False
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_number(self) -> bool:
        """Whether its values are numbers: what is none, when it is recoded, is missing."""
        return self.type in (NUMBER, INTEGER)

    @property
    def is_derived(self) -> bool:
        """Whether the column is made of others."""
        return self.formula is not None or self.cut is not None

    @property
    def sources(self) -> tuple[str, ...]:
        """Columns of the table that it is made of; itself if it is not derived."""
        if self.formula is not None:
            return self.formula.columns
        return (self.name,) if self.cut is None else (self.cut.column,)

    def to_domain(self) -> dict[str, Any] | None:
        """Return its entry in a domain, or None if it has neither categories nor bounds."""
        declared = {MISSING: list(self.missing)} if self.missing else {}
        if self.categories is not None:
            return {"categories": list(self.categories), **declared}
        return None if self.bounds is None else {"bounds": list(self.bounds), **declared}

    def reading(self) -> dict[str, Any]:
        """Return the entry by which a table's cells are read: what is recoded is a value too."""
        if self.type == CATEGORY:
            categories = [*(self.categories or ()), *self.recode]
            return {**({"categories": categories} if categories else {}), MISSING: list(self.missing)}
        numeric = {} if self.type == IDENTIFIER else {"bounds": [0, 1]}
        return {**numeric, MISSING: list(self.missing)}

    def recoded(self, rule: Rule) -> dict[str, Any]:
        """Return what is recoded of a column that is read by a rule: not what is missing before it among numbers."""
        return {text: new for text, new in self.recode.items() if not (rule.numeric and rule.is_usual(text))}

    def known(self, given: object, missing: frozenset[str]) -> frozenset[str]:
        """Return the canonical texts that are values of this recoded column, none if all are: that some are recoded makes no other unknown.

        Parameters
        ----------
        given : object
            The column's entry in the task's domain, which says what is known where this one does not.
        missing : frozenset of str
            Canonical texts that are missing, also where they are recoded.
        """
        beside = given.get("categories") if isinstance(given, Mapping) else None
        categories = beside if self.categories is None else self.categories
        if not isinstance(categories, list | tuple):
            return frozenset()
        return (
            frozenset(text for text in map(canonical_text, (*categories, *self.recode)) if text is not None) - missing
        )

    def applied(self) -> dict[str, Any]:
        """Return the part that is applied at a station."""
        content: dict[str, Any] = {"type": self.type}
        content |= self.to_domain() or ({MISSING: list(self.missing)} if self.missing else {})
        if self.recode:
            content["recode"] = dict(self.recode)
        if self.formula is not None:
            content["derive"] = self.formula.text
        if self.cut is not None:
            content["cut"] = {"column": self.cut.column, "at": list(self.cut.at)}
        if self.reference is not None:
            content["reference"] = self.reference
        return content


def read_entry(name: str, content: object) -> Entry:
    """Read the entry of a column.

    Raises
    ------
    SchemaError
        Naming the column and the remedy.
    """
    if not isinstance(content, Mapping):
        raise SchemaError(f"column {name!r}: give an object, like {{type: number, bounds: [0, 10]}}")
    unknown = [str(key) for key in content if key not in ENTRIES]
    if unknown:
        raise SchemaError(f"column {name!r}: {unknown[0][:60]!r} is unknown; it has {', '.join(ENTRIES)}")
    kind = content.get("type") or (CATEGORY if "categories" in content else NUMBER if "bounds" in content else None)
    if kind not in TYPES:
        raise SchemaError(f"column {name!r}: type must be one of {', '.join(TYPES)}")
    categories, labels = _categories(name, content.get("categories"))
    domain = {"categories": list(categories)} if categories is not None else {}
    domain |= {"bounds": content["bounds"]} if content.get("bounds") is not None else {}
    _check_kind(name, kind, domain)
    column = Column.from_json(name, domain) if domain else None
    entry = Entry(
        name,
        kind,
        categories,
        labels,
        None if column is None else column.bounds,
        check_missing(name, content.get(MISSING, [])),
        _recode(name, content.get("recode"), column),
        _reference(name, content.get("reference"), column),
        _bins(name, content.get("bins"), column),
        None if content.get("derive") is None else read_formula(f"column {name!r}: derive", content["derive"]),
        _cut(name, content.get("cut"), categories),
        _flag(name, content.get("looked_at")),
        {key: str(content[key]) for key in TEXTS if content.get(key) is not None},
    )
    if entry.recode and kind == IDENTIFIER:
        raise SchemaError(
            f"column {name!r}: identifiers are compared as they are written; leave recode out, or change the type"
        )
    if kind in (NUMBER, INTEGER) and not np.isfinite(as_numbers(list(entry.recode.values()))).all():
        raise SchemaError(
            f"column {name!r} of type {kind}: recode leads to something that is no number; list codes that stand for a missing value under {MISSING}"
        )
    if entry.formula is not None and (entry.cut is not None or kind == IDENTIFIER):
        raise SchemaError(f"column {name!r}: give either derive or cut, and of no identifier")
    return entry


def _check_kind(name: str, kind: str, domain: Mapping[str, Any]) -> None:
    wrong = {CATEGORY: "bounds", IDENTIFIER: "bounds"}.get(kind, "categories")
    if wrong in domain or (kind == IDENTIFIER and domain):
        raise SchemaError(
            f"column {name!r} of type {kind} has no {wrong if wrong in domain else 'categories'}; change its type"
        )


def _categories(name: str, content: object) -> tuple[tuple[Any, ...] | None, dict[str, str]]:
    if content is None:
        return None, {}
    if isinstance(content, Mapping):
        return tuple(content), {canonical_text(value) or "": str(label) for value, label in content.items()}
    if not isinstance(content, list | tuple):
        raise SchemaError(f"column {name!r}: categories must be a list, or an object {{category: label}}")
    return tuple(content), {}


def _recode(name: str, content: object, column: Column | None) -> dict[str, Any]:
    if content is None:
        return {}
    if not isinstance(content, Mapping) or len(content) > LARGEST:
        raise SchemaError(
            f"column {name!r}: recode must be an object of at most {LARGEST:,} values, like {{M: male, F: female}}"
        )
    recoded: dict[str, Any] = {}
    for old, new in content.items():
        text = canonical_text(old)
        if text is None or text in recoded or isinstance(new, dict | list) or canonical_text(new) is None:
            raise SchemaError(f"column {name!r}: recode maps one text or number to another, each once")
        recoded[text] = new
    if column is not None and column.is_categorical:
        if not {canonical_text(new) for new in recoded.values()} <= set(column.keys):
            raise SchemaError(f"column {name!r}: recode leads to something that is not among its categories")
        if any(text in column.keys and canonical_text(new) != text for text, new in recoded.items()):
            raise SchemaError(f"column {name!r}: recode renames one of its categories; leave that out")
    return recoded


def _reference(name: str, category: Any, column: Column | None) -> Any:
    if category is None:
        return None
    if column is None or not column.is_categorical or canonical_text(category) not in column.keys:
        raise SchemaError(f"column {name!r}: reference must be one of its categories")
    return category


def _bins(name: str, content: Any, column: Column | None) -> int | tuple[float, ...] | None:
    if content is None:
        return None
    if column is None or column.bounds is None:
        raise SchemaError(f"column {name!r}: bins need bounds")
    edges = column.edges(content)
    if isinstance(content, int):
        return int(content)
    return tuple(float(edge) for edge in (edges[1:-1] if isinstance(content, Mapping) else content))


def _cut(name: str, content: Any, categories: tuple[Any, ...] | None) -> Cut | None:
    if content is None:
        return None
    at = content.get("at") if isinstance(content, Mapping) and set(content) == {"column", "at"} else None
    numbers = isinstance(at, list | tuple) and all(map(is_number, at))
    if not numbers or not isinstance(content["column"], str) or not 0 < len(at or ()) <= MAXIMUM_BINS:
        raise SchemaError(f"column {name!r}: give cut as {{column: age, at: [40, 65]}}")
    points = np.asarray(at, dtype=np.float64)
    if not bool((np.diff(points) > 0).all()):
        raise SchemaError(f"column {name!r}: the points of cut must increase")
    if categories is None or len(categories) != len(points) + 1:
        raise SchemaError(f"column {name!r}: cut needs one category more than points, the lowest first")
    return Cut(content["column"], tuple(float(point) for point in points), categories)


def _flag(name: str, content: object) -> bool:
    if content is None or isinstance(content, bool):
        return bool(content)
    raise SchemaError(f"column {name!r}: looked_at must be true or false")
