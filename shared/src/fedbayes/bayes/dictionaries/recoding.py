"""A table as its dictionary means it: recodes, derived columns and the subset, row by row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...typing import Array, Booleans
from ..formulae.formula import as_numbers, each
from ..values.encoding import canonical_text
from .dictionary import Dictionary
from .entry import CATEGORY, IDENTIFIER, Entry


def applied(
    table: Mapping[str, Any], columns: Sequence[str], dictionary: Dictionary, rows: int
) -> tuple[dict[str, Any], Booleans | None]:
    """Return columns as a dictionary means them, and which rows belong to the study.

    Parameters
    ----------
    table : mapping of str to array
        At least ``dictionary.sources(columns)``, shape (rows,) each; missing codes are missing already.
    columns : sequence of str
        What is wanted.
    dictionary : Dictionary
        Of the study.
    rows : int
        Rows of the table.

    Returns
    -------
    columns : dict of str to array
        Shape (rows,) each, all rows; a column that the dictionary does not change is the table's own.
    kept : ndarray of bool, shape (rows,), or None
        None: all.
    """
    sources = {name: _recoded(table[name], dictionary.columns.get(name)) for name in dictionary.sources(columns)}
    made = {name: _made(sources, dictionary.columns.get(name), name, rows) for name in columns}
    kept = None if dictionary.subset is None else dictionary.subset.values(sources, rows) == 1.0
    return made, kept


def named_values(table: Mapping[str, Any], dictionary: Dictionary) -> int:
    """Return how many values a recode names of a column in which, or in what it names, most rows differ: it says then which rows go together.

    Parameters
    ----------
    table : mapping of str to array
        Columns as they are before recodes, shape (rows,) each.
    dictionary : Dictionary
        Of the study.

    Returns
    -------
    int
        The largest number over the columns; 0 where recodes name groups of rows.
    """
    recodes = {name: dictionary.columns[name].recode for name in table if name in dictionary.columns}
    return max((_named(table[name], recode) for name, recode in recodes.items() if recode), default=0)


def _named(values: Any, recode: Mapping[str, Any]) -> int:
    texts = Counter(each(values, canonical_text))
    hit = [texts[text] for text in recode if text in texts]
    return len(hit) if 2 * len(hit) > sum(hit) or 2 * len(texts) > texts.total() else 0


def _recoded(values: Any, entry: Entry | None) -> Any:
    """Return a column of the table with its recodes applied, and in the type that the dictionary gives it."""
    if entry is None or entry.is_derived or entry.type == IDENTIFIER:
        return values
    if entry.type == CATEGORY:
        return _category(values, entry)
    if not entry.recode:
        return values
    return as_numbers(np.array(each(values, lambda value: _replaced(value, entry)), dtype=object))


def _category(values: Any, entry: Entry) -> Array:
    """Return texts, None = missing: also of coded integers, so that nobody takes them for numbers."""
    category_of = {canonical_text(category): category for category in entry.categories or ()}

    def text(value: Any) -> str | None:
        new = _replaced(value, entry)
        key = canonical_text(new)
        category = category_of.get(key, new)
        return category if isinstance(category, str) or key is None else key

    return np.array([None if value is None else value for value in each(values, text)] or [], dtype=object)


def _replaced(value: Any, entry: Entry) -> Any:
    text = canonical_text(value)
    return None if text is None else entry.recode.get(text, value)


def _made(sources: Mapping[str, Any], entry: Entry | None, name: str, rows: int) -> Any:
    if entry is None or not entry.is_derived:
        return sources[name]
    if entry.cut is not None:
        places = np.searchsorted(entry.cut.at, numbers := as_numbers(sources[entry.cut.column]), side="right")
        names = np.array([*(entry.categories or ()), None], dtype=object)
        return _category(names[np.where(np.isnan(numbers), -1, places)], entry)
    assert entry.formula is not None
    values = entry.formula.values(sources, rows)
    if entry.is_number:
        return values
    made = values.astype(object)
    if entry.formula.is_condition:
        made = np.where(values == 1.0, True, False).astype(object)
    made[np.isnan(values)] = None
    return _category(made, entry)
