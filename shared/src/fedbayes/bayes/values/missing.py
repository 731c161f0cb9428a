"""Which cells of a table are missing, and which columns stay text: one rule for every kind of file.

An empty cell is missing. A text that the domain lists is a value, whatever it is. What a domain or a node's schema file declares (``"missing": ["NA", "-9"]``)
is missing. In a column that holds numbers apart from them, the usual texts (`USUAL`) are missing too, because a few of them would else turn
numbers into text. Everywhere else they are values: ``None`` and ``NA`` are common names of categories.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...typing import Integers
from .column_codes import distinct_values, nearest_floats
from .encoding import SchemaError, canonical_text, check_missing, composed, number_of, parsed_numbers, written_as
from .written import are_mixed, as_nullable, dates_as_text, decimals, inexact, masked, pointed

MISSING = "missing"
USUAL = frozenset({"NA", "NaN", "nan", "null", "N/A", "NULL", "None"})
"""Texts that mean "missing" among numbers."""
TRUTH = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}
"""Texts that are truth values in a column of nothing else."""
NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Rule:
    """What is known about the cells of one column.

    Attributes
    ----------
    text : bool
        Whether the column keeps its text, as it is written.
    comma : bool
        Whether a comma in a number is a decimal comma.
    closed : bool
        Whether the task gives the categories: then no cell decides how another is read.
    numeric : bool
        Whether the domain gives bounds: the column holds numbers, even if none is there.
    alone, identifier : bool
        Whether nothing says what the column holds, and yet no cell decides how another is read; or it is of identifiers, and 0,5 is 0.5 whatever else is in it.
    apart : bool
        Whether every cell is read by itself, and takes as long as any other: how long an answer took would else tell of one odd cell.
    rewritten : bool
        Whether the task looks at texts in a column of numbers, as a recode does.
    listed, missing : frozenset of str
        Canonical texts that are values, and that are declared to be missing.
    """

    text: bool = False
    numeric: bool = False
    listed: frozenset[str] = frozenset()
    missing: frozenset[str] = frozenset()
    comma: bool = False
    closed: bool = False
    alone: bool = False
    apart: bool = False
    rewritten: bool = False
    identifier: bool = False

    @property
    def absorbs(self) -> bool:
        """Whether what is no number is missing at once: a column of numbers of which every cell is read by itself."""
        return self.apart and self.numeric and not self.text and not self.rewritten

    @property
    def points(self) -> bool:
        """Whether decimal commas are told from others."""
        return self.comma and (self.alone or self.identifier or self.closed or not self.text)

    def is_missing(self, value: object) -> bool:
        """Return whether a cell is missing whatever else is in its column."""
        text = canonical_text(value)
        return text is None or (text in self.missing and text not in self.listed)

    def is_usual(self, value: object) -> bool:
        """Return whether a cell is missing in a column of numbers."""
        return isinstance(value, str) and value.strip() in USUAL and canonical_text(value) not in self.listed

    def drops_usual(self, numbers: bool) -> bool:
        """Return whether the usual texts are missing in a column that holds numbers apart from them, or does not.

        Where the domain says whether they are numbers it alone decides, not what else is there.
        """
        if self.numeric or not self.closed:
            return self.numeric or (numbers and not self.alone)
        return all(number_of(text) is not None for text in self.listed)

    def number(self, value: object) -> object:
        """Return what is to be read as a number of a cell of a column that absorbs; None where it is declared to be missing."""
        written = pointed(value) if self.comma and isinstance(value, str) else value
        return None if self.missing and self.is_missing(written) else written

    def pointed(self, value: str) -> str:
        """Return a cell with a decimal point, but where categories are given only if it is among what is known so, and not as it is written."""
        new = pointed(value)
        if not self.closed or new == value:
            return new
        understood = self.listed | self.missing
        return new if canonical_text(new) in understood and canonical_text(value) not in understood else value


@dataclass(frozen=True)
class Reading:
    """How a table is to be read: the task's domain, the node's own schema file, columns of identifiers.

    Attributes
    ----------
    domain : mapping
        Of the task: ``{column: {"categories": [...]} or {"bounds": [low, high]}}``, each with an optional ``"missing"``; may lack columns.
    schema : mapping
        Of the node, alike; its top may declare ``"missing"`` for all columns.
    identifiers : collection of str
        Columns that keep their text, but for a decimal comma: ``00257`` is not 257. What the task's top declares to be missing is none of them.
    typed : collection of str
        Columns that do not, whatever else says so: preprocessing compares them with numbers.
    comma : bool
        Whether the table is a file in which a comma in a number is a decimal comma.
    measured : collection of str
        Columns whose size alone matters: a dictionary computes others from them, or cuts them.
    alone : bool
        Whether every cell is read by itself, also in columns of which nothing says what they hold: noise that is for one row covers nothing else. These keep
        their text.
    rewritten : collection of str
        Columns of which the task's dictionary looks at texts.
    """

    domain: Mapping[str, Any] = field(default_factory=dict)
    schema: Mapping[str, Any] = field(default_factory=dict)
    identifiers: Collection[str] = ()
    typed: Collection[str] = ()
    comma: bool = False
    measured: Collection[str] = ()
    alone: bool = False
    rewritten: Collection[str] = ()

    def rule(self, column: str) -> Rule:
        """Return the rule of one column.

        Raises
        ------
        SchemaError
            If what is declared cannot be read.
        """
        column = composed(column)
        entry, own = _entry(self.domain, column), _entry(self.schema, column)
        declaring = entry if "categories" in entry or "bounds" in entry else own
        categories = declaring.get("categories")
        categories = categories if isinstance(categories, list | tuple) else ()
        listed = frozenset(text for text in map(canonical_text, categories) if text is not None)
        rewritten, identifier = column in self.rewritten, column in self.identifiers
        common = [] if identifier else top_missing(self.domain)  # else a task tries whether somebody is here
        declared = [*common, *top_missing(self.schema), *_declared(entry), *_declared(own)]
        missing = frozenset(text for text in map(canonical_text, check_missing(column, declared)) if text is not None)
        # A text category may look like a number (`Infinity`, `007`): what it was typed as would not read back as it was written.
        named = any(isinstance(value, str) for value in categories)
        texts = identifier or (named and (declaring is entry or not listed.isdisjoint(USUAL)))
        numeric = "bounds" in declaring and not identifier
        closed = bool(listed) and declaring is entry and column not in self.typed
        alone = self.alone and not numeric and not closed and not identifier
        text = alone or (texts and column not in self.typed)
        return Rule(text, numeric, listed, missing, self.comma, closed, alone, self.alone, rewritten, identifier)


def top_missing(domain: Mapping[str, Any]) -> list[Any]:
    """Return what a domain or schema file declares for all columns; a column of the name ``missing`` is none of it."""
    declared = domain.get(MISSING, [])
    return list(declared) if isinstance(declared, list | tuple) else []


def without_top(domain: Mapping[str, Any]) -> dict[str, Any]:
    """Return a domain in which every column has what the top declares to be missing."""
    common = top_missing(domain)
    columns = {name: entry for name, entry in domain.items() if name != MISSING or isinstance(entry, Mapping)}
    if not common:
        return columns
    return {
        name: {**entry, MISSING: [*common, *_declared(entry)]} if isinstance(entry, Mapping) else entry
        for name, entry in columns.items()
    }


def public_part(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the domains of a node's schema file, without how this node writes what is missing."""
    columns = {
        name: {key: value for key, value in entry.items() if key != MISSING} if isinstance(entry, Mapping) else entry
        for name, entry in schema.items()
        if name != MISSING or isinstance(entry, Mapping)
    }
    return {name: entry for name, entry in columns.items() if entry != {}}


def _entry(domain: Mapping[str, Any], column: str) -> Mapping[str, Any]:
    entry = domain.get(column)
    return entry if isinstance(entry, Mapping) else NOTHING


def _declared(entry: Mapping[str, Any]) -> list[Any]:
    declared = entry.get(MISSING, [])
    if not isinstance(declared, list | tuple):
        raise SchemaError(f'{MISSING} must be a list of texts, like ["", "NA"]')
    return list(declared)


def settle(column: Any, rule: Rule, convert: bool) -> Any:
    """Return a column of a data frame in which every missing cell is one, letters are composed, and dates are text as a CSV file has them.

    Parameters
    ----------
    column : pandas.Series
        Shape (n,), as its file was read.
    rule : Rule
        Of the column.
    convert : bool
        Whether a column of texts that are all numbers becomes one of numbers: in files that do not tell numbers from text.

    Returns
    -------
    pandas.Series
        Shape (n,).
    """
    import pandas

    column = decimals(column)
    if getattr(column.dtype, "kind", "O") in "biuf" and not rule.missing:
        return column
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iuf":
        lost = written_as(column.to_numpy(), rule.missing - rule.listed)
        return masked(column, lost) if lost.any() else column
    if isinstance(column.dtype, pandas.CategoricalDtype) or column.dtype.kind in "mM":
        column = column.astype(object)
    codes, values = distinct_values(column)
    if not rule.absorbs:
        return _settled(column, codes, values, rule, convert)
    read = np.append(nearest_floats(map(rule.number, values)), np.nan)[codes]
    return pandas.Series(read, column.index, name=column.name)


def _settled(column: Any, codes: Integers, written: list[Any], rule: Rule, convert: bool) -> Any:
    """Return a column, given with its distinct values and the place of each cell among them, as `settle` does."""
    import pandas

    values = [composed(value) if isinstance(value, str) else value for value in dates_as_text(written)]
    values = _with_points(values, rule) if rule.points else values
    if any(new is not old for new, old in zip(values, written, strict=True)):
        column = pandas.Series(np.array([*values, None], dtype=object)[codes], column.index, name=column.name)
    gone = np.array([rule.is_missing(value) for value in values], dtype=np.bool_)
    numeric = _are_numbers([value for value, lost in zip(values, gone, strict=True) if not lost], rule)
    if rule.drops_usual(numeric):
        gone |= np.array([rule.is_usual(value) for value in values], dtype=np.bool_)
    if gone.any():
        column = column.mask(np.append(gone, False)[codes])
    if rule.text or not (convert or are_mixed(values)):
        return column
    if numeric or gone.all():
        return _as_numbers(column, rule, not convert)
    rest = [value for value, lost in zip(values, gone, strict=True) if not lost]
    truths = all(isinstance(value, (str, bool, np.bool_)) and str(value) in TRUTH for value in rest)
    return (column.map(lambda value: TRUTH.get(str(value), value)) if truths else column).infer_objects()


def _with_points(values: list[Any], rule: Rule) -> list[Any]:
    """Return distinct values with decimal points; as they are in a column that is no numbers for all that."""
    points = [rule.pointed(value) if isinstance(value, str) else value for value in values]
    present = [value for value in points if not rule.is_missing(value)]
    whatever_else = rule.numeric or rule.closed or rule.alone or rule.identifier
    return points if whatever_else or _are_numbers(present, rule) else values


def _as_numbers(column: Any, rule: Rule, fractions: bool) -> Any:
    """Return texts, or numbers of which some have `fractions`, as int64, float64, or Int64 where whole ones that float64 cannot tell apart stand beside gaps.

    Where categories are given, or the task looks at texts, cells that would become float64 and lose digits stay as they are: one with a fraction would else
    change the others.
    """
    present = parsed_numbers(column.dropna())
    if fractions or present.dtype.kind == "f":
        kept = (rule.closed or rule.rewritten) and inexact(present)
        return column if kept else column.map(number_of).astype(np.float64)
    if len(present) == len(column) or present.dtype.kind not in "iu" or not inexact(present):
        return parsed_numbers(column)
    return as_nullable(present).reindex(column.index)


def _are_numbers(values: list[Any], rule: Rule) -> bool:
    """Return whether these distinct values are numbers apart from the usual texts (`rule.numeric`: even if none is left)."""
    import pandas

    rest = [value for value in values if not rule.is_usual(value)]
    if any(isinstance(value, (bool, np.bool_)) for value in rest):
        return False
    read = parsed_numbers if rule.numeric else pandas.to_numeric  # else long codes keep all their digits, as texts
    try:
        read(pandas.Series(rest, dtype=object))
    except (ValueError, TypeError):
        return False
    return rule.numeric or bool(rest)
